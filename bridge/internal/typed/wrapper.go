package typed

import (
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	jsonv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/json/v1"
	optionsv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/options/v1"
)

// Types of mcp.v1 that responses hold.
const (
	contentProto       = "mcp/v1/content.proto"
	notificationsProto = "mcp/v1/notifications.proto"
	promptsProto       = "mcp/v1/prompts.proto"

	contentBlock     = ".mcp.v1.ContentBlock"
	promptMessage    = ".mcp.v1.PromptMessage"
	resourceContents = ".mcp.v1.ResourceContents"
	progressEvent    = ".mcp.v1.ProgressNotificationParams"
	logEvent         = ".mcp.v1.LoggingMessageNotificationParams"
)

// Numbers of the fields of responses. They never change.
const (
	numberStructured = 1 + iota
	numberRaw
	numberContent
	numberMeta
)

func (b *builder) tool(t Tool) {
	name := b.lock.Tools[t.Name]
	method := Method{
		Kind: ToolMethod, Name: t.Name, RPC: protoreflect.Name(name), Stream: protoreflect.Name("Stream" + name),
		Description: t.Description, InputSchema: t.Input, OutputSchema: t.Output,
	}
	options := &optionsv1.MethodOptions{Name: t.Name, Title: t.Title, Tool: &optionsv1.Tool{}}
	if h := t.Hints; h != (Hints{}) {
		options.Annotations = &optionsv1.Annotations{ReadOnly: h.ReadOnly, Destructive: h.Destructive, Idempotent: h.Idempotent, OpenWorld: h.OpenWorld}
	}
	of := "tool " + quote(t.Name)
	b.fills = make(map[protoreflect.FullName][]Fill)
	input := &object{}
	if len(t.Input) > 0 {
		input = b.infer(of+", input", t.Input)
	}
	if input.bare { // arguments are an object, whatever a schema says
		b.warn(of+", input", "its values are no objects; any object is taken")
		input = &object{extra: &shape{schema: input.members[0].schema}}
	}
	b.root(name+"Request", input, "The arguments of "+name+".")
	method.Fills, b.fills = b.fills, nil

	output := name + "Output"
	response := b.fixed(name+"Response", "What "+name+" returns.")
	if len(t.Output) > 0 || b.lock.Messages[output] != nil {
		b.structured(response, name, t)
	} else {
		b.rawField(response)
	}
	b.field(response, "content", numberContent, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, contentBlock, true, &jsonv1.FieldOptions{Always: true}, "What models read.")
	b.field(response, "meta", numberMeta, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, ".google.protobuf.Struct", false, &jsonv1.FieldOptions{Name: "_meta"}, "What the server says of the result beside it.")
	slices.SortStableFunc(response.Field, func(x, y *descriptorpb.FieldDescriptorProto) int { return int(x.GetNumber() - y.GetNumber()) })
	b.imports[contentProto], b.imports[structProto], b.imports[jsonProto] = true, true, true

	b.method(name, false, options, cleanComment(pick(t.Description, t.Title)))
	b.stream(name)
	b.plan.Methods = append(b.plan.Methods, method)
}

// fixed makes a message that no schema says anything of.
func (b *builder) fixed(name, comment string) *descriptorpb.DescriptorProto {
	m := &descriptorpb.DescriptorProto{Name: new(name)}
	b.add(m, comment)
	return m
}

// structured adds the fields of structured content: two forms of one member, of
// which the typed one is set where the content fits it.
func (b *builder) structured(response *descriptorpb.DescriptorProto, name string, t Tool) {
	output := &object{}
	comment := "The structured content of what " + name + " returns."
	if len(t.Output) > 0 {
		output = b.infer("tool "+quote(t.Name)+", output", t.Output)
	} else {
		comment += " The tool no longer declares any."
	}
	b.output = true
	b.root(name+"Output", output, comment)
	b.output = false
	b.field(response, "structured", numberStructured, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, b.ref(name+"Output"), false, &jsonv1.FieldOptions{Name: "structuredContent"}, "The structured content, by the schema of the tool.")
	b.rawField(response)
}

func (b *builder) rawField(response *descriptorpb.DescriptorProto) {
	b.field(response, "structured_raw", numberRaw, descriptorpb.FieldDescriptorProto_TYPE_BYTES, "", false, &jsonv1.FieldOptions{Raw: true, Name: "structuredContent"}, "The structured content as JSON, where the type does not hold it exactly.")
	response.OneofDecl = []*descriptorpb.OneofDescriptorProto{{Name: new("structured_content")}}
	for _, f := range response.Field {
		if f.GetNumber() == numberStructured || f.GetNumber() == numberRaw {
			f.OneofIndex = proto.Int32(0)
		}
	}
}

// field adds a field that no schema says anything of.
func (b *builder) field(m *descriptorpb.DescriptorProto, name string, number int32, typ descriptorpb.FieldDescriptorProto_Type, typeName string, list bool, options *jsonv1.FieldOptions, comment string) {
	fd := &descriptorpb.FieldDescriptorProto{
		Name: new(name), JsonName: new(jsonName(name)), Number: new(number),
		Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(), Type: typ.Enum(),
	}
	if typeName != "" {
		fd.TypeName = new(typeName)
	}
	if list {
		fd.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
	}
	if options != nil {
		fd.Options = &descriptorpb.FieldOptions{}
		proto.SetExtension(fd.Options, jsonv1.E_Field, options)
		b.imports[jsonProto] = true
	}
	b.comments[fd] = comment
	m.Field = append(m.Field, fd)
}

// method adds an RPC with the request and response of its name.
func (b *builder) method(name string, streams bool, options *optionsv1.MethodOptions, comment string) {
	m := &descriptorpb.MethodDescriptorProto{
		Name: new(name), InputType: new(b.ref(name + "Request")), OutputType: new(b.ref(name + "Response")),
		Options: &descriptorpb.MethodOptions{},
	}
	if streams {
		m.ServerStreaming = new(true)
	}
	proto.SetExtension(m.Options, optionsv1.E_Method, options)
	b.imports[optionsProto] = true
	b.comments[m] = comment
	b.service.Method = append(b.service.Method, m)
}

// stream adds the RPC that tells what happens before the result.
func (b *builder) stream(name string) {
	request := b.fixed("Stream"+name+"Request", "The arguments of Stream"+name+".")
	b.field(request, "request", 1, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, b.ref(name+"Request"), false, nil, "Those of "+name+".")
	response := b.fixed("Stream"+name+"Response", "What happens in a call, and last of all its result.")
	b.field(response, "progress", 1, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, progressEvent, false, nil, "How far the call has got.")
	b.field(response, "log", 2, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, logEvent, false, nil, "What the server logs of it.")
	b.field(response, "result", 3, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, b.ref(name+"Response"), false, nil, "What "+name+" returns.")
	response.OneofDecl = []*descriptorpb.OneofDescriptorProto{{Name: new("event")}}
	for _, f := range response.Field {
		f.OneofIndex = proto.Int32(0)
	}
	b.imports[notificationsProto] = true
	b.method("Stream"+name, true, &optionsv1.MethodOptions{Hide: new(true)}, "Does what "+name+" does, and streams progress and logs before the result.")
}

func (b *builder) prompt(p Prompt) {
	name := b.lock.Prompts[p.Name]
	o := &object{}
	for _, a := range p.Arguments {
		o.members = append(o.members, textMember(a.Name, pick(a.Description, a.Title), a.Required))
	}
	o.members = uniqueMembers(o.members)
	b.root(name+"Request", o, "The arguments of "+name+".")
	response := b.fixed(name+"Response", "What "+name+" returns.")
	b.field(response, "description", 1, descriptorpb.FieldDescriptorProto_TYPE_STRING, "", false, nil, "What the messages are for.")
	b.field(response, "messages", 2, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, promptMessage, true, &jsonv1.FieldOptions{Always: true}, "What to show to a model.")
	b.field(response, "meta", 3, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, ".google.protobuf.Struct", false, &jsonv1.FieldOptions{Name: "_meta"}, "What the server says of the result beside it.")
	b.imports[promptsProto], b.imports[structProto] = true, true
	b.method(name, false, &optionsv1.MethodOptions{Hide: new(true), Prompt: &optionsv1.Prompt{Name: p.Name, Title: p.Title}},
		cleanComment(pick(pick(p.Description, p.Title), "Gets the prompt "+p.Name+".")))
	b.plan.Methods = append(b.plan.Methods, Method{Kind: PromptMethod, Name: p.Name, RPC: protoreflect.Name(name)})
}

func (b *builder) template(t Template) {
	name := b.lock.Templates[t.URI]
	o := &object{}
	for _, v := range t.Variables {
		o.members = append(o.members, textMember(v, "", false))
	}
	o.members = uniqueMembers(o.members)
	b.root(name+"Request", o, "The variables of "+t.URI+".")
	response := b.fixed(name+"Response", "What "+name+" returns.")
	b.field(response, "contents", 1, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, resourceContents, true, &jsonv1.FieldOptions{Always: true}, "What the resource holds.")
	b.field(response, "meta", 2, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, ".google.protobuf.Struct", false, &jsonv1.FieldOptions{Name: "_meta"}, "What the server says of the result beside it.")
	b.imports[contentProto], b.imports[structProto] = true, true
	b.method(name, false, &optionsv1.MethodOptions{Hide: new(true), Resource: &optionsv1.Resource{UriTemplate: t.URI, Name: t.Name, Title: t.Title, MimeType: t.MIMEType}},
		cleanComment(pick(pick(t.Description, t.Title), "Reads "+t.URI+".")))
	b.plan.Methods = append(b.plan.Methods, Method{Kind: TemplateMethod, Name: t.URI, RPC: protoreflect.Name(name), Template: &t})
}

// uniqueMembers leaves out members without a name, or with that of another.
func uniqueMembers(all []member) []member {
	seen := map[string]bool{"": true}
	return slices.DeleteFunc(slices.Clone(all), func(m member) bool {
		if seen[m.name] {
			return true
		}
		seen[m.name] = true
		return false
	})
}
