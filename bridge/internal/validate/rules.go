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

// reading is what there is to run in the rules of a message type.
type reading struct {
	types    resolver
	texts    []string // CEL expressions
	patterns []string // regular expressions of rules that are no CEL
	size     int      // of the largest set of rules of a field, in bytes
}

// read reads the rules of a message type, of its fields, and the predefined
// rules that they use.
func (v *Validator) read(md protoreflect.MessageDescriptor) *reading {
	r := &reading{types: v.types}
	if rules, _ := protovalidate.ResolveMessageRules(md); rules != nil {
		r.texts = append(r.texts, rules.GetCelExpression()...)
		r.rules(rules.GetCel())
	}
	for i := range md.Fields().Len() {
		if rules, _ := protovalidate.ResolveFieldRules(md.Fields().Get(i)); rules != nil {
			r.field(rules, 0)
			r.size = max(r.size, proto.Size(rules))
		}
	}
	return r
}

func (r *reading) rules(rules []*validate.Rule) {
	for _, rule := range rules {
		r.texts = append(r.texts, rule.GetExpression())
	}
}

// maxRuleDepth bounds how deep rules for items, keys and values are followed.
// protovalidate applies two levels at most.
const maxRuleDepth = 4

func (r *reading) field(rules *validate.FieldRules, depth int) {
	if rules == nil || depth > maxRuleDepth {
		return
	}
	r.texts = append(r.texts, rules.GetCelExpression()...)
	r.rules(rules.GetCel())
	for _, pattern := range []string{rules.GetString().GetPattern(), rules.GetBytes().GetPattern()} {
		if pattern != "" {
			r.patterns = append(r.patterns, pattern)
		}
	}
	m := rules.ProtoReflect()
	if kind := m.WhichOneof(m.Descriptor().Oneofs().ByName("type")); kind != nil {
		r.predefined(m.Get(kind).Message())
	}
	r.field(rules.GetRepeated().GetItems(), depth+1)
	r.field(rules.GetMap().GetKeys(), depth+1)
	r.field(rules.GetMap().GetValues(), depth+1)
}

// predefined reads the extensions that are set in rules, such as
// buf.validate.StringRules.
func (r *reading) predefined(rules protoreflect.Message) {
	add := func(fd protoreflect.FieldDescriptor) {
		if p, _ := protovalidate.ResolvePredefinedRules(fd); p != nil {
			r.rules(p.GetCel())
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
		if typ, err := r.types.FindExtensionByNumber(rules.Descriptor().FullName(), number); err == nil {
			add(typ.TypeDescriptor())
		}
	}
}
