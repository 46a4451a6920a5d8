// Package pgv turns the rules of protoc-gen-validate into those of protovalidate,
// so that nothing else has to know the former. The options are read by their
// numbers.
package pgv

import (
	"slices"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/customoption"
)

// Numbers of the options of protoc-gen-validate (validate/validate.proto), of
// fields, messages and oneofs, and of protovalidate's field option.
const (
	rulesNumber    = 1071 // of a field
	disabledNumber = 1071 // of a message
	ignoredNumber  = 1072 // of a message
	requiredNumber = 1071 // of a oneof

	protovalidate = 1159
)

// maxRuleDepth bounds rules for items in rules for items.
const maxRuleDepth = 4

// Convert returns fd with the rules of protoc-gen-validate as rules of
// protovalidate too, or fd itself if it has none. Schemas and checks know
// protovalidate only. A field or oneof that has both keeps what it says to
// protovalidate.
//
// protovalidate took over the numbers and the meaning of nearly all rules. What
// it has no counterpart for is left out: no_sparse, and ignore_empty of a field
// with presence together with all rules of that field, because protovalidate
// would check an empty value there. A message that is skipped or disabled is not
// checked.
func Convert(fd *descriptorpb.FileDescriptorProto) *descriptorpb.FileDescriptorProto {
	if !slices.ContainsFunc(fd.GetDependency(), declares) {
		return fd
	}
	out := proto.CloneOf(fd)
	c := converter{file: out}
	for _, m := range out.GetMessageType() {
		c.message(m)
	}
	if !c.changed {
		return fd
	}
	return out
}

// declares reports whether a file declares the options.
func declares(path string) bool {
	const file = "validate/validate.proto"
	return path == file || strings.HasSuffix(path, "/"+file) && !strings.HasSuffix(path, "buf/"+file)
}

// Used reports whether a file may have rules that [Convert] converts.
func Used(file protoreflect.FileDescriptor) bool {
	for i := range file.Imports().Len() {
		if declares(file.Imports().Get(i).Path()) {
			return true
		}
	}
	return false
}

type converter struct {
	file    *descriptorpb.FileDescriptorProto
	changed bool
}

func (c *converter) message(m *descriptorpb.DescriptorProto) {
	off := flag(m.GetOptions(), disabledNumber) || flag(m.GetOptions(), ignoredNumber)
	for _, f := range m.GetField() {
		c.field(f, off)
	}
	for _, o := range m.GetOneofDecl() {
		if !off && flag(o.GetOptions(), requiredNumber) && optionBytes(o.GetOptions(), protovalidate) == nil {
			proto.SetExtension(o.GetOptions(), validate.E_Oneof, validate.OneofRules_builder{Required: new(true)}.Build())
			c.changed = true
		}
	}
	for _, nested := range m.GetNestedType() {
		c.message(nested)
	}
}

// field converts the rules of a field. off is set where those of its message are
// disabled, and so are those inside of it.
func (c *converter) field(f *descriptorpb.FieldDescriptorProto, off bool) {
	if optionBytes(f.GetOptions(), protovalidate) != nil {
		return
	}
	var rules *validate.FieldRules
	if raw := optionBytes(f.GetOptions(), rulesNumber); raw != nil && !off {
		rules = fieldRules(raw, c.hasPresence(f), 0)
	}
	if off && isMessage(f) {
		rules = validate.FieldRules_builder{Ignore: validate.Ignore_IGNORE_ALWAYS.Enum()}.Build()
	}
	if rules == nil {
		return
	}
	if f.Options == nil {
		f.Options = &descriptorpb.FieldOptions{}
	}
	proto.SetExtension(f.GetOptions(), validate.E_Field, rules)
	c.changed = true
}

func isMessage(f *descriptorpb.FieldDescriptorProto) bool {
	t := f.GetType()
	return t == descriptorpb.FieldDescriptorProto_TYPE_MESSAGE || t == descriptorpb.FieldDescriptorProto_TYPE_GROUP
}

// hasPresence reports whether a field that is unset differs from one that is
// zero.
func (c *converter) hasPresence(f *descriptorpb.FieldDescriptorProto) bool {
	switch {
	case f.GetLabel() == descriptorpb.FieldDescriptorProto_LABEL_REPEATED:
		return false
	case f.OneofIndex != nil || isMessage(f):
		return true
	}
	switch c.file.GetSyntax() {
	case "proto3":
		return false
	case "editions":
		presence := c.file.GetOptions().GetFeatures().GetFieldPresence()
		if own := f.GetOptions().GetFeatures(); own != nil && own.FieldPresence != nil {
			presence = own.GetFieldPresence()
		}
		return presence != descriptorpb.FeatureSet_IMPLICIT
	}
	return true
}

// Numbers of the rules by type in both FieldRules, and of what is nested there.
const (
	bytesRules     = 15
	stringRules    = 14
	boolRules      = 13
	enumRules      = 16
	messageRules   = 17
	repeatedRules  = 18
	mapRules       = 19
	anyRules       = 20
	durationRules  = 21
	timestampRules = 22

	messageSkip     = 1
	messageRequired = 2
	typeRequired    = 1 // of any, duration and timestamp
)

// ruleType says which rules of a type mean the same to protovalidate by the same
// number, and which numbers PGV uses for what is not a rule of the type.
type ruleType struct {
	same        []protowire.Number
	ignoreEmpty protowire.Number
	required    bool               // typeRequired
	nested      []protowire.Number // FieldRules
}

func typeOf(number protowire.Number) (t ruleType, ok bool) {
	upTo := func(last protowire.Number) []protowire.Number {
		var list []protowire.Number
		for n := protowire.Number(1); n <= last; n++ {
			list = append(list, n)
		}
		return list
	}
	switch {
	case 1 <= number && number <= 12:
		return ruleType{same: upTo(7), ignoreEmpty: 8}, true
	case number == boolRules:
		return ruleType{same: upTo(1)}, true
	case number == stringRules:
		return ruleType{same: upTo(25), ignoreEmpty: 26}, true
	case number == bytesRules:
		return ruleType{same: upTo(13), ignoreEmpty: 14}, true
	case number == enumRules:
		return ruleType{same: upTo(4)}, true
	case number == repeatedRules:
		return ruleType{same: upTo(3), ignoreEmpty: 5, nested: []protowire.Number{4}}, true
	case number == mapRules:
		return ruleType{same: upTo(2), ignoreEmpty: 6, nested: []protowire.Number{4, 5}}, true
	case number == anyRules:
		return ruleType{same: []protowire.Number{2, 3}, required: true}, true
	case number == durationRules:
		return ruleType{same: []protowire.Number{2, 3, 4, 5, 6, 7, 8}, required: true}, true
	case number == timestampRules:
		return ruleType{same: []protowire.Number{2, 3, 4, 5, 6, 7, 8, 9}, required: true}, true
	}
	return ruleType{}, false
}

// fieldRules returns encoded validate.FieldRules of PGV as those of protovalidate,
// or nil if nothing is left of them. depth is how deep they are in rules for items.
func fieldRules(raw []byte, presence bool, depth int) *validate.FieldRules {
	var (
		number                      protowire.Number // of the type
		of                          []byte           // its rules
		skip, required, ignoreEmpty bool
	)
	for f := range customoption.Fields(raw) {
		if f.Type != protowire.BytesType {
			continue
		}
		if f.Number == messageRules {
			for m := range customoption.Fields(f.Bytes) {
				switch m.Number {
				case messageSkip:
					skip = m.Value != 0
				case messageRequired:
					required = m.Value != 0
				}
			}
			continue
		}
		typ, ok := typeOf(f.Number)
		if !ok {
			continue
		}
		if f.Number != number { // members of a oneof: the last one counts
			number, of, ignoreEmpty = f.Number, nil, false
		}
		for m := range customoption.Fields(f.Bytes) {
			switch {
			case slices.Contains(typ.same, m.Number):
				of = appendField(of, m)
			case m.Number == typ.ignoreEmpty && m.Type == protowire.VarintType:
				ignoreEmpty = m.Value != 0
			case typ.required && m.Number == typeRequired && m.Type == protowire.VarintType:
				required = m.Value != 0
			case slices.Contains(typ.nested, m.Number) && m.Type == protowire.BytesType && depth < maxRuleDepth:
				if sub := fieldRules(m.Bytes, false, depth+1); sub != nil {
					of = protowire.AppendTag(of, m.Number, protowire.BytesType)
					of = protowire.AppendBytes(of, marshalRules(sub))
				}
			}
		}
	}
	rules := &validate.FieldRules{}
	if of != nil && (!presence || !ignoreEmpty) {
		b := protowire.AppendTag(nil, number, protowire.BytesType)
		b = protowire.AppendBytes(b, of)
		// Extensions stay unknown: PGV has none.
		opts := proto.UnmarshalOptions{Resolver: new(protoregistry.Types)}
		if opts.Unmarshal(b, rules) != nil || hasUnknown(rules.ProtoReflect()) {
			return nil
		}
		if ignoreEmpty {
			rules.SetIgnore(validate.Ignore_IGNORE_IF_ZERO_VALUE)
		}
	}
	if required && depth == 0 {
		rules.SetRequired(true)
	}
	if skip {
		rules.SetIgnore(validate.Ignore_IGNORE_ALWAYS)
	}
	if proto.Size(rules) == 0 {
		return nil
	}
	return rules
}

// hasUnknown reports whether the rules of the type that is set have fields of
// another type than they should.
func hasUnknown(rules protoreflect.Message) bool {
	fd := rules.WhichOneof(rules.Descriptor().Oneofs().ByName("type"))
	return fd == nil || len(rules.Get(fd).Message().GetUnknown()) > 0
}

func marshalRules(rules *validate.FieldRules) []byte {
	b, err := proto.Marshal(rules)
	if err != nil { // text that is not UTF-8
		return nil
	}
	return b
}

// appendField appends a field as it was.
func appendField(b []byte, f customoption.Field) []byte {
	switch f.Type {
	case protowire.VarintType:
		return protowire.AppendVarint(protowire.AppendTag(b, f.Number, f.Type), f.Value)
	case protowire.Fixed32Type:
		return protowire.AppendFixed32(protowire.AppendTag(b, f.Number, f.Type), uint32(f.Value)) //nolint:gosec // it has 32 bits
	case protowire.Fixed64Type:
		return protowire.AppendFixed64(protowire.AppendTag(b, f.Number, f.Type), f.Value)
	case protowire.BytesType:
		return protowire.AppendBytes(protowire.AppendTag(b, f.Number, f.Type), f.Bytes)
	default: // a group, which no rule is
		return b
	}
}

// flag returns a boolean option of a message or oneof.
func flag(options proto.Message, number protowire.Number) bool {
	set := false
	customoption.EachOf(options, func(f customoption.Field) {
		if f.Number == number && f.Type == protowire.VarintType {
			set = f.Value != 0
		}
	})
	return set
}

// optionBytes returns a message among options, or nil.
func optionBytes(options proto.Message, number protowire.Number) []byte {
	var b []byte
	customoption.EachOf(options, func(f customoption.Field) {
		if f.Number == number && f.Type == protowire.BytesType {
			b = append(append(make([]byte, 0, len(b)+len(f.Bytes)), b...), f.Bytes...)
		}
	})
	return b
}
