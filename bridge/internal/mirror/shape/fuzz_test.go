package shape_test

import (
	"testing"
)

// FuzzResponses holds that what a server answers stays what it is, or is refused
// as a whole.
func FuzzResponses(f *testing.F) {
	for _, text := range []string{
		`{"resultType":"complete","content":[{"type":"text","text":"a"},{"type":"?"}],"structuredContent":null,"isError":false,"x":1}`,
		`{"content":[{"type":"resource","resource":{"uri":"a","blob":"AA==","text":""}}],"_meta":{"a":1e400,"b":[]}}`,
		`{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"mode":"url"}},"b":{"method":"roots/list"}}}`,
		`{"resultType":"task","taskId":"t","status":"working","ttlMs":null}`,
		`{"tools":[{"name":"a","inputSchema":{"type":"object","properties":{"b":{"minimum":9007199254740993}}},"icons":[]}],"nextCursor":"","ttlMs":0}`,
		`{"tools":null,"cacheScope":"team"}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, name := range []string{"CallToolResponse", "ListToolsResponse", "GetTaskResponse"} {
			md := message(name)
			if _, err := read(md, text); err != nil {
				continue // no object, or one with a member twice
			}
			if err := checkIdentity(md, text, true); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
