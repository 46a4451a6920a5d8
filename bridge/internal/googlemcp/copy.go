package googlemcp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// converter copies messages of the service to those of mcp.v1 and back. It is
// immutable and used concurrently.
type converter struct {
	*codecs
	plans mapping
	// base64 undoes base64 where bytes are the text of it.
	base64 bool
}

func newConverter(methods []*method) (*converter, error) {
	c := &converter{}
	var err error
	if c.codecs, err = newCodecs(methods); err != nil {
		return nil, err
	}
	c.plans, err = newMapping(methods)
	return c, err
}

func (c *converter) planOf(google, mcp proto.Message) (*plan, error) {
	key := pair{google.ProtoReflect().Descriptor().FullName(), mcp.ProtoReflect().Descriptor().FullName()}
	p := c.plans[key]
	if p == nil {
		return nil, fmt.Errorf("googlemcp: %s does not stand for %s", key.google, key.mcp)
	}
	return p, nil
}

// toGoogle copies a message of mcp.v1 into one of the service.
func (c *converter) toGoogle(google, mcp proto.Message) error {
	p, err := c.planOf(google, mcp)
	if err != nil {
		return err
	}
	return p.copy(c, toGoogle, google.ProtoReflect(), mcp.ProtoReflect())
}

// toMCP copies a message of the service into one of mcp.v1.
func (c *converter) toMCP(mcp, google proto.Message) error {
	p, err := c.planOf(google, mcp)
	if err != nil {
		return err
	}
	return p.copy(c, toMCP, mcp.ProtoReflect(), google.ProtoReflect())
}

// direction says which message is copied to which.
type direction int

const (
	toGoogle direction = iota
	toMCP
)

func (p *plan) copy(c *converter, d direction, dst, src protoreflect.Message) error {
	for _, f := range p.fields {
		if err := f.copy(c, d, dst, src); err != nil {
			return err
		}
	}
	if p.rule[d] == nil {
		return nil
	}
	return p.rule[d](c, dst.Interface(), src.Interface())
}

func (f *field) copy(c *converter, d direction, dst, src protoreflect.Message) error {
	from, to := f.mcp, f.google
	if d == toMCP {
		from, to = to, from
	}
	switch {
	case from == nil: // the fields are those of the message itself
		return f.message.copy(c, d, dst.Mutable(to).Message(), src)
	case to == nil:
		return f.message.copy(c, d, dst, src.Get(from).Message())
	}
	for _, step := range f.path {
		if d == toGoogle {
			src = src.Get(step).Message() // an empty one, where there is none
		} else if src.Has(from) {
			dst = dst.Mutable(step).Message()
		}
	}
	switch {
	case !src.Has(from):
		return f.readJSON(c, d, dst, src)
	case from.IsMap():
		return f.copyMap(c, d, dst.Mutable(to).Map(), src.Get(from).Map())
	case from.IsList():
		return f.copyList(c, d, dst.Mutable(to).List(), src.Get(from).List())
	case f.message != nil:
		return f.message.copy(c, d, dst.Mutable(to).Message(), src.Get(from).Message())
	}
	if v, ok := f.value[d](c, src.Get(from)); ok {
		dst.Set(to, v)
	}
	return nil
}

func (f *field) copyMap(c *converter, d direction, to, from protoreflect.Map) (err error) {
	from.Range(func(key protoreflect.MapKey, v protoreflect.Value) bool {
		if f.message == nil {
			to.Set(key, v)
			return true
		}
		out := to.NewValue()
		to.Set(key, out)
		err = f.message.copy(c, d, out.Message(), v.Message())
		return err == nil
	})
	return err
}

func (f *field) copyList(c *converter, d direction, to, from protoreflect.List) error {
	for i := range from.Len() {
		if f.message == nil {
			if v, ok := f.value[d](c, from.Get(i)); ok {
				to.Append(v)
			}
			continue
		}
		pieces := []protoreflect.Message{from.Get(i).Message()}
		if d == toMCP {
			pieces = f.message.apart(pieces[0])
		}
		for _, one := range pieces {
			out := to.NewElement()
			if err := f.message.copy(c, d, out.Message(), one); err != nil {
				return err
			}
			if d == toMCP || len(f.message.apart(out.Message())) > 0 {
				to.Append(out)
			}
		}
	}
	return nil
}

// readJSON reads an object of mcp.v1 that is there as raw JSON. Other values have
// no place in the service.
func (f *field) readJSON(c *converter, d direction, dst, src protoreflect.Message) error {
	if d == toMCP || f.json == nil || !src.Has(f.json) {
		return nil
	}
	text := src.Get(f.json).Bytes()
	if jsontok.KindOf(text) != jsontok.KindObject {
		return nil
	}
	s, err := c.structOf(json.RawMessage(text))
	if err != nil {
		return err
	}
	dst.Set(f.google, protoreflect.ValueOfMessage(s.ProtoReflect()))
	return nil
}

// bytes returns the bytes of a field. Some servers put the text of base64 into
// it, which is then undone: a file is hardly ever nothing but letters and digits,
// as many as make whole bytes.
func (c *converter) bytes(data []byte) []byte {
	if !c.base64 || len(data) == 0 {
		return data
	}
	out := make([]byte, base64.StdEncoding.DecodedLen(len(data)))
	n, err := base64.StdEncoding.Strict().Decode(out, data)
	if err != nil {
		return data
	}
	return out[:n]
}

// objectOf returns the Struct in a Value, or nil.
func objectOf(v protoreflect.Message) *structpb.Struct {
	value, ok := v.Interface().(*structpb.Value)
	if !ok {
		return nil
	}
	return value.GetStructValue()
}
