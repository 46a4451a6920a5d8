package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/internal/samejson"
)

// question is a request of revision 2026-07-28.
type question struct{ method, params string }

// ask asks a question, and returns the messages of the answer.
func (q question) ask(t *testing.T, url string) [][]byte {
	t.Helper()
	params := strings.TrimSuffix(q.params, "}")
	if params != "{" {
		params += ","
	}
	params += `"_meta":{"progressToken":"p","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/logLevel":"debug",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"sampling":{},"roots":{},"elicitation":{"form":{}}}}}`
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":"q","method":%q,"params":%s}`, q.method, params)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	mcpjson.SetHeaders(r.Header, q.method, json.RawMessage(params))
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.Header.Get("Content-Type") != "text/event-stream" {
		return [][]byte{all}
	}
	var messages [][]byte
	for line := range bytes.Lines(all) {
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok && len(bytes.TrimSpace(data)) > 0 {
			messages = append(messages, data)
		}
	}
	return messages
}

// everything asks for all that the reference server has.
func everything(t *testing.T, url string) []question {
	t.Helper()
	all := []question{
		{"server/discover", `{}`},
		{"tools/list", `{}`}, {"tools/list", `{"cursor":"none"}`},
		{"prompts/list", `{}`}, {"resources/list", `{}`}, {"resources/templates/list", `{}`},
		{"tools/call", `{"name":"none"}`}, {"prompts/get", `{"name":"none"}`}, {"resources/read", `{"uri":"test://none"}`},
		{"resources/read", `{"uri":"test://template/1/data"}`},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"test_prompt_with_arguments"},"argument":{"name":"arg1","value":"p"}}`},
	}
	for _, list := range []struct{ method, member, key, ask, arguments string }{
		{"tools/list", "tools", "name", "tools/call", `{}`},
		{"prompts/list", "prompts", "name", "prompts/get", `{"arg1":"a","arg2":"b","resourceUri":"test://x"}`},
		{"resources/list", "resources", "uri", "resources/read", ""},
	} {
		var answer struct {
			Result map[string]json.RawMessage
		}
		messages := question{list.method, `{}`}.ask(t, url)
		var things []map[string]any
		if json.Unmarshal(messages[0], &answer) != nil || json.Unmarshal(answer.Result[list.member], &things) != nil || len(things) == 0 {
			t.Fatalf("%s: %s", list.method, messages)
		}
		for _, thing := range things {
			name := fmt.Sprint(thing[list.key])
			if name == "test_tool_with_progress" {
				continue // it answers with its progress token, which is each hop's own
			}
			all = append(all, question{list.ask, fmt.Sprintf(`{%q:%q}`, list.key, name)})
			if list.arguments != "" {
				all = append(all, question{list.ask, fmt.Sprintf(`{%q:%q,"arguments":%s}`, list.key, name, list.arguments)})
			}
		}
	}
	return all
}

// requestState matches the state of a call that waits for input. A bridge seals it,
// so that it is good for this caller and this call only.
var requestState = regexp.MustCompile(`"requestState":"[^"]+"`)

// TestSameAnswers asks the reference server for all that it has, by itself and
// through one bridge and two: every message is the same, to the last member, but
// for what a bridge has sealed.
func TestSameAnswers(t *testing.T) {
	t.Parallel()
	direct := startReference(t, true)
	one := serve(t, direct)
	address := strings.TrimSuffix(strings.TrimPrefix(one, "http"), "/mcp")
	two, tunnel := serve(t, "mcp+grpc"+address), serve(t, "tunnel+grpc"+address)
	for _, q := range everything(t, direct) {
		want := q.ask(t, direct)
		for name, url := range map[string]string{"one bridge": one, "two bridges": two, "the tunnel": tunnel} {
			got := q.ask(t, url)
			same := len(got) == len(want)
			for i := range want {
				same = same && samejson.Equal(unsealed(got[i]), unsealed(want[i]))
			}
			if !same {
				t.Errorf("%s %s through %s:\n%s\nwant\n%s", q.method, q.params, name, bytes.Join(got, nil), bytes.Join(want, nil))
			}
		}
	}
}

func unsealed(message []byte) []byte {
	return requestState.ReplaceAll(message, []byte(`"requestState":"sealed"`))
}

// TestForgedState makes up the state of a call, which the reference server would
// not notice.
func TestForgedState(t *testing.T) {
	t.Parallel()
	bridge := serve(t, startReference(t, true))
	q := question{"tools/call", `{"name":"test_simple_text","requestState":"forged","inputResponses":{"a":{"action":"accept"}}}`}
	if got := bytes.Join(q.ask(t, bridge), nil); !bytes.Contains(got, []byte(`"code":-32602`)) {
		t.Errorf("got %s, want the error -32602", got)
	}
}
