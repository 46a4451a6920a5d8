package main

import (
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/reflection"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
)

// methodsPerService is how many methods each service of a catalog has.
const methodsPerService = 20

// catalog returns the descriptors of an API with that many methods, a multiple
// of methodsPerService: one file per service, with a request and a response per
// method that have nested, repeated and map fields and enums.
func catalog(methods int) *descriptorpb.FileDescriptorSet {
	set := &descriptorpb.FileDescriptorSet{}
	for i := range methods / methodsPerService {
		set.File = append(set.File, catalogFile(i))
	}
	return set
}

func catalogFile(i int) *descriptorpb.FileDescriptorProto {
	pkg := fmt.Sprintf("catalog.s%03d.v1", i)
	f := &descriptorpb.FileDescriptorProto{
		Name: new(fmt.Sprintf("catalog/s%03d/v1/service.proto", i)), Package: &pkg, Syntax: new("proto3"),
		EnumType: []*descriptorpb.EnumDescriptorProto{enum("State", "STATE_UNSPECIFIED", "STATE_OPEN", "STATE_DONE")},
	}
	item := entity(pkg, "Item")
	item.NestedType = []*descriptorpb.DescriptorProto{labelsEntry()}
	f.MessageType = append(f.MessageType, item)
	service := &descriptorpb.ServiceDescriptorProto{Name: new(fmt.Sprintf("Service%03d", i))}
	for j := range methodsPerService {
		name := fmt.Sprintf("Method%02d", j)
		request := &descriptorpb.DescriptorProto{Name: new(name + "Request"), Field: []*descriptorpb.FieldDescriptorProto{
			field("name", 1, descriptorpb.FieldDescriptorProto_TYPE_STRING, "", false),
			field("page_size", 2, descriptorpb.FieldDescriptorProto_TYPE_INT32, "", false),
			field("page_token", 3, descriptorpb.FieldDescriptorProto_TYPE_STRING, "", false),
			field("state", 4, descriptorpb.FieldDescriptorProto_TYPE_ENUM, "."+pkg+".State", false),
		}}
		response := &descriptorpb.DescriptorProto{Name: new(name + "Response"), Field: []*descriptorpb.FieldDescriptorProto{
			field("item", 1, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, "."+pkg+".Item", false),
			field("total_size", 2, descriptorpb.FieldDescriptorProto_TYPE_INT64, "", false),
		}}
		f.MessageType = append(f.MessageType, request, response)
		service.Method = append(service.Method, &descriptorpb.MethodDescriptorProto{
			Name: &name, InputType: new("." + pkg + "." + request.GetName()), OutputType: new("." + pkg + "." + response.GetName()),
		})
	}
	f.Service = []*descriptorpb.ServiceDescriptorProto{service}
	return f
}

// entity is a message with fields of the common kinds and a map of labels.
func entity(pkg, name string) *descriptorpb.DescriptorProto {
	return &descriptorpb.DescriptorProto{Name: &name, Field: []*descriptorpb.FieldDescriptorProto{
		field("name", 1, descriptorpb.FieldDescriptorProto_TYPE_STRING, "", false),
		field("number", 2, descriptorpb.FieldDescriptorProto_TYPE_INT64, "", false),
		field("state", 3, descriptorpb.FieldDescriptorProto_TYPE_ENUM, "."+pkg+".State", false),
		field("notes", 4, descriptorpb.FieldDescriptorProto_TYPE_STRING, "", true),
		field("ratio", 5, descriptorpb.FieldDescriptorProto_TYPE_DOUBLE, "", false),
		field("checksum", 6, descriptorpb.FieldDescriptorProto_TYPE_BYTES, "", false),
		field("labels", 7, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, "."+pkg+"."+name+".LabelsEntry", true),
		field("active", 8, descriptorpb.FieldDescriptorProto_TYPE_BOOL, "", false),
	}}
}

func labelsEntry() *descriptorpb.DescriptorProto {
	return &descriptorpb.DescriptorProto{
		Name: new("LabelsEntry"), Options: &descriptorpb.MessageOptions{MapEntry: new(true)},
		Field: []*descriptorpb.FieldDescriptorProto{
			field("key", 1, descriptorpb.FieldDescriptorProto_TYPE_STRING, "", false),
			field("value", 2, descriptorpb.FieldDescriptorProto_TYPE_STRING, "", false),
		},
	}
}

func field(name string, number int32, kind descriptorpb.FieldDescriptorProto_Type, typeName string, repeated bool) *descriptorpb.FieldDescriptorProto {
	f := &descriptorpb.FieldDescriptorProto{
		Name: &name, Number: &number, Type: &kind, Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
	}
	if repeated {
		f.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
	}
	if typeName != "" {
		f.TypeName = &typeName
	}
	return f
}

func enum(name string, values ...string) *descriptorpb.EnumDescriptorProto {
	e := &descriptorpb.EnumDescriptorProto{Name: &name}
	for i, v := range values {
		e.Value = append(e.Value, &descriptorpb.EnumValueDescriptorProto{Name: &v, Number: new(int32(i))})
	}
	return e
}

// services names the services of a catalog.
type services struct {
	set *descriptorpb.FileDescriptorSet
}

var _ reflection.ServiceInfoProvider = services{}

func (s services) GetServiceInfo() map[string]grpc.ServiceInfo {
	all := make(map[string]grpc.ServiceInfo)
	for _, f := range s.set.GetFile() {
		for _, service := range f.GetService() {
			all[f.GetPackage()+"."+service.GetName()] = grpc.ServiceInfo{}
		}
	}
	return all
}

// newCatalogServer returns a gRPC server that has reflection for a catalog and
// nothing else.
func newCatalogServer(methods int) (*grpc.Server, error) {
	set := catalog(methods)
	files, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	s := grpc.NewServer()
	reflectionv1.RegisterServerReflectionServer(s, reflection.NewServerV1(reflection.ServerOptions{
		Services: services{set}, DescriptorResolver: files,
	}))
	return s, nil
}
