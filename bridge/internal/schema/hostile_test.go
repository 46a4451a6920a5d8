package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

func TestErrors(t *testing.T) {
	t.Parallel()
	if _, err := Input(nil, Options{}); err == nil || err.Error() != "schema: no message descriptor" {
		t.Errorf("nil: %v", err)
	}
	file := &descriptorpb.FileDescriptorProto{
		Name: new("x.proto"), Dependency: []string{"absent.proto"}, Syntax: new("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{{
			Name: new("X"),
			Field: []*descriptorpb.FieldDescriptorProto{
				{Name: new("m"), Number: proto.Int32(1), Type: descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(),
					Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(), TypeName: new(".absent.M")},
				{Name: new("e"), Number: proto.Int32(2), Type: descriptorpb.FieldDescriptorProto_TYPE_ENUM.Enum(),
					Label: descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum(), TypeName: new(".absent.E")},
			},
		}},
	}
	fd, err := protodesc.FileOptions{AllowUnresolvable: true}.New(file, new(protoregistry.Files))
	if err != nil {
		t.Fatal(err)
	}
	x := fd.Messages().Get(0)
	const want = "schema: message absent.M is not resolved: the file that declares it is missing; add it to the descriptors"
	if _, err := Output(x.Fields().Get(0).Message(), Options{}); err == nil || err.Error() != want {
		t.Errorf("placeholder: %v", err)
	}
	in, out := schemas(t, x, Options{})
	if !strings.Contains(string(in), "Message absent.M; its fields are not listed here.") {
		t.Errorf("input: %s", in)
	}
	if !strings.Contains(string(out), `"items":{"type":["string","integer"]`) {
		t.Errorf("output: %s", out)
	}
}

// TestHostile renders types that would be far too large in full.
func TestHostile(t *testing.T) {
	t.Parallel()
	// The race detector makes everything ten times as slow.
	scale, limits := 1, []int{1, 3000, 0, 64 << 10}
	if raceEnabled {
		scale, limits = 20, []int{1, 0}
	}
	words := strings.Repeat("// Words of a comment that never comes to its end.\n", 200)
	var b strings.Builder
	source := func(body string) string { return "syntax = \"proto3\";\npackage h;\n" + body }
	write := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	take := func() string { s := b.String(); b.Reset(); return s }

	// Every message holds every other one: the number of paths is exponential.
	for i := range 40 {
		write("message M%d {\n", i)
		for j := range 40 {
			write("M%d f%d = %d;\n", j, j, j+1)
		}
		write("}\n")
	}
	mutual := take()

	for i := range 200 {
		write("message D%d { repeated D%d next = 1; string name = 2; }\n", i, i+1)
	}
	write("message D200 {}\n")
	deep := take()

	write("message M {\n")
	for i := range 5000 {
		write("string a_field_of_many_%d = %d;\n", i, i+1)
	}
	write("}\n")
	wide := take()

	write("import \"google/api/field_behavior.proto\";\nmessage M {\n")
	for i := range 3000 {
		write("string needed_%d = %d [(google.api.field_behavior) = REQUIRED];\n", i, i+1)
	}
	write("}\n")
	required := take()

	write("enum E {\n")
	for i := range 100_000 / scale {
		write("VALUE_NUMBER_%d = %d;\n", i, i)
	}
	write("}\nmessage M {\n")
	for i := range 50 {
		write("E e%d = %d;\nrepeated E l%d = %d;\n", i, 2*i+1, i, 2*i+2)
	}
	write("}\n")
	enums := take()

	write("message M {\n")
	for i := range 100 {
		write("%sM2 m%d = %d;\n", words, i, i+1)
	}
	write("}\n%smessage M2 { %s string s = 1; }\n", words, words)
	talkative := take()

	write("message M { oneof o {\n")
	for i := range 3000 {
		write("string member_%d = %d;\n", i, i+1)
	}
	write("} }\n")
	oneof := take()

	write("message M {\n")
	for i := range 400 {
		write("oneof o%d { string a%d = %d; string b%d = %d; string c%d = %d; }\n", i, i, 3*i+1, i, 3*i+2, i, 3*i+3)
	}
	write("}\n")
	unions := take()

	for i := range 300 {
		write("string s%d = %d [(buf.validate.field) = {required: true, cel: [{id: 'x', message: %q, expression: 'true'}]}];\n", i, i+1, strings.Repeat("must be so and so ", 100))
	}
	ruledWide := take()

	write("message M {\n")
	for i := range 500 {
		write("string x%d = %d [json_name = \"%s\\\"%d\"];\n", i, i+1, strings.Repeat("\\x01\\\\", 100), i)
	}
	write("}\n")
	names := take()

	large := strings.Repeat("must never end ", 700_000/scale) // 10 MB
	rule := func(options string) string {
		return "import \"buf/validate/validate.proto\";\nmessage M { string s = 1 [" + options + "]; }"
	}
	value := strconv.Quote(large)

	for _, test := range []struct{ name, body, message string }{
		{"large comment", "// " + large + "\nmessage M {\n// " + large + "\nstring s = 1; }", "h.M"},
		{"large message of a rule", rule("(buf.validate.field).cel = {id: 'x', message: " + value + ", expression: 'true'}"), "h.M"},
		{"large expression", rule("(buf.validate.field).cel_expression = " + value), "h.M"},
		{"large pattern", rule("(buf.validate.field).string.pattern = " + value), "h.M"},
		{"large prefix", rule("(buf.validate.field).string.prefix = " + value), "h.M"},
		{"large constant", rule("(buf.validate.field).string.const = " + value), "h.M"},
		{"large list", rule("(buf.validate.field).string = {in: [" + strings.Repeat("'value', ", 100_000/scale) + "'last']}"), "h.M"},
		{"large example", rule("(buf.validate.field).string.example = " + value), "h.M"},
		{"large numbers", rule("(buf.validate.field).string = {min_len: 18446744073709551615, max_len: 18446744073709551615, " +
			"min_bytes: 18446744073709551615, max_bytes: 18446744073709551615}"), "h.M"},
		{"large bytes", strings.ReplaceAll(rule("(buf.validate.field).bytes = {min_len: 18446744073709551615, max_len: 18446744073709551614, prefix: "+value+"}"),
			"string s", "bytes s"), "h.M"},
		{"rules of another type", rule("(buf.validate.field) = {repeated: {items: {repeated: {items: {map: {keys: {}}}}}}}"), "h.M"},
		{"wide rules", "import \"buf/validate/validate.proto\";\nmessage M {\n" + ruledWide + "}", "h.M"},
		{"unions", unions, "h.M"},
		{"mutual recursion", mutual, "h.M0"},
		{"deep", deep, "h.D0"},
		{"wide", wide, "h.M"},
		{"required", required, "h.M"},
		{"enums", enums, "h.M"},
		{"comments", talkative, "h.M"},
		{"oneof", oneof, "h.M"},
		{"names", names, "h.M"},
		{"empty messages", "message M { repeated M m = 1; N n = 2; } message N { M m = 1; N n = 2; map<string, M> p = 3; }", "h.M"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			files := compile(t, map[string]string{"h.proto": source(test.body)})
			md := find[protoreflect.MessageDescriptor](t, files, test.message)
			for _, limit := range limits {
				schemas(t, md, Options{MaxBytes: limit})
				schemas(t, md, Options{MaxBytes: limit, Profile: Full, DescribeTool: strings.Repeat("describe_type", 5)})
			}
			for _, profile := range []Profile{Portable, Full} {
				r := New(Options{MaxBytes: 1 << 30, Profile: profile, DescribeTool: "describe_type"})
				for _, render := range []func(protoreflect.MessageDescriptor) (Schema, error){r.Input, r.Output,
					func(md protoreflect.MessageDescriptor) (Schema, error) { return r.Type(md) }} {
					s, err := render(md)
					if err != nil || len(s.JSON) > MaxMaxBytes || !json.Valid(s.JSON) {
						t.Errorf("largest budget: %d bytes, valid %t, error %v", len(s.JSON), json.Valid(s.JSON), err)
					}
				}
			}
		})
	}
}

func TestTrimKeepsRequired(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("syntax = \"proto2\"; message M {\n")
	for i := range 500 {
		fmt.Fprintf(&b, "optional string optional_field_%d = %d;\n", i, i+1)
	}
	b.WriteString("required string last = 501; }\n")
	md := find[protoreflect.MessageDescriptor](t, compile(t, map[string]string{"m.proto": b.String()}), "M")
	in, _ := schemas(t, md, Options{MaxBytes: 2000})
	var s struct {
		Description string
		Properties  map[string]any
		Required    []string
	}
	if err := json.Unmarshal(in, &s); err != nil {
		t.Fatal(err)
	}
	if s.Properties["last"] == nil || len(s.Required) != 1 || len(s.Properties) < 20 {
		t.Errorf("%d properties, required %v", len(s.Properties), s.Required)
	}
	if want := fmt.Sprintf("%d more fields have no room here: ", 501-len(s.Properties)); !strings.HasPrefix(s.Description, want) {
		t.Errorf("description %q, want %q", s.Description, want)
	}
}

// writable returns the tree of a message, and a writer for it.
func writable(md protoreflect.MessageDescriptor, limit int) (*tree, *writer) {
	c := &New(Options{}).kinds[input]
	return newBuilder(c, limit).tree(md), &writer{cache: c, limit: limit, maxBytes: limit}
}

func rendered(w *writer, t *tree, m mode) string {
	limit := w.limit
	w.limit = 0
	w.render(t, m)
	w.limit = limit
	return string(w.buf)
}

// TestSteps follows one schema down the steps of the budget.
func TestSteps(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`syntax = "proto3";
// The request. It has more to say.
message M {
  // The one. It matters.
  One one = 1;
}
message One {
  // A nested field. It has more to say at some length, which takes room.
  string name = 1;
  Deep deep = 2;
  One again = 3;
}
message Deep {
  // Far down.
  string bottom = 1;
  Size size = 2;
}
enum Size { SIZE_UNSPECIFIED = 0;
`)
	for i := range 80 {
		fmt.Fprintf(&b, "SIZE_%d = %d;\n", i+1, i+1)
	}
	b.WriteString("}\n")
	md := find[protoreflect.MessageDescriptor](t, compile(t, map[string]string{"m.proto": b.String()}), "M")
	tr, w := writable(md, DefaultMaxBytes)
	has := func(m mode, wanted string, present bool) {
		t.Helper()
		got := rendered(w, tr, m)
		if strings.Contains(got, wanted) != present {
			t.Errorf("%+v: %q present is not %t:\n%s", m, wanted, present, got)
		}
	}
	has(steps[0], "It has more to say at some length", true)
	has(steps[0], "Message One, nested like the one above.", true)
	has(steps[1], "It has more to say at some length", true)
	has(steps[1], `"again":{"type":"object","description":"Message One, nested like the one above."}`, true)
	has(steps[2], "It has more to say at some length", false)
	has(steps[2], "Far down.", true)
	has(steps[3], "Far down.", false)
	has(steps[3], "A nested field.", true)
	has(steps[4], "A nested field.", false)
	has(steps[4], "SIZE_80", true)
	has(steps[5], "SIZE_80", false)
	has(steps[5], "One of 80 names: SIZE_1, SIZE_2,", true)
	has(steps[5], "It matters.", true)
	has(steps[6], "It matters.", false)
	has(steps[6], "The one.", true)
	if all, folded := rendered(w, tr, steps[0]), rendered(w, tr, steps[1]); strings.Count(all, `"bottom"`) != 2 || strings.Count(folded, `"bottom"`) != 1 {
		t.Errorf("recursion is not folded:\n%s\n%s", all, folded)
	}

	last := steps[6]
	got := rendered(w, tr, last)
	w.limit = len(got) - 1
	if !w.prune(tr, last) {
		t.Fatal("does not fit")
	}
	has(last, "bottom", false)
	has(last, "Message Deep; its fields are not listed here.", true)
	has(last, `"name":`, true)
	smaller := rendered(w, tr, last)
	restore(tr)
	if again := rendered(w, tr, last); again != got {
		t.Errorf("restore: %s", again)
	}
	if len(smaller) >= len(got) {
		t.Errorf("pruned: %d bytes, before %d", len(smaller), len(got))
	}
}

// TestPruneCounts holds the sizes that prune computes against real ones.
func TestPruneCounts(t *testing.T) {
	t.Parallel()
	for _, md := range everything(t) {
		for _, limit := range []int{MinMaxBytes, 2000, 5000} {
			tr, w := writable(md, limit)
			m := steps[len(steps)-1]
			fits := w.prune(tr, m)
			if ok := w.render(tr, m); ok != fits {
				t.Errorf("%s: prune says %t, render says %t", md.FullName(), fits, ok)
			}
		}
	}
}

// described describes a type on its own.
func described(t *testing.T, d protoreflect.Descriptor) Schema {
	t.Helper()
	s, err := Type(d, Options{DescribeTool: "describe_type"})
	if err != nil {
		t.Fatalf("%s: %v", d.FullName(), err)
	}
	if len(s.JSON) > TypeMaxBytes {
		t.Errorf("%s: %d bytes", d.FullName(), len(s.JSON))
	}
	validator(t, s.JSON)
	return s
}

func TestTypeErrors(t *testing.T) {
	t.Parallel()
	files := sink(t)
	for _, test := range []struct {
		d    protoreflect.Descriptor
		want string
	}{
		{nil, "schema: no descriptor"},
		{find[protoreflect.ServiceDescriptor](t, files, "sink.v1.SinkService"), "schema: sink.v1.SinkService is neither a message nor an enum"},
	} {
		if _, err := Type(test.d, Options{}); err == nil || err.Error() != test.want {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
}

// TestPruned holds that what is left out is named, with the tool that tells.
func TestPruned(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("syntax = \"proto3\"; package p;\nmessage M { Deep deep = 1; Many many = 2; string s = 3; }\nenum Many { ZERO = 0;\n")
	for i := range 200 {
		fmt.Fprintf(&b, "VALUE_%d = %d;\n", i+1, i+1)
	}
	b.WriteString("}\nmessage Deep {\n")
	for i := range 200 {
		fmt.Fprintf(&b, "string field_%d = %d;\n", i, i+1)
	}
	b.WriteString("}\nmessage Wide {\n")
	for i := range 3000 {
		fmt.Fprintf(&b, "string field_%d = %d;\n", i, i+1)
	}
	b.WriteString("}\n")
	files := compile(t, map[string]string{"p.proto": b.String()})
	m := find[protoreflect.MessageDescriptor](t, files, "p.M")
	wide := find[protoreflect.MessageDescriptor](t, files, "p.Wide")
	for _, profile := range []Profile{Portable, Full} {
		for _, test := range []struct {
			md    protoreflect.MessageDescriptor
			tool  string
			bytes int
			want  []string
		}{
			{m, "", 2000, []string{"Message p.Deep; its fields are not listed here.", "One of 201 names: ZERO, VALUE_1,"}},
			{m, "tell", 2000, []string{"Message p.Deep; call tell for its fields.", "VALUE_7; call tell for all of p.Many."}},
			{m, "tell", MaxMaxBytes, nil},
			{wide, "", 2000, []string{"more fields have no room here: "}},
			{wide, "tell", 2000, []string{"; call tell for all of p.Wide."}},
		} {
			in, _ := schemas(t, test.md, Options{Profile: profile, DescribeTool: test.tool, MaxBytes: test.bytes})
			s, _ := Input(test.md, Options{Profile: profile, DescribeTool: test.tool, MaxBytes: test.bytes})
			if s.Pruned != (test.want != nil) {
				t.Errorf("pruned is %t: %s", s.Pruned, in)
			}
			for _, want := range test.want {
				if !strings.Contains(string(in), want) {
					t.Errorf("%q is not in %s", want, in)
				}
			}
		}
	}
	if s := described(t, wide); !s.Pruned || len(s.JSON) < TypeMaxBytes/2 {
		t.Errorf("pruned is %t, %d bytes", s.Pruned, len(s.JSON))
	}
	if s := described(t, find[protoreflect.Descriptor](t, files, "p.Many")); s.Pruned || !strings.Contains(string(s.JSON), "VALUE_200") {
		t.Errorf("pruned is %t: %s", s.Pruned, s.JSON)
	}
}

// TestMalformedOptions renders a message whose options are no messages.
func TestMalformedOptions(t *testing.T) {
	t.Parallel()
	file := protodesc.ToFileDescriptorProto(find[protoreflect.MessageDescriptor](t, sink(t), "sink.v1.Presence").ParentFile())
	good := protowire.AppendBytes(protowire.AppendTag(nil, validateNumber, protowire.BytesType),
		[]byte{0xca, 0x01, 0x02, 0x08, 0x03}) // part of a field
	for _, raw := range [][]byte{
		{0xff}, {0x3a, 0x80, 0x49}, good, append(good, 0xff, 0xff),
		protowire.AppendBytes(protowire.AppendTag(nil, validateNumber, protowire.BytesType), []byte{0xff, 0xff, 0xff}),
		protowire.AppendVarint(protowire.AppendTag(nil, validateNumber, protowire.VarintType), 7),
		protowire.AppendBytes(protowire.AppendTag(nil, fieldBehaviorNumber, protowire.BytesType), []byte{0xff}),
	} {
		bad := proto.CloneOf(file)
		for _, m := range bad.GetMessageType() {
			m.Options = &descriptorpb.MessageOptions{}
			m.Options.ProtoReflect().SetUnknown(slices.Clone(raw))
			for _, f := range m.GetField() {
				f.Options = &descriptorpb.FieldOptions{}
				f.Options.ProtoReflect().SetUnknown(slices.Clone(raw))
			}
			for _, o := range m.GetOneofDecl() {
				o.Options = &descriptorpb.OneofOptions{}
				o.Options.ProtoReflect().SetUnknown(slices.Clone(raw))
			}
		}
		fd, err := protodesc.FileOptions{AllowUnresolvable: true}.New(bad, protoregistry.GlobalFiles)
		if err != nil {
			t.Fatal(err)
		}
		for i := range fd.Messages().Len() {
			schemas(t, fd.Messages().Get(i), Options{})
			schemas(t, fd.Messages().Get(i), Options{Profile: Full})
		}
	}
}

// sound checks a schema without the time that a validator takes.
func sound(t *testing.T, d protoreflect.Descriptor, s Schema, err error, limit int, profile Profile) {
	t.Helper()
	if err != nil || len(s.JSON) > limit || !json.Valid(s.JSON) {
		t.Fatalf("%s: %v, %d bytes of %d: %s", d.FullName(), err, len(s.JSON), limit, s.JSON)
	}
	if profile == Portable {
		for _, p := range portable(s.JSON) {
			t.Errorf("%s: %s", d.FullName(), p)
		}
	}
}

// FuzzDescriptor renders whatever protodesc takes for a file.
func FuzzDescriptor(f *testing.F) {
	sink(f).RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		b, err := proto.Marshal(protodesc.ToFileDescriptorProto(fd))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		return true
	})
	whole := find[protoreflect.MessageDescriptor](f, ruledFiles(f), "rules.v1.Whole").ParentFile()
	rules := protodesc.ToFileDescriptorProto(whole)
	all := rules.GetMessageType()
	for some := range slices.Chunk(all, 12) {
		rules.MessageType = some
		b, err := proto.Marshal(rules)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 64<<10 {
			t.Skip("size alone is tested elsewhere")
		}
		var file descriptorpb.FileDescriptorProto
		if proto.Unmarshal(b, &file) != nil {
			t.Skip("no file descriptor")
		}
		fd, err := protodesc.FileOptions{AllowUnresolvable: true}.New(&file, protoregistry.GlobalFiles)
		if err != nil {
			t.Skip("a file that no registry takes")
		}
		var renderers []*Renderer
		for _, profile := range []Profile{Portable, Full} {
			r := New(Options{Profile: profile, DescribeTool: "describe_type"})
			renderers = append(renderers, r, r.Within(MinMaxBytes))
		}
		for _, r := range renderers {
			for i := range min(fd.Messages().Len(), 16) {
				md := fd.Messages().Get(i)
				in, err := r.Input(md)
				sound(t, md, in, err, r.opts.maxBytes(), r.opts.Profile)
				out, err := r.Output(md)
				sound(t, md, out, err, r.opts.maxBytes(), r.opts.Profile)
				one, err := r.Type(md)
				sound(t, md, one, err, TypeMaxBytes, r.opts.Profile)
			}
			for i := range min(fd.Enums().Len(), 16) {
				one, err := r.Type(fd.Enums().Get(i))
				sound(t, fd.Enums().Get(i), one, err, TypeMaxBytes, Full)
			}
		}
		for i := range fd.Services().Len() {
			for j := range fd.Services().Get(i).Methods().Len() {
				m := fd.Services().Get(i).Methods().Get(j)
				if Description(m) == "" || Title(m) == "" || !json.Valid(Annotations(m)) {
					t.Errorf("%s: %q %q %s", m.FullName(), Description(m), Title(m), Annotations(m))
				}
			}
		}
	})
}

// TestOptionsFromReflection reads options that are unknown fields, as they are
// in descriptors that came by reflection.
func TestOptionsFromReflection(t *testing.T) {
	t.Parallel()
	var set descriptorpb.FileDescriptorSet
	seen := map[string]bool{}
	var add func(fd protoreflect.FileDescriptor)
	add = func(fd protoreflect.FileDescriptor) {
		if seen[fd.Path()] {
			return
		}
		seen[fd.Path()] = true
		for i := range fd.Imports().Len() {
			add(fd.Imports().Get(i).FileDescriptor)
		}
		set.File = append(set.File, protodesc.ToFileDescriptorProto(fd))
	}
	compiled := sink(t)
	compiled.RangeFiles(func(fd protoreflect.FileDescriptor) bool { add(fd); return true })
	b, err := proto.Marshal(&set)
	if err != nil {
		t.Fatal(err)
	}
	set.Reset()
	if err := (proto.UnmarshalOptions{Resolver: new(protoregistry.Types)}).Unmarshal(b, &set); err != nil {
		t.Fatal(err)
	}
	reflected, err := protodesc.NewFiles(&set)
	if err != nil {
		t.Fatal(err)
	}
	for _, md := range messages(compiled) {
		in, out := schemas(t, md, Options{})
		in2, out2 := schemas(t, find[protoreflect.MessageDescriptor](t, reflected, string(md.FullName())), Options{})
		if string(in) != string(in2) || string(out) != string(out2) {
			t.Errorf("%s differs:\n%s\n%s\n%s\n%s", md.FullName(), in, in2, out, out2)
		}
	}
	const service = "sink.v1.SinkService"
	a := find[protoreflect.ServiceDescriptor](t, compiled, service).Methods()
	r := find[protoreflect.ServiceDescriptor](t, reflected, service).Methods()
	for i := range a.Len() {
		if x, y := Annotations(a.Get(i)), Annotations(r.Get(i)); string(x) != string(y) {
			t.Errorf("%s: %s, reflected %s", a.Get(i).Name(), x, y)
		}
	}
}
