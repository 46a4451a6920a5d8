package validate

import (
	"slices"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// reach returns md and all message types that it refers to, or nil if none of
// them has rules. It is false if there are more than MaxTypes.
func (v *Validator) reach(md protoreflect.MessageDescriptor) (types []protoreflect.MessageDescriptor, ok bool) {
	seen := map[protoreflect.MessageDescriptor]bool{md: true}
	types = []protoreflect.MessageDescriptor{md}
	found := false
	for i := 0; i < len(types); i++ {
		found = found || v.hasRules(types[i])
		fields := types[i].Fields()
		for j := range fields.Len() {
			sub := fields.Get(j).Message()
			if sub == nil || seen[sub] {
				continue
			}
			if len(types) == MaxTypes {
				return nil, false
			}
			seen[sub] = true
			types = append(types, sub)
		}
	}
	if !found {
		return nil, true
	}
	return types, true
}

// hasRules reports whether the type itself has rules.
func (v *Validator) hasRules(md protoreflect.MessageDescriptor) bool {
	has, ok := v.ruled.Load(md)
	if !ok {
		has, _ = v.ruled.LoadOrStore(md, hasRules(md))
	}
	return has == true
}

func hasRules(md protoreflect.MessageDescriptor) bool {
	if r, _ := protovalidate.ResolveMessageRules(md); r != nil {
		return true
	}
	for i := range md.Oneofs().Len() {
		if r, _ := protovalidate.ResolveOneofRules(md.Oneofs().Get(i)); r != nil {
			return true
		}
	}
	for i := range md.Fields().Len() {
		if r, _ := protovalidate.ResolveFieldRules(md.Fields().Get(i)); r != nil {
			return true
		}
	}
	return false
}

// expressions appends the CEL expressions of a message type, those of its
// fields and those of the predefined rules that they use. size is that of the
// largest set of rules that they read, in bytes.
func (v *Validator) expressions(dst []string, md protoreflect.MessageDescriptor) (all []string, size int) {
	if r, _ := protovalidate.ResolveMessageRules(md); r != nil {
		dst = append(dst, r.GetCelExpression()...)
		dst = appendRules(dst, r.GetCel())
	}
	for i := range md.Fields().Len() {
		if r, _ := protovalidate.ResolveFieldRules(md.Fields().Get(i)); r != nil {
			dst = v.fieldExpressions(dst, r, 0)
			size = max(size, proto.Size(r))
		}
	}
	return dst, size
}

func appendRules(dst []string, rules []*validate.Rule) []string {
	for _, r := range rules {
		dst = append(dst, r.GetExpression())
	}
	return dst
}

// maxRuleDepth bounds how deep rules for items, keys and values are followed.
// protovalidate applies two levels at most.
const maxRuleDepth = 4

func (v *Validator) fieldExpressions(dst []string, r *validate.FieldRules, depth int) []string {
	if r == nil || depth > maxRuleDepth {
		return dst
	}
	dst = append(dst, r.GetCelExpression()...)
	dst = appendRules(dst, r.GetCel())
	m := r.ProtoReflect()
	if kind := m.WhichOneof(m.Descriptor().Oneofs().ByName("type")); kind != nil {
		dst = v.predefined(dst, m.Get(kind).Message())
	}
	dst = v.fieldExpressions(dst, r.GetRepeated().GetItems(), depth+1)
	dst = v.fieldExpressions(dst, r.GetMap().GetKeys(), depth+1)
	return v.fieldExpressions(dst, r.GetMap().GetValues(), depth+1)
}

// predefined appends the expressions of the extensions that are set in rules,
// such as buf.validate.StringRules.
func (v *Validator) predefined(dst []string, rules protoreflect.Message) []string {
	add := func(fd protoreflect.FieldDescriptor) {
		if r, _ := protovalidate.ResolvePredefinedRules(fd); r != nil {
			dst = appendRules(dst, r.GetCel())
		}
	}
	rules.Range(func(fd protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		if fd.IsExtension() {
			add(fd)
		}
		return true
	})
	var seen []protowire.Number
	for b := []byte(rules.GetUnknown()); len(b) > 0; {
		number, _, n := protowire.ConsumeField(b)
		if n < 0 {
			break
		}
		b = b[n:]
		if slices.Contains(seen, number) || len(seen) > MaxExpressions {
			continue
		}
		seen = append(seen, number)
		if typ, err := v.types.FindExtensionByNumber(rules.Descriptor().FullName(), number); err == nil {
			add(typ.TypeDescriptor())
		}
	}
	return dst
}
