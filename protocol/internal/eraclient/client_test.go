package eraclient_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/ways"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/stdio"
)

// script is a server on a pair of pipes that answers each request by a
// function, in a goroutine of its own.
func script(f func(say func(string), id json.RawMessage, method, line string)) func(context.Context, io.Reader, io.Writer) error {
	return func(_ context.Context, in io.Reader, out io.Writer) error {
		var (
			mu sync.Mutex
			wg sync.WaitGroup
		)
		defer wg.Wait()
		for lines := bufio.NewScanner(in); lines.Scan(); {
			var m struct {
				ID     json.RawMessage
				Method string
			}
			line := lines.Text()
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				return err
			}
			wg.Go(func() {
				f(func(text string) {
					mu.Lock()
					defer mu.Unlock()
					fmt.Fprintln(out, text)
				}, m.ID, m.Method, line)
			})
		}
		return nil
	}
}

func result(id json.RawMessage, body string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, body)
}

func unknown(id json.RawMessage) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"m"}}`, id)
}

const discovered = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}`

// TestSlowModern: a modern server that takes long to start is taken for a
// legacy one, refuses initialize, and is asked again.
func TestSlowModern(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		starts := 0
		serve := script(func(say func(string), id json.RawMessage, method, _ string) {
			<-time.After(max(0, 30*time.Second-time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))))
			switch method {
			case "server/discover":
				say(result(id, discovered))
			case "initialize":
				say(unknown(id))
			case "tools/call":
				say(result(id, `{"resultType":"complete","era":"modern"}`))
			}
		})
		c, err := stdio.NewClient(stdio.ClientConfig{Dial: func(context.Context) (io.ReadWriteCloser, error) {
			starts++
			return ways.Dial(serve, ways.All), nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		got, _ := ask(t, c, request("tools/call", `{"name":"x"}`))
		if got != `complete {"era":"modern"}` || starts != 1 {
			t.Errorf("%s after %d starts", got, starts)
		}
	})
}

// TestHungServer: whoever waits, waits no longer than it wants to.
func TestHungServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		serve := script(func(func(string), json.RawMessage, string, string) {})
		c, err := stdio.NewClient(stdio.ClientConfig{Dial: func(context.Context) (io.ReadWriteCloser, error) { return ways.Dial(serve, ways.All), nil }})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		begin := time.Now()
		got, _ := ask(t, c, request("tools/call", `{"name":"x"}`))
		if got != "error: the MCP server did not answer initialize in time: no answer to initialize" || time.Since(begin) != 70*time.Second {
			t.Errorf("%s after %v", got, time.Since(begin))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin = time.Now()
		if _, err := c.Handle(ctx, request("tools/call", `{"name":"x"}`), protocol.Discard); err == nil || time.Since(begin) != time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
	})
}

// TestAttribution: on a channel, a server's request goes to the caller whose
// call is the only one under way, or who makes all of them, and to nobody
// where it could be the wrong one.
func TestAttribution(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		callers []string // addresses
		asked   bool
		want    string
	}{
		"one":     {[]string{"192.0.2.1:1"}, true, `"action":"accept"`},
		"same":    {[]string{"192.0.2.1:1", "192.0.2.1:2"}, true, `"action":"accept"`},
		"several": {[]string{"192.0.2.1:1", "192.0.2.2:1"}, false, "calls of several callers are under way, and the request does not say to which it belongs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				answered := make(chan string, 1)
				var (
					mu    sync.Mutex
					calls []json.RawMessage
				)
				serve := script(func(say func(string), id json.RawMessage, method, line string) {
					switch method {
					case "server/discover":
						say(unknown(id))
					case "initialize":
						say(result(id, `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`))
					case "tools/call":
						mu.Lock()
						calls = append(calls, id)
						all := len(calls) == len(tt.callers)
						mu.Unlock()
						if all {
							say(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?"}}`)
						}
					case "":
						answered <- line
						mu.Lock()
						defer mu.Unlock()
						for _, id := range calls {
							say(result(id, `{"done":true}`))
						}
					}
				})
				c, err := stdio.NewClient(stdio.ClientConfig{Dial: func(context.Context) (io.ReadWriteCloser, error) { return ways.Dial(serve, ways.All), nil }})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				var wg sync.WaitGroup
				asked := 0
				for _, addr := range tt.callers {
					wg.Go(func() {
						r := request("tools/call", `{"name":"x"}`, capabilities(anything))
						r.Caller = protocol.NewCaller(t.Context(), "http", nil, addr)
						res, err := c.Handle(t.Context(), r, protocol.Discard)
						if err == nil && res.Type == protocol.ResultInputRequired {
							mu.Lock()
							asked++
							mu.Unlock()
							var in input
							if err := json.Unmarshal(res.Body, &in); err != nil {
								t.Error(err)
							}
							for key := range in.Requests {
								r.Params = json.RawMessage(retry("x", in.State, key, `{"action":"accept"}`))
							}
							res, err = c.Handle(t.Context(), r, protocol.Discard)
						}
						if err != nil || string(res.Body) != `{"done":true}` {
							t.Errorf("%v, %v", res, err)
						}
					})
				}
				wg.Wait()
				if got := <-answered; !strings.Contains(got, tt.want) || (asked == 1) != tt.asked {
					t.Errorf("the server hears %s; %d were asked", got, asked)
				}
			})
		})
	}
}

// TestParkedTimeout: a call whose caller does not answer is cancelled.
func TestParkedTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cancelled := make(chan time.Time, 1)
		serve := script(func(say func(string), id json.RawMessage, method, _ string) {
			switch method {
			case "server/discover":
				say(unknown(id))
			case "initialize":
				say(result(id, `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`))
			case "tools/call":
				for i := range 3 {
					say(fmt.Sprintf(`{"jsonrpc":"2.0","id":"q%d","method":"elicitation/create","params":{"message":"?"}}`, i))
				}
				say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q1"}}`)
			case "notifications/cancelled":
				cancelled <- time.Now()
			}
		})
		c, err := stdio.NewClient(stdio.ClientConfig{Dial: func(context.Context) (io.ReadWriteCloser, error) { return ways.Dial(serve, ways.All), nil }})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		begin := time.Now()
		res, err := c.Handle(t.Context(), request("tools/call", `{"name":"x"}`, capabilities(anything)), protocol.Discard)
		if err != nil || res.Type != protocol.ResultInputRequired {
			t.Fatalf("%v, %v", res, err)
		}
		var in input
		if err := json.Unmarshal(res.Body, &in); err != nil || len(in.Requests) != 2 {
			t.Errorf("asked for %s", res.Body) // all at once, without the one taken back
		}
		if d := (<-cancelled).Sub(begin); d.Round(time.Second) != 5*time.Minute {
			t.Errorf("cancelled after %v", d)
		}
		got, _ := ask(t, c, request("tools/call", retry("x", in.State, "q0", `{}`), capabilities(anything)))
		if got != "error: requestState was not given to this caller for this request (code -32602)" && !strings.Contains(got, "expired") {
			t.Error(got)
		}
	})
}

// TestURLElicitation: the error of 2025-11-25 becomes what 2026-07-28 has.
func TestURLElicitation(t *testing.T) {
	t.Parallel()
	n := 0
	serve := script(func(say func(string), id json.RawMessage, method, _ string) {
		switch method {
		case "server/discover":
			say(unknown(id))
		case "initialize":
			say(result(id, `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`))
		case "tools/call":
			if n++; n < 3 {
				say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32042,"message":"m","data":{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://x","message":"go"}]}}}`, id))
			} else {
				say(result(id, `{"done":true}`))
			}
		}
	})
	c, err := stdio.NewClient(stdio.ClientConfig{Dial: func(context.Context) (io.ReadWriteCloser, error) { return ways.Dial(serve, ways.All), nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	url := capabilities(`{"elicitation":{"url":{}}}`)
	for _, tt := range []struct {
		params, want string
		edit         func(*protocol.Meta)
	}{
		{`{"name":"x"}`, `input_required {"inputRequests":{"url0":{"method":"elicitation/create","params":{"mode":"url","elicitationId":"e","url":"https://x","message":"go"}}}}`, url},
		{`{"name":"x"}`, "error: the client has not declared a capability that this request needs (code -32021)", capabilities(`{"elicitation":{}}`)},
		{`{"name":"x","inputResponses":{"url0":{"action":"accept"}}}`, `complete {"done":true}`, url},
	} {
		if got, _ := ask(t, c, request("tools/call", tt.params, tt.edit)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.params, got, tt.want)
		}
	}
}

// TestSharedSubscription: a resource is subscribed to once, for as long as
// anybody listens.
func TestSharedSubscription(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var (
			mu   sync.Mutex
			seen []string
		)
		serve := script(func(say func(string), id json.RawMessage, method, line string) {
			switch method {
			case "server/discover":
				say(unknown(id))
			case "initialize":
				say(result(id, `{"protocolVersion":"2025-11-25","capabilities":{"resources":{"subscribe":true,"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}`))
			case "resources/subscribe", "resources/unsubscribe":
				mu.Lock()
				seen = append(seen, method)
				mu.Unlock()
				if strings.Contains(line, "refused") {
					say(unknown(id))
					return
				}
				say(result(id, `{}`))
				say(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"test://a/below"}}`)
			}
		})
		c, err := stdio.NewClient(stdio.ClientConfig{Dial: func(context.Context) (io.ReadWriteCloser, error) { return ways.Dial(serve, ways.All), nil }})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		listen := func() (notes, func()) {
			ctx, cancel := context.WithCancel(t.Context())
			n := make(notes, 10)
			done := make(chan struct{})
			go func() {
				defer close(done)
				if _, err := c.Handle(ctx, request("subscriptions/listen", `{"notifications":{"resourcesListChanged":true,"toolsListChanged":true,"resourceSubscriptions":["test://a","test://refused","test://a"]}}`), n); err == nil {
					t.Error("the subscription ended well")
				}
			}()
			if ack := <-n; string(ack.Params) != `{"notifications":{"resourcesListChanged":true,"resourceSubscriptions":["test://a"]}}` {
				t.Errorf("acknowledged %s", ack.Params)
			}
			return n, func() {
				cancel()
				<-done
				synctest.Wait()
			}
		}
		first, endFirst := listen()
		if note := <-first; string(note.Params) != `{"uri":"test://a/below"}` {
			t.Errorf("updated %s", note.Params)
		}
		_, endSecond := listen()
		endFirst()
		endSecond()
		_, endThird := listen()
		endThird()
		mu.Lock()
		defer mu.Unlock()
		const on, off = "resources/subscribe", "resources/unsubscribe"
		// Refused ones are asked for by everybody anew.
		if want := []string{on, on, on, off, on, on, off}; !slices.Equal(seen, want) {
			t.Errorf("seen %q, want %q", seen, want)
		}
	})
}
