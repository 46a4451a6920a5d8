package transcode_test

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/internal/nodetools"
)

// apis are message types of the real world.
type apis struct {
	resolver   transcode.Resolver
	messages   []protoreflect.MessageDescriptor
	extensions map[protoreflect.FullName][]protoreflect.FieldDescriptor
}

func (a *apis) add(file protoreflect.FileDescriptor) {
	a.addMessages(file.Messages())
	a.addExtensions(file.Extensions())
}

func (a *apis) addMessages(list protoreflect.MessageDescriptors) {
	for i := range list.Len() {
		a.addMessage(list.Get(i))
	}
}

func (a *apis) addMessage(md protoreflect.MessageDescriptor) {
	options, _ := md.Options().(*descriptorpb.MessageOptions)
	if !md.IsMapEntry() && !options.GetMessageSetWireFormat() {
		a.messages = append(a.messages, md)
	}
	a.addMessages(md.Messages())
	a.addExtensions(md.Extensions())
}

func (a *apis) addExtensions(list protoreflect.ExtensionDescriptors) {
	for i := range list.Len() {
		a.addExtension(list.Get(i))
	}
}

func (a *apis) addExtension(fd protoreflect.FieldDescriptor) {
	// The resolver must know it by its number too.
	name := fd.ContainingMessage().FullName()
	if typ, err := a.resolver.FindExtensionByNumber(name, fd.Number()); err == nil && typ.TypeDescriptor().FullName() == fd.FullName() {
		if a.extensions == nil {
			a.extensions = map[protoreflect.FullName][]protoreflect.FieldDescriptor{}
		}
		a.extensions[name] = append(a.extensions[name], fd)
	}
}

// agree holds the writer against the oracle for messages of all types.
func (a *apis) agree(t *testing.T, seeds uint64) {
	t.Helper()
	for _, list := range a.extensions {
		sortByNumber(list)
	}
	slices.SortFunc(a.messages, func(x, y protoreflect.MessageDescriptor) int {
		return strings.Compare(string(x.FullName()), string(y.FullName()))
	})
	compiler := transcode.NewCompiler(a.resolver, transcode.Options{})
	const parts = 4
	for part := range parts {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			for i := part; i < len(a.messages); i += parts {
				md := a.messages[i]
				codec, err := compiler.Codec(md)
				if err != nil {
					t.Error(err)
					continue
				}
				for seed := range seeds {
					g := &wireGen{
						Rand: rand.New(rand.NewPCG(seed, uint64(i))), anys: a.messages, extensions: a.extensions,
						wild: seed%3 == 2, plain: seed%3 == 1, budget: 60,
					}
					wire := g.message(nil, md, 4)
					out, err := agree(t, codec, md, a.resolver, transcode.Options{}, wire)
					if err != nil {
						t.Fatalf("%s, seed %d: %v", md.FullName(), seed, err)
					}
					if _, warnings, _ := codec.AppendJSON(nil, wire); len(warnings) > 0 {
						continue // what was degraded cannot be read back
					}
					if err := readBack(codec, out); err != nil {
						t.Fatalf("%s, seed %d: %v\n%s", md.FullName(), seed, err, out)
					}
					_, _ = agree(t, codec, md, a.resolver, transcode.Options{}, g.broken(wire))
				}
			}
		})
	}
}

// unreadable are the problems of JSON that was written of messages which are
// not as their types have them.
var unreadable = []string{"the required field is missing", "no value of the closed enum", "is no path of field names", "unknown type in", "wrong type", "unknown field"}

// readBack reads JSON that the codec has written: it must give a message of
// which the same JSON is written.
func readBack(codec *transcode.Codec, text []byte) error {
	wire, err := codec.AppendWire(nil, text)
	if e, ok := errors.AsType[*transcode.ArgumentError](err); ok {
		for _, v := range e.Violations {
			if !slices.ContainsFunc(unreadable, func(s string) bool { return strings.Contains(v.Problem, s) }) {
				return e
			}
		}
		return nil
	}
	if err != nil {
		return err
	}
	again, _, err := codec.AppendJSON(nil, wire)
	if err == nil && !bytes.Equal(again, text) {
		err = fmt.Errorf("became %s", again)
	}
	return err
}

// TestAppendJSONOfLinkedTypes takes all message types that are linked in.
func TestAppendJSONOfLinkedTypes(t *testing.T) {
	t.Parallel()
	a := &apis{resolver: protoregistry.GlobalTypes}
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		a.add(file)
		return true
	})
	if len(a.messages) < 250 {
		t.Errorf("%d message types", len(a.messages))
	}
	a.agree(t, 30)
}

const (
	googleMessages = 48000 // at least
	googleSample   = 24    // one file of so many, with the race detector
)

// TestAppendJSONOfGoogleAPIs takes the message types of the public Google APIs:
// all of them, or a sample where that would take minutes.
func TestAppendJSONOfGoogleAPIs(t *testing.T) {
	t.Parallel()
	root := filepath.Dir(nodetools.Module(t, "google-proto-files", "package.json"))
	whole := !raceEnabled && !testing.Short()
	var names []string
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		name = filepath.ToSlash(name)
		// Files of protobuf itself need compilers of its next edition.
		if err != nil || !strings.HasSuffix(name, ".proto") || strings.HasPrefix(name, "google/protobuf/") {
			return err
		}
		h := fnv.New32a()
		_, _ = h.Write([]byte(name))
		if whole || h.Sum32()%googleSample == 0 {
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{root}})}
	linked, err := compiler.Compile(t.Context(), names...)
	if err != nil {
		t.Fatal(err)
	}
	files := new(protoregistry.Files)
	for _, file := range linked {
		if err := registerAll(files, file); err != nil {
			t.Fatal(err)
		}
	}
	a := &apis{resolver: dynamicpb.NewTypes(files)}
	files.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		a.add(file)
		return true
	})
	if whole && len(a.messages) < googleMessages {
		t.Errorf("%d message types", len(a.messages))
	}
	a.agree(t, 3)
}
