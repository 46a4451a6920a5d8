package jsonschema

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/mcp-bridge/mcp-bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// ErrRemote says that a reference leads out of the document.
var ErrRemote = errors.New("it leads out of the document, and nothing is fetched")

// Resolve returns the schema that a reference of the document leads to: the
// same one whenever it leads to the same place. It is an error if that is
// outside of the document, which matches [ErrRemote], or nowhere.
func (d *Document) Resolve(ref string) (*Schema, error) {
	fragment, local := d.fragment(ref)
	if !local {
		return nil, fmt.Errorf("$ref %q: %w", clip.Text(ref, maxShown), ErrRemote)
	}
	pointer, err := url.PathUnescape(fragment)
	if err != nil {
		return nil, fmt.Errorf("$ref %q: %w", clip.Text(ref, maxShown), err)
	}
	if pointer != "" && pointer[0] != '/' {
		at, ok := d.anchors[pointer]
		if !ok {
			return nil, fmt.Errorf("$ref %q: there is no such anchor", clip.Text(ref, maxShown))
		}
		pointer = at
	}
	if s, ok := d.found[pointer]; ok {
		return s, nil
	}
	raw, ok := d.at(pointer)
	if !ok {
		return nil, fmt.Errorf("$ref %q: there is nothing at that place", clip.Text(ref, maxShown))
	}
	s := d.schema(raw, pointer)
	if d.limited {
		return nil, &LimitError{fmt.Sprintf("it holds more than %d schemas", MaxSchemas)}
	}
	d.found[pointer] = s
	return s, nil
}

// fragment returns the part of a reference behind the #, and false if the part
// before it is not the document itself.
func (d *Document) fragment(ref string) (string, bool) {
	base, fragment, _ := strings.Cut(ref, "#")
	return fragment, base == "" || d.id != "" && base == strings.TrimSuffix(d.id, "#")
}

// at returns the text at a JSON pointer.
func (d *Document) at(pointer string) ([]byte, bool) {
	data := d.data
	if pointer == "" {
		return data, true
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		name := unescape(token)
		var found []byte
		switch jsontok.KindOf(data) {
		case jsontok.KindObject:
			found, _ = jsontok.Lookup(data, name)
		case jsontok.KindArray:
			if index, err := strconv.Atoi(name); err == nil {
				found = element(data, index)
			}
		}
		if found == nil {
			return nil, false
		}
		data = found
	}
	return data, true
}

func element(data []byte, index int) []byte {
	var found []byte
	_ = jsontok.Array(data, func(i int, v []byte) error { // ends at the element, with an error
		if i == index {
			found = v
			return errStop
		}
		return nil
	})
	return found
}

var (
	pointerEscapes   = strings.NewReplacer("~", "~0", "/", "~1")
	pointerUnescapes = strings.NewReplacer("~1", "/", "~0", "~")
)

func escape(name string) string   { return pointerEscapes.Replace(name) }
func unescape(name string) string { return pointerUnescapes.Replace(name) }

// Name returns the last part of a JSON pointer, unescaped.
func Name(pointer string) string {
	return unescape(pointer[strings.LastIndexByte(pointer, '/')+1:])
}
