package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/tlsconf"
)

// Limits of the HTTP servers. There is no limit on the time of a response,
// because streams last; what a client does not read is given up by the fronts.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

// address is where to listen.
type address struct {
	text          string // as configured
	network, name string
}

// ListenError says that an address cannot be listened on.
type ListenError struct {
	// Address is the address as configured.
	Address string
	Err     error
}

// Error says why.
func (e *ListenError) Error() string {
	switch {
	case errors.Is(e.Err, syscall.EADDRINUSE):
		return fmt.Sprintf("cannot listen on %s: the address is in use by another program", e.Address)
	case errors.Is(e.Err, fs.ErrPermission):
		return fmt.Sprintf("cannot listen on %s: permission denied", e.Address)
	default:
		return fmt.Sprintf("cannot listen on %s: %v", e.Address, e.Err)
	}
}

// Unwrap returns what the system says.
func (e *ListenError) Unwrap() error { return e.Err }

// checkServer reads the addresses and the files of TLS.
func (s *settings) checkServer() error {
	server := s.cfg.GetServer()
	var faults []error
	for _, text := range server.GetListen() {
		a := address{text: text, network: "tcp", name: text}
		if path, ok := strings.CutPrefix(text, "unix:"); ok {
			a.network, a.name = "unix", path
		}
		s.listeners = append(s.listeners, a)
	}
	if files := server.GetTls(); files != nil {
		config, err := tlsconf.ServerFiles{Cert: files.GetCert(), Key: files.GetKey(), ClientCA: files.GetClientCa()}.Config()
		if err != nil {
			faults = append(faults, fmt.Errorf("server.tls: %w", err))
		}
		s.tls = config
	}
	var err error
	if s.proxies, err = parseProxies(server.GetTrustedProxies()); err != nil {
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// listener is one address that is listened on, and the server of its connections.
type listener struct {
	net.Listener

	address address
	server  *http.Server
	tls     atomic.Pointer[tls.Config] // nil is none
	slots   *slots
	closed  atomic.Bool
}

// listen opens an address.
func (g *Gateway) listen(ctx context.Context, a address) (*listener, error) {
	if a.network == "unix" {
		removeStale(ctx, a.name)
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, a.network, a.name)
	if err != nil {
		return nil, &ListenError{Address: a.text, Err: err}
	}
	h := g.Handler()
	if g.opts.web != nil {
		h = g.opts.web(h)
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &listener{
		Listener: l, address: a, slots: g.slots,
		server: &http.Server{
			Handler: h, Protocols: &protocols,
			ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
			ErrorLog: slog.NewLogLogger(g.log.Handler(), slog.LevelWarn),
		},
	}, nil
}

// removeStale removes the socket of a process that has ended without doing so.
func removeStale(ctx context.Context, name string) {
	info, err := os.Lstat(name)
	if err != nil || info.Mode().Type() != fs.ModeSocket {
		return
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", name)
	if err == nil {
		_ = conn.Close() // somebody listens, and Listen will say so
		return
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		_ = os.Remove(name) // Listen says what is wrong
	}
}

// Accept returns the next connection, once there is room for one more. TLS is as
// configured at the time.
func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if !l.slots.acquire(&l.closed) {
		_ = conn.Close() // nobody serves it any more
		return nil, net.ErrClosed
	}
	conn = &countedConn{Conn: conn, release: sync.OnceFunc(l.slots.release)}
	if config := l.tls.Load(); config != nil && l.address.network != "unix" {
		return tls.Server(conn, config), nil
	}
	return conn, nil
}

// Close ends the listener.
func (l *listener) Close() error {
	l.closed.Store(true)
	l.slots.wake()
	return l.Listener.Close()
}

// countedConn is a connection that gives its slot back.
type countedConn struct {
	net.Conn

	release func()
}

// Close closes the connection.
func (c *countedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// CloseWrite lets the HTTP server end its side first, so that a client that still
// writes gets to read why it is refused.
func (c *countedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// slots bound how many connections are open, of all listeners together.
type slots struct {
	mu    sync.Mutex
	limit int
	open  int
	freed *sync.Cond
}

func newSlots() *slots {
	s := &slots{}
	s.freed = sync.NewCond(&s.mu)
	return s
}

func (s *slots) setLimit(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = n
	s.freed.Broadcast()
}

// wake lets those who wait look whether they are closed.
func (s *slots) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.freed.Broadcast()
}

// acquire waits for a slot. It returns false where closed has become true.
func (s *slots) acquire(closed *atomic.Bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.open >= s.limit {
		if closed.Load() {
			return false
		}
		s.freed.Wait()
	}
	s.open++
	return true
}

func (s *slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	s.freed.Broadcast() // one of those who wait may be closed
}

// Listen opens the addresses of the Config. [Gateway.Serve] does so where it has
// not been done.
func (g *Gateway) Listen(ctx context.Context) error {
	g.apply.Lock()
	defer g.apply.Unlock()
	opened, err := g.openListeners(ctx, g.settings)
	if err != nil {
		return err
	}
	g.useListeners(g.settings, opened)
	return nil
}

// Addrs returns the addresses that are listened on, in the order of the Config.
func (g *Gateway) Addrs() []net.Addr {
	g.apply.Lock()
	defer g.apply.Unlock()
	var addrs []net.Addr
	for _, a := range g.settings.listeners {
		if l := g.listeners[a]; l != nil {
			addrs = append(addrs, l.Addr())
		}
	}
	return addrs
}

// openListeners opens the addresses of a configuration that are not open yet. The
// caller holds apply.
func (g *Gateway) openListeners(ctx context.Context, s *settings) (map[address]*listener, error) {
	opened := make(map[address]*listener)
	var faults []error
	for _, a := range s.listeners {
		if g.listeners[a] != nil {
			continue
		}
		l, err := g.listen(ctx, a)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		opened[a] = l
	}
	if err := errors.Join(faults...); err != nil {
		closeListeners(opened)
		return nil, err
	}
	return opened, nil
}

func closeListeners(all map[address]*listener) {
	for _, l := range all {
		_ = l.Close() // nobody has been served
	}
}

// useListeners begins to use opened listeners and ends those that a configuration
// does not have any more. Connections there may finish what is under way. The
// caller holds apply.
func (g *Gateway) useListeners(s *settings, opened map[address]*listener) {
	maps.Copy(g.listeners, opened)
	g.slots.setLimit(int(s.cfg.GetServer().GetMaxConnections()))
	for a, l := range g.listeners {
		if !slices.Contains(s.listeners, a) {
			delete(g.listeners, a)
			if g.serving {
				g.background.Go(func() { g.retire(l) })
			} else {
				_ = l.Close() // nobody has been served
			}
			continue
		}
		l.tls.Store(s.tls)
		if g.serving && opened[a] != nil {
			g.start(l)
		}
	}
}

// start serves a listener. The caller holds apply.
func (g *Gateway) start(l *listener) {
	g.background.Go(func() {
		if err := l.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			g.failed(fmt.Errorf("serve %s: %w", l.address.text, err))
		}
	})
}

// retire ends a listener. What is under way has the time of a shutdown.
func (g *Gateway) retire(l *listener) {
	ctx, cancel := context.WithTimeout(g.ctx, g.shutdownTimeout())
	defer cancel()
	if l.server.Shutdown(ctx) != nil {
		_ = l.server.Close() // the time is up
	}
}
