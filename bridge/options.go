package bridge

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/backend"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/metadata"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/options"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/schema"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/task"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// Defaults of the options.
const (
	// DefaultTimeout bounds one call where neither the client nor the
	// operator says otherwise.
	DefaultTimeout = 60 * time.Second
	// DefaultPageSize is how many tools a page of tools/list has. It is large
	// because some hosts read the first page only.
	DefaultPageSize = 1000
	// DefaultListTTL is how long modern clients are told that they may hold
	// tools/list and server/discover for fresh.
	DefaultListTTL = time.Minute
	// DefaultStreamMessages, DefaultStreamBytes and DefaultStreamTime bound
	// what one call collects of a stream of responses.
	DefaultStreamMessages = 100
	DefaultStreamBytes    = 64 << 10
	DefaultStreamTime     = 30 * time.Second
)

// serverName is how we present ourselves where nobody says otherwise.
const serverName = "mcp-bridge"

// Option configures a [Bridge].
type Option func(*config)

type config struct {
	name, title, version string
	instructions         string
	log                  *slog.Logger
	timeout              time.Duration
	refresh              time.Duration
	pageSize             int
	limits               backend.Limits
	rules                bool
	noConfirm            bool
	optionsFile          []byte
	options              *options.Set
	schema               schema.Options
	toolSearch           bool
	searchThreshold      int
	metadata             metadata.Policy
	operationWait        time.Duration
	taskTTL              time.Duration
	taskKey              []byte
	tasks                *task.Sealer
	taskOwner            func(*protocol.Caller) string
}

// WithServerInfo sets the name and the version by which the Bridge presents
// itself to MCP clients.
func WithServerInfo(name, version string) Option {
	return func(c *config) { c.name, c.version = name, version }
}

// WithTitle sets the name for people by which the Bridge presents itself.
func WithTitle(title string) Option { return func(c *config) { c.title = title } }

// WithInstructions sets the text that tells a model how to use the tools
// together.
func WithInstructions(text string) Option { return func(c *config) { c.instructions = text } }

// WithLogger sets where the Bridge logs to. Arguments, results and headers
// are logged at debug only. The default discards.
func WithLogger(log *slog.Logger) Option { return func(c *config) { c.log = log } }

// WithTimeout bounds every call. Zero means no bound. The default is
// [DefaultTimeout].
func WithTimeout(d time.Duration) Option { return func(c *config) { c.timeout = d } }

// WithRefresh makes the Bridge read the descriptors again at that interval.
// Zero, the default, means never, except when a backend answers UNIMPLEMENTED
// or [Bridge.Refresh] is called.
func WithRefresh(interval time.Duration) Option { return func(c *config) { c.refresh = interval } }

// WithStreamLimits sets what one call collects of a stream of responses:
// messages, bytes of their JSON and time. A stream that reaches a limit is
// ended, and its result says so. A call may ask for other limits, by the
// argument "_limits": up to 10,000 messages, 4 MiB and an hour, or to what is
// set here where that is more. The defaults are [DefaultStreamMessages],
// [DefaultStreamBytes] and [DefaultStreamTime].
func WithStreamLimits(messages, bytes int, d time.Duration) Option {
	return func(c *config) { c.limits = backend.Limits{Messages: messages, Bytes: bytes, Time: d} }
}

// SchemaProfile says how much of JSON Schema the schemas of tools use.
type SchemaProfile = schema.Profile

// The profiles of schemas.
const (
	// PortableSchemas use the small part that every known host accepts.
	PortableSchemas SchemaProfile = schema.Portable
	// FullSchemas say everything that JSON Schema 2020-12 can say, with
	// references and unions, which some hosts refuse.
	FullSchemas SchemaProfile = schema.Full
)

// DefaultSchemaBytes is how long both schemas of a tool may be together.
const DefaultSchemaBytes = schema.DefaultMaxBytes

// WithSchemas sets the profile of the tools' schemas and how many bytes the two
// of a tool may take, from 2 KiB to 256 KiB; what does not fit is shortened, and
// [DescribeTypeTool] tells the rest. The defaults are [PortableSchemas] and
// [DefaultSchemaBytes].
func WithSchemas(profile SchemaProfile, maxBytes int) Option {
	return func(c *config) { c.schema = schema.Options{Profile: profile, MaxBytes: maxBytes} }
}

// WithoutValidation leaves it to the backends to check requests against the
// protovalidate rules of their types. Otherwise the Bridge does so before it
// calls, so that a model hears of all violations at once.
func WithoutValidation() Option { return func(c *config) { c.rules = false } }

// WithPageSize sets how many tools a page of tools/list has. The default is
// [DefaultPageSize].
func WithPageSize(n int) Option { return func(c *config) { c.pageSize = n } }

// WithForwardedHeaders names the headers of a client's HTTP request that are
// sent to the backend as metadata, in any case; a trailing * matches any
// rest. None are by default, besides the W3C trace context. Name
// "authorization" only where the backend is the audience of the clients'
// tokens.
func WithForwardedHeaders(names ...string) Option {
	return func(c *config) { c.metadata.Forward = append(c.metadata.Forward, names...) }
}

// WithReturnedHeaders names the response headers and trailers of a backend
// that are shown to the client, in the result's _meta. None are by default.
func WithReturnedHeaders(names ...string) Option {
	return func(c *config) { c.metadata.Return = append(c.metadata.Return, names...) }
}

func newConfig(opts []Option) (*config, error) {
	c := &config{
		name: serverName, version: Version(),
		timeout: DefaultTimeout, pageSize: DefaultPageSize,
		rules:         true,
		schema:        schema.Options{MaxBytes: schema.DefaultMaxBytes},
		limits:        backend.Limits{Messages: DefaultStreamMessages, Bytes: DefaultStreamBytes, Time: DefaultStreamTime},
		log:           slog.New(slog.DiscardHandler),
		operationWait: DefaultOperationWait, taskTTL: DefaultTaskTTL, taskOwner: ownerByToken,
	}
	for _, o := range opts {
		o(c)
	}
	var errs []error
	if c.name == "" || c.version == "" {
		errs = append(errs, errors.New("server info needs a name and a version"))
	}
	if c.log == nil {
		errs = append(errs, errors.New("the logger is nil"))
	}
	if c.timeout < 0 {
		errs = append(errs, fmt.Errorf("the timeout %v is negative", c.timeout))
	}
	if c.refresh < 0 {
		errs = append(errs, fmt.Errorf("the refresh interval %v is negative", c.refresh))
	}
	if c.limits.Messages < 1 || c.limits.Bytes < 1 || c.limits.Time <= 0 {
		errs = append(errs, fmt.Errorf("the stream limits of %d messages, %d bytes and %v must all be above zero", c.limits.Messages, c.limits.Bytes, c.limits.Time))
	}
	if p := c.schema.Profile; p != PortableSchemas && p != FullSchemas {
		errs = append(errs, fmt.Errorf("there is no schema profile %d", p))
	}
	if n := c.schema.MaxBytes; n < 2*schema.MinMaxBytes || n > schema.MaxMaxBytes {
		errs = append(errs, fmt.Errorf("schemas of %d bytes: want from %d to %d", n, 2*schema.MinMaxBytes, schema.MaxMaxBytes))
	}
	if c.pageSize < 1 {
		errs = append(errs, fmt.Errorf("the page size %d is less than 1", c.pageSize))
	}
	if c.searchThreshold < 0 {
		errs = append(errs, fmt.Errorf("the threshold %d of tool search is negative", c.searchThreshold))
	}
	if c.operationWait < 0 {
		errs = append(errs, fmt.Errorf("the wait for operations %v is negative", c.operationWait))
	}
	if c.taskTTL < time.Millisecond {
		errs = append(errs, fmt.Errorf("the time to live of tasks %v is less than a millisecond", c.taskTTL))
	}
	if c.taskOwner == nil {
		errs = append(errs, errors.New("the owner of tasks is nil"))
	}
	if c.optionsFile != nil {
		var err error
		if c.options, err = options.Parse(c.optionsFile); err != nil {
			errs = append(errs, fmt.Errorf("options: %w", err))
		}
	}
	var err error
	c.tasks, err = task.NewSealer(c.taskKey)
	errs = append(errs, err, c.metadata.Validate())
	return c, errors.Join(errs...)
}
