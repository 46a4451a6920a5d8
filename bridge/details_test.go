package bridge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/internal/dynbackend"
)

// checksProto is an API whose responses have statuses. What their details are, its
// files do not say.
const checksProto = `
syntax = "proto3";
package checks.v1;
import "google/rpc/status.proto";
service Jobs {
  rpc Check(Job) returns (Job);
  rpc Fail(Job) returns (Job);
}
message Job {
  repeated google.rpc.Status results = 1;
}
`

const extraProto = `
syntax = "proto3";
package extra.v1;
import "mcp/options/v1/options.proto";
message Extra {
  string what = 1;
  string secret = 2 [(mcp.options.v1.field).hide = true];
}
`

// TestDetailsInResponses: a status inside a response that is OK is shown like
// one that is not: with the types of the program, and of reflection.
func TestDetailsInResponses(t *testing.T) {
	t.Parallel()
	info, err := anypb.New(&errdetails.ErrorInfo{Reason: "QUOTA"})
	if err != nil {
		t.Fatal(err)
	}
	extra := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "a disk")
	extra = protowire.AppendString(protowire.AppendTag(extra, 2, protowire.BytesType), "a password")
	st := &statuspb.Status{Code: 9, Message: "full", Details: []*anypb.Any{
		info, {TypeUrl: "type.googleapis.com/extra.v1.Extra", Value: extra}, {TypeUrl: "type.googleapis.com/no.Such", Value: []byte{1}},
	}}
	backend := dynbackend.Start(t, map[string]string{"checks.proto": checksProto, "extra.proto": extraProto}, map[string]dynbackend.Method{
		"Check": func(_ context.Context, _, response *dynamicpb.Message) error {
			wire, err := proto.Marshal(st)
			if err != nil {
				return err
			}
			return proto.Unmarshal(protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), wire), response)
		},
		"Fail": func(context.Context, *dynamicpb.Message, *dynamicpb.Message) error { return status.FromProto(st).Err() },
	})
	b := start(t, backend)
	const (
		reason  = `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"QUOTA"}`
		others  = `{"@type":"type.googleapis.com/extra.v1.Extra","what":"a disk"},{"@type":"type.googleapis.com/no.Such","value":"AQ=="}`
		results = `{"results":[{"code":9,"message":"full","details":[` + reason + `,` + others + `]}]}`
	)
	res, err := call(t.Context(), t, b, "Jobs_Check", `{}`)
	if err != nil || string(res.StructuredContent) != results {
		t.Errorf("got  %s, %v\nwant %s", res.StructuredContent, err, results)
	}
	res, err = call(t.Context(), t, b, "Jobs_Fail", `{}`)
	if err != nil || !res.IsError || len(res.Content) != 2 || !strings.Contains(res.Content[0].Text, "Reason: QUOTA") || res.Content[1].Text != `{"details":[`+others+`]}` {
		t.Errorf("%+v, %v", res, err)
	}
	// What a model may send is found in the same ways.
	arguments, err := json.Marshal(map[string]any{"results": []any{map[string]any{"details": []any{map[string]string{"@type": "x/extra.v1.Extra", "what": "y"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	if res, err = call(t.Context(), t, b, "Jobs_Check", string(arguments)); err != nil || res.IsError {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestOperatorsHear: where a backend listens, and what to do about it, goes to
// the log and not to the model.
func TestOperatorsHear(t *testing.T) {
	t.Parallel()
	backend := dynbackend.Start(t, map[string]string{"ping.proto": pingProto}, map[string]dynbackend.Method{
		"Echo": func(context.Context, *dynamicpb.Message, *dynamicpb.Message) error {
			return status.Error(codes.Unauthenticated, "who is there?")
		},
	})
	log := &bytes.Buffer{}
	b := start(t, backend, bridge.WithLogger(slog.New(slog.NewTextHandler(log, nil))))
	for _, tt := range []struct{ model, operator string }{
		{"does not accept the credentials of this connection (UNAUTHENTICATED): who is there?", "--forward-header"},
		{"(UNAVAILABLE)\nThe call may have taken effect", backend.Addr},
	} {
		log.Reset()
		res, err := call(t.Context(), t, b, "Ping_Echo", `{}`)
		if err != nil || !res.IsError || !strings.Contains(res.Content[0].Text, tt.model) || strings.Contains(res.Content[0].Text, tt.operator) {
			t.Errorf("%+v, %v, want %s", res, err, tt.model)
		}
		if !strings.Contains(log.String(), tt.operator) {
			t.Errorf("the log lacks %s: %s", tt.operator, log)
		}
		backend.Kill()
	}
}
