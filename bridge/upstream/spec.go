package upstream

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/config"
	"github.com/mcp-bridge/mcp-bridge/bridge/fault"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/tlsconf"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/toolname"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/upstreamurl"
	configv1 "github.com/mcp-bridge/mcp-bridge/gen/mcpbridge/config/v1"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// Options are what upstreams of one program share. The zero value means the
// defaults.
type Options struct {
	// Logger gets what goes wrong. The default discards.
	Logger *slog.Logger
	// ClientInfo is the Implementation object that MCP servers see of clients
	// that have none. The default names this module.
	ClientInfo json.RawMessage
	// Keys seal the ids of tasks: the first one seals, all of them open. Without
	// any, ids are valid in this process only.
	Keys [][]byte
	// StopTimeout is how long the process of a command has to end once its input
	// is closed, and again once it is told to. The default is that of package
	// protocol/stdio.
	StopTimeout time.Duration
	// ToolPrefix is what the names of the upstream's tools begin with where clients
	// see them, such as "orders_". With the new names of the spec, it says how the
	// texts of an API's tools name each other.
	ToolPrefix string
}

// ConfigError is a fault of a configuration: the upstream cannot be opened
// before it is changed.
type ConfigError struct{ Err error }

// Error returns the text of the fault.
func (e *ConfigError) Error() string { return e.Err.Error() }

// Unwrap returns the fault.
func (e *ConfigError) Unwrap() error { return e.Err }

// Check reports everything that is wrong with a spec, as a [*ConfigError]. It
// reads files, and asks no upstream.
func Check(name string, spec *configv1.Upstream, opts Options) error {
	p, err := newPlan(name, spec, opts)
	if err != nil || p.isCommand() || !p.target.IsRPC() {
		return err
	}
	caller, err := p.dial() // which does not connect
	if err != nil {
		return &ConfigError{err}
	}
	_ = caller.Close() // nothing is lost with it
	return nil
}

// plan is a spec that has been read.
type plan struct {
	spec     *configv1.Upstream
	opts     Options
	log      *slog.Logger
	target   upstreamurl.Target // zero for a command
	header   http.Header
	tls      tlsconf.Files
	timeout  time.Duration // 0 is no limit
	source   bridge.Source // nil is reflection
	options  []bridge.Option
	maxBytes int
}

// newPlan reads a spec, which need not be complete.
func newPlan(name string, spec *configv1.Upstream, opts Options) (*plan, error) {
	spec, err := complete(spec)
	if err != nil {
		return nil, &ConfigError{err}
	}
	p := &plan{spec: spec, opts: opts, timeout: spec.GetTimeout().AsDuration(), maxBytes: int(spec.GetMaxMessageBytes()), log: cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))}
	if name != "" {
		p.log = p.log.With("upstream", name)
	}
	if p.opts.ClientInfo == nil {
		p.opts.ClientInfo = clientInfo()
	}
	faults := []error{p.readAddress(), p.readHeaders(), p.readTLS()}
	if p.isAPI() {
		faults = append(faults, p.readDescriptors(), p.readOptions())
	}
	if err := errors.Join(faults...); err != nil {
		return nil, &ConfigError{err}
	}
	return p, nil
}

// complete returns a spec that keeps the rules, with its defaults.
func complete(spec *configv1.Upstream) (*configv1.Upstream, error) {
	const name = "upstream"
	cfg := &configv1.Config{Upstreams: map[string]*configv1.Upstream{name: spec}}
	if err := config.Validate(cfg); err != nil {
		if faults, ok := errors.AsType[fault.Faults](err); ok {
			for i := range faults { // paths begin at the spec
				faults[i].Path = strings.TrimPrefix(strings.TrimPrefix(faults[i].Path, "upstreams."+name), ".")
			}
		}
		return nil, err
	}
	return config.WithDefaults(cfg).GetUpstreams()[name], nil
}

// clientInfo is the Implementation object of this module.
func clientInfo() json.RawMessage {
	info, err := json.Marshal(map[string]string{"name": "mcp-bridge", "version": bridge.Version()})
	if err != nil {
		return nil // strings always are JSON
	}
	return info
}

func (p *plan) isCommand() bool { return len(p.spec.GetCommand()) > 0 }

// isAPI reports whether the upstream is an API, or an MCP server that its
// reflection tells from one.
func (p *plan) isAPI() bool { return !p.isCommand() && p.target.Kind == upstreamurl.API }

// readAddress reads the URL of an upstream that is not a command.
func (p *plan) readAddress() (err error) {
	if !p.isCommand() {
		p.target, err = upstreamurl.ParseTarget(p.spec.GetUrl())
	}
	return err
}

// readHeaders reads the headers to send. Errors show no value, for it may be
// secret.
func (p *plan) readHeaders() error {
	p.header = http.Header{}
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(p.spec.GetHeaders())) {
		for _, value := range p.spec.GetHeaders()[name].GetValues() {
			if strings.HasSuffix(strings.ToLower(name), "-bin") {
				raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(value, "="))
				if err != nil {
					faults = append(faults, fmt.Errorf("headers: %s: the value is not base64, as names that end in -bin need it", name))
					continue
				}
				value = string(raw)
			}
			p.header.Add(name, value)
		}
	}
	return errors.Join(faults...)
}

// readTLS reads the files of TLS.
func (p *plan) readTLS() error {
	files := p.spec.GetTls()
	p.tls = tlsconf.Files{CA: files.GetCa(), Cert: files.GetCert(), Key: files.GetKey(), InsecureSkipVerify: files.GetInsecureSkipVerify()}
	if p.tls.IsZero() {
		return nil
	}
	if _, err := p.tls.Config(p.host()); err != nil {
		return fmt.Errorf("tls: %w", err)
	}
	return nil
}

// host is the name or address that the upstream's certificate is for.
func (p *plan) host() string {
	if p.target.IsRPC() {
		return cmp.Or(p.spec.GetAuthority(), p.target.RPC.Host)
	}
	if u, err := url.Parse(p.target.HTTP); err == nil {
		return u.Hostname()
	}
	return "" // ParseTarget has parsed it before
}

// text is the upstream for people.
func (p *plan) text() string {
	if p.isCommand() {
		return p.spec.GetCommand()[0]
	}
	return p.target.String()
}

// readDescriptors finds where the descriptors of an API come from, and reads
// them where that is a file.
func (p *plan) readDescriptors() error {
	if comments := p.spec.GetComments(); len(comments) > 0 {
		if err := bridge.CheckComments(comments...); err != nil {
			return err
		}
	}
	set, protos, paths := p.spec.GetDescriptors(), p.spec.GetProto(), p.spec.GetProtoPath()
	switch {
	case set != "":
		p.source = bridge.DescriptorSetFile(set)
	case len(protos) > 0:
		p.source = bridge.ProtoFiles(protos, paths)
	default:
		return nil
	}
	_, err := p.source.Load(context.Background())
	return err
}

// encodings are those of bytes in a configuration.
var encodings = map[configv1.Bytes]bridge.Encoding{
	configv1.Bytes_BYTES_BASE64: bridge.Base64Bytes,
	configv1.Bytes_BYTES_UTF8:   bridge.UTF8Bytes,
	configv1.Bytes_BYTES_HEX:    bridge.HexBytes,
}

// outputs are what the values of output stand for.
var outputs = map[configv1.Output]bridge.Output{
	configv1.Output_OUTPUT_CANONICAL: bridge.CanonicalOutput,
	configv1.Output_OUTPUT_ANSWERS:   bridge.AnswersOutput,
	configv1.Output_OUTPUT_ALL:       bridge.AllOutput,
}

// readOptions makes the options of an API.
func (p *plan) readOptions() error {
	u := p.spec
	stream, look := u.GetStream(), u.GetSchema()
	profile := bridge.PortableSchemas
	if look.GetProfile() == configv1.SchemaProfile_SCHEMA_PROFILE_FULL {
		profile = bridge.FullSchemas
	}
	opts := []bridge.Option{
		bridge.WithLogger(p.log),
		bridge.WithTimeout(p.timeout),
		bridge.WithForwardedHeaders(u.GetForwardHeaders()...),
		bridge.WithReturnedHeaders(u.GetReturnHeaders()...),
		bridge.WithRefresh(u.GetRefresh().AsDuration()),
		bridge.WithOperationWait(u.GetOperationWait().AsDuration()),
		bridge.WithTaskTTL(u.GetTaskTtl().AsDuration()),
		bridge.WithStreamLimits(int(stream.GetMessages()), int(stream.GetBytes()), stream.GetTime().AsDuration()),
		bridge.WithSchemas(profile, int(look.GetMaxBytes())),
		bridge.WithOutput(outputs[u.GetOutput()]),
		bridge.WithBytes(encodings[u.GetBytes()]),
		bridge.WithMaxResultBytes(int(u.GetMaxResultBytes())),
	}
	if names := toolNames(u, p.opts); names != nil {
		opts = append(opts, bridge.WithPublicNames(func(own string) string {
			name, _ := names.Public(own)
			return name
		}))
	}
	if len(p.opts.Keys) > 0 {
		opts = append(opts, bridge.WithKeys(p.opts.Keys...))
	}
	if !look.GetOutput() {
		opts = append(opts, bridge.WithoutOutputSchemas())
	}
	if !u.GetValidate() {
		opts = append(opts, bridge.WithoutValidation())
	}
	if !u.GetConfirm() {
		opts = append(opts, bridge.WithoutConfirmation())
	}
	authors, err := p.authorOptions()
	if err != nil {
		return err
	}
	p.options = append(opts, authors...)
	return nil
}

// toolNames returns the names of the tools as clients see them, or nil where they are
// the upstream's own.
func toolNames(u *configv1.Upstream, opts Options) *toolname.Names {
	tools := u.GetTools()
	if opts.ToolPrefix == "" && len(tools.GetInclude())+len(tools.GetExclude())+len(tools.GetRename()) == 0 {
		return nil
	}
	return toolname.New(opts.ToolPrefix, tools.GetInclude(), tools.GetExclude(), tools.GetRename())
}

// authorOptions makes the option of what is said of services, methods and fields.
func (p *plan) authorOptions() ([]bridge.Option, error) {
	inline, file := p.spec.GetOptions(), p.spec.GetOptionsFile()
	switch {
	case file != "":
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("optionsFile: %w", err)
		}
		return []bridge.Option{bridge.WithOptions(text)}, nil
	case inline == nil:
		return nil, nil
	}
	codec, err := transcode.New(inline.ProtoReflect().Descriptor(), nil, transcode.Options{})
	if err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	wire, err := proto.Marshal(inline)
	if err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	text, _, err := codec.AppendJSON(nil, wire)
	if err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	return []bridge.Option{bridge.WithOptions(text)}, nil // JSON is YAML
}

// revisions are those that a spec can choose. Auto is none of them.
var revisions = map[configv1.Revision]protocol.Revision{
	configv1.Revision_REVISION_2024_11_05: protocol.Revision20241105,
	configv1.Revision_REVISION_2025_03_26: protocol.Revision20250326,
	configv1.Revision_REVISION_2025_06_18: protocol.Revision20250618,
	configv1.Revision_REVISION_2025_11_25: protocol.Revision20251125,
	configv1.Revision_REVISION_2026_07_28: protocol.Revision20260728,
}

// clientConfig returns what the clients of all MCP servers have in common.
func (p *plan) clientConfig() protocol.ClientConfig {
	return protocol.ClientConfig{Logger: p.log, ClientInfo: p.opts.ClientInfo, MaxMessageBytes: p.maxBytes, Revision: revisions[p.spec.GetRevision()]}
}
