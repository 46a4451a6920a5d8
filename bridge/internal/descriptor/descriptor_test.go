package descriptor_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	_ "buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionv1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/grpcgo"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/descriptor"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	_ "github.com/mcp-bridge/mcp-bridge/gen/library/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a grpc-go server that describes itself as register says.
func serve(t *testing.T, register func(*grpc.Server)) *grpcgo.Caller {
	t.Helper()
	server := grpc.NewServer()
	healthpb.RegisterHealthServer(server, health.NewServer())
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "library.v1.Library", HandlerType: (*any)(nil)}, nil)
	register(server)
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(lis) }()
	caller, err := grpcgo.Dial("grpc://" + lis.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := caller.Close(); err != nil {
			t.Error(err)
		}
		server.Stop()
		if err := <-done; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Error(err)
		}
	})
	return caller
}

func TestReflection(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		register func(*grpc.Server)
		wantErr  string
	}{
		{"v1 and v1alpha", func(s *grpc.Server) { reflection.Register(s) }, ""},
		{"v1 only", func(s *grpc.Server) { reflection.RegisterV1(s) }, ""},
		{"v1alpha only", func(s *grpc.Server) {
			reflectionv1alpha.RegisterServerReflectionServer(s, reflection.NewServer(reflection.ServerOptions{Services: s}))
		}, ""},
		{"none", func(*grpc.Server) {}, "--descriptors"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			caller := serve(t, tt.register)
			set, err := descriptor.Reflection(caller).Load(t.Context())
			if tt.wantErr != "" {
				if _, ok := errors.AsType[*descriptor.NoReflectionError](err); !ok || !strings.Contains(err.Error(), tt.wantErr) || !strings.Contains(err.Error(), "--proto") {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			services := set.Services()
			if len(services) != 1 || services[0].FullName() != "library.v1.Library" {
				t.Errorf("services %v", services)
			}
			again, err := descriptor.Reflection(caller).Load(t.Context())
			if err != nil || again.Version() != set.Version() {
				t.Errorf("the same API has versions %s and %s, %v", set.Version(), again.Version(), err)
			}
			if _, err := set.Types().FindMessageByName("library.v1.Book"); err != nil {
				t.Error(err)
			}
			if _, err := set.Types().FindMessageByName("google.protobuf.Timestamp"); err != nil {
				t.Error(err)
			}
		})
	}
}

// Every file is asked for once.
func TestReflectionAsksOnce(t *testing.T) {
	t.Parallel()
	caller := serve(t, func(s *grpc.Server) { reflection.Register(s) })
	var (
		mu    sync.Mutex
		asked []string
	)
	counting := rpc.CallerFunc(func(ctx context.Context, c *rpc.Call, receive func([]byte) error) (*rpc.Trailer, error) {
		mu.Lock()
		for _, request := range c.Requests {
			q := &reflectionv1.ServerReflectionRequest{}
			if err := proto.Unmarshal(request, q); err != nil {
				t.Error(err)
			}
			asked = append(asked, q.String())
		}
		mu.Unlock()
		return caller.Call(ctx, c, receive)
	})
	if _, err := descriptor.Reflection(counting).Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	slices.Sort(asked)
	if len(asked) != len(slices.Compact(slices.Clone(asked))) || len(asked) < 2 {
		t.Errorf("asked for %q", asked)
	}
}

// A server that does not describe a service loses that service only.
func TestReflectionOfPart(t *testing.T) {
	t.Parallel()
	caller := serve(t, func(s *grpc.Server) {
		s.RegisterService(&grpc.ServiceDesc{ServiceName: "unknown.v1.Secret", HandlerType: (*any)(nil)}, nil)
		reflection.Register(s)
	})
	set, err := descriptor.Reflection(caller).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Services()) != 1 || len(set.Warnings()) != 1 || !strings.Contains(set.Warnings()[0], "unknown.v1.Secret") {
		t.Errorf("services %v, warnings %q", set.Services(), set.Warnings())
	}
}

// A peer that answers nonsense is an error, and no crash.
func TestHostileReflection(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, answer, want string }{
		{"garbage", "\xff\xff\xff", "malformed"},
		{"nothing", "", "no service"},
		{"truncated", "\x32\x05\x0a", "malformed"},
		{"an error", "\x3a\x05\x12\x03sry", "sry"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			caller := rpc.CallerFunc(func(_ context.Context, _ *rpc.Call, receive func([]byte) error) (*rpc.Trailer, error) {
				return &rpc.Trailer{}, receive([]byte(tt.answer))
			})
			set, err := descriptor.Reflection(caller).Load(t.Context())
			if err == nil {
				_, err = set.Select(nil)
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q in it", err, tt.want)
			}
		})
	}
}

// file is a small file descriptor.
func file(name, pkg, message string, deps ...string) *descriptorpb.FileDescriptorProto {
	return &descriptorpb.FileDescriptorProto{
		Name: &name, Package: &pkg, Dependency: deps, Syntax: new("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{{Name: &message}},
	}
}

// using adds a service whose method takes and gives a message.
func using(fd *descriptorpb.FileDescriptorProto, message string) *descriptorpb.FileDescriptorProto {
	fd.Service = []*descriptorpb.ServiceDescriptorProto{{
		Name:   new("S"),
		Method: []*descriptorpb.MethodDescriptorProto{{Name: new("M"), InputType: &message, OutputType: &message}},
	}}
	return fd
}

func TestLinking(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		files []*descriptorpb.FileDescriptorProto
		want  string // in the error, or "" for none
	}{
		{"as registered", []*descriptorpb.FileDescriptorProto{using(file("a.proto", "a", "A", "b.proto"), ".b.B"), file("b.proto", "b", "B")}, ""},
		{"importer last", []*descriptorpb.FileDescriptorProto{file("b.proto", "b", "B"), using(file("a.proto", "a", "A", "b.proto"), ".b.B")}, ""},
		{"imported by a longer path", []*descriptorpb.FileDescriptorProto{using(file("a.proto", "a", "A", "x/y/b.proto"), ".b.B"), file("b.proto", "b", "B")}, ""},
		{"imported by a shorter path", []*descriptorpb.FileDescriptorProto{using(file("a.proto", "a", "A", "b.proto"), ".b.B"), file("x/b.proto", "b", "B")}, ""},
		{"imported by another path", []*descriptorpb.FileDescriptorProto{using(file("a.proto", "a", "A", "v/b.proto"), ".b.B"), file("w/b.proto", "b", "B"), file("u/b.proto", "c", "C")}, ""},
		{"a well-known type", []*descriptorpb.FileDescriptorProto{using(file("a.proto", "a", "A", "google/protobuf/timestamp.proto"), ".google.protobuf.Timestamp")}, ""},
		{"missing and not needed", []*descriptorpb.FileDescriptorProto{using(file("a.proto", "a", "A", "gogo.proto"), ".a.A")}, ""},
		{"missing and needed", []*descriptorpb.FileDescriptorProto{using(file("a.proto", "a", "A", "b.proto"), ".b.B")}, "a.proto imports b.proto, which is missing; include all imports"},
		{"cycle", []*descriptorpb.FileDescriptorProto{using(file("a.proto", "a", "A", "b.proto"), ".b.B"), file("b.proto", "b", "B", "a.proto")}, "a.proto -> b.proto -> a.proto"},
		{"twice the same", []*descriptorpb.FileDescriptorProto{using(file("a.proto", "a", "A"), ".a.A"), using(file("a.proto", "a", "A"), ".a.A")}, ""},
		{"two of one name", []*descriptorpb.FileDescriptorProto{using(file("a.proto", "a", "A"), ".a.A"), file("a.proto", "b", "A")}, "two different files a.proto"},
		{"no service", []*descriptorpb.FileDescriptorProto{file("a.proto", "a", "A")}, "no service"},
		{"no name", []*descriptorpb.FileDescriptorProto{using(file("", "a", "A"), ".a.A")}, "no name"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := descriptor.FromFileDescriptorSet(&descriptorpb.FileDescriptorSet{File: tt.files}).Load(t.Context())
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q in it", err, tt.want)
			}
		})
	}
}

// The order of files in a set changes nothing, and their content does.
func TestVersion(t *testing.T) {
	t.Parallel()
	files := []*descriptorpb.FileDescriptorProto{
		using(file("a.proto", "a", "A", "b.proto", "c.proto"), ".b.B"), file("b.proto", "b", "B", "c.proto"), file("c.proto", "c", "C"),
	}
	version := func(files []*descriptorpb.FileDescriptorProto) string {
		set, err := descriptor.FromFileDescriptorSet(&descriptorpb.FileDescriptorSet{File: files}).Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return set.Version()
	}
	want := version(files)
	for range 10 {
		rand.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
		if got := version(files); got != want {
			t.Errorf("version %s, want %s", got, want)
		}
	}
	files = append(slices.DeleteFunc(files, func(fd *descriptorpb.FileDescriptorProto) bool { return fd.GetName() == "c.proto" }), file("c.proto", "c", "D"))
	if version(files) == want {
		t.Error("a changed file has not changed the version")
	}
}

func TestDescriptorSetFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{using(file("a.proto", "a", "A"), ".a.A")}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, content, want string }{
		{"good", string(good), ""},
		{"json", `{"file": []}`, "this is JSON"},
		{"proto", "syntax = \"proto3\";\n", "--proto"},
		{"gzip", "\x1f\x8b\x08\x00", "gzip"},
		{"garbage", "\xff\xff\xff\xff", "no binary FileDescriptorSet"},
		{"empty", "", "holds no files"},
	} {
		path := filepath.Join(dir, tt.name)
		if err := os.WriteFile(path, []byte(tt.content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := descriptor.DescriptorSet(path).Load(t.Context())
		if (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path)) {
			t.Errorf("%s: error %v, want %q in it", tt.name, err, tt.want)
		}
	}
	if _, err := descriptor.DescriptorSet(filepath.Join(dir, "absent")).Load(t.Context()); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Error(err)
	}
}

func TestProtoSources(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		files map[string]string
		paths []string // relative; default "."
		roots []string
		want  []string // in the error
	}{
		{name: "a directory", files: map[string]string{
			"a.proto":     "syntax = \"proto3\";\npackage a;\nimport \"sub/b.proto\";\n// Serves.\nservice S { rpc M(b.B) returns (b.B); }\n",
			"sub/b.proto": "syntax = \"proto3\";\npackage b;\nmessage B {}\n",
		}},
		{name: "a file", paths: []string{"x/a.proto"}, files: map[string]string{
			"x/a.proto": "syntax = \"proto3\";\npackage a;\nimport \"google/protobuf/empty.proto\";\nservice S { rpc M(google.protobuf.Empty) returns (google.protobuf.Empty); }\n",
		}},
		{name: "import path", paths: []string{"api"}, roots: []string{"third"}, files: map[string]string{
			"api/a.proto":       "syntax = \"proto3\";\npackage a;\nimport \"dep/b.proto\";\nservice S { rpc M(b.B) returns (b.B); }\n",
			"third/dep/b.proto": "syntax = \"proto3\";\npackage b;\nmessage B {}\n",
		}},
		{name: "what is linked in", files: map[string]string{
			"a.proto": "syntax = \"proto3\";\npackage a;\nimport \"buf/validate/validate.proto\";\nmessage M { string s = 1 [(buf.validate.field).string.min_len = 1]; }\nservice S { rpc M(.a.M) returns (.a.M); }\n",
		}},
		{name: "edition 2023", files: map[string]string{
			"a.proto": "edition = \"2023\";\npackage a;\nmessage M { string s = 1; }\nservice S { rpc M(.a.M) returns (.a.M); }\n",
		}},
		{name: "edition 2024", files: map[string]string{
			"a.proto": "edition = \"2024\";\npackage a;\nmessage M { string s = 1; }\nservice S { rpc M(.a.M) returns (.a.M); }\n",
		}, want: []string{"a.proto:1:11", "--descriptors"}},
		{name: "missing import", files: map[string]string{
			"a.proto": "syntax = \"proto3\";\npackage a;\nimport \"dep/b.proto\";\nservice S { rpc M(b.B) returns (b.B); }\n",
		}, want: []string{"a.proto:3", `"dep/b.proto"`, "--proto-path"}},
		{name: "syntax errors", files: map[string]string{
			"a.proto": "syntax = \"proto3\";\npackage a;\nmessage {}\n",
			"b.proto": "syntax = \"proto3\";\npackage b;\nservice S { rpc M(X) returns (X); }\n",
		}, want: []string{"a.proto:3:9", "b.proto:3"}},
		{name: "no service", files: map[string]string{"a.proto": "syntax = \"proto3\";\nmessage M {}\n"}, want: []string{"no service"}},
		{name: "nothing", files: map[string]string{"a.txt": "x"}, want: []string{"no .proto file"}},
		{name: "absent", paths: []string{"absent"}, want: []string{"absent", "no such file"}},
		{name: "absent root", roots: []string{"nowhere"}, files: map[string]string{"a.proto": "syntax = \"proto3\";\n"}, want: []string{"nowhere is no directory"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, text := range tt.files {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			in := func(names []string) (paths []string) {
				for _, name := range names {
					paths = append(paths, filepath.Join(dir, name))
				}
				return paths
			}
			if tt.paths == nil {
				tt.paths = []string{"."}
			}
			set, err := descriptor.ProtoSources(in(tt.paths), in(tt.roots)).Load(t.Context())
			for _, want := range tt.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %q in it", err, want)
				}
			}
			if tt.want == nil && (err != nil || len(set.Services()) != 1) {
				t.Errorf("%v, error %v", set, err)
			}
		})
	}
}

// Sources have comments, and options that nobody here knows survive.
func TestSourcesAreWhole(t *testing.T) {
	t.Parallel()
	set, err := descriptor.ProtoSources([]string{"../../../proto/library"}, []string{"../../../proto"}).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	method := set.Services()[0].Methods().ByName("GetBook")
	if got := method.ParentFile().SourceLocations().ByDescriptor(method).LeadingComments; !strings.Contains(got, "Returns one book") {
		t.Errorf("comment %q", got)
	}
	name := method.Input().Fields().ByName("name")
	if b, err := proto.Marshal(name.Options()); err != nil || len(b) == 0 {
		t.Errorf("the field's rules are lost: %q, %v", b, err)
	}
}

func TestLinked(t *testing.T) {
	t.Parallel()
	set, err := descriptor.Linked("library.v1.Library", "grpc.health.v1.Health").Load(t.Context())
	if err != nil || len(set.Services()) != 1 {
		t.Errorf("%v %v", set, err)
	}
	for _, tt := range []struct{ service, want string }{
		{"library.Library", "there is library.v1.Library"},
		{"nowhere.Nothing", "import its generated package"},
		{"library.v1.Book", "is no service"},
	} {
		if _, err := descriptor.Linked(tt.service).Load(t.Context()); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.service, err)
		}
	}
	if _, err := descriptor.Linked().Load(t.Context()); err == nil {
		t.Error("no service is no error")
	}
}

func TestSelect(t *testing.T) {
	t.Parallel()
	var files []*descriptorpb.FileDescriptorProto
	for _, pkg := range []string{"a.v1", "a.v2", "b.v1"} {
		files = append(files, using(file(pkg+".proto", pkg, "M"), "."+pkg+".M"))
	}
	set, err := descriptor.FromFileDescriptorSet(&descriptorpb.FileDescriptorSet{File: files}).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		globs []string
		want  string
	}{
		{nil, "a.v1.S a.v2.S b.v1.S"},
		{[]string{"*"}, "a.v1.S a.v2.S b.v1.S"},
		{[]string{"S"}, "a.v1.S a.v2.S b.v1.S"},
		{[]string{"a.*"}, "a.v1.S a.v2.S"},
		{[]string{"*.v1.*"}, "a.v1.S b.v1.S"},
		{[]string{"a.v?.S", "a.v1.S"}, "a.v1.S a.v2.S"},
		{[]string{"c.*", "a.*"}, `error: no service matches "c.*"; there are: a.v1.S, a.v2.S, b.v1.S`},
	} {
		services, err := set.Select(tt.globs)
		var names []string
		for _, s := range services {
			names = append(names, string(s.FullName()))
		}
		got := strings.Join(names, " ")
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != tt.want {
			t.Errorf("%q: %s, want %s", tt.globs, got, tt.want)
		}
	}
}

func FuzzDescriptorSet(f *testing.F) {
	for _, fds := range [][]*descriptorpb.FileDescriptorProto{
		{using(file("a.proto", "a", "A", "b.proto"), ".b.B"), file("b.proto", "b", "B")},
		{using(file("a.proto", "a", "A", "x/b.proto"), ".b.B"), file("b.proto", "b", "B", "a.proto")},
	} {
		b, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: fds})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		set := &descriptorpb.FileDescriptorSet{}
		if err := proto.Unmarshal(data, set); err != nil {
			t.Skip("no descriptor set")
		}
		// Whatever it is, it is linked or refused, and nothing panics.
		loaded, err := descriptor.FromFileDescriptorSet(set).Load(t.Context())
		if err == nil && loaded.Version() == "" {
			t.Error("no version")
		}
	})
}
