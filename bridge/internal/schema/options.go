package schema

import (
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Options are read from their encoding. A custom option is a known extension
// in a linked-in file, a dynamic one in a compiled file and an unknown field
// in a file that came by reflection; encoded, the three are the same.

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
	eachOption(fd, func(num protowire.Number, typ protowire.Type, v uint64, data []byte) {
		switch {
		case num == validateNumber && typ == protowire.BytesType:
			o.rules = append(o.rules, data...) // parts of a message merge
		case num != fieldBehaviorNumber:
		case typ == protowire.VarintType:
			o.add(v)
		case typ == protowire.BytesType: // packed
			for len(data) > 0 {
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
	eachOption(d, func(num protowire.Number, typ protowire.Type, _ uint64, data []byte) {
		if num == extension && typ == protowire.BytesType {
			b = append(b, data...)
		}
	})
	return b
}

// httpVerb returns the HTTP method of google.api.http's main binding, or
// "". Additional bindings are other ways to the same method.
func httpVerb(md protoreflect.MethodDescriptor) string {
	verb := ""
	eachOption(md, func(num protowire.Number, typ protowire.Type, _ uint64, rule []byte) {
		if num != httpNumber || typ != protowire.BytesType {
			return
		}
		eachField(rule, func(num protowire.Number, typ protowire.Type, _ uint64, _ []byte) {
			if typ != protowire.BytesType {
				return
			}
			switch num { // members of a oneof: the last one counts
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
		})
	})
	return verb
}

// encodings are buffers for encoded options.
var encodings = sync.Pool{New: func() any { return new([]byte) }}

// eachOption calls f for the encoded options of d, as [eachField] does. What f
// is given is valid during the call only. Options that cannot be encoded count
// as none.
func eachOption(d protoreflect.Descriptor, f func(num protowire.Number, typ protowire.Type, v uint64, data []byte)) {
	opts := d.Options()
	if opts == nil || !opts.ProtoReflect().IsValid() {
		return
	}
	buf, ok := encodings.Get().(*[]byte)
	if !ok {
		return // the pool holds nothing else
	}
	b, err := proto.MarshalOptions{AllowPartial: true}.MarshalAppend((*buf)[:0], opts)
	if err == nil {
		eachField(b, f)
	}
	if cap(b) <= MaxMaxBytes {
		*buf = b
		encodings.Put(buf)
	}
}

// eachField calls f for the fields of an encoded message up to the first
// malformed one. v is set for varints and fixed-size values, data for
// length-delimited fields.
func eachField(b []byte, f func(num protowire.Number, typ protowire.Type, v uint64, data []byte)) {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return
		}
		b = b[n:]
		var v uint64
		var data []byte
		switch typ {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			data, n = protowire.ConsumeBytes(b)
		case protowire.Fixed32Type:
			var w uint32
			w, n = protowire.ConsumeFixed32(b)
			v = uint64(w)
		case protowire.Fixed64Type:
			v, n = protowire.ConsumeFixed64(b)
		default:
			n = protowire.ConsumeFieldValue(num, typ, b)
		}
		if n < 0 {
			return
		}
		f(num, typ, v, data)
		b = b[n:]
	}
}

// deprecated reports whether the option "deprecated" of d is set.
func deprecated(d protoreflect.Descriptor) bool {
	o, ok := d.Options().(interface{ GetDeprecated() bool })
	return ok && o.GetDeprecated()
}
