package matrix

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/connectcall"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/tunnel"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/upstreamurl"
	"github.com/mcp-bridge/mcp-bridge/internal/ways"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	protocoltunnel "github.com/mcp-bridge/mcp-bridge/protocol/tunnel"
)

// The transports of RPCs: those of mcp.v1.McpService, whose messages are of the
// newest revision, and its RPC Tunnel, which carries JSON-RPC of any.
const (
	grpc    = "gRPC"
	grpcWeb = "gRPC-Web"
	connect = "Connect"
	tunnels = "Tunnel"
)

// schemes are those of the URLs by which McpService is asked.
var schemes = map[string]string{grpc: "grpc://", grpcWeb: "grpcweb+http://", connect: "connect+http://"}

// allWays returns every transport with every revision that it carries.
func allWays() []ways.Way {
	all := ways.JSONRPC()
	for _, transport := range []string{grpc, grpcWeb, connect} {
		all = append(all, ways.Way{Transport: transport, Revision: ways.Modern})
	}
	for _, revision := range protocol.Revisions() {
		all = append(all, ways.Way{Transport: tunnels, Revision: string(revision)})
	}
	return all
}

// servers returns the ways to servers: those of one revision, and those of all.
func servers() []ways.Way {
	all := allWays()
	for _, transport := range []string{ways.Stdio, ways.HTTP, tunnels} {
		all = append(all, ways.Way{Transport: transport, Revision: ways.All})
	}
	return all
}

// spoken returns the way by which a server is asked on behalf of a client: one of all
// revisions in that of the client, or, where all clients of an era share a session, in
// the newest of that era.
func spoken(client, server ways.Way) ways.Way {
	if server.Revision != ways.All {
		return server
	}
	server.Revision = client.Revision
	if client.Revision != ways.Modern && server.Transport != ways.HTTP {
		server.Revision = string(protocol.LatestLegacy)
	}
	return server
}

// node is a Handler behind every front that there is.
type node struct {
	handler protocol.Handler
	jsonrpc ways.Server
	address string // of McpService

	mu   sync.Mutex
	last ways.Way // by which a tool was called
}

// Handle notes how tools are called.
func (n *node) Handle(ctx context.Context, r *protocol.Request, notify protocol.Notifier) (*protocol.Result, error) {
	if r.Method == protocol.MethodCallTool {
		n.mu.Lock()
		n.last = ways.Way{Transport: r.Caller.Transport, Revision: string(r.Meta.Revision)}
		n.mu.Unlock()
	}
	return n.handler.Handle(ctx, r, notify)
}

// seen fails the test unless the last call of a tool came on a way.
func (n *node) seen(t *testing.T, w ways.Way) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if want := (ways.Way{Transport: called[w.Transport], Revision: w.Revision}); n.last != want {
		t.Errorf("the call came by %s, want %s", n.last, want)
	}
}

// called is what fronts call the transports.
var called = map[string]string{
	ways.Stdio: "stdio", ways.HTTP: "http", ways.SSE: "sse", ways.Fallback: "sse",
	grpc: "grpc", grpcWeb: "grpc-web", connect: "connect", tunnels: "tunnel",
}

func newNode(t *testing.T, h protocol.Handler) *node {
	t.Helper()
	n := &node{handler: h}
	front, err := bridge.NewGRPCHandler(bridge.GRPCConfig{Handler: n})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	front.Mount(mux)
	server := httptest.NewUnstartedServer(mux)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(func() {
		front.Close()
		server.Close()
	})
	n.jsonrpc, n.address = ways.Serve(t, n), strings.TrimPrefix(server.URL, "http://")
	return n
}

// connect returns a client of the node that comes on a way.
func (n *node) connect(t *testing.T, w ways.Way) protocol.Handler {
	t.Helper()
	switch w.Transport {
	case tunnels:
		return n.tunnel(t, w.Revision)
	case grpc, grpcWeb, connect:
		caller, err := bridge.Connect(schemes[w.Transport]+n.address, bridge.ConnectConfig{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = caller.Close() })
		client, err := bridge.NewGRPCClient(bridge.GRPCClientConfig{Caller: caller})
		if err != nil {
			t.Fatal(err)
		}
		return client
	default:
		return ways.Connect(t, w, n.jsonrpc)
	}
}

// tunnel returns a client by the RPC Tunnel of gRPC.
func (n *node) tunnel(t *testing.T, revision string) protocol.Handler {
	t.Helper()
	u, err := upstreamurl.Parse(schemes[grpc] + n.address)
	if err != nil {
		t.Fatal(err)
	}
	caller, err := connectcall.Dial(u)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = caller.Close() })
	client, err := protocoltunnel.NewClient(protocoltunnel.ClientConfig{Dial: func(ctx context.Context) (protocoltunnel.Stream, error) {
		s, err := tunnel.Dial(ctx, caller, nil)
		if err != nil {
			return nil, err
		}
		return newDated(s, revision), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// dated is a stream to a server that seems to know one revision only.
type dated struct {
	protocoltunnel.Stream
	revision string
	received chan []byte
	ended    chan struct{} // closed once err is set
	err      error
	closed   chan struct{}
	close    func()
	wg       sync.WaitGroup
}

func newDated(s protocoltunnel.Stream, revision string) *dated {
	d := &dated{
		Stream: s, revision: revision,
		received: make(chan []byte), ended: make(chan struct{}), closed: make(chan struct{}),
	}
	d.close = sync.OnceFunc(func() {
		close(d.closed)
		s.Close()
		d.wg.Wait()
	})
	d.wg.Go(func() {
		defer close(d.ended)
		for {
			var message []byte
			if message, d.err = s.Receive(); d.err != nil {
				return
			}
			d.say(ways.Show(message, revision))
		}
	})
	return d
}

func (d *dated) say(message []byte) {
	select {
	case d.received <- message:
	case <-d.closed:
	}
}

func (d *dated) Receive() ([]byte, error) {
	select {
	case message := <-d.received:
		return message, nil
	case <-d.ended:
		return nil, d.err
	}
}

// Send hides from the server what its revision does not have.
func (d *dated) Send(message []byte) error {
	message, answer := ways.Hide(message, d.revision)
	if answer != nil {
		d.say(answer)
		return nil
	}
	return d.Stream.Send(message)
}

func (d *dated) Close() { d.close() }
