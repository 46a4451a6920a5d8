package shape_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
)

func descriptorOf(name protoreflect.FullName) (protoreflect.MessageDescriptor, error) {
	typ, err := protoregistry.GlobalTypes.FindMessageByName(name)
	if err != nil {
		return nil, err
	}
	return typ.Descriptor(), nil
}

// TestEveryDefinitionHasAPlace goes through all of MCP's schemas: every member
// of every type must have a field that can hold it.
func TestEveryDefinitionHasAPlace(t *testing.T) {
	t.Parallel()
	dir := schemaDir(t)
	met := make(map[string]bool)
	for _, revision := range revisions {
		defs := ofRevision(t, dir, revision)
		for _, name := range sortedKeys(defs) {
			met[name] = true
			d := drift{defs: defs}
			p, ok := places[name]
			md := message(p.message)
			switch {
			case !ok || md == nil:
				t.Errorf("%s: %s has no place in mcp.v1", revision, name)
				continue
			case p.member == "":
				d.object(name, object{"$ref": "#/$defs/" + name}, md)
			default:
				fields, ok := member(md, p.member, "")
				if !ok {
					t.Errorf("%s has no member %q", md.FullName(), p.member)
				}
				d.value(name, object{"$ref": "#/$defs/" + name}, fields)
			}
			for _, problem := range d.problems {
				t.Errorf("%s: %s", revision, problem)
			}
		}
	}
	for name := range places {
		if !met[name] {
			t.Errorf("%s is in no revision", name)
		}
	}
}

// TestEveryListedTypeHasAPlace does the same for the list of types that was made
// of the schemas by other means.
func TestEveryListedTypeHasAPlace(t *testing.T) {
	t.Parallel()
	f, err := os.Open(filepath.Join(schemaDir(t), "types-by-revision.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	types := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, rest, ok := strings.Cut(lines.Text(), "[")
		_, list, closed := strings.Cut(rest, "] ")
		if !ok || !closed || strings.Contains(name, " ") {
			continue
		}
		types++
		p := places[name]
		md := message(p.message)
		if md == nil {
			t.Errorf("%s has no place in mcp.v1", name)
			continue
		}
		if p.member != "" {
			continue
		}
		tag := ""
		for part := range strings.SplitSeq(list, " ; ") {
			if constant, ok := strings.CutPrefix(part, messageOptions(md).GetTag()+`:"`); ok {
				tag, _, _ = strings.Cut(constant, `"`)
			}
		}
		for part := range strings.SplitSeq(list, " ; ") {
			field, _, ok := strings.Cut(part, ":")
			field = strings.TrimSuffix(field, "?")
			if !ok || strings.HasPrefix(part, "=") || strings.HasPrefix(part, "+") {
				continue
			}
			if _, ok := member(md, field, tag); !ok {
				t.Errorf("%s.%s has no place in %s", name, field, md.FullName())
			}
		}
	}
	if types != len(places) {
		t.Errorf("%d types are listed, and there are %d", types, len(places))
	}
}

// TestEveryMemberOfTasksHasAPlace does it for the extension
// io.modelcontextprotocol/tasks, whose schema is no part of a revision.
func TestEveryMemberOfTasksHasAPlace(t *testing.T) {
	t.Parallel()
	const task = "taskId status statusMessage createdAt lastUpdatedAt ttlMs pollIntervalMs"
	for name, members := range map[string]string{
		"CreateTaskResult":             "resultType _meta " + task,
		"GetTaskRequest":               "_meta taskId",
		"GetTaskResponse":              "resultType _meta inputRequests result error " + task,
		"UpdateTaskRequest":            "_meta taskId inputResponses",
		"UpdateTaskResponse":           "resultType _meta",
		"CancelTaskRequest":            "_meta taskId",
		"CancelTaskResponse":           "resultType _meta",
		"TaskStatusNotificationParams": "_meta inputRequests result error " + task,
		"SubscriptionFilter":           "taskIds",
	} {
		for m := range strings.FieldsSeq(members) {
			if _, ok := member(message(name), m, ""); !ok {
				t.Errorf("%s has no member %q", name, m)
			}
		}
	}
	for _, md := range []protoreflect.MessageDescriptor{message("JsonRpcMessage"), (*mcpv1.ListenResponse)(nil).ProtoReflect().Descriptor()} {
		if arm(md, "notifications/tasks") == nil {
			t.Errorf("%s has no place for notifications/tasks", md.FullName())
		}
	}
}

// drift compares a schema with messages.
type drift struct {
	defs     object
	problems []string
}

func (d *drift) problem(path, format string, args ...any) {
	d.problems = append(d.problems, path+": "+fmt.Sprintf(format, args...))
}

// object finds a place for the members of an object.
func (d *drift) object(path string, schema object, md protoreflect.MessageDescriptor) {
	for _, schema := range alternatives(d.defs, schema) {
		if messageOptions(md).GetValue() {
			d.value(path, schema, expand(fieldsOf(md)...))
			continue
		}
		properties, _ := schema["properties"].(object)
		tag := ""
		if name := messageOptions(md).GetTag(); name != "" && properties[name] != nil {
			tag, _ = resolve(d.defs, properties[name].(object))["const"].(string)
		}
		for _, name := range sortedKeys(properties) {
			fields, ok := member(md, name, tag)
			switch {
			case !ok && arm(md, tag) != nil && messageOptions(md).GetContent() == "" && constant(d.defs, properties[name]):
				// The tag of a message whose union says the same.
			case !ok:
				d.problem(path+"."+name, "no place in %s", md.FullName())
			case fields != nil:
				d.value(path+"."+name, properties[name].(object), fields)
			}
		}
		keeper := md
		if arm := arm(md, tag); arm != nil && messageOptions(md).GetContent() == "" {
			keeper = arm.Message()
		}
		if !keeps(keeper) {
			d.problem(path, "%s keeps no other members", keeper.FullName())
		}
	}
}

func constant(defs object, schema any) bool {
	_, ok := resolve(defs, schema.(object))["const"]
	return ok
}

// value finds a field for every kind of a value.
func (d *drift) value(path string, schema object, fields []protoreflect.FieldDescriptor) {
	for _, schema := range alternatives(d.defs, schema) {
		d.kind(path, schema, fields)
	}
}

func (d *drift) kind(path string, schema object, fields []protoreflect.FieldDescriptor) {
	kind, _ := schema["type"].(string)
	enum, _ := schema["enum"].([]any)
	if c, ok := schema["const"].(string); ok {
		kind, enum = "string", []any{c}
	} else if schema["const"] != nil {
		kind = "integer"
	}
	ok := false
	for _, fd := range fields {
		name := ""
		if fd.Message() != nil {
			name = string(fd.Message().FullName())
		}
		switch kind {
		case "object":
			ok = ok || fd.IsMap() || !fd.IsList() && (isMirror(fd) || name == "google.protobuf.Struct" || name == "google.protobuf.Value")
		case "array":
			ok = ok || fd.IsList() || name == "google.protobuf.Value"
		case "":
			ok = ok || name == "google.protobuf.Value"
		default:
			ok = ok || takes(fd, kind, enum)
		}
	}
	if !ok {
		d.problem(path, "no field of %v holds a %s", names(fields), kind)
		return
	}
	switch kind {
	case "object":
		d.members(path, schema, fields)
	case "array":
		d.elements(path, schema, fields)
	}
}

// members finds a place for the members of an object in one of several messages.
func (d *drift) members(path string, schema object, fields []protoreflect.FieldDescriptor) {
	var problems []string
	for _, fd := range fields {
		sub := drift{defs: d.defs}
		switch {
		case fd.IsMap():
			values, _ := schema["additionalProperties"].(object)
			sub.value(path+".*", values, expand(fd.MapValue()))
		case isMirror(fd) && !fd.IsList():
			sub.object(path, schema, fd.Message())
		default:
			continue
		}
		if sub.problems == nil {
			return
		}
		problems = sub.problems
	}
	d.problems = append(d.problems, problems...)
}

// elements finds a place for the elements of an array.
func (d *drift) elements(path string, schema object, fields []protoreflect.FieldDescriptor) {
	items, ok := schema["items"].(object)
	if !ok {
		return
	}
	for _, fd := range fields {
		if !fd.IsList() {
			continue
		}
		if isMirror(fd) {
			for _, item := range alternatives(d.defs, items) {
				d.object(path+"[]", item, fd.Message())
			}
			continue
		}
		for _, item := range alternatives(d.defs, items) {
			enum, _ := item["enum"].([]any)
			kind, _ := item["type"].(string)
			if fd.Kind() == protoreflect.EnumKind && enum == nil || fd.Kind() == protoreflect.StringKind && kind != "string" {
				d.problem(path+"[]", "%s holds no %s", fd.FullName(), kind)
			}
		}
	}
}

func names(fields []protoreflect.FieldDescriptor) []protoreflect.FullName {
	var out []protoreflect.FullName
	for _, fd := range fields {
		out = append(out, fd.FullName())
	}
	return out
}
