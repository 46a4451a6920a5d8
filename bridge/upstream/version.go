package upstream

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"

	"google.golang.org/protobuf/proto"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/upstreamurl"
	configv1 "github.com/mcp-bridge/mcp-bridge/gen/mcpbridge/config/v1"
)

// Version stands for everything that Open depends on: an upstream whose version
// stays the same need not be opened again. Files count by their content, except
// those of TLS, which are read again by themselves.
func Version(name string, spec *configv1.Upstream, opts Options) string {
	own := proto.CloneOf(spec)
	// What a gateway does with the tools of an upstream is no concern of Open, but
	// for their names in the texts of an API.
	own.Tools, own.Resources, own.TrustAnnotations, own.Prefix, own.Required, own.Probe = nil, nil, false, 0, nil, nil
	h := sha256.New()
	add := func(part []byte) {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write(part)
	}
	wire, err := proto.MarshalOptions{Deterministic: true}.Marshal(own)
	if err != nil {
		wire = []byte(own.String()) // text that is no UTF-8, which Check has not seen
	}
	add([]byte(name))
	add(wire)
	if target, err := upstreamurl.ParseTarget(own.GetUrl()); err == nil && target.Kind == upstreamurl.API && toolNames(spec, opts) != nil {
		tools := spec.GetTools()
		add([]byte(opts.ToolPrefix))
		wire, err := proto.MarshalOptions{Deterministic: true}.Marshal(&configv1.Tools{Include: tools.GetInclude(), Exclude: tools.GetExclude(), Rename: tools.GetRename()})
		if err != nil {
			wire = []byte(tools.String()) // as above
		}
		add(wire)
	}
	if len(own.GetCommand()) == 0 {
		for _, key := range opts.Keys {
			add(key)
		}
	}
	for _, file := range append([]string{own.GetDescriptors(), own.GetOptionsFile()}, own.GetProto()...) {
		if file == "" {
			continue
		}
		// A file that cannot be read is a fault, which Check reports.
		_ = filepath.WalkDir(file, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			content, err := os.ReadFile(path) //nolint:gosec // a link that changes meanwhile leads to another version, as any change
			add([]byte(path))
			add(content)
			return err
		})
	}
	return hex.EncodeToString(h.Sum(nil))
}
