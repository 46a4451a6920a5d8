package conformance

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/grpcgo"
	"github.com/mcp-bridge/mcp-bridge/internal/dynbackend"
	"github.com/mcp-bridge/mcp-bridge/internal/nodetools"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

//go:embed testdata/tasks.proto
var tasksProto string

// jobs are the operations of the fixture.
type jobs struct {
	mu   sync.Mutex
	all  map[string]*job
	next int
}

type job struct {
	ends      time.Time
	cancelled bool
	result    []byte // of the Operation
}

// start begins an operation whose result is there after a time.
func (j *jobs) start(after time.Duration, result []byte, response *dynamicpb.Message) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.next++
	name := fmt.Sprintf("operations/%d", j.next)
	j.all[name] = &job{ends: time.Now().Add(after), result: result}
	return proto.Unmarshal(text(1, name), response)
}

// get tells how an operation gets on.
func (j *jobs) get(name string, response *dynamicpb.Message) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	job := j.all[name]
	if job == nil {
		return status.Error(codes.NotFound, "there is no such operation")
	}
	wire := text(1, name)
	switch done := []byte{3 << 3, 1}; {
	case job.cancelled:
		wire = append(append(wire, done...), failure(code.Code_CANCELLED)...)
	case !time.Now().Before(job.ends):
		wire = append(append(wire, done...), job.result...)
	}
	return proto.Unmarshal(wire, response)
}

func text(field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(nil, field, protowire.BytesType), s)
}

func failure(c code.Code) []byte {
	st := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(c))
	return text(4, string(append(st, text(2, "it does not work")...)))
}

func answer(value []byte) []byte {
	return text(5, string(append(text(1, "type.googleapis.com/conformance.tasks.v1.Text"), text(2, string(value))...)))
}

// startTasks puts the bridge in front of a backend with operations.
func startTasks(t *testing.T) string {
	t.Helper()
	all := &jobs{all: make(map[string]*job)}
	field := func(m *dynamicpb.Message, name protoreflect.Name) protoreflect.Value {
		return m.Get(m.Descriptor().Fields().ByName(name))
	}
	files := dynbackend.LongRunning()
	files["tasks.proto"] = tasksProto
	backend := dynbackend.Start(t, files, map[string]dynbackend.Method{
		"greet": func(_ context.Context, request, response *dynamicpb.Message) error {
			return proto.Unmarshal(text(1, "Hello, "+field(request, "name").String()+"!"), response)
		},
		"compute": func(_ context.Context, request, response *dynamicpb.Message) error {
			seconds := time.Duration(field(request, "seconds").Float() * float64(time.Second))
			return all.start(seconds, answer(text(1, "computed")), response)
		},
		"job": func(_ context.Context, _, response *dynamicpb.Message) error {
			return all.start(time.Second, failure(code.Code_FAILED_PRECONDITION), response)
		},
		"delete": func(_ context.Context, _, response *dynamicpb.Message) error {
			return all.start(time.Second, answer(text(1, "deleted")), response)
		},
		"error_job": func(_ context.Context, _, response *dynamicpb.Message) error {
			return all.start(time.Second, answer([]byte{0xff}), response)
		},
		"GetOperation": func(_ context.Context, request, response *dynamicpb.Message) error {
			return all.get(field(request, "name").String(), response)
		},
		"CancelOperation": func(_ context.Context, request, _ *dynamicpb.Message) error {
			all.mu.Lock()
			defer all.mu.Unlock()
			if job := all.all[field(request, "name").String()]; job != nil && time.Now().Before(job.ends) {
				job.cancelled = true
			}
			return nil
		},
	})
	caller, err := grpcgo.Dial("grpc://" + backend.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = caller.Close() })
	b, err := bridge.New(t.Context(), []bridge.Upstream{{Caller: caller}})
	if err != nil {
		t.Fatal(err)
	}
	// The suite calls a tool by a name that the bridge gives to none, as names
	// are Service_Method.
	renamed := protocol.HandlerFunc(func(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
		c := *r
		c.Params = bytes.Replace(r.Params, []byte(`"name":"greet"`), []byte(`"name":"greet_greet"`), 1)
		return b.Handle(ctx, &c, n)
	})
	endpoint, err := streamable.New(streamable.Config{Handler: renamed})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(endpoint)
	t.Cleanup(func() {
		b.Close()
		server.CloseClientConnections()
		server.Close()
		endpoint.Close()
	})
	return server.URL + "/mcp"
}

// passedFailed matches the line in which a scenario sums up.
var passedFailed = regexp.MustCompile(`(?m)^Passed: (\d+)/\d+, (\d+) failed`)

// failures matches the lines that say what failed.
var failures = regexp.MustCompile(`(?m)^.*(FAILURE|Error: ).*$`)

// TestTasks runs the suite's scenarios of the tasks extension, which are not
// part of a revision. The checks that fail ask for what operations have not got.
func TestTasks(t *testing.T) {
	t.Parallel()
	node := nodetools.Node22(t)
	suite := nodetools.Module(t, "conformance-0.2", "dist/index.js")
	for _, tt := range []struct {
		scenario       string
		passed, failed int
	}{
		{"tasks-lifecycle", 9, 0},
		{"tasks-capability-negotiation", 5, 0},
		{"tasks-wire-fields", 4, 0},
		{"tasks-request-state-removal", 3, 0},
		{"tasks-dispatch-and-envelope", 9, 0},
		// The text of a result is the message as JSON, here {"text":"Hello..."}, and not the
		// bare greeting.
		{"tasks-request-headers", 4, 1},
		// Whether a client can follow tasks or not, a call is served: there are
		// no tools that require it.
		{"tasks-required-task-error", 1, 1},
		// Operations ask for no input.
		{"tasks-mrtr-input", 2, 2},
		{"tasks-mrtr-composition", 1, 1},
	} {
		t.Run(tt.scenario, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), node, suite, "server", "--url", startTasks(t),
				"--scenario", tt.scenario, "--spec-version", "2026-07-28", "--force", "--output-dir", t.TempDir())
			cmd.Dir = t.TempDir()
			out, err := cmd.CombinedOutput()
			m := passedFailed.FindSubmatch(out)
			if m == nil {
				t.Fatalf("the scenario did not sum up: %v\n%s", err, out)
			}
			if want := fmt.Sprint(tt.passed, " ", tt.failed); string(m[1])+" "+string(m[2]) != want {
				t.Errorf("%s checks passed, %s failed; want %s\n%s", m[1], m[2], want, bytes.Join(failures.FindAll(out, -1), []byte("\n")))
			}
		})
	}
}
