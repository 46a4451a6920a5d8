package mcpjson

import (
	"encoding/json"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// maxPages bounds how many pages of one list are read.
const maxPages = 100

// EachPage asks for the pages of a list one after the other, until ask fails, there
// are no more, the server repeats a cursor, or there have been a hundred. ask
// gets the params of each request, and returns the body of its result.
func EachPage(ask func(params json.RawMessage) (body json.RawMessage, err error)) error {
	params := json.RawMessage(`{}`)
	seen := make(map[string]bool)
	for range maxPages {
		body, err := ask(params)
		if err != nil {
			return err
		}
		cursor, ok := jsontok.Lookup(body, "nextCursor")
		if !ok || jsontok.KindOf(cursor) != jsontok.KindString || seen[string(cursor)] {
			return nil
		}
		seen[string(cursor)] = true
		var o Object
		o.Add("cursor", cursor)
		params = o.JSON()
	}
	return nil
}
