// Package mux serves several MCP servers as one: their tools, prompts and
// resources share one name space, and one that is down takes only its own part
// with it.
package mux

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/broadcast"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// Part is one of the servers.
type Part struct {
	// Name tells it from the others, in the names of tools among other
	// things. It has letters, digits, _ and -.
	Name string
	// Open connects to the server. It is called until it succeeds. Close, if
	// it is not nil, is called when the Mux is closed.
	Open func(ctx context.Context) (h protocol.Handler, closePart func(), err error)
}

// Config configures a Mux. The zero value of Logger, MinPause and MaxPause
// means the default.
type Config struct {
	Parts []Part
	// Logger gets what goes wrong.
	Logger *slog.Logger
	// Server is the Implementation object of the whole.
	Server json.RawMessage
	// MinPause and MaxPause bound the time between attempts to reach a part
	// that is down.
	MinPause, MaxPause time.Duration
}

// The defaults, and what is asked of a part besides requests.
const (
	DefaultMinPause = 500 * time.Millisecond
	DefaultMaxPause = 30 * time.Second

	openTimeout  = 30 * time.Second
	probeTimeout = 10 * time.Second
	// firstTimeout is how long after the start of the Mux a request waits for
	// parts that have not been tried yet.
	firstTimeout = 10 * time.Second
	// answerTimeout is how long a part may take to answer what all of them are
	// asked together; for lists, one page of it. Then the whole answers without
	// the part. For latePause after that, it gets lateTimeout only.
	answerTimeout = 10 * time.Second
	lateTimeout   = time.Second
	latePause     = time.Minute
)

// MetaUnavailable is the member of _meta of lists and of server/discover that
// names the parts which are down, and so left out.
const MetaUnavailable = "io.github.mcp-bridge/unavailable"

// Mux is several Handlers as one.
type Mux struct {
	cfg     Config
	parts   []*part
	names   map[string]*names // by method of the list
	changes broadcast.Broadcast
	started time.Time

	ctx    context.Context //nolint:containedctx // ends the goroutines of parts
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

var _ protocol.Handler = (*Mux)(nil)

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// New returns a Mux, which begins to open its parts. Close it.
func New(cfg Config) (*Mux, error) {
	if len(cfg.Parts) == 0 {
		return nil, errors.New("there is nothing to serve")
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	cfg.MinPause = cmp.Or(cfg.MinPause, DefaultMinPause)
	cfg.MaxPause = max(cmp.Or(cfg.MaxPause, DefaultMaxPause), cfg.MinPause)
	m := &Mux{cfg: cfg, names: map[string]*names{
		protocol.MethodListTools:     newNames("name", maxToolName),
		protocol.MethodListPrompts:   newNames("name", 0),
		protocol.MethodListResources: newNames("uri", 0),
		protocol.MethodListTemplates: newNames("uriTemplate", 0),
	}}
	seen := make(map[string]bool)
	var problems []error
	for i, p := range cfg.Parts {
		switch {
		case !validName.MatchString(p.Name):
			problems = append(problems, fmt.Errorf("the name %q of upstream %d is not of letters, digits, _ and -, at most 32", p.Name, i))
		case seen[p.Name]:
			problems = append(problems, fmt.Errorf("two upstreams are called %q", p.Name))
		}
		seen[p.Name] = true
		m.parts = append(m.parts, newPart(p, m))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	m.started = time.Now()
	m.ctx, m.cancel = context.WithCancel(context.Background())
	for _, p := range m.parts {
		m.wg.Go(p.keep)
	}
	return m, nil
}

// Ready waits until every part has been tried once, ctx ends, or ten seconds
// have passed since the Mux was made, and returns for each part that is down
// why.
func (m *Mux) Ready(ctx context.Context) map[string]error {
	down := make(map[string]error)
	for _, p := range m.parts {
		if err := p.settled(ctx); err != nil {
			down[p.name] = err
		}
	}
	return down
}

// EndSubscriptions ends the subscriptions of all clients.
func (m *Mux) EndSubscriptions() { m.changes.Close() }

// Close ends subscriptions and the Mux's own work, and closes the parts.
func (m *Mux) Close() {
	m.changes.Close()
	m.cancel()
	m.wg.Wait()
	// One that takes its time to end keeps no other waiting.
	for _, p := range m.parts {
		m.wg.Go(p.close)
	}
	m.wg.Wait()
}

// Handle answers one request.
func (m *Mux) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	res, err := m.handle(ctx, r, n)
	if err != nil {
		return nil, err
	}
	own := *res
	own.Server = m.cfg.Server
	return &own, nil
}

func (m *Mux) handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	switch r.Method {
	case protocol.MethodDiscover:
		return m.discover(ctx, r)
	case protocol.MethodListTools, protocol.MethodListPrompts, protocol.MethodListResources, protocol.MethodListTemplates:
		return m.list(ctx, r)
	case protocol.MethodCallTool:
		return m.named(ctx, r, n, protocol.MethodListTools)
	case protocol.MethodGetPrompt:
		return m.named(ctx, r, n, protocol.MethodListPrompts)
	case protocol.MethodReadResource:
		return m.read(ctx, r, n)
	case protocol.MethodComplete:
		return m.complete(ctx, r, n)
	case protocol.MethodGetTask, protocol.MethodUpdateTask, protocol.MethodCancelTask, protocol.MethodTaskResult:
		return m.task(ctx, r, n)
	case protocol.MethodListen:
		return m.listen(ctx, r, n)
	default:
		return nil, protocol.MethodNotFound(r.Method)
	}
}

// discover says what the parts have together. Lists may come with a part that
// is down, so the methods for them are there while one is.
func (m *Mux) discover(ctx context.Context, r *protocol.Request) (*protocol.Result, error) {
	answers := m.each(ctx, func(p *part) (any, error) { return p.askSoon(ctx, r) })
	capabilities := json.RawMessage(`{"logging":{},"tools":{"listChanged":true}}`)
	cache := protocol.Cache{TTLMillis: time.Minute.Milliseconds()}
	var instructions []string
	down := false
	for i, a := range answers {
		res, ok := a.(*protocol.Result)
		if !ok {
			down = true
			continue
		}
		if more, ok := jsontok.Lookup(res.Body, "capabilities"); ok {
			capabilities = union(capabilities, more)
		}
		if raw, ok := jsontok.Lookup(res.Body, "instructions"); ok {
			if text, ok := jsontok.String(raw); ok && text != "" {
				instructions = append(instructions, m.parts[i].name+": "+text)
			}
		}
		cache = worse(cache, res.Cache)
	}
	if down {
		cache.TTLMillis = 0
		capabilities = union(capabilities, json.RawMessage(`{"resources":{"listChanged":true,"subscribe":true},"prompts":{"listChanged":true},"completions":{}}`))
	}
	var body mcpjson.Object
	body.Add("supportedVersions", protocol.AppendRevisions(nil))
	body.Add("capabilities", capabilities)
	if len(instructions) > 0 {
		body.Add("instructions", jsontok.AppendString(nil, strings.Join(instructions, "\n\n")))
	}
	return &protocol.Result{Body: body.JSON(), Meta: m.unavailable(answers), Cache: &cache}, nil
}

// unavailable is the _meta that names the parts without an answer.
func (m *Mux) unavailable(answers []any) json.RawMessage {
	list := []byte{'['}
	for i, a := range answers {
		if a != nil {
			continue
		}
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = jsontok.AppendString(list, m.parts[i].name)
	}
	if len(list) == 1 {
		return nil
	}
	var meta mcpjson.Object
	meta.Add(MetaUnavailable, append(list, ']'))
	return meta.JSON()
}

// worse is what two caches allow together.
func worse(a protocol.Cache, b *protocol.Cache) protocol.Cache {
	if b == nil {
		return protocol.Cache{Private: a.Private}
	}
	return protocol.Cache{TTLMillis: min(a.TTLMillis, b.TTLMillis), Private: a.Private || b.Private}
}

// union returns an object with the members of both, and of objects among them
// in turn. Otherwise a wins, but true wins over false.
func union(a, b json.RawMessage) json.RawMessage {
	if jsontok.KindOf(a) != jsontok.KindObject || jsontok.KindOf(b) != jsontok.KindObject {
		if bytes.Equal(b, []byte("true")) {
			return b
		}
		return a
	}
	var o mcpjson.Object
	// Both are valid.
	_ = jsontok.Object(a, func(key, value []byte) error {
		if other, ok := jsontok.Lookup(b, string(key)); ok {
			value = union(value, other)
		}
		o.Add(string(key), value)
		return nil
	})
	_ = jsontok.Object(b, func(key, value []byte) error {
		if _, ok := jsontok.Lookup(a, string(key)); !ok {
			o.Add(string(key), value)
		}
		return nil
	})
	return o.JSON()
}
