package schema

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/bufbuild/protocompile"
	"github.com/santhosh-tekuri/jsonschema/v6"
	_ "google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// compile compiles .proto files by name to text, with comments.
func compile(t testing.TB, files map[string]string) *protoregistry.Files {
	t.Helper()
	compiler := protocompile.Compiler{
		Resolver: protocompile.CompositeResolver{
			&protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(files)},
			protocompile.ResolverFunc(linkedIn),
		},
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return register(t, &compiler, names)
}

func register(t testing.TB, compiler *protocompile.Compiler, names []string) *protoregistry.Files {
	t.Helper()
	linked, err := compiler.Compile(t.Context(), names...)
	if err != nil {
		t.Fatalf("compile: %v", err)
	}
	registry := new(protoregistry.Files)
	for _, f := range linked {
		if err := registry.RegisterFile(f); err != nil {
			t.Fatalf("register: %v", err)
		}
	}
	return registry
}

func linkedIn(path string) (protocompile.SearchResult, error) {
	fd, err := protoregistry.GlobalFiles.FindFileByPath(path)
	return protocompile.SearchResult{Desc: fd}, err
}

// sink returns the files of testdata.
func sink(t testing.TB) *protoregistry.Files {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.proto")
	if err != nil || len(paths) == 0 {
		t.Fatalf("testdata: %v, %d files", err, len(paths))
	}
	for i, p := range paths {
		paths[i] = filepath.Base(p)
	}
	return register(t, &protocompile.Compiler{
		Resolver: protocompile.CompositeResolver{
			&protocompile.SourceResolver{ImportPaths: []string{"testdata"}},
			protocompile.ResolverFunc(linkedIn),
		},
		SourceInfoMode: protocompile.SourceInfoStandard,
	}, paths)
}

type finder interface {
	FindDescriptorByName(protoreflect.FullName) (protoreflect.Descriptor, error)
}

func find[D protoreflect.Descriptor](t testing.TB, files finder, name string) D {
	t.Helper()
	d, err := files.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		t.Fatalf("find %s: %v", name, err)
	}
	typed, ok := d.(D)
	if !ok {
		t.Fatalf("%s is a %T", name, d)
	}
	return typed
}

// messages returns all messages of a registry but map entries.
func messages(files *protoregistry.Files) []protoreflect.MessageDescriptor {
	var all []protoreflect.MessageDescriptor
	var walk func(protoreflect.MessageDescriptors)
	walk = func(mds protoreflect.MessageDescriptors) {
		for i := range mds.Len() {
			if md := mds.Get(i); !md.IsMapEntry() {
				all = append(all, md)
				walk(md.Messages())
			}
		}
	}
	files.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		walk(fd.Messages())
		return true
	})
	return all
}

// schemas returns the schemas of md after checking all that is true of every
// schema: size, portability, validity, determinism.
func schemas(t testing.TB, md protoreflect.MessageDescriptor, opts Options) (in, out json.RawMessage) {
	t.Helper()
	shared := New(opts)
	for _, side := range []struct {
		name   string
		render func(protoreflect.MessageDescriptor, Options) (Schema, error)
		again  func(protoreflect.MessageDescriptor) (Schema, error)
		into   *json.RawMessage
	}{{"input", Input, shared.Input, &in}, {"output", Output, shared.Output, &out}} {
		s, err := side.render(md, opts)
		if err != nil {
			t.Fatalf("%s of %s: %v", side.name, md.FullName(), err)
		}
		b := s.JSON
		for range 2 { // the second time from what the first one kept
			again, _ := side.again(md)
			if !bytes.Equal(b, again.JSON) || s.Pruned != again.Pruned {
				t.Errorf("%s of %s is not deterministic:\n%s\n%s", side.name, md.FullName(), b, again.JSON)
			}
		}
		if len(b) > opts.maxBytes() {
			t.Errorf("%s of %s: %d bytes, budget %d", side.name, md.FullName(), len(b), opts.maxBytes())
		}
		if opts.Profile == Portable {
			for _, p := range portable(b) {
				t.Errorf("%s of %s: %s", side.name, md.FullName(), p)
			}
		}
		validator(t, b)
		*side.into = b
	}
	return in, out
}

var metaSchema sync.Mutex // the compiler shares its cache of meta schemas

func validator(t testing.TB, schema json.RawMessage) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatalf("schema is no JSON: %v\n%s", err, schema)
	}
	metaSchema.Lock()
	defer metaSchema.Unlock()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource("mem:///schema.json", doc); err != nil {
		t.Fatalf("schema: %v", err)
	}
	s, err := c.Compile("mem:///schema.json")
	if err != nil {
		t.Fatalf("not a schema of 2020-12: %v\n%s", err, schema)
	}
	return s
}

func accepts(t testing.TB, s *jsonschema.Schema, instance []byte) error {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(instance))
	if err != nil {
		t.Fatalf("instance is no JSON: %v\n%s", err, instance)
	}
	return s.Validate(doc)
}
