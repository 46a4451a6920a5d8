package bridge

import (
	"context"
	"encoding/json"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/export"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// ExportConfig says what [ExportProto] makes.
type ExportConfig struct {
	// Dir is the root of the .proto files. What it has of an earlier export of
	// the server keeps its names and numbers.
	Dir string
	// Package is the protobuf package, such as acme.weather.v1. If it is empty,
	// it is that of the earlier export or mcp.gen.SERVER.v1.
	Package string
	// Name is what files and types are called after. If it is empty, it is what
	// the server calls itself.
	Name string
	// Rules adds the constraints of schemas as rules of protovalidate.
	Rules bool
}

// ProtoExport is what an MCP server offers as .proto files. Nothing of it is
// written yet.
type ProtoExport struct {
	// Path is that of the server's own .proto file, below Dir.
	Path string
	// Files are all texts by their paths below Dir, with / between
	// directories: the .proto file, its lock, and what it imports of mcp-bridge.
	Files map[string][]byte
	// Outdated are the paths of files that Dir does not have as they are here,
	// sorted.
	Outdated []string
	// Earlier is set where there is an earlier export, and Recovered where its
	// lock was lost: what was retired before is then no longer known.
	Earlier, Recovered bool
	// Breaking are the changes since the earlier export with which code that
	// uses it would no longer compile, and Added the others.
	Breaking, Added []string
	// Warnings say which types take more than the schemas do, and why.
	Warnings []string

	made *export.Export
}

// ExportProto makes a typed service of what an MCP server offers: an RPC for
// each tool, prompt and resource template. The upstream is a client of the
// server, such as those of the packages below protocol.
//
// The lock, a file beside the .proto file, keeps names and numbers as they are
// from one export to the next. An error of the server is returned as it is,
// wrapped.
func ExportProto(ctx context.Context, upstream protocol.Handler, cfg ExportConfig) (*ProtoExport, error) {
	client, err := json.Marshal(map[string]string{"name": serverName, "version": Version()})
	if err != nil {
		return nil, err
	}
	server, err := export.List(ctx, upstream, client)
	if err != nil {
		return nil, err
	}
	if cfg.Name != "" {
		server.Name = cfg.Name
	}
	made, err := export.Make(ctx, server, export.Options{Dir: cfg.Dir, Package: cfg.Package, Rules: cfg.Rules})
	if err != nil {
		return nil, err
	}
	out := &ProtoExport{
		Path: made.Path, Files: made.Files, Outdated: made.Outdated(cfg.Dir),
		Earlier: made.Earlier, Recovered: made.Recovered, Warnings: made.Warnings, made: made,
	}
	for _, c := range made.Changes {
		if c.Breaking {
			out.Breaking = append(out.Breaking, c.Text)
		} else {
			out.Added = append(out.Added, c.Text)
		}
	}
	return out, nil
}

// BufYAML returns a buf.yaml and a buf.gen.yaml with which buf lints the files
// and generates code of them. The directory is Dir as seen from where they will
// be, with / between its parts.
func (e *ProtoExport) BufYAML(dir string) (workspace, generate []byte) {
	return e.made.BufYAML(dir), e.made.BufGenYAML(dir)
}
