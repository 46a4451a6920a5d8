package rpctest

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
)

// Listener remembers its connections, to break them.
type Listener struct {
	net.Listener

	mu    sync.Mutex
	conns []net.Conn
}

// Listen listens on a free port of the loopback interface, or on a unix socket.
func Listen(tb testing.TB, network, address string) *Listener {
	tb.Helper()
	listener, err := net.Listen(network, address)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = listener.Close() })
	return &Listener{Listener: listener}
}

// Accept accepts a connection.
func (l *Listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.mu.Lock()
		l.conns = append(l.conns, conn)
		l.mu.Unlock()
	}
	return conn, err
}

// Kill breaks all connections and listens no more.
func (l *Listener) Kill() {
	_ = l.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range l.conns {
		_ = conn.Close()
	}
}

// ServeHTTP serves a handler in HTTP/1.1 and HTTP/2, with TLS where there is a
// configuration, until the test ends.
func ServeHTTP(tb testing.TB, listener net.Listener, handler http.Handler, config *tls.Config) {
	tb.Helper()
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Handler: handler, Protocols: &protocols, TLSConfig: config, ErrorLog: discard()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		var err error
		if config != nil {
			err = server.ServeTLS(listener, "", "")
		} else {
			err = server.Serve(listener)
		}
		if !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			tb.Errorf("serve: %v", err)
		}
	}()
	tb.Cleanup(func() {
		_ = server.Close()
		<-done
	})
}
