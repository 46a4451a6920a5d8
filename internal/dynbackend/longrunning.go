package dynbackend

import "maps"

// LongRunning returns files with the API of google.longrunning, for APIs that
// import google/longrunning/operations.proto.
func LongRunning() map[string]string { return maps.Clone(longRunning) }

var longRunning = map[string]string{
	"google/rpc/status.proto": `
syntax = "proto3";
package google.rpc;
import "google/protobuf/any.proto";
message Status { int32 code = 1; string message = 2; repeated google.protobuf.Any details = 3; }
`,
	"google/longrunning/operations.proto": `
syntax = "proto3";
package google.longrunning;
import "google/protobuf/any.proto";
import "google/protobuf/descriptor.proto";
import "google/protobuf/empty.proto";
import "google/rpc/status.proto";
service Operations {
  rpc GetOperation(GetOperationRequest) returns (Operation);
  rpc CancelOperation(CancelOperationRequest) returns (google.protobuf.Empty);
}
message Operation {
  string name = 1;
  google.protobuf.Any metadata = 2;
  bool done = 3;
  oneof result { google.rpc.Status error = 4; google.protobuf.Any response = 5; }
}
message GetOperationRequest { string name = 1; }
message CancelOperationRequest { string name = 1; }
message OperationInfo { string response_type = 1; string metadata_type = 2; }
extend google.protobuf.MethodOptions { OperationInfo operation_info = 1049; }
`,
}
