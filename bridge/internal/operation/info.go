package operation

import (
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// infoNumber is the number of the option google.longrunning.operation_info.
const infoNumber = 1049

// Is reports whether calls of the method start an operation. Those of the
// Operations service itself ask for operations and start none.
func Is(method protoreflect.MethodDescriptor) bool {
	return method.Output().FullName() == MessageName && !method.IsStreamingClient() && !method.IsStreamingServer() &&
		method.Parent().FullName() != ServiceName
}

// ResponseType returns the name of the message type that the method's
// operations have for a response, as the option
// google.longrunning.operation_info says, or "" where it does not. A name
// without dots is one of the method's package.
//
// The option is read from its encoding: it is an unknown field in a file that
// came by reflection.
func ResponseType(method protoreflect.MethodDescriptor) protoreflect.FullName {
	opts := method.Options()
	if opts == nil {
		return ""
	}
	encoded, err := proto.MarshalOptions{AllowPartial: true}.Marshal(opts)
	if err != nil {
		return ""
	}
	name := ""
	err = eachField(encoded, func(num protowire.Number, typ protowire.Type, _ uint64, info []byte) {
		if num != infoNumber || typ != protowire.BytesType {
			return
		}
		// A malformed option says nothing from there on.
		_ = eachField(info, func(num protowire.Number, typ protowire.Type, _ uint64, data []byte) {
			if num == 1 && typ == protowire.BytesType {
				name = string(data)
			}
		})
	})
	name = strings.TrimPrefix(name, ".")
	full := protoreflect.FullName(name)
	if err == nil && name != "" && !strings.Contains(name, ".") {
		full = method.ParentFile().Package().Append(protoreflect.Name(name))
	}
	if err != nil || !full.IsValid() {
		return ""
	}
	return full
}
