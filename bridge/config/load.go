package config

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/fault"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/document"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/options"
	configv1 "github.com/mcp-bridge/mcp-bridge/gen/mcpbridge/config/v1"
)

// MinKeyBytes is how long a key must be that seals tasks and states.
const MinKeyBytes = 32

// Options are the choices for reading a file. The zero value has the defaults.
type Options struct {
	// LookupEnv finds the variables that references name. The default is
	// [os.LookupEnv].
	LookupEnv func(name string) (value string, ok bool)
	// Dir is where the relative paths of [Parse] start. The default is the
	// directory of the named file. [Load] does not use it.
	Dir string
	// Others are the names of upstreams that the program adds itself. Endpoints
	// may name them, and a file may then have none of its own.
	Others []string
}

// File is a configuration that has been read from a file.
type File struct {
	// Name is the path of the file, as it was given.
	Name string
	// Config is the configuration. References are expanded and paths are
	// absolute; see [WithDefaults] for keys that are not set.
	Config *configv1.Config
	// Warnings are what the author should know, such as keys of a host's file
	// that have no meaning here.
	Warnings []fault.Fault
	// Reads are the paths of the files and directories that the configuration
	// depends on. They are sorted. [Load] includes the file itself.
	Reads []string

	// written are texts as the file has them, by path, where they differ from
	// those of Config: with references, and with relative paths.
	written map[string]string
	others  []string
	// sums are Reads and what they held.
	sums sums
}

// Load reads the configuration file at a path: the YAML or JSON form of
// mcpbridge.config.v1.Config, or a file of an MCP host. The error is
// [fault.Faults] if the file can be read at all.
func Load(path string, opts Options) (*File, error) {
	f, err := load(path, opts)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// load is [Load]. Its File is not nil, and says what has been read, also with an
// error.
func load(path string, opts Options) (*File, error) {
	opts.Dir = filepath.Dir(path)
	full, err := filepath.Abs(path)
	if err != nil {
		full = path
	}
	data, err := readFile(path)
	if err != nil {
		f := &File{Name: path, sums: sums{}}
		f.sums.note(full)
		return f, err
	}
	f, faults := parse(path, data, opts)
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		f.sums[full] = sha256.Sum256(data)
	} else {
		f.sums.note(full)
	}
	f.Reads = f.sums.paths()
	if len(faults) > 0 {
		return f, faults
	}
	return f, nil
}

// readFile reads a configuration file, which may be a pipe.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fileProblem(path, err)
	}
	defer func() { _ = f.Close() }() // it has only been read
	data, err := io.ReadAll(io.LimitReader(f, document.MaxBytes+1))
	if err != nil {
		return nil, fileProblem(path, err)
	}
	return data, nil
}

// Parse is [Load] for text that is in memory. The name stands in faults.
func Parse(name string, data []byte, opts Options) (*File, error) {
	f, faults := parse(name, data, opts)
	if len(faults) > 0 {
		return nil, faults
	}
	return f, nil
}

// parse reads a configuration. The File is not complete if there are faults, but
// its Reads are as good as they can be.
func parse(name string, data []byte, opts Options) (*File, fault.Faults) {
	if opts.LookupEnv == nil {
		opts.LookupEnv = os.LookupEnv
	}
	if opts.Dir == "" {
		opts.Dir = filepath.Dir(name)
	}
	var faults fault.Faults
	if dir, err := filepath.Abs(opts.Dir); err == nil {
		opts.Dir = dir
	}
	f := &File{Name: name, Config: &configv1.Config{}, written: make(map[string]string), others: opts.Others, sums: sums{}}
	l := &loader{file: f, dir: opts.Dir}
	defer func() { f.Reads = f.sums.paths() }()

	root, faults := document.Parse(name, data)
	if root == nil {
		return f, faults.Sort()
	}
	root.Drop("$schema") // for editors
	e := &expander{file: name, dir: opts.Dir, env: opts.LookupEnv, sums: f.sums}
	if isHostFile(root) {
		h := &hostFile{name: name}
		root = h.convert(root)
		faults = append(faults, h.faults...)
		f.Warnings = h.warnings.Sort()
		e.host = newHostReferences(opts.Dir)
	}
	e.tree(root, "")
	faults = append(faults, e.faults...)
	places, more := document.Decode(name, root, f.Config, ownPackage)
	faults = append(faults, more...)
	l.places = places
	l.paths(f.Config.ProtoReflect(), "")
	l.special()
	written := func(path string) string {
		if n := places.Node(path); n != nil {
			return n.Raw
		}
		return ""
	}
	for _, i := range check(f.Config, opts.Others, written) {
		switch {
		case i.key:
			l.faults = append(l.faults, withSuggestions(places.KeyFault(i.path, i.problem), i.suggestions))
		case !places.Bad(i.path):
			l.faults = append(l.faults, withSuggestions(places.Fault(i.path, i.problem), i.suggestions))
		}
	}
	faults = append(faults, l.faults...)
	places.Each(func(path string, n *document.Node) {
		if n.Raw != "" {
			f.written[path] = n.Raw
		}
	})
	return f, faults.Sort()
}

func withSuggestions(f fault.Fault, names []string) fault.Fault {
	f.Suggestions = names
	return f
}

// loader resolves the paths of a configuration, and looks whether the files are
// there.
type loader struct {
	file   *File
	dir    string
	places *document.Places
	faults fault.Faults
}

// paths makes the paths in a message absolute.
func (l *loader) paths(m protoreflect.Message, path string) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		p := fd.JSONName()
		if path != "" {
			p = path + "." + p
		}
		isPath := fieldOptions(fd).GetPath()
		switch {
		case fd.IsMap() && fd.MapValue().Message() != nil:
			v.Map().Range(func(key protoreflect.MapKey, v protoreflect.Value) bool {
				l.paths(v.Message(), at(p, key.String()))
				return true
			})
		case fd.IsMap():
		case fd.IsList():
			for i := range v.List().Len() {
				if item := v.List().Get(i); fd.Message() != nil {
					l.paths(item.Message(), nth(p, i))
				} else if isPath {
					v.List().Set(i, protoreflect.ValueOfString(l.path(nth(p, i), item.String(), fd)))
				}
			}
		case fd.Message() != nil:
			if ours(fd.Message()) {
				l.paths(v.Message(), p)
			}
		case isPath:
			m.Set(fd, protoreflect.ValueOfString(l.path(p, v.String(), fd)))
		}
		return true
	})
}

// path makes a path absolute, and looks for what is there.
func (l *loader) path(at, value string, fd protoreflect.FieldDescriptor) string {
	if value == "" {
		return ""
	}
	full := l.absolute(at, value)
	if fd.Name() != "dir" { // of which nothing is read
		defer l.file.sums.note(full)
	}
	if err := l.look(full, fd); err != nil {
		if faults, ok := errors.AsType[fault.Faults](err); ok {
			l.faults = append(l.faults, faults...)
		} else {
			l.faults = append(l.faults, l.places.Fault(at, err.Error()))
		}
	}
	return full
}

// absolute makes a path absolute and remembers how it is written.
func (l *loader) absolute(at, value string) string {
	full := absolute(l.dir, value)
	l.remember(at, full)
	return full
}

// remember notes that a text has been changed.
func (l *loader) remember(at, text string) {
	n := l.places.Node(at)
	if n == nil || n.Text == text {
		return
	}
	if n.Raw == "" {
		n.Raw = n.Text
	}
	n.Text = text
}

// look checks that a path leads to what its key wants.
func (l *loader) look(path string, fd protoreflect.FieldDescriptor) error {
	if strings.ContainsRune(path, 0) {
		return errors.New("the path has a zero byte")
	}
	info, err := os.Stat(path)
	if err != nil {
		return fileProblem(path, err)
	}
	switch fd.Name() {
	case "dir", "proto_path":
		if !info.IsDir() {
			return fmt.Errorf("%s is not a directory", path)
		}
		return nil
	case "proto":
		return nil
	}
	if info.IsDir() {
		return fmt.Errorf("%s is a directory", path)
	}
	switch {
	case fd.Name() == "options_file":
		data, err := readBounded(path, document.MaxBytes)
		if err != nil {
			return err
		}
		l.file.sums.read(path, data)
		_, err = options.Parse(path, data)
		return err
	case fd.ContainingMessage().Name() == "Key" && info.Mode().IsRegular() && info.Size() < MinKeyBytes:
		return fmt.Errorf("the key in %s has %d bytes; it needs at least %d", path, info.Size(), MinKeyBytes)
	}
	return nil
}

// special resolves the paths that stand in other texts.
func (l *loader) special() {
	c := l.file.Config
	for i, address := range c.GetServer().GetListen() {
		if path, ok := strings.CutPrefix(address, "unix:"); ok && path != "" {
			address = "unix:" + absolute(l.dir, trimSlashes(path))
			l.remember(nth("server.listen", i), address)
			c.Server.Listen[i] = address
		}
	}
	if typed := c.GetServer().GetTyped(); typed != "" && typed != typedAuto {
		c.Server.Typed = l.absolute("server.typed", typed)
		if info, err := os.Stat(c.Server.Typed); err != nil || !info.IsDir() {
			l.faults = append(l.faults, l.places.Fault("server.typed", fmt.Sprintf("must be %q or the directory of an export, and %s is none", typedAuto, c.Server.Typed)))
		}
	}
	for name, u := range c.GetUpstreams() {
		scheme, path, ok := strings.Cut(u.GetUrl(), "unix:")
		if !ok || path == "" || strings.HasPrefix(path, "/") || strings.HasPrefix(path, "@") || strings.Contains(scheme, ":") {
			continue
		}
		u.Url = scheme + "unix:" + absolute(l.dir, path)
		l.remember(at("upstreams", name)+".url", u.Url)
	}
}

// typedAuto is the value of server.typed for services without an export.
const typedAuto = "auto"

// trimSlashes makes /run/x of ///run/x.
func trimSlashes(path string) string {
	if after, ok := strings.CutPrefix(path, "//"); ok {
		return "/" + strings.TrimLeft(after, "/")
	}
	return path
}
