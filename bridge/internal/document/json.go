package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// cleanJSON replaces comments and trailing commas by spaces, so that offsets
// stay, and reports whether an object or array begins.
func cleanJSON(data []byte) (clean []byte, begins bool) {
	clean = bytes.Clone(data)
	comma, first := -1, byte(0)
	for i := 0; i < len(clean); {
		switch c := clean[i]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			i++
		case c == '/' && i+1 < len(clean) && (clean[i+1] == '/' || clean[i+1] == '*'):
			i = blank(clean, i)
		default:
			if first == 0 {
				first = c
			}
			if comma >= 0 && (c == '}' || c == ']') {
				clean[comma] = ' '
			}
			comma = -1
			switch c {
			case ',':
				comma = i
				i++
			case '"':
				i = stringEnd(clean, i)
			default:
				i++
			}
		}
	}
	return clean, first == '{' || first == '['
}

// blank replaces a comment by spaces and returns where it ends.
func blank(data []byte, i int) int {
	end := len(data)
	if data[i+1] == '/' {
		if n := bytes.IndexByte(data[i:], '\n'); n >= 0 {
			end = i + n
		}
	} else if n := bytes.Index(data[i+2:], []byte("*/")); n >= 0 {
		end = i + 2 + n + 2
	}
	for ; i < end; i++ {
		if data[i] != '\n' && data[i] != '\r' {
			data[i] = ' '
		}
	}
	return end
}

// stringEnd returns the offset behind a string.
func stringEnd(data []byte, i int) int {
	for i++; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"', '\n':
			return i + 1
		}
	}
	return len(data)
}

// json reads JSON.
func (p *parser) json(data []byte) *Node {
	d := &jsonReader{parser: p, data: data, places: newPlaces(data), tokens: json.NewDecoder(bytes.NewReader(data))}
	d.tokens.UseNumber()
	root, err := d.value(1)
	if err == nil {
		if _, err = d.tokens.Token(); errors.Is(err, io.EOF) {
			return root
		}
		if err == nil {
			err = errors.New("there is more text after the end of the value")
		}
	}
	if errors.Is(err, errFault) {
		return nil
	}
	offset := d.tokens.InputOffset()
	text := err.Error()
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = syntax.Offset - 1
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		offset, text = int64(len(data)), "the text ends too early"
	}
	line, column := d.places.of(int(offset))
	p.fault(line, column, "not valid JSON: %s", text)
	return nil
}

// errFault is the error after a fault that has been reported.
var errFault = errors.New("reported")

type jsonReader struct {
	*parser

	data   []byte
	places *places
	tokens *json.Decoder
}

// next returns the next token and where it begins.
func (d *jsonReader) next() (token json.Token, line, column int, err error) {
	at := int(d.tokens.InputOffset())
	for at < len(d.data) && strings.IndexByte(" \t\r\n,:", d.data[at]) >= 0 {
		at++
	}
	token, err = d.tokens.Token()
	line, column = d.places.of(at)
	return token, line, column, err
}

func (d *jsonReader) value(depth int) (*Node, error) {
	token, line, column, err := d.next()
	if err != nil {
		return nil, err
	}
	if !d.node(line, column, depth) {
		return nil, errFault
	}
	n := &Node{Line: line, Column: column}
	switch t := token.(type) {
	case nil:
		n.Kind = Null
	case bool:
		n.Kind, n.Text = Bool, "false"
		if t {
			n.Text = "true"
		}
	case json.Number:
		n.Kind, n.Text = Number, t.String()
	case string:
		n.Kind, n.Text = String, t
	case json.Delim:
		if t == '[' {
			n.Kind = List
			err = d.list(n, depth)
		} else {
			n.Kind = Map
			err = d.object(n, depth)
		}
	}
	return n, err
}

func (d *jsonReader) list(n *Node, depth int) error {
	for d.tokens.More() {
		item, err := d.value(depth + 1)
		if err != nil {
			return err
		}
		n.Items = append(n.Items, item)
	}
	_, err := d.tokens.Token()
	return err
}

func (d *jsonReader) object(n *Node, depth int) error {
	seen := make(map[string]*Member)
	for d.tokens.More() {
		token, line, column, err := d.next()
		if err != nil {
			return err
		}
		key, _ := token.(string) // the decoder allows nothing else
		value, err := d.value(depth + 1)
		if err != nil {
			return err
		}
		d.add(n, seen, &Member{Key: key, Line: line, Column: column, Value: value})
	}
	_, err := d.tokens.Token()
	return err
}
