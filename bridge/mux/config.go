package mux

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// Config says what a [Mux] serves. The zero value of every field but Upstreams
// means its default. A Mux keeps a Config and never writes to it.
type Config struct {
	// Upstreams are the servers. Their order means nothing: everything is listed
	// in the order of their names.
	Upstreams []Upstream
	// Prefix says how the names of upstreams become public.
	Prefix Prefix
	// Guard decides who may call and see what. The default allows everything.
	Guard protocol.Guard
	// Authenticated is true where every caller has been authenticated. Tools and
	// prompts that are not listed are then refused.
	Authenticated bool
	// Keys seal what clients bring back: states of calls that wait for input,
	// and ids of tasks. Each has 32 or more secret, random bytes. The first one
	// seals and all open. By default the Mux makes a key of its own.
	Keys [][]byte
	// Owner is the name of this replica in what is sealed.
	Owner string
	// Server is the Implementation object of several upstreams together. One
	// upstream alone speaks for itself.
	Server json.RawMessage
	// Logger gets what goes wrong. The default discards.
	Logger *slog.Logger
	// MinPause and MaxPause bound the time between attempts to reach an upstream
	// that is down, by default [DefaultMinPause] and [DefaultMaxPause].
	MinPause, MaxPause time.Duration
	// DrainTimeout is how long the calls to an upstream that has been removed may
	// take to end, by default [DefaultDrainTimeout].
	DrainTimeout time.Duration
}

// The defaults.
const (
	DefaultMinPause     = 500 * time.Millisecond
	DefaultMaxPause     = 30 * time.Second
	DefaultDrainTimeout = 30 * time.Second
	DefaultProbe        = 10 * time.Second
)

// Server is an upstream that has been opened.
//
// One that also implements [protocol.Resolver] names the RPCs behind its tools,
// prompts, resources and completions, and a [protocol.Guard] decides by those
// and by the messages that will be sent.
type Server interface {
	protocol.Handler
	// Close ends it. No call is under way then.
	Close()
}

// Upstream is one of the servers of a [Mux].
type Upstream struct {
	// Name tells it from the others, in the names of its tools among other
	// things. It has 1 to 32 letters, digits, '_' and '-'.
	Name string
	// Open connects to the server. It is called until it succeeds.
	Open func(ctx context.Context) (Server, error)
	// Version stands for everything that Open depends on. An upstream whose Name
	// and Version stay the same keeps running when a new Config is applied.
	Version string
	// Required is true where the Mux is not ready without the upstream.
	Required bool
	// Probe is how often an idle upstream is asked whether it is there. The
	// default is [DefaultProbe]; a negative value means never.
	Probe time.Duration
	// Tools chooses and changes its tools.
	Tools Tools
	// Resources are the beginnings of the URIs that belong to the upstream, where
	// its names have no prefix. The longest one that fits a URI wins.
	Resources []string
	// TrustAnnotations is true where the hints of its tools count for a guard.
	TrustAnnotations bool
	// Prefix overrides that of the Config.
	Prefix Prefix
}

// Prefix says whether public names begin with the name of their upstream.
type Prefix string

const (
	// PrefixDefault is PrefixAlways for several upstreams, and PrefixNever for
	// one.
	PrefixDefault Prefix = ""
	// PrefixAlways makes NAME_tool of the name of a tool or prompt, and name+URI of
	// a URI.
	PrefixAlways Prefix = "always"
	// PrefixNever keeps names as they are. It promises that they are disjoint: a
	// name that two upstreams list is served by neither.
	PrefixNever Prefix = "never"
)

// Tools chooses and changes the tools of an upstream. All names are the
// upstream's own.
type Tools struct {
	// Include and Exclude are globs, in which '*' stands for any text and '?' for
	// one character. Only tools that Include matches are served, where there is
	// any, and none that Exclude matches.
	Include, Exclude []string
	// Rename has new names by own names.
	Rename map[string]string
	// Override has changes by own names.
	Override map[string]Override
}

// Override changes what is said of a tool, and fixes arguments.
type Override struct {
	// Title and Description replace the tool's own, unless they are empty.
	Title, Description string
	// Annotations are members that replace those of the tool's annotations: a
	// ToolAnnotations object, or nil.
	Annotations json.RawMessage
	// Set are fixed arguments by their names. The schema of the tool does not show
	// them, and calls that give them are refused.
	Set map[string]json.RawMessage
}

// zero reports whether all tools are served as they are.
func (t *Tools) zero() bool {
	return len(t.Include)+len(t.Exclude)+len(t.Rename)+len(t.Override) == 0
}

// Endpoint is a view of some of the upstreams of a [Mux].
type Endpoint struct {
	// Name tells it from other endpoints: what is sealed for one is not valid at
	// another.
	Name string
	// Upstreams are the names of those that are shown. Without any, all are.
	Upstreams []string
	// Include and Exclude are globs of the public names of tools, as in [Tools].
	Include, Exclude []string
}

var (
	validName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)
	validTool = regexp.MustCompile(`^[A-Za-z0-9_./-]{1,64}$`)
)

// validate returns everything that is wrong with a Config.
func (c *Config) validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if len(c.Upstreams) == 0 {
		fault("there is no upstream to serve")
	}
	if !c.Prefix.valid() {
		fault("prefix %q is none of always and never", c.Prefix)
	}
	seen, schemes, claims := make(map[string]bool), make(map[string]string), make(map[string]string)
	for i := range c.Upstreams {
		u := &c.Upstreams[i]
		switch {
		case !validName.MatchString(u.Name):
			fault("the name %q of upstream %d must have 1 to 32 letters, digits, _ and -", u.Name, i)
			continue
		case seen[u.Name]:
			fault("two upstreams are called %q", u.Name)
			continue
		}
		seen[u.Name] = true
		if u.Open == nil {
			fault("upstream %s has no Open", u.Name)
		}
		if !u.Prefix.valid() {
			fault("upstream %s: prefix %q is none of always and never", u.Name, u.Prefix)
		}
		if other, taken := schemes[schemeOf(u.Name)]; taken {
			fault("the upstreams %s and %s have URIs that begin alike, with %s+", other, u.Name, schemeOf(u.Name))
		}
		schemes[schemeOf(u.Name)] = u.Name
		for _, prefix := range u.Resources {
			if other, taken := claims[prefix]; taken {
				fault("the upstreams %s and %s both claim the resources %s", other, u.Name, prefix)
			}
			claims[prefix] = u.Name
		}
		for _, err := range u.Tools.validate() {
			fault("upstream %s: %w", u.Name, err)
		}
	}
	for i := range c.Upstreams {
		for j := range c.Upstreams {
			one, other := c.Upstreams[i].Name, c.Upstreams[j].Name
			if strings.HasPrefix(other, one+"_") && validName.MatchString(one) {
				fault("the upstream name %s begins that of %s: nobody could tell whose tool %s_x is", one, other, other)
			}
		}
	}
	return errors.Join(faults...)
}

func (p Prefix) valid() bool { return p == PrefixDefault || p == PrefixAlways || p == PrefixNever }

func (t *Tools) validate() []error {
	var faults []error
	from := make(map[string]string)
	for _, own := range slices.Sorted(maps.Keys(t.Rename)) {
		name := t.Rename[own]
		if !validTool.MatchString(name) {
			faults = append(faults, fmt.Errorf("the new name %q of the tool %s must have 1 to 64 letters, digits, _, -, . and /", name, own))
		}
		if other, taken := from[name]; taken {
			faults = append(faults, fmt.Errorf("the tools %s and %s are both renamed to %s", other, own, name))
		}
		from[name] = own
	}
	for _, own := range slices.Sorted(maps.Keys(t.Override)) {
		o := t.Override[own]
		if o.Annotations != nil && !isObject(o.Annotations) {
			faults = append(faults, fmt.Errorf("the annotations of the tool %s must be an object", own))
		}
		for _, name := range slices.Sorted(maps.Keys(o.Set)) {
			if !isValue(o.Set[name]) {
				faults = append(faults, fmt.Errorf("the fixed argument %s of the tool %s is no JSON value", name, own))
			}
		}
	}
	return faults
}
