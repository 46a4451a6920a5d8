package bridge_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// watchedProto is an API of resources that are polled every second, by a method of some name, or
// followed.
const watchedProto = `
syntax = "proto3";
package watched.v1;
import "mcp/options/v1/options.proto";
service Watched {
  rpc %s(Empty) returns (Text) { option (mcp.options.v1.method).resource = {uri_template: "polled:it" poll: {seconds: 1}}; }
  rpc Get(Empty) returns (Text) { option (mcp.options.v1.method).resource = {uri_template: "followed:it" watch: "watched.v1.Watched.Follow"}; }
  rpc Follow(Empty) returns (stream Text);
}
message Empty {}
message Text { string text = 1; }
`

// watched records who looks at the resources, as METHOD TOKEN.
type watched struct {
	mu     sync.Mutex
	calls  []string
	ended  []string // streams
	text   string
	panics bool
	poll   string // the name of the method that is polled

	sources map[string]*bridge.Descriptors
}

func newWatched(t *testing.T) *watched {
	t.Helper()
	w := &watched{poll: "Poll", sources: make(map[string]*bridge.Descriptors)}
	for _, name := range []string{"Poll", "Again"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "watched.proto"), fmt.Appendf(nil, watchedProto, name), 0o600); err != nil {
			t.Fatal(err)
		}
		var err error
		if w.sources[name], err = bridge.ProtoFiles([]string{dir}, nil).Load(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// Load has the descriptors of now.
func (w *watched) Load(context.Context) (*bridge.Descriptors, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sources[w.poll], nil
}

func (w *watched) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

func (w *watched) Call(ctx context.Context, c *rpc.Call, receive func([]byte) error) (*rpc.Trailer, error) {
	w.mu.Lock()
	call := c.Procedure[strings.LastIndexByte(c.Procedure, '/')+1:] + " " + c.Header.Get("Authorization")
	w.calls = append(w.calls, call)
	text, panics := w.text, w.panics
	w.mu.Unlock()
	if panics {
		panic("the caller is broken")
	}
	if c.Kind == rpc.ServerStream {
		<-ctx.Done()
		w.mu.Lock()
		w.ended = append(w.ended, call)
		w.mu.Unlock()
		return nil, ctx.Err()
	}
	return &rpc.Trailer{}, receive(protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), text))
}

// taken returns the calls since the last time.
func (w *watched) taken() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	calls := w.calls
	w.calls = nil
	return slices.Compact(calls)
}

// finished returns the streams that have ended.
func (w *watched) finished() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.ended)
}

// subscribe listens to a resource with a token, in the name of ann, until leave is
// called.
func subscribe(t *testing.T, b *bridge.Bridge, uri, token string) (updates *recorder, leave func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := request(protocol.MethodListen, `{"notifications":{"resourceSubscriptions":["`+uri+`"]}}`)
	r.Caller.Principal = protocol.NewPrincipal(protocol.Principal{Method: protocol.AuthJWT, Subject: "ann"})
	r.Caller.Header = http.Header{"Authorization": {token}}
	updates = newRecorder()
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = b.Handle(ctx, r, updates) })
	synctest.Wait()
	return updates, func() {
		cancel()
		wg.Wait()
		synctest.Wait()
	}
}

func (r *recorder) updates() int {
	n := 0
	for _, note := range r.seen() {
		if note.Method == protocol.NotificationResourceUpdated {
			n++
		}
	}
	return n
}

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// A resource is looked at with the credentials of somebody who is there: after a
// subscriber has left, with those of the next one, and then not at all.
func TestWatchCredentials(t *testing.T) {
	w := newWatched(t)
	synctest.Test(t, func(t *testing.T) {
		b, err := bridge.New(t.Context(), []bridge.Upstream{{Caller: w, Descriptors: w}}, bridge.WithForwardedHeaders("authorization"))
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()

		first, leaveFirst := subscribe(t, b, "polled:it", "old")
		second, leaveSecond := subscribe(t, b, "polled:it", "new")
		<-time.After(3500 * time.Millisecond)
		same(t, "two subscribers", w.taken(), "Poll old")
		leaveFirst()
		w.set(func() { w.text = "changed" })
		<-time.After(3 * time.Second)
		same(t, "the first one has left", w.taken(), "Poll new")
		if first.updates() != 0 || second.updates() != 1 {
			t.Errorf("%d and %d updates", first.updates(), second.updates())
		}
		leaveSecond()
		<-time.After(time.Minute)
		same(t, "nobody is there", w.taken())

		_, leaveFirst = subscribe(t, b, "followed:it", "old")
		second, leaveSecond = subscribe(t, b, "followed:it", "new")
		same(t, "a stream", w.taken(), "Follow old")
		leaveFirst()
		same(t, "its end", w.finished(), "Follow old")
		same(t, "the next stream", w.taken(), "Follow new")
		if second.updates() != 1 { // of what the stream may have missed
			t.Errorf("%d updates", second.updates())
		}
		leaveSecond()
		same(t, "all streams have ended", w.finished(), "Follow old", "Follow new")
	})
}

// A watch looks at what is served now.
func TestWatchFollowsRefresh(t *testing.T) {
	w := newWatched(t)
	synctest.Test(t, func(t *testing.T) {
		b, err := bridge.New(t.Context(), []bridge.Upstream{{Caller: w, Descriptors: w}})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		_, leavePolled := subscribe(t, b, "polled:it", "")
		_, leaveFollowed := subscribe(t, b, "followed:it", "")
		same(t, "before", w.taken(), "Poll ", "Follow ")
		w.set(func() { w.poll = "Again" })
		if changed, err := b.Refresh(t.Context()); !changed || err != nil {
			t.Fatal(changed, err)
		}
		synctest.Wait()
		same(t, "the old stream", w.finished(), "Follow ")
		<-time.After(1500 * time.Millisecond)
		calls := w.taken()
		if slices.Contains(calls, "Poll ") || !slices.Contains(calls, "Again ") {
			t.Errorf("after the refresh: %q", calls)
		}
		<-time.After(rewatch)
		if calls = append(calls, w.taken()...); !slices.Contains(calls, "Follow ") {
			t.Errorf("no stream after the refresh: %q", calls)
		}
		leavePolled()
		leaveFollowed()
	})
}

// A subscription that somebody has decided on looks at the resource by the methods that
// were allowed, and by no others.
func TestWatchPinned(t *testing.T) {
	w := newWatched(t)
	synctest.Test(t, func(t *testing.T) {
		b, err := bridge.New(t.Context(), []bridge.Upstream{{Caller: w, Descriptors: w}})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		r := request(protocol.MethodListen, `{"notifications":{"resourceSubscriptions":["polled:it"]}}`)
		res, err := b.Resolve(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		r.Pin = res.Pin
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = b.Handle(ctx, r, protocol.Discard) })
		synctest.Wait()
		same(t, "before", w.taken(), "Poll ")
		w.set(func() { w.poll = "Again" })
		if changed, err := b.Refresh(t.Context()); !changed || err != nil {
			t.Fatal(changed, err)
		}
		<-time.After(time.Minute)
		same(t, "while another method serves the resource", w.taken())
		w.set(func() { w.poll = "Poll" })
		if changed, err := b.Refresh(t.Context()); !changed || err != nil {
			t.Fatal(changed, err)
		}
		<-time.After(1500 * time.Millisecond)
		same(t, "after", w.taken(), "Poll ")
		cancel()
		wg.Wait()
	})
}

// rewatch is longer than the time until a watch is opened again.
const rewatch = 10 * time.Second

// A Caller that panics takes neither the process nor the watch with it.
func TestWatchSurvivesPanic(t *testing.T) {
	w := newWatched(t)
	synctest.Test(t, func(t *testing.T) {
		b, err := bridge.New(t.Context(), []bridge.Upstream{{Caller: w, Descriptors: w}})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		updates, leavePolled := subscribe(t, b, "polled:it", "")
		w.set(func() { w.panics = true })
		_, leaveFollowed := subscribe(t, b, "followed:it", "")
		<-time.After(2 * time.Second)
		w.set(func() { w.panics, w.text = false, "changed" })
		<-time.After(rewatch)
		if updates.updates() != 1 {
			t.Errorf("%d updates", updates.updates())
		}
		if calls := w.taken(); calls[len(calls)-1] != "Poll " || !slices.Contains(calls, "Follow ") {
			t.Errorf("calls %q", calls)
		}
		leavePolled()
		leaveFollowed()
	})
}
