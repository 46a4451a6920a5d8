// Package samejson tells whether two texts are the same JSON, in the sense in
// which the bridge keeps JSON. It is for tests.
package samejson

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"math/big"
	"slices"
	"strings"
)

// Equal reports whether two texts are the same JSON, but for white space, the
// order of members, the spelling of strings and of numbers, and the alphabet and
// padding of base64. Numbers are the same only if they are so exactly, and
// members of the same name are those that come in the same order. Texts that are
// no JSON are the same as none.
func Equal(a, b []byte) bool {
	x, okX := parse(a)
	y, okY := parse(b)
	return okX && okY && same(x, y)
}

// member is one of an object. An object is a list of them, for names may occur
// twice.
type member struct {
	name  string
	value any
}

func parse(text []byte) (any, bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	v, err := value(d)
	if err != nil {
		return nil, false
	}
	_, err = d.Token()
	return v, err == io.EOF //nolint:errorlint // the decoder does not wrap it
}

func value(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := value(d)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	case json.Delim('{'):
		object := []member{}
		for d.More() {
			token, err := d.Token()
			if err != nil {
				return nil, err
			}
			name, _ := token.(string) // the decoder takes nothing else
			v, err := value(d)
			if err != nil {
				return nil, err
			}
			object = append(object, member{name, v})
		}
		_, err = d.Token()
		slices.SortStableFunc(object, func(a, b member) int { return strings.Compare(a.name, b.name) })
		return object, err
	default:
		return token, nil
	}
}

func same(a, b any) bool {
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, same)
	case []member:
		b, ok := b.([]member)
		return ok && slices.EqualFunc(a, b, func(a, b member) bool { return a.name == b.name && same(a.value, b.value) })
	case json.Number:
		b, ok := b.(json.Number)
		return ok && (a == b || sameNumber(a.String(), b.String()))
	case string:
		b, ok := b.(string)
		return ok && (a == b || sameBase64(a, b))
	default:
		return a == b
	}
}

// sameNumber does not compare numbers with long exponents, which would cost
// memory: those are the same only as texts.
func sameNumber(a, b string) bool {
	const longest = 1000
	for _, s := range []string{a, b} {
		_, exp, ok := strings.Cut(strings.ToLower(zeroed(s)), "e")
		if !ok {
			continue
		}
		n, ok := new(big.Int).SetString(strings.TrimPrefix(exp, "+"), 10)
		if !ok || n.CmpAbs(big.NewInt(longest)) > 0 {
			return false
		}
	}
	x, okX := new(big.Rat).SetString(zeroed(a))
	y, okY := new(big.Rat).SetString(zeroed(b))
	return okX && okY && x.Cmp(y) == 0
}

// zeroed returns 0 for a zero with any exponent.
func zeroed(s string) string {
	mantissa, _, _ := strings.Cut(strings.ToLower(s), "e")
	if strings.Trim(mantissa, "-0.") == "" {
		return "0"
	}
	return s
}

func sameBase64(a, b string) bool {
	x, okX := unbase64(a)
	y, okY := unbase64(b)
	return okX && okY && bytes.Equal(x, y)
}

func unbase64(s string) ([]byte, bool) {
	s = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(s, "="))
	out, err := base64.RawStdEncoding.Strict().DecodeString(s)
	return out, err == nil
}
