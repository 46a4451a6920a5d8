package health

import "google.golang.org/protobuf/types/descriptorpb"

// file describes grpc/health/v1/health.proto.
func file() *descriptorpb.FileDescriptorProto {
	const scope = ".grpc.health.v1."
	field := func(name string, number int32, kind descriptorpb.FieldDescriptorProto_Type, typeName string) *descriptorpb.FieldDescriptorProto {
		f := &descriptorpb.FieldDescriptorProto{
			Name: new(name), JsonName: new(name), Number: new(number), Type: new(kind),
			Label: new(descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL),
		}
		if typeName != "" {
			f.TypeName = new(scope + typeName)
		}
		return f
	}
	const (
		text    = descriptorpb.FieldDescriptorProto_TYPE_STRING
		message = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
		enum    = descriptorpb.FieldDescriptorProto_TYPE_ENUM
	)
	statuses := field("statuses", responseStatuses, message, "HealthListResponse.StatusesEntry")
	statuses.Label = new(descriptorpb.FieldDescriptorProto_LABEL_REPEATED)
	var values []*descriptorpb.EnumValueDescriptorProto
	for number, name := range []string{"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"} {
		values = append(values, &descriptorpb.EnumValueDescriptorProto{Name: new(name), Number: new(int32(number))})
	}
	method := func(name, request, response string, stream bool) *descriptorpb.MethodDescriptorProto {
		m := &descriptorpb.MethodDescriptorProto{Name: new(name), InputType: new(scope + request), OutputType: new(scope + response)}
		if stream {
			m.ServerStreaming = new(true)
		}
		return m
	}
	return &descriptorpb.FileDescriptorProto{
		Name: new("grpc/health/v1/health.proto"), Package: new("grpc.health.v1"), Syntax: new("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{
			{Name: new("HealthCheckRequest"), Field: []*descriptorpb.FieldDescriptorProto{field("service", requestService, text, "")}},
			{
				Name:     new("HealthCheckResponse"),
				Field:    []*descriptorpb.FieldDescriptorProto{field("status", responseStatus, enum, "HealthCheckResponse.ServingStatus")},
				EnumType: []*descriptorpb.EnumDescriptorProto{{Name: new("ServingStatus"), Value: values}},
			},
			{Name: new("HealthListRequest")},
			{
				Name:  new("HealthListResponse"),
				Field: []*descriptorpb.FieldDescriptorProto{statuses},
				NestedType: []*descriptorpb.DescriptorProto{{
					Name:    new("StatusesEntry"),
					Field:   []*descriptorpb.FieldDescriptorProto{field("key", mapKey, text, ""), field("value", mapValue, message, "HealthCheckResponse")},
					Options: &descriptorpb.MessageOptions{MapEntry: new(true)},
				}},
			},
		},
		Service: []*descriptorpb.ServiceDescriptorProto{{
			Name: new("Health"),
			Method: []*descriptorpb.MethodDescriptorProto{
				method("Check", "HealthCheckRequest", "HealthCheckResponse", false),
				method("List", "HealthListRequest", "HealthListResponse", false),
				method("Watch", "HealthCheckRequest", "HealthCheckResponse", true),
			},
		}},
	}
}
