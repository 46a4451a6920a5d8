package schema

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
)

// What the full profile adds to the portable one.

// maxGroup is the largest oneof that is written as a union.
const maxGroup = 64

// defName returns the name of a message in $defs, which needs no escapes in a
// reference.
func defName(md protoreflect.MessageDescriptor, lax bool) string {
	name := string(md.FullName())
	if len(name) > maxNameText || strings.ContainsFunc(name, func(r rune) bool {
		return r >= 0x80 || r != '.' && r != '_' && !isAlphanumeric(byte(r)) //nolint:gosec // the rune is ASCII
	}) {
		sum := sha256.Sum256([]byte(name))
		name = "m" + hex.EncodeToString(sum[:8])
	}
	if lax {
		name += "-unchecked"
	}
	return name
}

// unions returns the keywords that say of each group that at most one of its
// members is set, or exactly one.
func unions(groups []group) string {
	if len(groups) == 0 {
		return ""
	}
	var b strings.Builder
	if len(groups) > 1 {
		b.WriteString(`,"allOf":[`)
	}
	for i, g := range groups {
		switch {
		case len(groups) == 1:
			b.WriteByte(',')
		case i > 0:
			b.WriteString(`,{`)
		default:
			b.WriteByte('{')
		}
		var list strings.Builder
		for j, n := range g.names {
			if j > 0 {
				list.WriteByte(',')
			}
			list.WriteString(`{"required":[` + quote(n) + `]}`)
		}
		b.WriteString(`"oneOf":[` + list.String())
		if !g.required {
			b.WriteString(`,{"not":{"anyOf":[` + list.String() + `]}}`)
		}
		b.WriteByte(']')
		if len(groups) > 1 {
			b.WriteByte('}')
		}
	}
	if len(groups) > 1 {
		b.WriteByte(']')
	}
	return b.String()
}

// fullWellKnown refines the portable schema of a well-known type.
func fullWellKnown(name protoreflect.FullName, v *value, dir direction) *value {
	if dir == output {
		return v
	}
	w := *v
	switch _, isWrapper := wrapperKinds[name]; {
	case isWrapper:
		typ, rest := splitType(v.keywords)
		typ = strings.TrimPrefix(typ, `"type":`)
		w.keywords, w.rule = `"type":[`+typ+`,"null"]`+rest, withoutNull(v.rule)
	case name == "google.protobuf.Any":
		w.keywords += `,"properties":{"@type":{"type":"string","description":"The type URL."}}`
	case name == "google.protobuf.Empty":
		w.keywords += `,"additionalProperties":false`
	}
	return &w
}

// withoutNull returns the words of a wrapper without those about null.
func withoutNull(rule string) string { return strings.TrimSpace(strings.TrimSuffix(rule, nullText)) }

// defaultValue returns the default of a field as JSON, or "" where it has none
// or JSON cannot express it.
func defaultValue(fd protoreflect.FieldDescriptor, encoding transcode.Encoding) string {
	if !fd.HasDefault() || fd.IsList() || fd.Message() != nil {
		return ""
	}
	v := fd.Default()
	switch fd.Kind() {
	case protoreflect.EnumKind:
		ev := fd.DefaultEnumValue()
		if ev == nil {
			return ""
		}
		return quote(string(ev.Name()))
	case protoreflect.BoolKind:
		return strconv.FormatBool(v.Bool())
	case protoreflect.StringKind:
		if len(v.String()) > maxRule {
			return ""
		}
		return quote(v.String())
	case protoreflect.BytesKind:
		if len(v.Bytes()) > maxRule {
			return ""
		}
		return encoded(encoding, [][]byte{v.Bytes()})[0]
	default:
		s, ok := numberOf(fd.Kind()).json(v)
		if !ok {
			return ""
		}
		return s
	}
}
