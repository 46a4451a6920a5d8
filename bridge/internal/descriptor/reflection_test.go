package descriptor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/status"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/grpcgo"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/descriptor"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	"github.com/mcp-bridge/mcp-bridge/internal/realapis"
)

// reflecting answers reflection requests one by one.
func reflecting(answer func(*reflectionv1.ServerReflectionRequest) *reflectionv1.ServerReflectionResponse) rpc.Caller {
	return rpc.CallerFunc(func(_ context.Context, c *rpc.Call, receive func([]byte) error) (*rpc.Trailer, error) {
		for _, b := range c.Requests {
			request := &reflectionv1.ServerReflectionRequest{}
			if err := proto.Unmarshal(b, request); err != nil {
				return nil, err
			}
			b, err := proto.Marshal(answer(request))
			if err != nil {
				return nil, err
			}
			if err := receive(b); err != nil {
				return nil, err
			}
		}
		return &rpc.Trailer{}, nil
	})
}

// described is a backend that lists services and has files.
func described(services []string, list files) rpc.Caller {
	return reflecting(func(q *reflectionv1.ServerReflectionRequest) *reflectionv1.ServerReflectionResponse {
		for _, fd := range list {
			defines := slices.ContainsFunc(fd.GetService(), func(s *descriptorpb.ServiceDescriptorProto) bool {
				return fd.GetPackage()+"."+s.GetName() == q.GetFileContainingSymbol()
			}) || slices.ContainsFunc(fd.GetMessageType(), func(m *descriptorpb.DescriptorProto) bool {
				return fd.GetPackage()+"."+m.GetName() == q.GetFileContainingSymbol()
			})
			if defines || q.GetFileByFilename() != "" && fd.GetName() == q.GetFileByFilename() {
				return sent(fd)
			}
		}
		if q.GetListServices() != "" {
			return listed(services...)
		}
		return refused("not found")
	})
}

func sent(list ...*descriptorpb.FileDescriptorProto) *reflectionv1.ServerReflectionResponse {
	response := &reflectionv1.FileDescriptorResponse{}
	for _, fd := range list {
		b, err := proto.Marshal(fd)
		if err != nil {
			panic(err)
		}
		response.FileDescriptorProto = append(response.FileDescriptorProto, b)
	}
	return &reflectionv1.ServerReflectionResponse{MessageResponse: &reflectionv1.ServerReflectionResponse_FileDescriptorResponse{FileDescriptorResponse: response}}
}

func listed(services ...string) *reflectionv1.ServerReflectionResponse {
	response := &reflectionv1.ListServiceResponse{}
	for _, name := range services {
		response.Service = append(response.Service, &reflectionv1.ServiceResponse{Name: name})
	}
	return &reflectionv1.ServerReflectionResponse{MessageResponse: &reflectionv1.ServerReflectionResponse_ListServicesResponse{ListServicesResponse: response}}
}

func refused(message string) *reflectionv1.ServerReflectionResponse {
	return &reflectionv1.ServerReflectionResponse{MessageResponse: &reflectionv1.ServerReflectionResponse_ErrorResponse{
		ErrorResponse: &reflectionv1.ErrorResponse{ErrorCode: int32(code.Code_NOT_FOUND), ErrorMessage: message},
	}}
}

// A service that cannot be had costs no other, and the warnings say why.
func TestReflectionIsTolerant(t *testing.T) {
	t.Parallel()
	good := using(file("a.proto", "a", "A"), ".a.A")
	for _, tt := range []struct {
		name     string
		list     []string
		files    files
		want     string // services
		warnings []string
		err      string
	}{
		{name: "no service", list: nil, files: files{good}, want: ""},
		{name: "infrastructure only", list: []string{"grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"}, want: ""},
		{name: "listed twice", list: []string{"a.S", "a.S"}, files: files{good}, want: "a.S"},
		{name: "one that is not listed", list: []string{"a.S"}, files: files{
			{Name: new("a.proto"), Package: new("a"), Service: []*descriptorpb.ServiceDescriptorProto{{Name: new("S")}, {Name: new("Hidden")}}},
		}, want: "a.S"},
		{
			name: "no name, odd names", list: []string{"", ".", "a.S", "x..y", "/"}, files: files{good}, want: "a.S",
			warnings: []string{
				". is left out: the backend does not describe it: not found",
				"/ is left out: the backend does not describe it: not found", "x..y is left out: the backend does not describe it: not found",
			},
		},
		{
			name: "a missing import", list: []string{"a.S", "b.S", "c.S"}, want: "a.S",
			files: files{
				good, using(file("b.proto", "b", "B", "c.proto"), ".c.C"),
				using(file("c.proto", "c", "C", "gone.proto"), ".d.D"),
			},
			warnings: []string{"b.S is left out: c.proto imports gone.proto, which is missing", "c.S is left out: c.proto imports gone.proto, which is missing"},
		},
		{
			name: "imports under another path beside a missing one", list: []string{"a.S", "b.S"}, want: "a.S",
			files: files{
				using(file("x/a.proto", "a", "A", "y/c.proto"), ".c.C"), using(file("c/c.proto", "c", "C"), ".c.C"), file("y/c.proto", "c", "C", "z/d.proto"),
				using(file("b.proto", "b", "B", "gone.proto"), ".d.D"),
			},
			warnings: []string{"b.S is left out: b.proto imports gone.proto, which is missing"},
		},
		{
			name: "a conflict", list: []string{"a.S", "b.S"}, want: "a.S", files: files{good, {
				Name: new("b.proto"), Package: new("b"), Dependency: []string{"a2.proto"},
				Service: using(file("", "", ""), ".a.A").GetService(),
			}, file("a2.proto", "a", "A")},
			warnings: []string{"b.S is left out: a2.proto: a.proto defines a.A too"},
		},
		{
			name: "a cycle", list: []string{"a.S", "b.S"}, want: "a.S",
			files:    files{good, using(file("b.proto", "b", "B", "c.proto"), ".c.C"), file("c.proto", "c", "C", "b.proto")},
			warnings: []string{"b.S is left out: files import each other: b.proto -> c.proto -> b.proto"},
		},
		{
			name: "nothing good", list: []string{"a.S"}, files: files{using(file("a.proto", "a", "A", "gone.proto"), ".b.B")},
			err: "server reflection: a.proto imports gone.proto, which is missing",
		},
		{name: "a message", list: []string{"a.S", "a.A"}, files: files{good}, want: "a.S", warnings: []string{"a.A is left out: the backend sent a file that does not define it"}},
		{
			name: "an import that is registered by a shorter name", list: []string{"a.S"}, want: "a.S",
			files: files{using(file("rpc.proto", "a", "A", "etcd/api/kv.proto", "gone/options.proto"), ".b.B"), file("kv.proto", "b", "B")},
		},
		{
			name: "an import that is registered by another name, which imports another", list: []string{"a.S"}, want: "a.S",
			files: files{
				using(file("a.proto", "a", "A", "x/one.proto"), ".b.B"),
				containing(file("two.proto", "b", "B", "x/three.proto"), ".c.C"), file("four.proto", "c", "C"),
			},
		},
		{
			name: "files by symbol that import each other", list: []string{"a.S", "d.S"}, want: "d.S",
			files: files{
				using(file("a.proto", "a", "A", "x/one.proto"), ".b.B"), containing(file("two.proto", "b", "B", "x/a.proto"), ".a.A"),
				using(file("d.proto", "d", "D"), ".d.D"),
			},
			warnings: []string{"a.S is left out: files import each other: a.proto -> two.proto -> a.proto"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			set, err := descriptor.Reflection(described(tt.list, tt.files)).Load(t.Context())
			if tt.err != "" {
				if err == nil || err.Error() != tt.err {
					t.Errorf("error %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, s := range set.Services() {
				names = append(names, string(s.FullName()))
			}
			if got := strings.Join(names, " "); got != tt.want {
				t.Errorf("services %s, want %s", got, tt.want)
			}
			if !slices.Equal(set.Warnings(), tt.warnings) {
				t.Errorf("warnings %q, want %q", set.Warnings(), tt.warnings)
			}
		})
	}
}

// containing gives the file's message a field of a type.
func containing(fd *descriptorpb.FileDescriptorProto, typ string) *descriptorpb.FileDescriptorProto {
	fd.MessageType[0].Field = append(fd.MessageType[0].Field, &descriptorpb.FieldDescriptorProto{
		Name: new("other"), Number: new(int32(9)), TypeName: new(typ),
		Type: descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
	})
	return fd
}

// A server that cannot answer for symbols, or answers without end, loses what it
// lacks, and nothing else.
func TestSymbolsAreBounded(t *testing.T) {
	t.Parallel()
	good, bad := using(file("a.proto", "a", "A"), ".a.A"), using(file("b.proto", "b", "B", "x/0.proto"), ".p0.M")
	for _, tt := range []struct {
		name   string
		answer func(symbol string) *reflectionv1.ServerReflectionResponse // nil ends the stream
		most   int                                                        // of requests by symbol
	}{
		{"types without end", func(symbol string) *reflectionv1.ServerReflectionResponse {
			var n int
			if _, err := fmt.Sscanf(symbol, "p%d.M", &n); err != nil {
				return refused(err.Error())
			}
			return sent(containing(file(fmt.Sprintf("f%d.proto", n), fmt.Sprintf("p%d", n), "M", fmt.Sprintf("x/%d.proto", n+1)), fmt.Sprintf(".p%d.M", n+1)))
		}, 30},
		{"more and more types", func(symbol string) *reflectionv1.ServerReflectionResponse {
			fd := file(symbol+".proto", symbol, "M", "x/gone.proto")
			for i := range 1000 {
				containing(fd, fmt.Sprintf(".%s.T%d", symbol, i)).MessageType[0].Field[i].Name = new(fmt.Sprintf("f%d", i))
			}
			return sent(fd)
		}, 2002},
		{"an end", func(string) *reflectionv1.ServerReflectionResponse { return nil }, 3},
		{"the file that asked", func(string) *reflectionv1.ServerReflectionResponse { return sent(bad) }, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			set, err := descriptor.Reflection(rpc.CallerFunc(func(_ context.Context, c *rpc.Call, receive func([]byte) error) (*rpc.Trailer, error) {
				for _, b := range c.Requests {
					q := &reflectionv1.ServerReflectionRequest{}
					if err := proto.Unmarshal(b, q); err != nil {
						return nil, err
					}
					answer := refused("not found")
					switch symbol := q.GetFileContainingSymbol(); {
					case q.GetListServices() != "":
						answer = listed("a.S", "b.S")
					case symbol == "a.S":
						answer = sent(good)
					case symbol == "b.S":
						answer = sent(bad)
					case symbol != "":
						asked++
						answer = tt.answer(symbol)
					}
					if answer == nil {
						return nil, &rpc.StatusError{Status: &status.Status{Code: int32(code.Code_INTERNAL), Message: "broken"}}
					}
					b, err := proto.Marshal(answer)
					if err != nil {
						return nil, err
					}
					if err := receive(b); err != nil {
						return nil, err
					}
				}
				return &rpc.Trailer{}, nil
			})).Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(set.Services()) != 1 || len(set.Warnings()) != 1 || !strings.HasPrefix(set.Warnings()[0], "b.S is left out: ") {
				t.Errorf("services %v, warnings %.300q", set.Services(), set.Warnings())
			}
			if asked > tt.most {
				t.Errorf("%d requests by symbol", asked)
			}
		})
	}
}

// etcd imports its files by paths that it does not register them under.
func TestReflectionOfEtcd(t *testing.T) {
	t.Parallel()
	caller, err := grpcgo.Dial("grpc://" + realapis.Etcd(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := caller.Close(); err != nil {
			t.Error(err)
		}
	}()
	set, err := descriptor.Reflection(caller).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range set.Services() {
		names = append(names, string(s.Name()))
	}
	if got, want := strings.Join(names, " "), "Auth Cluster KV Lease Maintenance Watch Election Lock"; got != want {
		t.Errorf("services %s, want %s", got, want)
	}
	if len(set.Warnings()) > 0 {
		t.Errorf("warnings %q", set.Warnings())
	}
	range_, err := set.Types().FindMethod("etcdserverpb.KV.Range")
	if err != nil {
		t.Fatal(err)
	}
	if kv := range_.Output().Fields().ByName("kvs").Message().Fields().ByName("key"); kv == nil {
		t.Error("the type of kvs is not resolved")
	}
}

// Whatever a server answers, the asking ends.
func TestReflectionIsBounded(t *testing.T) {
	t.Parallel()
	service := using(file("a.proto", "a", "A", "0.proto"), ".a.A")
	scripted := func(files func(q string) *reflectionv1.ServerReflectionResponse) rpc.Caller {
		return reflecting(func(q *reflectionv1.ServerReflectionRequest) *reflectionv1.ServerReflectionResponse {
			switch {
			case q.GetListServices() != "":
				return listed("a.S")
			case q.GetFileContainingSymbol() != "":
				return sent(service)
			}
			return files(q.GetFileByFilename())
		})
	}
	manyServices := make([]string, 20_001)
	for i := range manyServices {
		manyServices[i] = fmt.Sprintf("p%d.S", i)
	}
	broad := &descriptorpb.FileDescriptorProto{Name: new("0.proto")}
	for i := range 20_001 {
		broad.Dependency = append(broad.Dependency, fmt.Sprintf("f%d.proto", i))
	}
	for _, tt := range []struct {
		name   string
		caller rpc.Caller
		want   string
	}{
		{"imports without end", scripted(func(q string) *reflectionv1.ServerReflectionResponse {
			var n int
			if _, err := fmt.Sscanf(q, "%d.proto", &n); err != nil {
				t.Error(err)
			}
			return sent(file(q, fmt.Sprintf("p%d", n), "M", fmt.Sprintf("%d.proto", n+1)))
		}), "the backend names further imports after 1000 rounds"},
		{"too many imports", scripted(func(string) *reflectionv1.ServerReflectionResponse { return sent(broad) }), "the backend imports more than 20000 files"},
		{"files nobody asked for", scripted(func(string) *reflectionv1.ServerReflectionResponse {
			list := make(files, 20_001)
			for i := range list {
				list[i] = file(fmt.Sprintf("f%d.proto", i), "p", fmt.Sprintf("M%d", i))
			}
			return sent(list...)
		}), "the descriptors have more than 20000 files"},
		{"too many services", described(manyServices, nil), "the backend lists more than 20000 services"},
		{"a file that is none", scripted(func(string) *reflectionv1.ServerReflectionResponse {
			return &reflectionv1.ServerReflectionResponse{MessageResponse: &reflectionv1.ServerReflectionResponse_FileDescriptorResponse{
				FileDescriptorResponse: &reflectionv1.FileDescriptorResponse{FileDescriptorProto: [][]byte{{0xff}}},
			}}
		}), "the backend sent a file descriptor that cannot be read: proto:"},
		{"more answers than questions", rpc.CallerFunc(func(_ context.Context, _ *rpc.Call, receive func([]byte) error) (*rpc.Trailer, error) {
			for {
				if err := receive(nil); err != nil {
					return nil, err
				}
			}
		}), "the backend sent more responses than it was asked for"},
		{"fewer answers than questions", rpc.CallerFunc(func(context.Context, *rpc.Call, func([]byte) error) (*rpc.Trailer, error) {
			return &rpc.Trailer{}, nil
		}), "the backend answered 0 of 1 requests"},
		{"unavailable", failing(code.Code_UNAVAILABLE, "nothing listens"), "UNAVAILABLE: nothing listens"},
		{"forbidden", failing(code.Code_PERMISSION_DENIED, "no"), "PERMISSION_DENIED: no"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := descriptor.Reflection(tt.caller).Load(t.Context())
			// protobuf-go varies its spaces so that nobody depends on its words.
			if err == nil || !strings.HasPrefix(strings.ReplaceAll(err.Error(), "\u00a0", " "), "server reflection: "+tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
	t.Run("a file without a name", func(t *testing.T) {
		t.Parallel()
		set, err := descriptor.Reflection(scripted(func(string) *reflectionv1.ServerReflectionResponse {
			return sent(&descriptorpb.FileDescriptorProto{})
		})).Load(t.Context())
		if err != nil || len(set.Services()) != 1 {
			t.Errorf("%v, error %v", set, err)
		}
	})
	t.Run("long words", func(t *testing.T) {
		t.Parallel()
		set, err := descriptor.Reflection(reflecting(func(q *reflectionv1.ServerReflectionRequest) *reflectionv1.ServerReflectionResponse {
			if q.GetListServices() != "" {
				return listed("a.S")
			}
			return refused(strings.Repeat("ü", 1_000_000))
		})).Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := set.Warnings()[0]; len(got) > 600 {
			t.Errorf("a warning of %d bytes", len(got))
		}
	})
}

func failing(c code.Code, message string) rpc.Caller {
	return rpc.CallerFunc(func(context.Context, *rpc.Call, func([]byte) error) (*rpc.Trailer, error) {
		return nil, &rpc.StatusError{Status: &status.Status{Code: int32(c), Message: message}}
	})
}

// v1alpha is asked where v1 is unimplemented, and nothing of v1 is kept.
func TestReflectionFallsBack(t *testing.T) {
	t.Parallel()
	backend := described([]string{"a.S"}, files{using(file("a.proto", "a", "A"), ".a.A")})
	var asked []string
	set, err := descriptor.Reflection(rpc.CallerFunc(func(ctx context.Context, c *rpc.Call, receive func([]byte) error) (*rpc.Trailer, error) {
		asked = append(asked, c.Procedure)
		if c.Kind != rpc.BidiStream {
			t.Errorf("kind %v", c.Kind)
		}
		if strings.Contains(c.Procedure, ".v1.") {
			return failing(code.Code_UNIMPLEMENTED, "").Call(ctx, c, receive)
		}
		return backend.Call(ctx, c, receive)
	})).Load(t.Context())
	if err != nil || len(set.Services()) != 1 {
		t.Fatalf("%v, error %v", set, err)
	}
	want := []string{
		"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
		"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
	}
	if !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
	_, err = descriptor.Reflection(failing(code.Code_UNIMPLEMENTED, "unknown service")).Load(t.Context())
	if e, ok := errors.AsType[*rpc.StatusError](err); !ok || e.Code() != code.Code_UNIMPLEMENTED {
		t.Errorf("the cause is lost: %v", err)
	}
}

// Load sees what has changed since.
func TestLoadAgain(t *testing.T) {
	t.Parallel()
	old := described([]string{"a.S"}, files{using(file("a.proto", "a", "A"), ".a.A")})
	next := described([]string{"a.S", "b.S"}, files{using(file("a.proto", "a", "A"), ".a.A"), using(file("b.proto", "b", "B"), ".b.B")})
	var current atomic.Pointer[rpc.Caller]
	current.Store(&old)
	source := descriptor.Reflection(rpc.CallerFunc(func(ctx context.Context, c *rpc.Call, receive func([]byte) error) (*rpc.Trailer, error) {
		return (*current.Load()).Call(ctx, c, receive)
	}))
	var versions []string
	for _, caller := range []*rpc.Caller{&old, &old, &next} {
		current.Store(caller)
		set, err := source.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		versions = append(versions, set.Version())
	}
	if versions[0] != versions[1] || versions[1] == versions[2] {
		t.Errorf("versions %q", versions)
	}
}

// FuzzSymbols has files that import each other by names that nobody knows, in any
// way.
func FuzzSymbols(f *testing.F) {
	f.Add([]byte{0, 1, 1, 2, 2, 0}, uint8(3))
	f.Add([]byte{0, 1, 0, 2, 0, 3, 3, 4}, uint8(0))
	f.Fuzz(func(t *testing.T, edges []byte, known uint8) {
		const n = 8
		list := make(files, n)
		for i := range list {
			pkg := fmt.Sprintf("p%d", i)
			list[i] = file(fmt.Sprintf("f%d.proto", i), pkg, "M")
			if i%2 == 0 {
				using(list[i], "."+pkg+".M")
			}
		}
		for i := 0; i+1 < min(len(edges), 64); i += 2 {
			from, to := list[edges[i]%n], edges[i+1]%n
			dep := fmt.Sprintf("x/%d.proto", to)
			if known&(1<<to) != 0 {
				dep = list[to].GetName()
			}
			if !slices.Contains(from.GetDependency(), dep) {
				from.Dependency = append(from.Dependency, dep)
			}
			from.MessageType[0].Field = nil
			containing(from, fmt.Sprintf(".p%d.M", to))
		}
		set, err := descriptor.Reflection(described([]string{"p0.S", "p2.S", "p4.S", "p6.S"}, list)).Load(t.Context())
		if err != nil {
			return // nothing is left
		}
		if got := len(set.Services()) + len(set.Warnings()); got != 4 {
			t.Errorf("%d services and warnings", got)
		}
	})
}

func FuzzReflection(f *testing.F) {
	for _, message := range []proto.Message{listed("a.S", "a.S"), sent(using(file("a.proto", "a", "A", "b.proto"), ".b.B")), refused("no"), sent(containing(using(file("a.proto", "a", "A", "x/b.proto"), ".a.A"), ".b.B"), file("b.proto", "b", "B"))} {
		b, err := proto.Marshal(message)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, b)
	}
	f.Fuzz(func(t *testing.T, list, answer []byte) {
		caller := rpc.CallerFunc(func(_ context.Context, c *rpc.Call, receive func([]byte) error) (*rpc.Trailer, error) {
			for _, b := range c.Requests {
				message := answer
				if strings.HasSuffix(string(b), "*") {
					message = list
				}
				if err := receive(message); err != nil {
					return nil, err
				}
			}
			return &rpc.Trailer{}, nil
		})
		set, err := descriptor.Reflection(caller).Load(t.Context())
		if err == nil && set.Version() == "" {
			t.Error("no version")
		}
		if err == nil {
			_, _ = descriptor.NewResolver(set, nil).FindMessageByName("b.B")
		}
	})
}
