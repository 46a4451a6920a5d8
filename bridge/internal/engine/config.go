package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/backend"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/metadata"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/options"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/schema"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/internal/seal"
)

// Defaults of a [Config].
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
	// DefaultOperationWait is how long a call waits for the long-running
	// operation that it started.
	DefaultOperationWait = 50 * time.Second
	// DefaultTaskTTL is how long the id of a task is good.
	DefaultTaskTTL = 24 * time.Hour
)

// Config configures an [Engine]. The options of package bridge fill it, and say
// what each field is for. Start from [DefaultConfig].
type Config struct {
	Name, Title, Version string
	Instructions         string
	Log                  *slog.Logger
	Timeout              time.Duration
	Refresh              time.Duration
	PageSize             int
	Limits               backend.Limits
	Output               transcode.Output
	Bytes                transcode.Encoding // of fields that options say nothing of
	MaxResult            int                // of JSON or text, in bytes
	Rules                bool               // check requests against protovalidate rules
	NoConfirm            bool               // call without asking the user first
	Options              []byte             // a mcp.options.v1.File as YAML, or nil
	Schema               schema.Options
	NoOutputSchema       bool // leave out the schemas of results
	Metadata             metadata.Policy
	OperationWait        time.Duration
	TaskTTL              time.Duration
	Keys                 [][]byte // seal ids of tasks and confirmations
	// PublicName returns the name by which clients know a tool, for texts about it,
	// or "" for a tool that they do not have. Nil leaves names as they are.
	PublicName func(own string) string
}

// public returns the name by which clients know a tool, or "" for one that they do
// not have.
func (c *Config) public(own string) string {
	if c.PublicName == nil {
		return own
	}
	return c.PublicName(own)
}

// DefaultConfig returns the Config of an engine that nobody says anything about,
// besides its name and version.
func DefaultConfig(name, version string) Config {
	return Config{
		Name: name, Version: version,
		Timeout: DefaultTimeout, PageSize: DefaultPageSize,
		Rules:         true,
		Schema:        schema.Options{MaxBytes: schema.DefaultMaxBytes},
		Output:        transcode.Answers,
		MaxResult:     backend.DefaultMaxResult,
		Limits:        backend.Limits{Messages: DefaultStreamMessages, Bytes: DefaultStreamBytes, Time: DefaultStreamTime},
		Log:           slog.New(slog.DiscardHandler),
		OperationWait: DefaultOperationWait, TaskTTL: DefaultTaskTTL,
	}
}

// config is a Config that has been checked, and what has been made of it.
type config struct {
	Config

	options *options.Set
	box     *seal.Box
}

// Validate reports everything that is wrong with the Config.
func (c Config) Validate() error {
	_, err := newConfig(c)
	return err
}

// newConfig checks everything and reports all faults at once.
func newConfig(from Config) (*config, error) {
	c := &config{Config: from}
	var errs []error
	if c.Name == "" || c.Version == "" {
		errs = append(errs, errors.New("server info needs a name and a version"))
	}
	if c.Log == nil {
		errs = append(errs, errors.New("the logger is nil"))
	}
	if c.Timeout < 0 {
		errs = append(errs, fmt.Errorf("the timeout %v is negative", c.Timeout))
	}
	if c.Refresh < 0 {
		errs = append(errs, fmt.Errorf("the refresh interval %v is negative", c.Refresh))
	}
	if c.Limits.Messages < 1 || c.Limits.Bytes < 1 || c.Limits.Time <= 0 {
		errs = append(errs, fmt.Errorf("the stream limits of %d messages, %d bytes and %v must all be above zero", c.Limits.Messages, c.Limits.Bytes, c.Limits.Time))
	}
	if c.Output < transcode.Canonical || c.Output > transcode.All {
		errs = append(errs, fmt.Errorf("there is no output %d", c.Output))
	}
	if c.Bytes > transcode.Hex {
		errs = append(errs, fmt.Errorf("there is no encoding %d", c.Bytes))
	}
	if c.MaxResult < 1 {
		errs = append(errs, fmt.Errorf("results of at most %d bytes: want 1 or more", c.MaxResult))
	}
	if p := c.Schema.Profile; p != schema.Portable && p != schema.Full {
		errs = append(errs, fmt.Errorf("there is no schema profile %d", p))
	}
	if n := c.Schema.MaxBytes; n < 2*schema.MinMaxBytes || n > schema.MaxMaxBytes {
		errs = append(errs, fmt.Errorf("schemas of %d bytes: want from %d to %d", n, 2*schema.MinMaxBytes, schema.MaxMaxBytes))
	}
	if c.PageSize < 1 {
		errs = append(errs, fmt.Errorf("the page size %d is less than 1", c.PageSize))
	}
	if c.OperationWait < 0 {
		errs = append(errs, fmt.Errorf("the wait for operations %v is negative", c.OperationWait))
	}
	if c.TaskTTL < time.Millisecond {
		errs = append(errs, fmt.Errorf("the time to live of tasks %v is less than a millisecond", c.TaskTTL))
	}
	if c.Options != nil {
		var err error
		if c.options, err = options.Parse("options", c.Options); err != nil {
			errs = append(errs, err)
		}
	}
	var err error
	c.box, err = seal.New(c.Keys...)
	errs = append(errs, err, c.Metadata.Validate())
	return c, errors.Join(errs...)
}
