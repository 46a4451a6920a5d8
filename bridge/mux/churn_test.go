package mux

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// TestSameNames: a replica that starts while an upstream is down serves the names that
// one serves which starts with all up.
func TestSameNames(t *testing.T) {
	t.Parallel()
	var lists []string
	for _, down := range []bool{false, true} {
		a, b := newServer("a", "echo", "one"), newServer("b", "echo", "a_echo")
		a.setDown(down)
		m := start(t, config(a, b))
		s := hear(t, m, request(protocol.MethodListen, `{"notifications":{"toolsListChanged":true}}`))
		s.next(acknowledged + `{"notifications":{"toolsListChanged":true}}`)
		list := toolNames(t, m, request(protocol.MethodListTools, `{}`))
		if down {
			if list != "b_echo b_a_echo" {
				t.Errorf("while a is down: %s", list)
			}
			a.setDown(false)
			s.next(protocol.NotificationToolsChanged)
			list = toolNames(t, m, request(protocol.MethodListTools, `{}`))
		}
		lists = append(lists, list)
	}
	if lists[0] != lists[1] || lists[0] != "a_echo a_one b_echo b_a_echo" {
		t.Errorf("%q", lists)
	}
}

// TestFailedCalls: a tool that answers HTTP 500 takes nothing down, and clients hear of
// no change.
func TestFailedCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newServer("a", "bad", "good")
		a.answer = func(_ context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
			if strings.Contains(string(r.Params), `"bad"`) {
				return nil, &protocol.UpstreamError{Kind: protocol.UpstreamUnavailable, HTTPStatus: 500, Message: "it failed"}
			}
			return nil, nil //nolint:nilnil // the server answers
		}
		for _, cfg := range []Config{config(a), config(a, newServer("b"))} {
			m := start(t, cfg)
			name := map[bool]string{true: "bad", false: "a_bad"}[len(cfg.Upstreams) == 1]
			s := hear(t, m, request(protocol.MethodListen, `{"notifications":{"toolsListChanged":true}}`))
			s.next(acknowledged + `{"notifications":{"toolsListChanged":true}}`)
			for range 10 {
				if got := ask(t, m, protocol.MethodCallTool, `{"name":"`+name+`"}`); !strings.HasSuffix(got, "it failed") {
					t.Error(got)
				}
			}
			synctest.Wait()
			if n := len(s.notes); n != 0 || m.Status()[0].Err != nil {
				t.Errorf("%d notifications, down: %v", n, m.Status()[0].Err)
			}
			m.Close()
		}
	})
}

// TestListCounts: lists are read once, whatever callers name.
func TestListCounts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(s *server)
		prefix Prefix
		most   int
	}{
		{"subscription", func(s *server) { s.cache = protocol.Cache{} }, PrefixAlways, 2},
		{"subscription, private", func(s *server) { s.cache = protocol.Cache{Private: true} }, PrefixAlways, 4},
		{"TTL", func(s *server) { s.silent = true }, PrefixAlways, 1},
		{"never, subscription", func(s *server) { s.cache = protocol.Cache{} }, PrefixNever, 2},
		{"never, TTL", func(s *server) { s.silent = true }, PrefixNever, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a, b := newServer("a", "one"), newServer("b", "two")
				tt.change(a)
				cfg := config(a, b)
				cfg.Prefix = tt.prefix
				m := start(t, cfg)
				name := map[Prefix]string{PrefixAlways: "a_one", PrefixNever: "one"}[tt.prefix]
				for i := range 100 {
					if i == 1 {
						synctest.Wait() // the subscription has been acknowledged
					}
					if got := toolNames(t, m, from(alice, protocol.MethodListTools, `{}`)); !strings.HasPrefix(got, name) {
						t.Fatal(got)
					}
					_ = do(t, m, from(alice, protocol.MethodCallTool, fmt.Sprintf(`{"name":"unknown%d"}`, i)))
					_ = do(t, m, from(alice, protocol.MethodReadResource, fmt.Sprintf(`{"uri":"a+a://%d"}`, i)))
					_ = do(t, m, from(alice, protocol.MethodGetPrompt, fmt.Sprintf(`{"name":"unknown%d"}`, i)))
					_ = do(t, m, from(alice, protocol.MethodComplete, `{"ref":{"type":"ref/resource","uri":"a+a://{x}"}}`))
				}
				if n := a.count(protocol.MethodListTools); n > tt.most {
					t.Errorf("%d lists of tools, want at most %d", n, tt.most)
				}
				for _, method := range []string{protocol.MethodListPrompts, protocol.MethodListResources, protocol.MethodListTemplates} {
					if n := a.count(method); n > 1 {
						t.Errorf("%d times %s", n, method)
					}
				}
			})
		})
	}
}

// TestFollow: what an upstream lists no more is forgotten, and what has moved is found
// where it is now.
func TestFollow(t *testing.T) {
	t.Parallel()
	a, b := newServer("a", "moves", "goes"), newServer("b", "stays")
	cfg := config(a, b)
	cfg.Prefix = PrefixNever
	m := start(t, cfg)
	s := hear(t, m, request(protocol.MethodListen, `{"notifications":{"toolsListChanged":true,"promptsListChanged":true}}`))
	s.next(acknowledged + `{"notifications":{"toolsListChanged":true,"promptsListChanged":true}}`)
	if got := toolNames(t, m, request(protocol.MethodListTools, `{}`)); got != "moves goes stays" {
		t.Fatal(got)
	}
	change := func(s *server, tools ...string) {
		s.mu.Lock()
		s.tools = tools
		s.mu.Unlock()
		s.changed <- &protocol.Notification{Method: protocol.NotificationToolsChanged}
	}
	change(a)
	s.next(protocol.NotificationToolsChanged)
	change(b, "stays", "moves")
	s.next(protocol.NotificationToolsChanged)
	if got := toolNames(t, m, request(protocol.MethodListTools, `{}`)); got != "stays moves" {
		t.Error(got)
	}
	for name, want := range map[string]string{
		"moves": `{"said":"b: tool moves"}`, "stays": `{"said":"b: tool stays"}`, "goes": `there is no tool "goes"; tools/list names those there are (code -32602)`,
	} {
		if got := ask(t, m, protocol.MethodCallTool, `{"name":"`+name+`"}`); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	// Tens of thousands of names that come and go leave nothing behind.
	for i := range 20 {
		names := make([]string, 500)
		for j := range names {
			names[j] = fmt.Sprintf("t%d_%d", i, j)
		}
		change(a, names...)
		s.next(protocol.NotificationToolsChanged)
		if got := strings.Count(toolNames(t, m, request(protocol.MethodListTools, `{}`)), " "); got != 501 {
			t.Fatalf("%d tools", got)
		}
	}
	x := m.snapshot.Load().indexOf(m.hub, listTools, eraModern)
	if len(x.owners) != 502 || len(a.last(protocol.MethodListTools).Params) == 0 {
		t.Errorf("%d names are remembered", len(x.owners))
	}
}

// TestTTL: without a subscription, a list is read again when its time is up, also for
// calls, but not by them.
func TestTTL(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := newServer("a", "one"), newServer("b")
		a.silent = true
		a.cache.TTLMillis = 1000
		cfg := config(a, b)
		cfg.Prefix = PrefixNever
		m := start(t, cfg)
		ask(t, m, protocol.MethodCallTool, `{"name":"one"}`)
		ask(t, m, protocol.MethodListTools, `{}`)
		a.mu.Lock()
		a.tools = []string{"two"}
		a.mu.Unlock()
		if got := ask(t, m, protocol.MethodCallTool, `{"name":"two"}`); !strings.HasPrefix(got, "there is no tool") {
			t.Error(got)
		}
		<-time.After(refreshPause + time.Second)
		ask(t, m, protocol.MethodCallTool, `{"name":"two"}`) // has the list read
		synctest.Wait()
		if got := ask(t, m, protocol.MethodCallTool, `{"name":"two"}`); got != `{"said":"a: tool two"}` {
			t.Error(got)
		}
		if n := a.count(protocol.MethodListTools); n != 2 {
			t.Errorf("%d lists", n)
		}
	})
}

// TestPrivate: a list that an upstream marks private, or shows only to callers with
// credentials, is each caller's own.
func TestPrivate(t *testing.T) {
	t.Parallel()
	for _, refuses := range []bool{false, true} {
		a := newServer("a")
		a.answer = func(_ context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
			if r.Method != protocol.MethodListTools {
				return nil, nil //nolint:nilnil // the server answers
			}
			if refuses && r.Caller.Principal.Internal() {
				return nil, &protocol.UpstreamError{Kind: protocol.UpstreamUnauthenticated, Message: "who are you?"}
			}
			return &protocol.Result{Body: json.RawMessage(`{"tools":[{"name":"for_` + r.Caller.Principal.Subject + `"}]}`), Cache: &protocol.Cache{TTLMillis: 60_000, Private: !refuses}}, nil
		}
		cfg := config(a, newServer("b"))
		cfg.Prefix = PrefixNever
		m := start(t, cfg)
		for range 10 {
			for _, p := range []*protocol.Principal{alice, bob} {
				if got := toolNames(t, m, from(p, protocol.MethodListTools, `{}`)); got != "for_"+p.Subject {
					t.Fatalf("%s is shown %s", p.Subject, got)
				}
				if got := do(t, m, from(p, protocol.MethodCallTool, `{"name":"for_`+p.Subject+`"}`)); got != `{"said":"a: tool for_`+p.Subject+`"}` {
					t.Fatal(got)
				}
			}
		}
		if got := do(t, m, from(alice, protocol.MethodCallTool, `{"name":"for_bob"}`)); !strings.HasPrefix(got, "there is no tool") {
			t.Error(got)
		}
		if n := a.count(protocol.MethodListTools); n > 6 {
			t.Errorf("%d lists", n)
		}
	}
}

// TestPrivateBound: private lists are forgotten, the ones used longest ago first.
func TestPrivateBound(t *testing.T) {
	t.Parallel()
	a := newServer("a", "one")
	a.cache.Private = true
	m := start(t, config(a, newServer("b")))
	for i := range 2 * maxPrivate {
		p := protocol.NewPrincipal(protocol.Principal{Method: protocol.AuthJWT, Subject: fmt.Sprint(i)})
		toolNames(t, m, from(p, protocol.MethodListTools, `{}`))
	}
	l := &m.snapshot.Load().byName["a"].lists
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.entries); n > maxPrivate+2 {
		t.Errorf("%d lists are kept", n)
	}
}

// TestFailingList: while the list of an upstream fails or hangs, calls go on, and the
// last list is served.
func TestFailingList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mode atomic.Value
		mode.Store("hang")
		a := newServer("a", "one")
		a.cache.TTLMillis = 0
		a.silent = true
		a.answer = func(ctx context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
			if r.Method == protocol.MethodListTools && mode.Load() == "hang" {
				<-ctx.Done()
				return nil, context.Cause(ctx)
			}
			if r.Method == protocol.MethodListTools && mode.Load() == "fail" {
				return nil, errors.New("no")
			}
			return nil, nil //nolint:nilnil // the server answers
		}
		cfg := config(a, newServer("b", "two"))
		cfg.Prefix = PrefixNever
		m := start(t, cfg)
		lists := func(want string, took time.Duration) {
			t.Helper()
			begun := time.Now()
			res, err := m.Handle(t.Context(), request(protocol.MethodListTools, `{}`), protocol.Discard)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(res.Body) + string(res.Meta); got != want || time.Since(begun) != took {
				t.Errorf("after %v: %s\nwant after %v: %s", time.Since(begun), got, took, want)
			}
		}
		calls := func(name, want string, took time.Duration) {
			t.Helper()
			begun := time.Now()
			if got := ask(t, m, protocol.MethodCallTool, `{"name":"`+name+`"}`); got != want || time.Since(begun) != took {
				t.Errorf("after %v: %s\nwant after %v: %s", time.Since(begun), got, took, want)
			}
		}
		const without = `{"io.github.mcp-bridge/unavailable":["a"]}`
		two := tool("two", "b")
		calls("two", `{"said":"b: tool two"}`, discoveryTimeout) // the first one has no list at all
		for range 3 {
			calls("two", `{"said":"b: tool two"}`, 0)
			calls("one", `there is no tool "one"; tools/list names those there are (code -32602)`, 0)
		}
		lists(`{"tools":[`+two+`]}`+without, answerTimeout)
		lists(`{"tools":[`+two+`]}`+without, lateTimeout)
		<-time.After(latePause)
		mode.Store("fail")
		lists(`{"tools":[`+two+`]}`+without, 0)
		mode.Store("good")
		lists(`{"tools":[`+tool("one", "a")+","+two+`]}`, 0)
		mode.Store("hang")
		calls("one", `{"said":"a: tool one"}`, 0)
		lists(`{"tools":[`+tool("one", "a")+","+two+`]}`, answerTimeout) // the last one
		calls("one", `{"said":"a: tool one"}`, 0)
	})
}

// TestHang: initialize waits two seconds for an upstream that hangs, and then declares
// what it may have.
func TestHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hang := func(ctx context.Context) (Server, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		for _, upstreams := range [][]Upstream{{{Name: "h", Open: hang}}, {{Name: "h", Open: hang}, newServer("b").upstream()}} {
			m, err := New(Config{Upstreams: upstreams})
			if err != nil {
				t.Fatal(err)
			}
			for _, took := range []time.Duration{discoveryTimeout, 0} {
				begun := time.Now()
				got := ask(t, m, protocol.MethodDiscover, `{}`)
				if !strings.Contains(got, `"prompts":{"listChanged":true},"completions":{}`) || time.Since(begun) != took {
					t.Errorf("after %v: %s", time.Since(begun), got)
				}
			}
			begun := time.Now()
			if down := m.Ready(t.Context()); down["h"] == nil || time.Since(begun) != openTimeout-discoveryTimeout {
				t.Errorf("down after %v: %v", time.Since(begun), down)
			}
			m.Close()
		}
	})
}

// TestPanic: a panic in an upstream is the error of one call, also where nobody waits
// for it.
func TestPanic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, method := range []string{
			protocol.MethodCallTool, protocol.MethodListTools, protocol.MethodListen, protocol.MethodDiscover, protocol.MethodReadResource, "open", "close", "resolve",
		} {
			a := newServer("a", "one")
			a.answer = func(_ context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
				if r.Method == method {
					panic("no")
				}
				return nil, nil //nolint:nilnil // the server answers
			}
			cfg := config(a, newServer("b", "two"))
			cfg.Guard = &rules{}
			cfg.Upstreams[0].Probe = time.Second
			opened := false
			cfg.Upstreams[0].Open = func(context.Context) (Server, error) {
				if method == "open" && !opened {
					opened = true
					panic("no")
				}
				resolve := func(context.Context, *protocol.Request) (*protocol.Resolution, error) {
					if method == "resolve" {
						panic("no")
					}
					return nil, nil //nolint:nilnil // it runs no RPC
				}
				return &resolvingCloser{resolving{server: a, resolve: resolve}, func() {
					if method == "close" {
						panic("no")
					}
				}}, nil
			}
			m := start(t, cfg)
			s := hear(t, m, request(protocol.MethodListen, `{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a+x:1"]}}`))
			_ = ask(t, m, protocol.MethodListTools, `{}`)
			called := ask(t, m, protocol.MethodCallTool, `{"name":"a_one"}`)
			if strings.Contains(called, "panicked") != (method == protocol.MethodCallTool || method == "resolve") {
				t.Errorf("%s: %s", method, called)
			}
			_ = ask(t, m, protocol.MethodReadResource, `{"uri":"a+a://1"}`)
			<-time.After(time.Minute) // of probes and attempts
			if got := ask(t, m, protocol.MethodCallTool, `{"name":"b_two"}`); got != `{"said":"b: tool two"}` {
				t.Errorf("%s: %s", method, got)
			}
			select {
			case err := <-s.done:
				t.Errorf("%s: the subscription has ended: %v", method, err)
				s.done <- err
			default:
			}
			m.Close()
		}
	})
}

// resolvingCloser is a resolving server that does something when it is closed.
type resolvingCloser struct {
	resolving

	close func()
}

func (c *resolvingCloser) Close() { c.close() }

// TestBackoff: the pauses between attempts grow, and start anew after a healthy period.
func TestBackoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newServer("a", "one")
		a.setDown(true)
		var tries []time.Duration
		begun := time.Now()
		var mu sync.Mutex
		up := a.upstream()
		up.Probe = time.Second
		first := true
		up.Open = func(ctx context.Context) (Server, error) {
			mu.Lock()
			defer mu.Unlock()
			if first {
				first = false
				return a, nil
			}
			return a.open(ctx)
		}
		m := start(t, Config{Upstreams: []Upstream{up}, MinPause: time.Second, MaxPause: 8 * time.Second})
		record := func(n int) []time.Duration {
			tries = nil
			begun = time.Now()
			for len(tries) < n {
				before := a.count(protocol.MethodDiscover)
				for a.count(protocol.MethodDiscover) == before {
					<-time.After(100 * time.Millisecond)
				}
				tries = append(tries, time.Since(begun).Round(time.Second))
				begun = time.Now()
			}
			return tries
		}
		if got := fmt.Sprint(record(6)); got != "[1s 2s 4s 8s 8s 8s]" {
			t.Errorf("attempts after %s", got)
		}
		a.setDown(false)
		<-time.After(2 * healthyPeriod)
		if m.Status()[0].Err != nil {
			t.Fatal(m.Status()[0].Err)
		}
		a.setDown(true)
		record(1) // the probe that fails, and the attempt that follows it at once
		if got := fmt.Sprint(record(3)); got != "[1s 2s 4s]" {
			t.Errorf("attempts after %s", got)
		}
	})
}

// TestProbe: an idle upstream that is gone is noticed.
func TestProbe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newServer("a", "one")
		cfg := config(a)
		cfg.Upstreams[0].Probe = 0
		m := start(t, cfg)
		a.setDown(true)
		<-time.After(DefaultProbe + time.Second)
		if st := m.Status()[0]; st.Up || !errors.Is(st.Err, errDown) {
			t.Errorf("%+v", st)
		}
		a.setDown(false)
		<-time.After(time.Second)
		if st := m.Status()[0]; !st.Up || st.Server != Server(a) {
			t.Errorf("%+v", st)
		}
	})
}

// TestSharedSubscription: the subscriptions of clients survive the end of the shared
// one, and of their own at the upstream.
func TestSharedSubscription(t *testing.T) {
	t.Parallel()
	a := newServer("a", "one")
	m := start(t, config(a, newServer("b")))
	s := hear(t, m, request(protocol.MethodListen, `{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a+x:1"]}}`))
	s.next(acknowledged + `{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a+x:1"]}}`)
	for range 3 {
		a.changed <- nil
		a.notify <- nil
		a.changed <- &protocol.Notification{Method: protocol.NotificationToolsChanged}
		s.next(protocol.NotificationToolsChanged)
		a.notify <- &protocol.Notification{Method: protocol.NotificationResourceUpdated, Params: json.RawMessage(`{"uri":"x:1"}`)}
		s.next(protocol.NotificationResourceUpdated + `{"uri":"a+x:1"}`)
	}
}

// TestCredentials: nobody's credentials are used after he has left.
func TestCredentials(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newServer("a", "one")
		m := start(t, config(a, newServer("b")))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = m.Handle(ctx, from(alice, protocol.MethodListen, `{"notifications":{"resourceSubscriptions":["a+x:1"]}}`), protocol.Discard)
		}()
		<-a.listens
		cancel()
		<-done
		a.mu.Lock()
		seen := len(a.seen)
		a.mu.Unlock()
		a.changed <- nil // has the shared subscription made again
		<-time.After(time.Hour)
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, r := range a.seen[seen:] {
			if !r.Caller.Principal.Internal() {
				t.Errorf("%s of %v", r.Method, r.Caller.Principal)
			}
		}
	})
}

// TestApply: what has not changed goes on, what has is replaced, and what is gone is
// closed once its calls have ended.
func TestApply(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		same, changed, gone, replaced := newServer("same", "x"), newServer("changed", "x"), newServer("gone", "x"), newServer("changed", "y")
		hold := make(chan struct{})
		gone.answer = func(_ context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
			if r.Method == protocol.MethodCallTool {
				<-hold
			}
			return nil, nil //nolint:nilnil // the server answers
		}
		m := start(t, config(same, changed, gone))
		s := hear(t, m, request(protocol.MethodListen, `{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["same+x:1","gone+x:1"]}}`))
		s.next(acknowledged + `{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["same+x:1","gone+x:1"]}}`)
		<-same.listens
		answered := make(chan string)
		go func() { answered <- ask(t, m, protocol.MethodCallTool, `{"name":"gone_x"}`) }()
		synctest.Wait()

		bad := config(same)
		bad.Upstreams[0].Name = "a.b"
		if err := m.Apply(bad); err == nil || toolNames(t, m, request(protocol.MethodListTools, `{}`)) != "changed_x gone_x same_x" {
			t.Errorf("a wrong configuration: %v", err)
		}
		next := config(same, replaced)
		next.Upstreams[0].Tools.Rename = map[string]string{"x": "z"}
		next.Upstreams[1].Version = "2"
		if err := m.Apply(next); err != nil {
			t.Fatal(err)
		}
		s.next(protocol.NotificationToolsChanged)
		if got := toolNames(t, m, request(protocol.MethodListTools, `{}`)); got != "changed_y same_z" {
			t.Error(got)
		}
		synctest.Wait()
		if same.opened != 1 || same.closes() != 0 || changed.closes() != 1 || replaced.opened != 1 || gone.closes() != 0 || len(same.listens) != 0 {
			t.Errorf("same %d %d, changed %d, replaced %d, gone %d", same.opened, same.closes(), changed.closes(), replaced.opened, gone.closes())
		}
		synctest.Wait()
		s.skip(protocol.NotificationToolsChanged) // the new one is there
		same.notify <- &protocol.Notification{Method: protocol.NotificationResourceUpdated, Params: json.RawMessage(`{"uri":"x:1"}`)}
		s.next(protocol.NotificationResourceUpdated + `{"uri":"same+x:1"}`)
		close(hold)
		if got := <-answered; got != `{"said":"gone: tool x"}` {
			t.Error(got)
		}
		synctest.Wait()
		if gone.closes() != 1 {
			t.Errorf("closed %d times", gone.closed)
		}
	})
}

// TestDrainTimeout: a call that does not end does not keep its upstream for ever.
func TestDrainTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := newServer("a", "x"), newServer("b")
		hold := make(chan struct{})
		a.answer = func(_ context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
			if r.Method == protocol.MethodCallTool {
				<-hold
			}
			return nil, nil //nolint:nilnil // the server answers
		}
		m := start(t, config(a, b))
		done := make(chan struct{})
		go func() { defer close(done); ask(t, m, protocol.MethodCallTool, `{"name":"a_x"}`) }()
		synctest.Wait()
		if err := m.Apply(config(b)); err != nil {
			t.Fatal(err)
		}
		<-time.After(DefaultDrainTimeout - time.Second)
		if a.closes() != 0 {
			t.Error("closed early")
		}
		<-time.After(2 * time.Second)
		if a.closes() != 1 {
			t.Error("not closed")
		}
		close(hold)
		<-done
	})
}

// TestApplyUnderLoad: a hundred configurations under load lose no call.
func TestApplyUnderLoad(t *testing.T) {
	t.Parallel()
	same := newServer("same", "x")
	cfg := func(version int) Config {
		c := config(same, newServer("other", "x"))
		c.Upstreams[1].Version = fmt.Sprint(version)
		return c
	}
	m := start(t, cfg(0))
	var (
		stop  atomic.Bool
		calls atomic.Int64
		wg    sync.WaitGroup
	)
	for range 4 {
		wg.Go(func() {
			for !stop.Load() {
				for _, name := range []string{"same", "other"} {
					if got := ask(t, m, protocol.MethodCallTool, `{"name":"`+name+`_x"}`); got != `{"said":"`+name+`: tool x"}` {
						t.Error(got)
						return
					}
					calls.Add(1)
				}
				toolNames(t, m, from(alice, protocol.MethodListTools, `{}`))
			}
		})
	}
	s := hear(t, m, request(protocol.MethodListen, `{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["same+x:1","other+x:1"]}}`))
	for i := range 100 {
		if err := m.Apply(cfg(i + 1)); err != nil {
			t.Fatal(err)
		}
		for before := calls.Load(); calls.Load() < before+8 && !t.Failed(); {
			<-time.After(time.Millisecond)
		}
	}
	stop.Store(true)
	wg.Wait()
	if same.opened != 1 || len(s.done) != 0 {
		t.Errorf("opened %d times, %d subscriptions ended", same.opened, len(s.done))
	}
}

// TestBack: an upstream that answers a call while it counts as down is up again at once.
func TestBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newServer("a", "one")
		cfg := config(a)
		cfg.MinPause, cfg.MaxPause = time.Hour, time.Hour
		m := start(t, cfg)
		a.setDown(true)
		if got := ask(t, m, protocol.MethodCallTool, `{"name":"one"}`); got != "it is down" {
			t.Error(got)
		}
		synctest.Wait()
		if m.Status()[0].Up {
			t.Error("still up")
		}
		a.setDown(false)
		if got := ask(t, m, protocol.MethodCallTool, `{"name":"one"}`); got != `{"said":"a: tool one"}` {
			t.Error(got)
		}
		synctest.Wait()
		if st := m.Status()[0]; !st.Up {
			t.Errorf("%+v", st)
		}
	})
}
