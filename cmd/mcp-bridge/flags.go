package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-bridge/mcp-bridge/bridge"
)

// upstreamFlags are the flags of every command that calls an upstream.
type upstreamFlags struct {
	services []string

	headers       []string
	env           []string
	forward       []string
	returned      []string
	tls           bridge.TLSFiles
	authority     string
	operations    operationFlags
	timeout       time.Duration
	refresh       time.Duration
	maxMessage    int
	stopTimeout   time.Duration // of an MCP server's process; 0 is the default
	onlyMCP       bool          // whether an API will not do
	mixed         bool          // whether the flags are for other upstreams too
	stream        streamLimits
	noValidate    bool
	noConfirm     bool
	gzip          bool
	descriptorSet string
	protos        []string
	protoPaths    []string
	optionsFile   string

	schema        string
	schemaBytes   int
	toolList      string
	toolThreshold int
}

// Profiles of schemas.
const (
	schemaPortable = "portable"
	schemaFull     = "full"
)

// streamLimits bound what is collected of a stream of responses.
type streamLimits struct {
	messages, bytes int
	time            time.Duration
}

// addConnection adds the flags by which any upstream is reached.
func (f *upstreamFlags) addConnection(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.headers, "header", nil, "send this `'name: value'` to the upstream with every call, or 'NAME=name: value' to that of several; ${VAR} is a variable of the environment; may be repeated; values of names that end in -bin are base64")
	flags.StringArrayVar(&f.env, "env", nil, "give this `variable` of the environment, NAME, or NAME=VALUE, to the command of an MCP server, which otherwise gets PATH, HOME and the like only; may be repeated")
	flags.StringVar(&f.tls.CA, "ca", "", "trust the certificate authorities in this PEM `file` instead of the system's")
	flags.StringVar(&f.tls.Cert, "cert", "", "present the client certificate in this PEM `file`")
	flags.StringVar(&f.tls.Key, "key", "", "the private key of --cert, a PEM `file`")
	flags.StringVar(&f.authority, "authority", "", "send this `host` as :authority, and expect the upstream's certificate to be for it")
	flags.BoolVar(&f.tls.InsecureSkipVerify, "insecure-skip-verify", false, "accept any certificate; anybody on the way can then read and change the calls")
	flags.IntVar(&f.maxMessage, "max-message-bytes", 0, "largest message in `bytes`, in both directions; 0 for the defaults, 16 MiB from the upstream and 4 MiB to it and from MCP clients")
	flags.BoolVar(&f.gzip, "gzip", false, "compress requests to the upstream; compressed responses are accepted in any case")
	annotate(cmd, groupUpstream, "header", "env", "ca", "cert", "key", "authority", "insecure-skip-verify", "max-message-bytes", "gzip")
}

// addUpstreamFlags adds the flags of the upstream and --log-level.
func (a *app) addUpstreamFlags(cmd *cobra.Command) *upstreamFlags {
	u := &upstreamFlags{}
	f := cmd.Flags()
	f.SortFlags = false
	u.addConnection(cmd)
	f.StringArrayVar(&u.services, "service", nil, "serve only services whose full name matches this `glob`, such as 'library.v1.*'; may be repeated")
	f.StringArrayVar(&u.forward, "forward-header", nil, "forward the MCP client's HTTP header of this `name` to the upstream, or NAME=name to that of several; a trailing * matches any rest; may be repeated")
	f.StringArrayVar(&u.returned, "return-header", nil, "show the upstream's response header or trailer of this `name` to the client, in _meta; may be repeated")
	f.DurationVar(&u.timeout, "timeout", bridge.DefaultTimeout, "bound every call by this `time`; 0 for no bound")
	f.DurationVar(&u.refresh, "refresh", 0, "read the descriptors again at this `interval`; 0 for never, except after UNIMPLEMENTED")
	f.IntVar(&u.stream.messages, "stream-messages", bridge.DefaultStreamMessages, "collect so many `messages` of a stream of responses; a call may ask for other limits, by its argument _limits")
	f.IntVar(&u.stream.bytes, "stream-bytes", bridge.DefaultStreamBytes, "collect messages of a stream up to so many `bytes` of JSON")
	f.DurationVar(&u.stream.time, "stream-time", bridge.DefaultStreamTime, "collect messages of a stream for this `time`")
	f.BoolVar(&u.noValidate, "no-validate", false, "leave it to the upstream to check requests against their protovalidate rules")
	f.BoolVar(&u.noConfirm, "no-confirm", false, "call methods without asking the user first, whatever options say")
	annotate(cmd, groupUpstream, "forward-header")
	annotate(cmd, groupAPI, "service", "return-header", "timeout", "refresh",
		"stream-messages", "stream-bytes", "stream-time", "no-validate", "no-confirm")
	f.StringVar(&u.descriptorSet, "descriptors", "", "read a FileDescriptorSet from this `file`, as buf build -o or protoc --descriptor_set_out --include_imports write it")
	f.StringArrayVar(&u.protos, "proto", nil, "compile this .proto `file` or directory of them; may be repeated")
	f.StringArrayVar(&u.protoPaths, "proto-path", nil, "look for imports of --proto in this `directory`; may be repeated")
	f.StringVar(&u.optionsFile, "options", "", "read what to say of services, methods and fields from this YAML `file`, a mcp.options.v1.File")
	annotate(cmd, groupDescriptor, "descriptors", "proto", "proto-path", "options")
	u.operations.add(cmd)
	f.StringVar(&u.schema, "schema", schemaPortable, "`profile` of the tools' schemas: portable, what every known host accepts; full, with references and unions, which some refuse")
	f.IntVar(&u.schemaBytes, "schema-bytes", bridge.DefaultSchemaBytes, "how many `bytes` both schemas of a tool may take; what does not fit is shortened")
	f.StringVar(&u.toolList, "tools", listAll, "`how` clients find tools: list, all are listed; search, where there are more than --tools-threshold, three are listed that search, describe and call the others")
	f.IntVar(&u.toolThreshold, "tools-threshold", bridge.DefaultToolSearchThreshold, "with --tools=search, up to this `number` of tools are listed all the same")
	annotate(cmd, groupAPI, "schema", "schema-bytes", "tools", "tools-threshold")
	a.addLogLevel(cmd)
	return u
}

// Values of --tools.
const (
	listAll    = "list"
	listSearch = "search"
)

// searches reports whether name is one of the tools that --tools=search may
// list.
func (f *upstreamFlags) searches(name string) bool {
	return f.toolList == listSearch && (name == bridge.SearchTool || name == bridge.DescribeTool || name == bridge.CallTool)
}

// checkConnection reports every contradiction among the flags of addConnection,
// and between them and the URL.
func (f *upstreamFlags) checkConnection(u bridge.URL) error {
	var problems []error
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if !f.tls.IsZero() && !u.TLS && !f.mixed {
		advice := "a unix socket has none"
		if u.Unix == "" {
			advice = "write " + u.WithTLS(true).String()
		}
		problem("--ca, --cert, --key and --insecure-skip-verify are for TLS, which %s does not use: %s", u, advice)
	}
	if f.maxMessage < 0 {
		problem("--max-message-bytes %d is negative", f.maxMessage)
	}
	_, err := f.header("")
	return errors.Join(append(problems, err)...)
}

// check reports every contradiction among the flags for an API, and between
// them and the URL.
func (f *upstreamFlags) check(u bridge.URL) error {
	var problems []error
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if f.descriptorSet != "" && len(f.protos) > 0 {
		problem("--descriptors and --proto exclude each other")
	}
	if len(f.protoPaths) > 0 && len(f.protos) == 0 {
		problem("--proto-path is for the imports of --proto, which is missing")
	}
	if f.timeout < 0 {
		problem("--timeout %v is negative", f.timeout)
	}
	if f.refresh < 0 {
		problem("--refresh %v is negative", f.refresh)
	}
	problems = append(problems, f.operations.check()...)
	if f.stream.messages < 1 || f.stream.bytes < 1 || f.stream.time <= 0 {
		problem("--stream-messages %d, --stream-bytes %d and --stream-time %v must all be above zero", f.stream.messages, f.stream.bytes, f.stream.time)
	}
	if f.schema != schemaPortable && f.schema != schemaFull {
		problem("--schema is %q, want %s or %s", f.schema, schemaPortable, schemaFull)
	}
	if f.toolList != listAll && f.toolList != listSearch {
		problem("--tools is %q, want %s or %s", f.toolList, listAll, listSearch)
	}
	if f.toolThreshold < 0 {
		problem("--tools-threshold %d is negative", f.toolThreshold)
	}
	if f.toolThreshold != bridge.DefaultToolSearchThreshold && f.toolList == listAll {
		problem("--tools-threshold is for --tools=%s, which is missing", listSearch)
	}
	if err := errors.Join(append(problems, f.checkConnection(u))...); err != nil {
		return usagef("%w", err)
	}
	return nil
}

// source returns where the descriptors come from, or nil for reflection.
func (f *upstreamFlags) source() bridge.Source {
	switch {
	case f.descriptorSet != "":
		return bridge.DescriptorSetFile(f.descriptorSet)
	case len(f.protos) > 0:
		return bridge.ProtoFiles(f.protos, f.protoPaths)
	default:
		return nil
	}
}
