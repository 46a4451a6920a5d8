package schema

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/customoption"
)

// Numbers of google.api.field_behavior and of its values.
const (
	fieldBehaviorNumber = 1052
	behaviorRequired    = 2
	behaviorOutputOnly  = 3
	behaviorInputOnly   = 4
)

// Numbers of google.api.http and of the members of HttpRule.
const (
	httpNumber     = 72295728
	httpRuleGet    = 2
	httpRulePut    = 3
	httpRulePost   = 4
	httpRuleDelete = 5
	httpRulePatch  = 6
	httpRuleCustom = 8
)

// Numbers of the extensions of buf.validate, which are the same on messages,
// oneofs and fields, and of its predefined rules.
const (
	validateNumber   = 1159
	predefinedNumber = 1160
)

// fieldOptions is what the options of a field say to us.
type fieldOptions struct {
	// From google.api.field_behavior.
	required, outputOnly, inputOnly bool
	// rules are the encoded buf.validate.FieldRules.
	rules []byte
}

func (o *fieldOptions) add(v uint64) {
	switch v {
	case behaviorRequired:
		o.required = true
	case behaviorOutputOnly:
		o.outputOnly = true
	case behaviorInputOnly:
		o.inputOnly = true
	}
}

// travels reports whether JSON of the direction may have the field.
func (o fieldOptions) travels(dir direction) bool {
	switch dir {
	case input:
		return !o.outputOnly
	case output:
		return !o.inputOnly
	default:
		return true
	}
}

func readFieldOptions(fd protoreflect.FieldDescriptor) fieldOptions {
	var o fieldOptions
	customoption.Each(fd, func(f customoption.Field) {
		switch {
		case f.Number == validateNumber && f.Type == protowire.BytesType:
			o.rules = append(o.rules, f.Bytes...) // parts of a message merge
		case f.Number != fieldBehaviorNumber:
		case f.Type == protowire.VarintType:
			o.add(f.Value)
		case f.Type == protowire.BytesType: // packed
			for data := f.Bytes; len(data) > 0; {
				v, n := protowire.ConsumeVarint(data)
				if n < 0 {
					return
				}
				o.add(v)
				data = data[n:]
			}
		}
	})
	return o
}

// extensionBytes returns the encoded message of an extension in the options of
// d, or nil.
func extensionBytes(d protoreflect.Descriptor, extension protowire.Number) []byte {
	var b []byte
	customoption.Each(d, func(f customoption.Field) {
		if f.Number == extension && f.Type == protowire.BytesType {
			b = append(b, f.Bytes...)
		}
	})
	return b
}

// httpVerb returns the HTTP method of google.api.http's main binding, or
// "". Additional bindings are other ways to the same method.
func httpVerb(md protoreflect.MethodDescriptor) string {
	verb := ""
	customoption.Each(md, func(f customoption.Field) {
		if f.Number != httpNumber || f.Type != protowire.BytesType {
			return
		}
		for rule := range customoption.Fields(f.Bytes) {
			if rule.Type != protowire.BytesType {
				continue
			}
			switch rule.Number { // members of a oneof: the last one counts
			case httpRuleGet:
				verb = "GET"
			case httpRulePut:
				verb = "PUT"
			case httpRulePost:
				verb = "POST"
			case httpRuleDelete:
				verb = "DELETE"
			case httpRulePatch:
				verb = "PATCH"
			case httpRuleCustom:
				verb = "CUSTOM"
			}
		}
	})
	return verb
}

// deprecated reports whether the option "deprecated" of d is set.
func deprecated(d protoreflect.Descriptor) bool {
	o, ok := d.Options().(interface{ GetDeprecated() bool })
	return ok && o.GetDeprecated()
}
