package bridge

import (
	"log/slog"
	"time"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/backend"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/engine"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/schema"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
)

// Defaults of the options.
const (
	// DefaultTimeout bounds one call where neither the client nor the
	// operator says otherwise.
	DefaultTimeout = engine.DefaultTimeout
	// DefaultPageSize is how many tools a page of tools/list has. It is large
	// because some hosts read the first page only.
	DefaultPageSize = engine.DefaultPageSize
	// DefaultListTTL is how long modern clients are told that they may hold
	// tools/list and server/discover for fresh.
	DefaultListTTL = engine.DefaultListTTL
	// DefaultStreamMessages, DefaultStreamBytes and DefaultStreamTime bound
	// what one call collects of a stream of responses.
	DefaultStreamMessages = engine.DefaultStreamMessages
	DefaultStreamBytes    = engine.DefaultStreamBytes
	DefaultStreamTime     = engine.DefaultStreamTime
	// DefaultOperationWait is how long a call waits for the long-running operation
	// that it started. See [WithOperationWait].
	DefaultOperationWait = engine.DefaultOperationWait
	// DefaultTaskTTL is how long the id of a task is good. See [WithTaskTTL].
	DefaultTaskTTL = engine.DefaultTaskTTL
	// DefaultMaxResultBytes is how many bytes of JSON or text a result may have.
	DefaultMaxResultBytes = backend.DefaultMaxResult
	// DefaultSchemaBytes is how long both schemas of a tool may be together.
	DefaultSchemaBytes = schema.DefaultMaxBytes
)

// serverName is how we present ourselves where nobody says otherwise.
const serverName = "mcp-bridge"

// Option configures a [Bridge].
type Option func(*config)

type config struct{ engine engine.Config }

// WithServerInfo sets the name and the version by which the Bridge presents
// itself to MCP clients.
func WithServerInfo(name, version string) Option {
	return func(c *config) { c.engine.Name, c.engine.Version = name, version }
}

// WithTitle sets the name for people by which the Bridge presents itself.
func WithTitle(title string) Option { return func(c *config) { c.engine.Title = title } }

// WithInstructions sets the text that tells a model how to use the tools
// together. It comes before what a Bridge says itself: which services there are, and
// the conventions that hold for all tools.
func WithInstructions(text string) Option { return func(c *config) { c.engine.Instructions = text } }

// WithLogger sets where the Bridge logs to. Arguments, results and headers
// are logged at debug only. The default discards.
func WithLogger(log *slog.Logger) Option { return func(c *config) { c.engine.Log = log } }

// WithTimeout bounds every call. Zero means no bound. The default is
// [DefaultTimeout].
func WithTimeout(d time.Duration) Option { return func(c *config) { c.engine.Timeout = d } }

// WithRefresh makes the Bridge read the descriptors again at that interval.
// Zero, the default, means never, except when a backend answers UNIMPLEMENTED
// or [Bridge.Refresh] is called.
func WithRefresh(interval time.Duration) Option {
	return func(c *config) { c.engine.Refresh = interval }
}

// WithStreamLimits sets what one call collects of a stream of responses:
// messages, bytes of their JSON and time. A stream that reaches a limit is
// ended, and its result says so. A call may ask for other limits, by the
// argument "_limits": up to 10,000 messages, 4 MiB and an hour, or to what is
// set here where that is more. The defaults are [DefaultStreamMessages],
// [DefaultStreamBytes] and [DefaultStreamTime].
func WithStreamLimits(messages, bytes int, d time.Duration) Option {
	return func(c *config) { c.engine.Limits = backend.Limits{Messages: messages, Bytes: bytes, Time: d} }
}

// Output says what results have although it is zero or empty.
type Output int

// The outputs.
const (
	// AnswersOutput has booleans, numbers and enums without presence also where
	// they are zero, unless that is an enum's value whose name ends in UNSPECIFIED,
	// and empty lists and maps of the outermost message: an answer "no" is not the
	// same as none.
	AnswersOutput = Output(transcode.Answers)
	// CanonicalOutput leaves all of that out, as canonical ProtoJSON does.
	CanonicalOutput = Output(transcode.Canonical)
	// AllOutput has every field without presence, empty strings too.
	AllOutput = Output(transcode.All)
)

// WithOutput sets what results have although it is zero or empty. The schemas of
// results require what is always there. The default is [AnswersOutput].
func WithOutput(output Output) Option {
	return func(c *config) { c.engine.Output = transcode.Output(output) }
}

// Encoding is how bytes stand in JSON, in arguments as in results.
type Encoding int

// The encodings.
const (
	// Base64Bytes stand in base64 with padding, as in ProtoJSON.
	Base64Bytes = Encoding(transcode.Base64)
	// UTF8Bytes are text, and stand as they are. Those that are not UTF-8 stand as
	// "base64:" and their base64, and so does text that begins with "base64:".
	UTF8Bytes = Encoding(transcode.UTF8)
	// HexBytes stand in hexadecimal digits.
	HexBytes = Encoding(transcode.Hex)
)

// WithBytes sets how bytes stand in JSON where the options of a field do not say.
// The default is [Base64Bytes].
func WithBytes(encoding Encoding) Option {
	return func(c *config) { c.engine.Bytes = transcode.Encoding(encoding) } //nolint:gosec // New refuses others
}

// WithMaxResultBytes bounds the JSON or text of the results of methods that do not
// stream, and the first message of a stream, in bytes; of a tool whose options
// have max_result_bytes, that is the bound. A longer result is one with isError
// that says how to ask for less. The default is [DefaultMaxResultBytes].
func WithMaxResultBytes(n int) Option { return func(c *config) { c.engine.MaxResult = n } }

// SchemaProfile says how much of JSON Schema the schemas of tools use.
type SchemaProfile int

// The profiles of schemas.
const (
	// PortableSchemas use the small part that every known host accepts.
	PortableSchemas = SchemaProfile(schema.Portable)
	// FullSchemas say everything that JSON Schema 2020-12 can say, with
	// references and unions, which some hosts refuse.
	FullSchemas = SchemaProfile(schema.Full)
)

// WithSchemas sets the profile of the tools' schemas and how many bytes the two
// of a tool may take, from 2 KiB to 256 KiB; what does not fit is shortened, and
// [DescribeTypeTool] tells the rest. The defaults are [PortableSchemas] and
// [DefaultSchemaBytes].
func WithSchemas(profile SchemaProfile, maxBytes int) Option {
	return func(c *config) {
		c.engine.Schema = schema.Options{Profile: schema.Profile(profile), MaxBytes: maxBytes}
	}
}

// WithoutOutputSchemas leaves out the schemas of results, so that the list of tools
// is shorter. Results stay as they are.
func WithoutOutputSchemas() Option { return func(c *config) { c.engine.NoOutputSchema = true } }

// WithoutValidation leaves it to the backends to check requests against the
// protovalidate rules of their types. Otherwise the Bridge does so before it
// calls, so that a model hears of all violations at once.
func WithoutValidation() Option { return func(c *config) { c.engine.Rules = false } }

// WithPublicNames is for a Bridge behind something that gives its tools other names.
// Texts that name a tool, such as a schema that refers to [DescribeTypeTool], then
// name it as the function does. It returns "" for a tool that clients do not have, and
// no text mentions that one. It is used concurrently and must always return the same.
func WithPublicNames(public func(own string) string) Option {
	return func(c *config) { c.engine.PublicName = public }
}

// WithPageSize sets how many tools a page of tools/list has. The default is
// [DefaultPageSize].
func WithPageSize(n int) Option { return func(c *config) { c.engine.PageSize = n } }

// WithForwardedHeaders names the headers of a client's HTTP request that are
// sent to the backend as metadata, in any case; a trailing * matches any
// rest. None are by default, besides the W3C trace context. Name
// "authorization" only where the backend is the audience of the clients'
// tokens.
func WithForwardedHeaders(names ...string) Option {
	return func(c *config) { c.engine.Metadata.Forward = append(c.engine.Metadata.Forward, names...) }
}

// WithReturnedHeaders names the response headers and trailers of a backend
// that are shown to the client, in the result's _meta. None are by default.
func WithReturnedHeaders(names ...string) Option {
	return func(c *config) { c.engine.Metadata.Return = append(c.engine.Metadata.Return, names...) }
}

// WithOptions sets options of services, methods and fields, over those in the
// descriptors: a mcp.options.v1.File as YAML. Unknown names
// are an error of [New]. A name that the API loses later is a warning.
func WithOptions(yaml []byte) Option { return func(c *config) { c.engine.Options = yaml } }

// WithoutConfirmation makes calls without asking the user first, whatever
// options say. Otherwise a method with the option "confirm" is called only after
// the user has said yes, and not at all for clients that cannot ask.
func WithoutConfirmation() Option { return func(c *config) { c.engine.NoConfirm = true } }

// WithOperationWait bounds the time that a call of a method that returns
// google.longrunning.Operation waits for the operation's response. Beyond it
// the result is the operation itself, which goes on. The time counts from its
// start, and is cut to five sixths of what is left of the call's timeout. Zero means
// not to wait. The default is [DefaultOperationWait].
//
// It is of no concern to clients that get a task; see [WithTaskTTL].
func WithOperationWait(d time.Duration) Option { return func(c *config) { c.engine.OperationWait = d } }

// WithTaskTTL sets how long after its creation a task can be asked for. The
// backend may forget the operation behind it sooner. The default is
// [DefaultTaskTTL].
func WithTaskTTL(d time.Duration) Option { return func(c *config) { c.engine.TaskTTL = d } }

// WithKeys sets the keys that seal what the Bridge hands to clients and takes
// back, ids of tasks and confirmations: 32 or more secret, random bytes each. The
// first key seals and all open. With the same keys, tasks outlive the process and
// are known to every replica. The default is a random key of this Bridge's own.
//
// A task belongs to the [protocol.Principal] that has made it.
func WithKeys(keys ...[]byte) Option { return func(c *config) { c.engine.Keys = keys } }
