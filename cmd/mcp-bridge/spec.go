package main

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/upstream"
	configv1 "github.com/mcp-bridge/mcp-bridge/gen/mcpbridge/config/v1"
)

// A rule says for which upstreams a flag means something.
type rule struct {
	flag scopedFlag
	fits func(*target) bool
	what string // what the flag is for, where an upstream is something else
	one  bool   // whether no two upstreams can have the same value
}

// The kinds of upstreams that rules tell apart.
func isAny(*target) bool      { return true }
func isAPI(t *target) bool    { return t.url.Kind == upstream.KindAPI }
func isURL(t *target) bool    { return t.command == nil }
func hasTLS(t *target) bool   { return t.url.TLS }
func forwards(t *target) bool { return isURL(t) && t.url.Kind != upstream.KindTunnel }
func isRPC(t *target) bool {
	return isURL(t) && t.url.Kind != upstream.KindStreamableHTTP && t.url.Kind != upstream.KindSSE
}

// hasRevision reports whether the upstream is an MCP server whose revision can be
// chosen: those behind RPCs have one.
func hasRevision(t *target) bool { return !isRPC(t) || t.url.Kind == upstream.KindTunnel }

const (
	forAPIs = "APIs of gRPC and Connect"
	forURLs = "URLs"
	forTLS  = "TLS"
	forMCP  = "MCP servers over HTTP, of commands and behind tunnels"
)

// rules are those of all flags about upstreams.
func (f *upstreamFlags) rules() []rule {
	return []rule{
		{&f.headers, isURL, forURLs, false},
		{&f.forward, forwards, forURLs, false},
		{&f.ca, hasTLS, forTLS, false},
		{&f.cert, hasTLS, forTLS, false},
		{&f.key, hasTLS, forTLS, false},
		{&f.insecure, hasTLS, forTLS, false},
		{&f.authority, isRPC, forAPIs, true},
		{&f.gzip, isRPC, forAPIs, false},
		{&f.maxMessage, isAny, "", false},
		{&f.timeout, isAny, "", false},
		{&f.revision, hasRevision, forMCP, false},
		{&f.services, isAPI, forAPIs, true},
		{&f.returned, isAPI, forAPIs, false},
		{&f.refresh, isAPI, forAPIs, false},
		{&f.streamMessages, isAPI, forAPIs, false},
		{&f.streamBytes, isAPI, forAPIs, false},
		{&f.streamTime, isAPI, forAPIs, false},
		{&f.noValidate, isAPI, forAPIs, false},
		{&f.noConfirm, isAPI, forAPIs, false},
		{&f.descriptors, isAPI, forAPIs, true},
		{&f.protos, isAPI, forAPIs, true},
		{&f.protoPaths, isAPI, forAPIs, true},
		{&f.comments, isAPI, forAPIs, true},
		{&f.optionsFile, isAPI, forAPIs, true},
		{&f.operationWait, isAPI, forAPIs, false},
		{&f.taskTTL, isAPI, forAPIs, false},
		{&f.schema, isAPI, forAPIs, false},
		{&f.schemaBytes, isAPI, forAPIs, false},
		{&f.noOutputSchema, isAPI, forAPIs, false},
		{&f.output, isAPI, forAPIs, false},
		{&f.bytes, isAPI, forAPIs, false},
		{&f.maxResult, isAPI, forAPIs, false},
	}
}

// check reports every flag that fits no upstream, and every value that is wrong.
func (f *upstreamFlags) check(all []*target) error {
	var problems []error
	tlsReported := false
	for _, r := range f.rules() {
		for i, scope := range r.flag.scopes() {
			if r.flag == scopedFlag(&f.headers) && !isHeader(f.headers.given[i].value) {
				continue // nothing of it is a scope; see checkValues
			}
			problem := r.check(all, scope, i)
			if problem == nil || r.what == forTLS && scope == "" && tlsReported {
				continue
			}
			tlsReported = tlsReported || r.what == forTLS && scope == ""
			problems = append(problems, problem)
			if scope == "" {
				break // the same again for every use
			}
		}
	}
	if len(f.env) > 0 && !slices.ContainsFunc(all, func(t *target) bool { return t.command != nil }) {
		problems = append(problems, usagef("--env is for the command of an MCP server, which is missing: it stands behind --"))
	}
	if _, err := f.environment(); err != nil {
		problems = append(problems, err)
	}
	for _, t := range all {
		problems = append(problems, f.checkValues(t)...)
	}
	return usage(problems...)
}

// check reports that the flag fits no upstream, where it is the use number i.
func (r rule) check(all []*target, scope string, i int) error {
	flag := "--" + r.flag.name()
	if scope != "" {
		at := slices.IndexFunc(all, func(t *target) bool { return t.name == scope })
		switch {
		case at < 0:
			return unknownScope(all, flag, scope, i)
		case !r.fits(all[at]):
			return usagef("%s number %d is for the upstream %q, which takes none: %s", flag, i+1, scope, all[at].printed())
		}
		return nil
	}
	fitting := 0
	for _, t := range all {
		if r.fits(t) {
			fitting++
		}
	}
	switch {
	case fitting == 0:
		return r.unfit(all)
	case r.one && fitting > 1:
		return usagef("%s is for one upstream, and there are %d that it could be for", flag, fitting).hint("say which one: %s NAME=...", flag)
	}
	return nil
}

func unknownScope(all []*target, flag, scope string, i int) error {
	var names []string
	for _, t := range all {
		names = append(names, t.name)
	}
	problem := usagef("%s number %d is for the upstream %q, which does not exist", flag, i+1, scope)
	if len(all) > 1 || all[0].named {
		return problem.hint("there are: %s", strings.Join(names, ", "))
	}
	return problem.hint("give the upstream that name: %s=URL", scope)
}

// unfit says that no upstream takes the flag.
func (r rule) unfit(all []*target) error {
	flag, only := "--"+r.flag.name(), all[0]
	switch {
	case r.what == forTLS && len(all) > 1:
		return usagef("--ca, --cert, --key and --insecure-skip-verify are for TLS, which none of the upstreams uses")
	case r.what == forTLS:
		advice := ""
		if secure := only.url.WithTLS(); secure.TLS {
			advice = ": write " + secure.String()
		} else if isRPC(only) {
			advice = ": a unix socket has none"
		}
		return usagef("--ca, --cert, --key and --insecure-skip-verify are for TLS, which %s does not use%s", only.printed(), advice)
	case r.what == forURLs:
		return usagef("--header and --forward-header are for URLs; a command gets its settings by arguments and --env")
	case r.what == forMCP && len(all) > 1:
		return usagef("%s is for %s, and none of the upstreams is one", flag, r.what)
	case r.what == forMCP:
		return usagef("%s is for %s, and %q is none", flag, r.what, only.text)
	case len(all) > 1:
		return usagef("%s is for %s, and all upstreams are MCP servers", flag, r.what)
	default:
		return usagef("%s is for %s, and %q is an MCP server", flag, r.what, only.printed())
	}
}

// usage joins problems to one error of usage, with their advice.
func usage(problems ...error) error {
	err := errors.Join(problems...)
	if err == nil {
		return nil
	}
	all := usagef("%w", err)
	for _, p := range problems {
		if one, ok := errors.AsType[*failure](p); ok {
			all.hints = append(all.hints, one.hints...)
		}
	}
	return all
}

// checkValues reports what is wrong with the flags of one upstream.
func (f *upstreamFlags) checkValues(t *target) []error {
	var problems []error
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	_, err := f.header(t)
	problems = append(problems, err)
	switch cert, key := f.cert.only(t.name), f.key.only(t.name); {
	case cert != "" && key == "":
		problem("--cert needs its private key too: add --key")
	case cert == "" && key != "":
		problem("--key needs its certificate too: add --cert")
	}
	if f.ca.only(t.name) != "" && f.insecure.only(t.name) {
		problem("--ca has no effect with --insecure-skip-verify, which accepts any certificate")
	}
	if v, ok := f.revision.last(t.name); ok && revisions[v] == 0 {
		problem("--revision is %q, want one of %s", v, strings.Join(slices.Sorted(maps.Keys(revisions)), ", "))
	}
	if n := f.maxMessage.only(t.name); n < 0 {
		problem("--max-message-bytes %d is negative", n)
	}
	for _, d := range []*scoped[time.Duration]{&f.timeout, &f.refresh, &f.operationWait} {
		if v := d.only(t.name); v < 0 {
			problem("--%s %v is negative", d.flag, v)
		}
	}
	if ttl, ok := f.taskTTL.last(t.name); ok && ttl < time.Millisecond {
		problem("--task-ttl %v is less than a millisecond", ttl)
	}
	for _, n := range []*scoped[int32]{&f.streamMessages, &f.streamBytes, &f.maxResult} {
		if v, ok := n.last(t.name); ok && v < 1 {
			problem("--%s %d is not above zero", n.flag, v)
		}
	}
	if v, ok := f.streamTime.last(t.name); ok && v <= 0 {
		problem("--stream-time %v is not above zero", v)
	}
	if !isAPI(t) {
		return problems
	}
	if f.descriptors.only(t.name) != "" && len(f.protos.values(t.name)) > 0 {
		problem("--descriptors and --proto exclude each other")
	}
	if len(f.protoPaths.values(t.name)) > 0 && len(f.protos.values(t.name)) == 0 {
		problem("--proto-path is for the imports of --proto, which is missing")
	}
	if v, ok := f.schema.last(t.name); ok && v != schemaPortable && v != schemaFull {
		problem("--schema is %q, want %s or %s", v, schemaPortable, schemaFull)
	}
	if v, given := f.bytes.last(t.name); given {
		if _, ok := encodings[v]; !ok {
			problem("--bytes is %q, want %s, %s or %s", v, bytesBase64, bytesUTF8, bytesHex)
		}
	}
	if v, given := f.output.last(t.name); given {
		if _, ok := outputs[v]; !ok {
			problems = append(problems, wrongOutput(v))
		}
	}
	return problems
}

// spec returns the configuration of an upstream.
func (f *upstreamFlags) spec(t *target) (*configv1.Upstream, error) {
	u := &configv1.Upstream{Timeout: duration(&f.timeout, t), MaxMessageBytes: f.maxMessage.only(t.name)}
	if hasRevision(t) {
		u.Revision = revisions[f.revision.only(t.name)]
	}
	if t.command != nil {
		u.Command = t.command
		env, err := f.environment()
		u.Env = env
		return u, err
	}
	u.Url = t.text
	header, err := f.header(t)
	if err != nil {
		return nil, err
	}
	u.Headers = header
	if forwards(t) {
		u.ForwardHeaders = f.forward.values(t.name)
	}
	if hasTLS(t) {
		files := &configv1.UpstreamTls{
			Ca: f.ca.only(t.name), Cert: f.cert.only(t.name), Key: f.key.only(t.name), InsecureSkipVerify: f.insecure.only(t.name),
		}
		if files.GetCa() != "" || files.GetCert() != "" || files.GetInsecureSkipVerify() {
			u.Tls = files
		}
	}
	if isRPC(t) {
		u.Authority, u.Gzip = f.authority.only(t.name), f.gzip.only(t.name)
	}
	if isAPI(t) {
		f.setAPI(u, t)
	}
	return u, nil
}

// encodings are what the values of --bytes stand for.
var encodings = map[string]configv1.Bytes{
	bytesBase64: configv1.Bytes_BYTES_BASE64,
	bytesUTF8:   configv1.Bytes_BYTES_UTF8,
	bytesHex:    configv1.Bytes_BYTES_HEX,
}

// outputs are what the values of --output stand for, in a configuration and in Go.
var outputs = map[string]struct {
	key    configv1.Output
	option bridge.Output
}{
	outputCanonical: {configv1.Output_OUTPUT_CANONICAL, bridge.CanonicalOutput},
	outputAnswers:   {configv1.Output_OUTPUT_ANSWERS, bridge.AnswersOutput},
	outputAll:       {configv1.Output_OUTPUT_ALL, bridge.AllOutput},
}

// wrongOutput says that there is no such output.
func wrongOutput(output string) error {
	return usagef("--output is %q, want %s, %s or %s", output, outputCanonical, outputAnswers, outputAll)
}

// setAPI sets what APIs alone have.
func (f *upstreamFlags) setAPI(u *configv1.Upstream, t *target) {
	u.Services, u.ReturnHeaders = f.services.values(t.name), f.returned.values(t.name)
	u.Descriptors, u.Proto, u.ProtoPath = f.descriptors.only(t.name), f.protos.values(t.name), f.protoPaths.values(t.name)
	u.Comments, u.OptionsFile = f.comments.values(t.name), f.optionsFile.only(t.name)
	u.Refresh, u.OperationWait, u.TaskTtl = duration(&f.refresh, t), duration(&f.operationWait, t), duration(&f.taskTTL, t)
	if len(f.streamMessages.given)+len(f.streamBytes.given)+len(f.streamTime.given) > 0 {
		u.Stream = &configv1.Stream{
			Messages: f.streamMessages.only(t.name), Bytes: f.streamBytes.only(t.name), Time: duration(&f.streamTime, t),
		}
	}
	if len(f.schema.given)+len(f.schemaBytes.given)+len(f.noOutputSchema.given) > 0 {
		u.Schema = &configv1.Schema{MaxBytes: f.schemaBytes.only(t.name)}
		if off, ok := f.noOutputSchema.last(t.name); ok {
			u.Schema.Output = new(!off)
		}
		if f.schema.only(t.name) == schemaFull {
			u.Schema.Profile = configv1.SchemaProfile_SCHEMA_PROFILE_FULL
		}
	}
	u.Bytes = encodings[f.bytes.only(t.name)]
	u.Output, u.MaxResultBytes = outputs[f.output.only(t.name)].key, f.maxResult.only(t.name)
	if off, ok := f.noValidate.last(t.name); ok {
		u.Validate = new(!off)
	}
	if off, ok := f.noConfirm.last(t.name); ok {
		u.Confirm = new(!off)
	}
}

// duration returns the value of a flag, or nil.
func duration(s *scoped[time.Duration], t *target) *durationpb.Duration {
	d, ok := s.last(t.name)
	if !ok {
		return nil
	}
	return durationpb.New(d)
}

// upstreamConfig returns the configuration of upstreams that the command line
// names.
func (f *upstreamFlags) upstreamConfig(all []*target) (*configv1.Config, error) {
	if err := nameTargets(all); err != nil {
		return nil, err
	}
	if err := usage(f.check(all), f.checkToolsBytes()); err != nil {
		return nil, err
	}
	cfg := &configv1.Config{Upstreams: make(map[string]*configv1.Upstream)}
	for _, t := range all {
		u, err := f.spec(t)
		if err != nil {
			return nil, usagef("%w", err)
		}
		cfg.Upstreams[t.name] = u
	}
	if f.keyFile != "" {
		cfg.Keys = []*configv1.Key{{File: f.keyFile}}
	}
	cfg.ToolsBytes = new(int32(f.toolsBytes)) //nolint:gosec // checkToolsBytes bounds it
	// What clients send is bounded as what upstreams send.
	cfg.Server = &configv1.Server{MaxMessageBytes: f.maxMessage.only("")}
	return cfg, nil
}

// checkToolsBytes reports a --tools-bytes that no list can have.
func (f *upstreamFlags) checkToolsBytes() error {
	if f.toolsBytes < 0 || f.toolsBytes > math.MaxInt32 {
		return fmt.Errorf("--tools-bytes is %d, want a number from 0 to %d", f.toolsBytes, math.MaxInt32)
	}
	return nil
}

// besideConfig reports flags that a configuration file takes the place of.
func (f *upstreamFlags) besideConfig(cmd *cobra.Command) error {
	var problems []error
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if group := flag.Annotations[groupKey]; flag.Name != "config" && (len(group) == 0 || group[0] != groupGeneral) {
			problems = append(problems, fmt.Errorf("--%s does not go with --config: write it in the file", flag.Name))
		}
	})
	return usage(problems...)
}
