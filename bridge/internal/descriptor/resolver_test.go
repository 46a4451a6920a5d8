package descriptor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/status"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/descriptor"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
)

// asked is a Caller that counts the symbols that it is asked for after the
// descriptors have been loaded.
type asked struct {
	rpc.Caller
	calls atomic.Int32
	// answer, where it is set, takes the place of the Caller.
	answer func(ctx context.Context) error
}

func (a *asked) Call(ctx context.Context, c *rpc.Call, receive func([]byte) error) (*rpc.Trailer, error) {
	a.calls.Add(1)
	if a.answer != nil {
		return nil, a.answer(ctx)
	}
	return a.Caller.Call(ctx, c, receive)
}

func resolve(t *testing.T, services []string, list files) (*descriptor.Resolver, *asked) {
	t.Helper()
	backend := &asked{Caller: described(services, list)}
	set, err := descriptor.Reflection(backend).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	backend.calls.Store(0)
	return descriptor.NewResolver(set, nil), backend
}

// TestResolver: types are those of the files, then those of the program, and
// then those that reflection knows.
func TestResolver(t *testing.T) {
	t.Parallel()
	r, backend := resolve(t, []string{"a.S"}, files{
		using(file("a.proto", "a", "A"), ".a.A"),
		file("other.proto", "other", "Other", "deep.proto"), file("deep.proto", "deep", "Deep", "other.proto"), // a cycle
		file("more.proto", "more", "More", "less.proto"), file("less.proto", "less", "Less"),
		using(file("lacking.proto", "lacking", "Lacking", "gone.proto"), ".gone.Gone"),
	})
	for _, tt := range []struct {
		name  string
		found bool
		asks  bool
	}{
		{"a.A", true, false},
		{"google.rpc.ErrorInfo", true, false},
		{"google.protobuf.Duration", true, false},
		{"more.More", true, true},
		{"more.Nothing", false, true},
		{"other.Other", false, true},
		{"lacking.Lacking", false, true},
		{"", false, false},
		{"not a name", false, false},
	} {
		for again := range 2 {
			backend.calls.Store(0)
			typ, err := r.FindMessageByURL("type.googleapis.com/" + tt.name)
			if (err == nil) != tt.found || err != nil && !errors.Is(err, protoregistry.NotFound) {
				t.Errorf("%q: %v", tt.name, err)
			}
			if err == nil && string(typ.Descriptor().FullName()) != tt.name {
				t.Errorf("%q: found %s", tt.name, typ.Descriptor().FullName())
			}
			if got := backend.calls.Load() > 0; got != (tt.asks && again == 0) {
				t.Errorf("%q, time %d: asked %v", tt.name, again+1, got)
			}
		}
	}
}

// TestResolverPrepares: what is hidden in the set is hidden in what comes later.
func TestResolverPrepares(t *testing.T) {
	t.Parallel()
	set, err := descriptor.Reflection(described([]string{"a.S"}, files{using(file("a.proto", "a", "A"), ".a.A"), file("more.proto", "more", "More")})).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	r := descriptor.NewResolver(set, func(set *descriptor.Set) (*descriptor.Set, error) {
		set.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
			seen = append(seen, fd.Path())
			return true
		})
		return nil, errors.New("not this one")
	})
	if _, err := r.FindMessageByName("more.More"); err == nil || !slices.Equal(seen, []string{"more.proto"}) {
		t.Errorf("%v, %q", err, seen)
	}
}

// TestResolverIsBounded: a backend that does not answer, answers without end or
// is asked for ever new names costs little.
func TestResolverIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, backend := resolve(t, []string{"a.S"}, files{using(file("a.proto", "a", "A"), ".a.A"), file("more.proto", "more", "More")})
		backend.answer = func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
		start := time.Now()
		for i := range 100 {
			if _, err := r.FindMessageByName(protoreflect.FullName(fmt.Sprintf("x.Y%d", i))); err == nil {
				t.Error("found")
			}
		}
		if took := time.Since(start); took > 6*time.Second || backend.calls.Load() != 1 {
			t.Errorf("%v, %d calls", took, backend.calls.Load())
		}
		backend.answer = func(context.Context) error {
			return &rpc.StatusError{Status: &status.Status{Code: int32(code.Code_UNAVAILABLE)}}
		}
		time.Sleep(2 * time.Minute) //nolint:forbidigo // in synctest, whose clock it moves
		_, _ = r.FindMessageByName("x.Y")
		backend.answer = nil
		if _, err := r.FindMessageByName("more.More"); err == nil {
			t.Error("a backend that was not there is asked at once")
		}
		time.Sleep(2 * time.Minute) //nolint:forbidigo // in synctest, whose clock it moves
		if _, err := r.FindMessageByName("more.More"); err != nil {
			t.Errorf("the backend is there again: %v", err)
		}
		backend.calls.Store(0)
		for i := range 3000 {
			_, _ = r.FindMessageByName(protoreflect.FullName(fmt.Sprintf("z.Y%d", i)))
		}
		if n := backend.calls.Load(); n > 1000 {
			t.Errorf("%d calls", n)
		}
		if _, err := r.FindMessageByName("more.More"); err != nil {
			t.Errorf("what was found is lost: %v", err)
		}
		time.Sleep(2 * time.Minute) //nolint:forbidigo // in synctest, whose clock it moves
		backend.calls.Store(0)
		if _, _ = r.FindMessageByName("z.Y2999"); backend.calls.Load() == 0 {
			t.Error("nothing is asked for any more")
		}
	})
}

// TestResolverOfEndlessFiles: imports without end, and files without end, are no
// type.
func TestResolverOfEndlessFiles(t *testing.T) {
	t.Parallel()
	n, sentBytes := 0, 0
	backend := reflecting(func(q *reflectionv1.ServerReflectionRequest) *reflectionv1.ServerReflectionResponse {
		switch {
		case q.GetListServices() != "":
			return listed("a.S")
		case q.GetFileContainingSymbol() == "a.S":
			return sent(using(file("a.proto", "a", "A"), ".a.A"))
		}
		n++
		fd := file(fmt.Sprintf("f%d.proto", n), fmt.Sprintf("p%d", n), "M", fmt.Sprintf("f%d.proto", n+1))
		fd.GetMessageType()[0].Name = new(fmt.Sprintf("M%0100000d", n))
		sentBytes += 100_000
		return sent(fd)
	})
	set, err := descriptor.Reflection(backend).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := descriptor.NewResolver(set, nil).FindMessageByName("x.Y"); err == nil || sentBytes > 5<<20 {
		t.Errorf("%v after %d bytes", err, sentBytes)
	}
}
