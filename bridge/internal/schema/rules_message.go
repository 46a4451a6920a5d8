package schema

import (
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// messageRules are the rules of a message as a whole.
type messageRules struct {
	text string
	// members are the fields in a oneof of the rules.
	members map[protoreflect.Name]bool
	// exact are the oneofs that JSON Schema can express.
	exact []group
}

// groups returns the oneofs whose members are all listed.
func (r messageRules) groups(listed map[string]bool) []group {
	var groups []group
	for _, g := range r.exact {
		whole := true
		for _, n := range g.names {
			whole = whole && listed[n]
		}
		if whole {
			groups = append(groups, g)
		}
	}
	return groups
}

func (c *cache) messageRules(md protoreflect.MessageDescriptor) messageRules {
	raw := extensionBytes(md, validateNumber)
	if len(raw) == 0 {
		return messageRules{}
	}
	rules := new(validate.MessageRules)
	if !unmarshalRules(raw, rules) {
		return messageRules{}
	}
	says := messageRules{members: make(map[protoreflect.Name]bool)}
	texts := celTexts(rules.GetCel(), rules.GetCelExpression())
	for i, one := range rules.GetOneof() {
		var names []string
		exact := true
		for _, name := range one.GetFields() {
			says.members[protoreflect.Name(name)] = true
			fd := md.Fields().ByName(protoreflect.Name(name))
			if fd == nil {
				exact = false
				continue
			}
			// Without presence, a zero value counts as unset, which a schema
			// cannot tell.
			exact = exact && fd.HasPresence()
			names = append(names, strings.Map(visible, fd.JSONName()))
		}
		if len(names) == 0 || i >= maxCustom {
			continue
		}
		lead := pick(one.GetRequired(), "Exactly one must be set of ", "At most one may be set of ")
		texts = append(texts, lead+sample(names, sampleValues, maxRule-len(lead))+".")
		if exact && len(names) <= maxGroup {
			says.exact = append(says.exact, group{names: names, required: one.GetRequired()})
		}
	}
	says.text = cut(join(texts...), maxRules)
	return says
}

func oneofRequired(od protoreflect.OneofDescriptor) bool {
	raw := extensionBytes(od, validateNumber)
	rules := new(validate.OneofRules)
	return len(raw) > 0 && unmarshalRules(raw, rules) && rules.GetRequired()
}
