package main

import (
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-bridge/mcp-bridge/bridge/config"
	configv1 "github.com/mcp-bridge/mcp-bridge/gen/mcpbridge/config/v1"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// someAPI is the name of an API in defaults.
const someAPI = "api"

// defaults is a configuration of one API with the default of every key.
var defaults = sync.OnceValue(func() *configv1.Config {
	return config.WithDefaults(&configv1.Config{
		Upstreams: map[string]*configv1.Upstream{someAPI: {Url: exampleURL}},
	})
})

func defaultListen() string { return defaults().GetServer().GetListen()[0] }

// defaultToolsBytes is the default of --tools-bytes of commands that serve.
func defaultToolsBytes() int { return int(defaults().GetToolsBytes()) }

// upstreamFlags are the flags of every command that calls an upstream.
type upstreamFlags struct {
	config      string        // the name of a file in the place of upstreams and their flags
	file        *config.File  // that file, once it has been read
	stopTimeout time.Duration // of an MCP server's process; 0 is the default
	shown       string        // what names the upstreams again, for advice

	headers, forward, returned scoped[string]
	env                        []string
	ca, cert, key, authority   scoped[string]
	insecure, gzip             scoped[bool]
	revision                   scoped[string]
	maxMessage                 scoped[int32]
	services                   scoped[string]
	timeout, refresh           scoped[time.Duration]
	streamMessages             scoped[int32]
	streamBytes                scoped[int32]
	streamTime                 scoped[time.Duration]
	noValidate, noConfirm      scoped[bool]
	noOutputSchema             scoped[bool]
	descriptors                scoped[string]
	protos, protoPaths         scoped[string]
	comments                   scoped[string]
	optionsFile                scoped[string]
	operationWait, taskTTL     scoped[time.Duration]
	schema, output, bytes      scoped[string]
	schemaBytes, maxResult     scoped[int32]

	keyFile    string
	toolsBytes int
}

// Profiles of schemas.
const (
	schemaPortable = "portable"
	schemaFull     = "full"
)

// Values of --output.
const (
	outputCanonical = "canonical"
	outputAnswers   = "answers"
	outputAll       = "all"
)

// Values of --bytes.
const (
	bytesBase64 = "base64"
	bytesUTF8   = "utf8"
	bytesHex    = "hex"
)

// aboutOutput is the help of --output.
const aboutOutput = "`what` results show although it is zero: canonical, nothing; answers, booleans, numbers, enums, and empty lists at the top; all, also empty strings and lists anywhere"

// revisionAuto is the value of --revision that pins none.
const revisionAuto = "auto"

// revisions are the values of --revision.
var revisions = func() map[string]configv1.Revision {
	all := map[string]configv1.Revision{revisionAuto: configv1.Revision_REVISION_AUTO}
	for _, r := range protocol.Revisions() {
		name := "REVISION_" + strings.ReplaceAll(string(r), "-", "_")
		all[string(r)] = configv1.Revision(configv1.Revision_value[name])
	}
	return all
}()

// addConnection adds the flags by which any upstream is reached.
func (f *upstreamFlags) addConnection(cmd *cobra.Command) {
	addText(cmd, &f.headers, "header", "", "send this `'name: value'` to the upstream with every call; ${VAR} is a variable of the environment; may be repeated; values of names that end in -bin are base64")
	cmd.Flags().StringArrayVar(&f.env, "env", nil, "give this `variable` of the environment, NAME, or NAME=VALUE, to the command of an MCP server, which otherwise gets PATH, HOME and the like only; may be repeated")
	addText(cmd, &f.ca, "ca", "", "trust the certificate authorities in this PEM `file` instead of the system's")
	addText(cmd, &f.cert, "cert", "", "present the client certificate in this PEM `file`")
	addText(cmd, &f.key, "key", "", "the private key of --cert, a PEM `file`")
	addText(cmd, &f.authority, "authority", "", "send this `host` as :authority, and expect the upstream's certificate to be for it")
	addBool(cmd, &f.insecure, "insecure-skip-verify", "for testing only: accept any certificate; anybody on the way can then read and change the calls")
	addInt(cmd, &f.maxMessage, "max-message-bytes", 0, "largest message in `bytes`, in both directions; 0 for the defaults, 16 MiB from the upstream and 4 MiB to it and from MCP clients")
	addBool(cmd, &f.gzip, "gzip", "compress requests to the upstream; compressed responses are always accepted")
	addText(cmd, &f.revision, "revision", revisionAuto, "`revision` of MCP to speak with an MCP server, such as 2025-11-25; auto for that of each client, as far as the server speaks it")
	annotate(cmd, groupUpstream, "header", "env", "ca", "cert", "key", "authority", "insecure-skip-verify", "max-message-bytes", "gzip", "revision")
}

// addUpstreamFlags adds the flags of the upstream, --config and --log-level. toolsBytes
// is the default of --tools-bytes.
func (a *app) addUpstreamFlags(cmd *cobra.Command, toolsBytes int) *upstreamFlags {
	u, api := &upstreamFlags{}, defaults().GetUpstreams()[someAPI]
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&u.config, "config", "", "read the configuration from this `file`, in YAML or JSON, instead of naming upstreams")
	u.addConnection(cmd)
	addText(cmd, &u.services, "service", "", "serve only services whose full name matches this `glob`, such as 'library.v1.*'; may be repeated")
	addText(cmd, &u.forward, "forward-header", "", "forward the MCP client's HTTP header of this `name` to the upstream; a trailing * matches any rest; may be repeated")
	addText(cmd, &u.returned, "return-header", "", "show the upstream's response header or trailer of this `name` to the client, in _meta; may be repeated")
	addDuration(cmd, &u.timeout, "timeout", api.GetTimeout().AsDuration(), "bound every call by this `time`; 0 for no bound")
	addDuration(cmd, &u.refresh, "refresh", api.GetRefresh().AsDuration(), "read the descriptors again at this `interval`; 0 for never, except after UNIMPLEMENTED")
	addInt(cmd, &u.streamMessages, "stream-messages", int(api.GetStream().GetMessages()), "collect this number of `messages` of a stream of responses; a call may ask for other limits, by its argument _limits")
	addInt(cmd, &u.streamBytes, "stream-bytes", int(api.GetStream().GetBytes()), "collect messages of a stream up to this number of `bytes` of JSON")
	addDuration(cmd, &u.streamTime, "stream-time", api.GetStream().GetTime().AsDuration(), "collect messages of a stream for this `time`")
	addBool(cmd, &u.noValidate, "no-validate", "leave it to the upstream to check requests against their protovalidate rules")
	addBool(cmd, &u.noConfirm, "no-confirm", "call methods without asking the user first, whatever options say")
	annotate(cmd, groupUpstream, "forward-header", "timeout")
	addText(cmd, &u.descriptors, "descriptors", "", "read a FileDescriptorSet from this `file`, as buf build -o or protoc --descriptor_set_out --include_imports write it")
	addText(cmd, &u.protos, "proto", "", "compile this .proto `file` or directory of them; may be repeated")
	addText(cmd, &u.protoPaths, "proto-path", "", "look for imports of --proto in this `directory`; may be repeated")
	addText(cmd, &u.comments, "comments", "", "take comments about the API, which reflection leaves out, from this `file`: a FileDescriptorSet with source info, a .proto file, or a directory of them; may be repeated")
	addText(cmd, &u.optionsFile, "options", "", "read what to say of services, methods and fields from this YAML `file`, a mcp.options.v1.File")
	annotate(cmd, groupDescriptor, "descriptors", "proto", "proto-path", "comments", "options")
	addDuration(cmd, &u.operationWait, "operation-wait", api.GetOperationWait().AsDuration(), "wait this `time` for a long-running operation, within five sixths of --timeout; 0 for not at all")
	addDuration(cmd, &u.taskTTL, "task-ttl", api.GetTaskTtl().AsDuration(), "let clients ask for a task during this `time` after its creation")
	addText(cmd, &u.schema, "schema", schemaPortable, "`profile` of the tools' schemas: portable, what every known host accepts; full, with references and unions, which some refuse")
	addInt(cmd, &u.schemaBytes, "schema-bytes", int(api.GetSchema().GetMaxBytes()), "how many `bytes` both schemas of a tool may take; what does not fit is shortened")
	addBool(cmd, &u.noOutputSchema, "no-output-schema", "leave out the schemas of results, for a shorter list of tools")
	addText(cmd, &u.output, "output", outputAnswers, aboutOutput)
	addText(cmd, &u.bytes, "bytes", bytesBase64, "`encoding` of bytes in arguments and results, where options of a field do not say: base64; utf8, for text; hex")
	addInt(cmd, &u.maxResult, "max-result-bytes", int(api.GetMaxResultBytes()), "how many `bytes` of JSON or text a result may have; a longer one is an error that says how to ask for less")
	annotate(cmd, groupAPI, "service", "return-header", "refresh", "stream-messages", "stream-bytes", "stream-time", "no-validate", "no-confirm",
		"operation-wait", "task-ttl", "schema", "schema-bytes", "no-output-schema", "output", "bytes", "max-result-bytes")
	f.StringVar(&u.keyFile, "task-key-file", "", "seal the ids of tasks with the 32 or more random bytes in this `file`, so that they outlive the process and are known to every replica")
	f.IntVar(&u.toolsBytes, "tools-bytes", toolsBytes, "how many `bytes` the list of tools may take; three tools that search, describe and call the others replace a longer one; 0 lists all tools, however many")
	annotate(cmd, groupGateway, "task-key-file", "tools-bytes")
	a.addLogLevel(cmd)
	return u
}
