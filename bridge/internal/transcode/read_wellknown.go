package transcode

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

const (
	wantFieldMask = `field names such as "title,author.displayName"`
	wantAny       = `an object with the type in the member "@type", such as {"@type": "type.googleapis.com/package.Message"}, and the fields beside it`
)

func (r *reader) wellKnown(c *cursor, p *plan, depth int) {
	if r.opts.Exact {
		r.exactWellKnown(c, p, depth)
		return
	}
	r.readWellKnown(c, p, depth)
}

func (r *reader) readWellKnown(c *cursor, p *plan, depth int) {
	switch p.wkt {
	case wktAny:
		r.any(c, depth)
	case wktTimestamp:
		r.timestamp(c)
	case wktDuration:
		r.duration(c)
	case wktFieldMask:
		r.fieldMask(c, depth)
	case wktValue:
		r.value(c, p, depth)
	case wktStruct:
		r.mapping(c, &p.fields[0], depth)
	case wktListValue:
		if c, ok := r.nested(c, jsontok.KindArray, depth, "an array"); ok {
			r.elements(c, &p.fields[0], depth)
		}
	default:
		r.setField(c, &p.fields[0], depth)
	}
}

// value reads a google.protobuf.Value. What a string holds is never looked at.
func (r *reader) value(c *cursor, p *plan, depth int) {
	number := protowire.Number(1)
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
	r.setField(c, p.byNumber(number), depth)
}

// any reads a google.protobuf.Any.
func (r *reader) any(c *cursor, depth int) {
	c, ok := r.nested(c, jsontok.KindObject, depth, wantAny)
	if !ok {
		return
	}
	begin := *c
	url, found, ok := r.typeURL(*c)
	if !found {
		if c.enter() { // without members it is an Any that is empty
			*c = begin
			c.skip()
			r.report(Violation{Problem: "the type is missing", Expected: wantAny})
		}
		return
	}
	if !ok {
		c.skip()
		return
	}
	r.out = protowire.AppendString(protowire.AppendTag(r.out, 1, protowire.BytesType), url)
	mark := len(r.out)
	r.out = protowire.AppendTag(r.out, 2, protowire.BytesType)
	start := r.begin()
	if typ, err := r.findMessage(url); err == nil {
		r.partial++
		r.anyContents(c, r.plan(typ.Descriptor()), depth)
		r.partial--
	} else {
		contents, ok := rawAny(*c)
		if !ok {
			r.report(Violation{Problem: "unknown type in \"@type\"", Expected: "the full name of a message type that the service uses, after the last slash", Seen: describe(jsontok.AppendString(nil, url))})
		}
		c.skip()
		r.out = append(r.out, contents...)
	}
	if len(r.out) == start {
		r.out = r.out[:mark]
	} else {
		r.end(start)
	}
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

func (r *reader) anyContents(c *cursor, p *plan, depth int) {
	empty := p.desc.FullName() == "google.protobuf.Empty"
	if !p.inAnyValue() && !empty {
		if r.countMessage() {
			r.object(c, p, depth, object{inAny: true})
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
				r.message(c, p, depth+1)
			}
			seen = true
		default:
			r.unknown(c, name, slices.Values([]string{"value"}), 1)
		}
		r.path.pop()
	}
	if !seen && !r.full {
		r.report(Violation{Problem: `the member "value" is missing`, Expected: fmt.Sprintf("%s in it", p.expected())})
	}
}

// fieldMask reads a google.protobuf.FieldMask: a string, an array of paths, or
// the message as an object. Paths may be in snake_case.
func (r *reader) fieldMask(c *cursor, depth int) {
	if c.kind() == jsontok.KindString {
		if inner, ok := r.stringified(c, jsontok.KindArray, depth); ok {
			c = inner
		} else if inner, ok := r.stringified(c, jsontok.KindObject, depth); ok {
			c = inner
		}
	}
	switch c.kind() {
	case jsontok.KindString:
		r.maskPaths(c)
	case jsontok.KindArray:
		i := 0
		for more := c.enter(); more && !r.full; more = c.more() {
			r.path.push(step{index: i, kind: stepIndex})
			r.maskPaths(c)
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
					r.fieldMask(c, depth+1)
				}
			}
			r.path.pop()
		}
	default:
		r.wrong(c, "wrong type", wantFieldMask)
	}
}

// maskPaths reads a string with paths that are separated by commas.
func (r *reader) maskPaths(c *cursor) {
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
		if path, ok = r.checkPath(p, path); !ok {
			return
		}
		r.out = protowire.AppendString(protowire.AppendTag(r.out, 1, protowire.BytesType), path)
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
