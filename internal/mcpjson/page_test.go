package mcpjson_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
)

func TestEachPage(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, tt := range []struct {
		name  string
		pages []string // the last one is answered again and again, and none is an error
		asked []string
		err   error
	}{
		{"one page", []string{`{"tools":[]}`}, []string{`{}`}, nil},
		{"three", []string{`{"nextCursor":"a"}`, `{"nextCursor":"\u0062"}`, `{}`}, []string{`{}`, `{"cursor":"a"}`, `{"cursor":"\u0062"}`}, nil},
		{"no cursor", []string{`{"nextCursor":null}`}, []string{`{}`}, nil},
		{"a cursor again", []string{`{"nextCursor":"a"}`}, []string{`{}`, `{"cursor":"a"}`}, nil},
		{"an error", []string{`{"nextCursor":"a"}`, ``}, []string{`{}`, `{"cursor":"a"}`}, broken},
	} {
		var asked []string
		err := mcpjson.EachPage(func(params json.RawMessage) (json.RawMessage, error) {
			page := tt.pages[min(len(asked), len(tt.pages)-1)]
			asked = append(asked, string(params))
			if page == "" {
				return nil, broken
			}
			return json.RawMessage(page), nil
		})
		if !slices.Equal(asked, tt.asked) || !errors.Is(err, tt.err) {
			t.Errorf("%s: asked %q, error %v", tt.name, asked, err)
		}
	}
	n := 0
	err := mcpjson.EachPage(func(json.RawMessage) (json.RawMessage, error) {
		n++
		return fmt.Appendf(nil, `{"nextCursor":"%d"}`, n), nil
	})
	if n != 100 || err != nil {
		t.Errorf("%d pages of a list without end, error %v", n, err)
	}
}
