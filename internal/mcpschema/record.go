package mcpschema

import (
	"bytes"
	"errors"
	"sync"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// Open returns the Validator of a revision. It skips the test where there are
// no schemas.
func Open(tb testing.TB, rev string) *Validator {
	tb.Helper()
	v, err := open(rev)
	if errors.Is(err, ErrAbsent) {
		tb.Skip(err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

var loaded struct {
	sync.Mutex
	byRevision map[string]*Validator
}

// open returns the Validator of a revision. A process loads each once.
func open(rev string) (*Validator, error) {
	dir, err := Dir()
	if err != nil {
		return nil, err
	}
	loaded.Lock()
	defer loaded.Unlock()
	if v := loaded.byRevision[rev]; v != nil {
		return v, nil
	}
	v, err := Load(dir, rev)
	if err != nil {
		return nil, err
	}
	if loaded.byRevision == nil {
		loaded.byRevision = make(map[string]*Validator)
	}
	loaded.byRevision[rev] = v
	return v, nil
}

// Recorder checks what one client of a test receives. It may be used
// concurrently.
type Recorder struct {
	tb testing.TB
	v  *Validator // nil where there are no schemas

	mu      sync.Mutex
	methods map[string]string // of requests, by raw id
}

// Record returns a Recorder for a client of a revision. Where there are no
// schemas it says so in the test's log and finds fault with nothing, so that
// the rest of the test still counts.
func Record(tb testing.TB, rev string) *Recorder {
	tb.Helper()
	r := &Recorder{tb: tb, methods: make(map[string]string)}
	v, err := open(rev)
	switch {
	case errors.Is(err, ErrAbsent):
		tb.Logf("messages are not validated: %v", err)
	case err != nil:
		tb.Fatal(err)
	default:
		r.v = v
	}
	return r
}

// Sent notes which requests a message or batch makes. It need not be valid.
func (r *Recorder) Sent(message []byte) {
	if jsontok.KindOf(bytes.TrimSpace(message)) == jsontok.KindArray {
		// What is no array to the end has no requests that count.
		_ = jsontok.Array(message, func(_ int, m []byte) error {
			r.Sent(m)
			return nil
		})
		return
	}
	id, _ := jsontok.Lookup(message, "id")
	raw, _ := jsontok.Lookup(message, "method")
	if method, ok := jsontok.String(raw); ok && id != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.methods[string(id)] = method
	}
}

// Received checks a message or batch that the client got.
func (r *Recorder) Received(message []byte) {
	r.tb.Helper()
	if r.v == nil {
		return
	}
	if jsontok.KindOf(bytes.TrimSpace(message)) == jsontok.KindArray && r.v.rev <= "2025-03-26" {
		err := jsontok.Array(message, func(_ int, m []byte) error {
			r.Received(m)
			return nil
		})
		if err != nil {
			r.tb.Errorf("batch %s: %v", message, err)
		}
		return
	}
	id, _ := jsontok.Lookup(message, "id")
	r.mu.Lock()
	method := r.methods[string(id)]
	r.mu.Unlock()
	if err := r.v.Check(message, method); err != nil {
		r.tb.Error(err)
	}
}
