// Package export writes what an MCP server offers as files: a .proto file, its
// lock, and what is needed to lint them and to generate code.
package export

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/typed"
	_ "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1" // plans import its files
	"github.com/mcp-bridge/mcp-bridge/proto"
)

// lockSuffix is how the names of lock files end.
const lockSuffix = ".mcp.lock.json"

// Options are the choices that [Make] leaves.
type Options struct {
	// Dir is the root of the .proto files: what it has of an earlier export
	// stays compatible.
	Dir string
	// Package is the protobuf package, or empty for that of the earlier export
	// or one made of the server's name.
	Package string
	// Rules adds rules of protovalidate.
	Rules bool
}

// Export is what is to be written.
type Export struct {
	// Path is that of the .proto file below the directory. Files are the texts
	// of it, of its lock and of what it imports, by their paths there.
	Path  string
	Files map[string][]byte
	// Recovered is set where there was a .proto file but no lock.
	Recovered bool
	// Changes are those since the earlier export, and Earlier is set where
	// there is one.
	Changes []typed.Change
	Earlier bool
	// Warnings say what the types do not say of what the server offers.
	Warnings []string
	// Plan is what it was made of.
	Plan *typed.Plan
}

// Make makes the export of a server. It is an error if there is an earlier one
// that cannot be read, or if the server offers nothing at all.
func Make(ctx context.Context, server typed.Server, opts Options) (*Export, error) {
	if len(server.Tools)+len(server.Prompts)+len(server.Templates) == 0 {
		return nil, errors.New("the server offers no tools, no prompts and no resource templates")
	}
	before, err := find(ctx, typed.FileName(server.Name), opts)
	if _, ok := errors.AsType[*severalError](err); ok {
		err = fmt.Errorf("%w; say with the package which one is meant", err)
	}
	if err != nil {
		return nil, err
	}
	if before.path != "" && before.root != opts.Dir {
		return nil, fmt.Errorf("%s is an export of this server, but below %s, not %s: give that as the directory, or another package", before.path, before.root, opts.Dir)
	}
	plan, err := typed.New(server, typed.Options{Package: opts.Package, Lock: before.lock, Rules: opts.Rules})
	if err != nil && before.path != "" {
		err = fmt.Errorf("%s: %w", before.path, err)
	}
	if err != nil {
		return nil, err
	}
	fd, err := plan.Link(protoregistry.GlobalFiles)
	if err != nil {
		return nil, err
	}
	lock, err := plan.Lock.Bytes()
	if err != nil {
		return nil, err
	}
	e := &Export{
		Path: fd.Path(), Plan: plan, Warnings: plan.Warnings,
		Files: map[string][]byte{
			fd.Path(): typed.Render(fd),
			strings.TrimSuffix(fd.Path(), ".proto") + lockSuffix: lock,
		},
	}
	if before.file != nil {
		e.Earlier, e.Recovered = true, before.recovered
		e.Changes = typed.Compare(before.file, fd)
	}
	return e, errors.Join(e.addImports(fd), e.addDetails())
}

// details are files with what the details of errors hold, and what requests add
// in their metadata. The service does not import them; its clients will want
// them.
var details = []string{"mcp/v1/tools.proto", "mcp/v1/error.proto"}

// addDetails adds the files of details.
func (e *Export) addDetails() error {
	for _, path := range details {
		fd, err := protoregistry.GlobalFiles.FindFileByPath(path)
		if err != nil {
			return fmt.Errorf("export %s: %w", path, err)
		}
		if err := e.addFile(fd); err != nil {
			return err
		}
	}
	return nil
}

// imports has the file of protovalidate, which those of mcp.v1 import. It is a
// copy of the one that tools/protovalidate.sh fetches.
//
//go:embed imports
var imports embed.FS

// addImports adds the files that a file imports.
func (e *Export) addImports(fd protoreflect.FileDescriptor) error {
	for i := range fd.Imports().Len() {
		if err := e.addFile(fd.Imports().Get(i).FileDescriptor); err != nil {
			return err
		}
	}
	return nil
}

// addFile adds a file and what it imports, but for the files that every compiler
// has.
func (e *Export) addFile(fd protoreflect.FileDescriptor) error {
	path := fd.Path()
	if e.Files[path] != nil || strings.HasPrefix(path, "google/protobuf/") {
		return nil
	}
	text, err := fs.ReadFile(proto.Files, path)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = fs.ReadFile(imports, "imports/"+path)
	}
	if err != nil {
		return fmt.Errorf("export %s: %w", path, err)
	}
	e.Files[path] = text
	return e.addImports(fd)
}

// Outdated returns the paths of the files that are missing below a directory,
// or have another text, sorted.
func (e *Export) Outdated(dir string) []string {
	var all []string
	for path, text := range e.Files {
		is, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(path)))
		if err != nil || string(is) != string(text) {
			all = append(all, path)
		}
	}
	slices.Sort(all)
	return all
}
