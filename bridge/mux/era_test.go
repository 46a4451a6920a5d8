package mux

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// older returns a request of a client of an older revision.
func older(method, params string) *protocol.Request {
	r := request(method, params)
	r.Meta.Revision = protocol.Revision20250618
	return r
}

// TestListsOfEras: an upstream that lists other things in another era shows each
// client what it shows directly, and tells those whose lists have changed.
func TestListsOfEras(t *testing.T) {
	t.Parallel()
	a := newServer("a")
	var lists [sides]atomic.Pointer[string]
	set := func(s side, name string) { lists[s].Store(&name) }
	set(sideModern, "new")
	set(sideLegacy, "old")
	var changed [sides]chan struct{}
	for s := range sides {
		changed[s] = make(chan struct{})
	}
	var reads [sides]atomic.Int32
	a.answer = func(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
		s := eraOf(r.Meta.Revision).side()
		switch r.Method {
		case protocol.MethodDiscover:
			return &protocol.Result{Body: json.RawMessage(`{"capabilities":{"x-` + *lists[s].Load() + `":{}}}`)}, nil
		case protocol.MethodListTools:
			reads[s].Add(1)
			return &protocol.Result{Body: json.RawMessage(`{"tools":[` + tool(*lists[s].Load(), "a") + `]}`)}, nil
		case protocol.MethodListen:
			var p struct{ Notifications json.RawMessage }
			_ = json.Unmarshal(r.Params, &p) // shows in the test
			if err := n.Notify(ctx, &protocol.Notification{Method: protocol.NotificationAcknowledged, Params: json.RawMessage(`{"notifications":` + string(p.Notifications) + `}`)}); err != nil {
				return nil, err
			}
			for {
				select {
				case <-changed[s]:
					if err := n.Notify(ctx, &protocol.Notification{Method: protocol.NotificationToolsChanged}); err != nil {
						return nil, err
					}
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
		}
		return nil, nil
	}
	m := start(t, config(a, newServer("b", "t")))
	const filter = `{"notifications":{"toolsListChanged":true}}`
	modern, legacy := hear(t, m, request(protocol.MethodListen, filter)), hear(t, m, older(protocol.MethodListen, filter))
	modern.next(acknowledged + filter)
	legacy.next(acknowledged + filter)
	show := func(wantModern, wantLegacy string) {
		t.Helper()
		if got := toolNames(t, m, request(protocol.MethodListTools, `{}`)); got != wantModern+" b_t" {
			t.Errorf("clients of 2026-07-28 are shown %s, want %s", got, wantModern)
		}
		if got := toolNames(t, m, older(protocol.MethodListTools, `{}`)); got != wantLegacy+" b_t" {
			t.Errorf("others are shown %s, want %s", got, wantLegacy)
		}
	}
	show("a_new", "a_old")
	for r, want := range map[*protocol.Request]string{request(protocol.MethodDiscover, `{}`): "x-new", older(protocol.MethodDiscover, `{}`): "x-old"} {
		var body struct{ Capabilities map[string]any }
		if err := json.Unmarshal([]byte(do(t, m, r)), &body); err != nil || body.Capabilities[want] == nil {
			t.Errorf("%s: capabilities %v, want %s", r.Meta.Revision, body.Capabilities, want)
		}
	}
	set(sideLegacy, "older")
	changed[sideLegacy] <- struct{}{}
	legacy.next(protocol.NotificationToolsChanged)
	show("a_new", "a_older")
	before := reads[sideLegacy].Load()
	set(sideModern, "newer")
	changed[sideModern] <- struct{}{}
	modern.next(protocol.NotificationToolsChanged)
	show("a_newer", "a_older")
	if after := reads[sideLegacy].Load(); after != before {
		t.Errorf("a change in one era had the list of the other one read %d times", after-before)
	}
	// A name is called whatever the lists say, in the revision of the client.
	for _, r := range []*protocol.Request{request(protocol.MethodCallTool, `{"name":"a_newer"}`), older(protocol.MethodCallTool, `{"name":"a_newer"}`)} {
		do(t, m, r)
		if got := a.last(protocol.MethodCallTool).Meta.Revision; got != r.Meta.Revision {
			t.Errorf("called in %s, want %s", got, r.Meta.Revision)
		}
	}
}
