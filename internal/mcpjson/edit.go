// Package mcpjson takes requests, results and notifications of MCP apart and
// puts them together, as raw JSON: what is not touched stays as it was, byte by
// byte. It is for both sides of every transport.
package mcpjson

import (
	"encoding/json"
	"slices"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// Object is a JSON object under construction: an empty one is "{" and what
// Add appends. It exists because messages stay raw bytes.
type Object struct{ dst []byte }

// Add appends a member.
func (o *Object) Add(key string, value []byte) {
	if o.dst == nil {
		o.dst = []byte{'{'}
	} else {
		o.dst = append(o.dst, ',')
	}
	o.dst = append(jsontok.AppendString(o.dst, key), ':')
	o.dst = append(o.dst, value...)
}

// Empty reports whether nothing has been added.
func (o *Object) Empty() bool { return o.dst == nil }

// JSON returns the object.
func (o *Object) JSON() json.RawMessage {
	if o.dst == nil {
		return json.RawMessage(`{}`)
	}
	return append(o.dst, '}')
}

// Array is a JSON array under construction. The zero value is an empty one.
type Array struct{ dst []byte }

// Add appends a value.
func (a *Array) Add(value []byte) {
	a.next(len(value))
	a.dst = append(a.dst, value...)
}

// AddString appends a string.
func (a *Array) AddString(s string) {
	a.next(len(s))
	a.dst = jsontok.AppendString(a.dst, s)
}

// next makes ready for a value of about n bytes.
func (a *Array) next(n int) {
	const around = 4 // a comma, quotes and the end
	sep := byte(',')
	if a.dst == nil {
		sep = '['
	}
	a.dst = append(slices.Grow(a.dst, n+around), sep)
}

// Empty reports whether nothing has been added.
func (a *Array) Empty() bool { return a.dst == nil }

// JSON returns the array.
func (a *Array) JSON() json.RawMessage {
	if a.dst == nil {
		return json.RawMessage(`[]`)
	}
	return append(a.dst, ']')
}

// Split returns the object raw without the members that take wants, each of
// which it has handed to take.
func Split(raw json.RawMessage, take func(key string, value []byte) bool) (json.RawMessage, error) {
	if raw == nil {
		return nil, nil
	}
	var (
		rest  Object
		taken bool
	)
	err := jsontok.Object(raw, func(key, value []byte) error {
		if take(string(key), value) {
			taken = true
		} else {
			rest.Add(string(key), value)
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case !taken:
		return raw, nil
	}
	return rest.JSON(), nil
}

// Set returns the valid object raw, or an empty one where it is nil, with one
// member set to value: in its place if it is there, else at the end.
func Set(raw json.RawMessage, name string, value []byte) json.RawMessage {
	var o Object
	found := false
	// raw is valid, and the visitor returns no error.
	_ = jsontok.Object(raw, func(key, old []byte) error {
		if string(key) == name {
			old, found = value, true
		}
		o.Add(string(key), old)
		return nil
	})
	if !found {
		o.Add(name, value)
	}
	return o.JSON()
}

// Replace returns the valid object raw with the value of one member replaced, if
// it has that member.
func Replace(raw json.RawMessage, name string, value []byte) json.RawMessage {
	var o Object
	// raw is valid, and the visitor returns no error.
	_ = jsontok.Object(raw, func(key, old []byte) error {
		if string(key) == name {
			old = value
		}
		o.Add(string(key), old)
		return nil
	})
	return o.JSON()
}

// With returns the valid object raw, which has no such member, with one more.
func With(raw json.RawMessage, name string, value []byte) json.RawMessage {
	var o Object
	// raw is valid, and the visitor returns no error.
	_ = jsontok.Object(raw, func(key, old []byte) error {
		o.Add(string(key), old)
		return nil
	})
	o.Add(name, value)
	return o.JSON()
}

// OrEmpty returns raw if it is an object, else an empty one.
func OrEmpty(raw json.RawMessage) json.RawMessage {
	if jsontok.KindOf(raw) != jsontok.KindObject {
		return json.RawMessage("{}")
	}
	return raw
}
