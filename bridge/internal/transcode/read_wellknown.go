package transcode

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

const (
	wantFieldMask = `field names such as "title,author.displayName"`
	wantAny       = `an object with the type in the member "@type", such as {"@type": "type.googleapis.com/package.Message"}, and the fields beside it`
)

func (r *reader) wellKnown(c *cursor, m protoreflect.Message, wkt wellKnown, depth int) {
	fields := m.Descriptor().Fields()
	switch wkt {
	case wktAny:
		r.any(c, m, depth)
	case wktTimestamp:
		r.timestamp(c, m)
	case wktDuration:
		r.duration(c, m)
	case wktFieldMask:
		r.fieldMask(c, m, depth)
	case wktValue:
		r.value(c, m, depth)
	case wktStruct:
		fd := fields.ByNumber(1)
		r.mapping(c, m.Mutable(fd).Map(), fd, depth)
	case wktListValue:
		if c, ok := r.nested(c, jsontok.KindArray, depth, "an array"); ok {
			fd := fields.ByNumber(1)
			r.elements(c, m.Mutable(fd).List(), fd, depth)
		}
	default:
		fd := fields.ByNumber(1)
		if v, ok := r.scalar(c, fd); ok {
			m.Set(fd, v)
		}
	}
}

// value reads a google.protobuf.Value. What a string holds is never looked at.
func (r *reader) value(c *cursor, m protoreflect.Message, depth int) {
	number := protoreflect.FieldNumber(1)
	switch c.kind() {
	case jsontok.KindNumber:
		number = 2
	case jsontok.KindString:
		number = 3
	case jsontok.KindBool:
		number = 4
	case jsontok.KindObject:
		number = 5
	case jsontok.KindArray:
		number = 6
	}
	r.setField(c, m, m.Descriptor().Fields().ByNumber(number), depth)
}

// any reads a google.protobuf.Any.
func (r *reader) any(c *cursor, m protoreflect.Message, depth int) {
	c, ok := r.nested(c, jsontok.KindObject, depth, wantAny)
	if !ok {
		return
	}
	start := *c
	url, found, ok := r.typeURL(*c)
	if !found {
		if c.enter() { // without members it is an Any that is empty
			*c = start
			c.skip()
			r.report(Violation{Problem: "the type is missing", Expected: wantAny})
		}
		return
	}
	if !ok {
		c.skip()
		return
	}
	fields := m.Descriptor().Fields()
	var contents []byte
	typ, err := r.codec.findMessage(url)
	if err != nil {
		if contents, ok = rawAny(*c); !ok {
			r.report(Violation{Problem: "unknown type in \"@type\"", Expected: "the full name of a message type that the service uses, after the last slash", Seen: describe(jsontok.AppendString(nil, url))})
		}
		c.skip()
	} else {
		em := typ.New()
		r.partial++
		r.anyContents(c, em, depth)
		r.partial--
		if len(r.violations) > 0 {
			return
		}
		contents, err = proto.MarshalOptions{Deterministic: true, AllowPartial: true}.Marshal(em.Interface())
		if err != nil {
			r.report(Violation{Problem: cleanText(err)})
		}
	}
	m.Set(fields.ByNumber(1), protoreflect.ValueOfString(url))
	m.Set(fields.ByNumber(2), protoreflect.ValueOfBytes(contents))
}

// typeURL looks ahead for the member "@type". It reports whether there is one,
// and false after it has reported a violation.
func (r *reader) typeURL(c cursor) (url string, found, ok bool) {
	for more := c.enter(); more; more = c.more() {
		name, _ := unquote(c.key())
		if name != "@type" {
			c.skip()
			continue
		}
		r.path.push(step{name: name})
		raw := c.skip()
		value, isString := unquote(raw)
		switch {
		case found:
			r.report(Violation{Problem: "the member occurs twice"})
		case !isString || value == "":
			r.report(Violation{Problem: "wrong type", Expected: `a string such as "type.googleapis.com/package.Message"`, Seen: describe(raw)})
		default:
			r.path.pop()
			url, found = value, true
			continue
		}
		r.path.pop()
		return "", true, false
	}
	return url, found, true
}

// rawAny returns the bytes of an Any that has the form in which unknown types
// are written: "value" in base64 and nothing else.
func rawAny(c cursor) (contents []byte, ok bool) {
	for more := c.enter(); more; more = c.more() {
		name, _ := unquote(c.key())
		raw := c.skip()
		switch name {
		case "@type":
		case "value":
			s, isString := unquote(raw)
			if contents, isString = decodeIf(isString, s); !isString || ok {
				return nil, false
			}
			ok = true
		default:
			return nil, false
		}
	}
	return contents, ok
}

func decodeIf(isString bool, s string) ([]byte, bool) {
	if !isString {
		return nil, false
	}
	return decodeBase64(s)
}

func (r *reader) anyContents(c *cursor, em protoreflect.Message, depth int) {
	md := em.Descriptor()
	empty := md.FullName() == "google.protobuf.Empty"
	if !inAnyValue(md) && !empty {
		if r.countMessage() {
			r.object(c, em, depth, true)
		}
		return
	}
	seen := empty
	for more := c.enter(); more && !r.full; more = c.more() {
		name, _ := unquote(c.key())
		r.path.push(step{name: name})
		switch name {
		case "@type":
			c.skip()
		case "value":
			if seen && !empty {
				c.skip()
				r.report(Violation{Problem: "the member occurs twice"})
			} else {
				r.message(c, em, depth+1)
			}
			seen = true
		default:
			r.unknown(c, name, slices.Values([]string{"value"}), 1)
		}
		r.path.pop()
	}
	if !seen && !r.full {
		r.report(Violation{Problem: `the member "value" is missing`, Expected: fmt.Sprintf("%s in it", expectedMessage(md))})
	}
}

// fieldMask reads a google.protobuf.FieldMask: a string, an array of paths, or
// the message as an object. Paths may be in snake_case.
func (r *reader) fieldMask(c *cursor, m protoreflect.Message, depth int) {
	if c.kind() == jsontok.KindString {
		if inner, ok := r.stringified(c, jsontok.KindArray, depth); ok {
			c = inner
		} else if inner, ok := r.stringified(c, jsontok.KindObject, depth); ok {
			c = inner
		}
	}
	list := m.Mutable(m.Descriptor().Fields().ByNumber(1)).List()
	switch c.kind() {
	case jsontok.KindString:
		r.maskPaths(c, list)
	case jsontok.KindArray:
		i := 0
		for more := c.enter(); more && !r.full; more = c.more() {
			r.path.push(step{index: i, kind: stepIndex})
			r.maskPaths(c, list)
			r.path.pop()
			i++
		}
	case jsontok.KindObject:
		seen := false
		for more := c.enter(); more && !r.full; more = c.more() {
			name, _ := unquote(c.key())
			r.path.push(step{name: name})
			switch {
			case name != "paths":
				r.unknown(c, name, slices.Values([]string{"paths"}), 1)
			case seen:
				c.skip()
				r.report(Violation{Problem: "the member occurs twice"})
			default:
				seen = true
				if c.kind() == jsontok.KindObject {
					r.wrong(c, "wrong type", "an array of field names")
				} else {
					r.fieldMask(c, m, depth+1)
				}
			}
			r.path.pop()
		}
	default:
		r.wrong(c, "wrong type", wantFieldMask)
	}
}

// maskPaths reads a string with paths that are separated by commas.
func (r *reader) maskPaths(c *cursor, list protoreflect.List) {
	raw := c.peek()
	s, ok := unquote(raw)
	if !ok {
		r.wrong(c, "wrong type", wantFieldMask)
		return
	}
	c.skip()
	if s = strings.TrimSpace(s); s == "" {
		return
	}
	for p := range strings.SplitSeq(s, ",") {
		p = strings.TrimSpace(p)
		path := maskPath(p)
		if path != "*" && !protoreflect.FullName(path).IsValid() {
			r.report(Violation{Problem: fmt.Sprintf("%q is no path of field names", clip(p, maxNameText)), Expected: wantFieldMask})
			return
		}
		list.Append(protoreflect.ValueOfString(path))
	}
}

// maskPath returns the path with proto names. A name with an underscore is one
// already.
func maskPath(p string) string {
	if !strings.Contains(p, "_") {
		return snakeCase(p)
	}
	names := strings.Split(p, ".")
	for i, name := range names {
		if !strings.Contains(name, "_") {
			names[i] = snakeCase(name)
		}
	}
	return strings.Join(names, ".")
}
