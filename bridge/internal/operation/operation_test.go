package operation_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/operation"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
)

func bytesField(num protowire.Number, data string) string {
	return string(protowire.AppendString(protowire.AppendTag(nil, num, protowire.BytesType), data))
}

const done = "\x18\x01"

func anyOf(url, value string) string { return bytesField(1, url) + bytesField(2, value) }

func TestParse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, wire string
		want       string // name, metadata, done, error, response
		err        string
	}{
		{name: "empty", want: " - false - -"},
		{name: "running", wire: bytesField(1, "op") + bytesField(2, anyOf("u/T", "v")), want: "op u/T:v false - -"},
		{name: "empty metadata", wire: bytesField(2, ""), want: " : false - -"},
		{name: "response", wire: done + bytesField(5, anyOf("u/T", "v")), want: " - true - u/T:v"},
		{name: "empty response", wire: done + bytesField(5, ""), want: " - true - :"},
		{name: "error", wire: done + bytesField(4, "\x08\x05"+bytesField(2, "gone")), want: " - true NOT_FOUND:gone -"},
		{name: "error, then response", wire: bytesField(4, "\x08\x05") + bytesField(5, anyOf("u/T", "")), want: " - false - u/T:"},
		{name: "merged", wire: bytesField(5, bytesField(1, "u/T")) + bytesField(5, bytesField(2, "v")), want: " - false - u/T:v"},
		{name: "unknown fields", wire: "\x31\x01\x02\x03\x04\x05\x06\x07\x08" + bytesField(9, "x") + bytesField(1, "op"), want: "op - false - -"},
		{name: "wrong wire types", wire: "\x08\x01\x1a\x00", want: " - false - -"},
		{name: "cut off", wire: "\x0a\x05ab", err: "the message is no valid google.longrunning.Operation: the encoding is malformed"},
		{name: "bad metadata", wire: bytesField(2, "\x0a"), err: "operation: metadata: no valid google.protobuf.Any"},
		{name: "bad response", wire: bytesField(5, "\xff"), err: "operation: response: no valid google.protobuf.Any"},
		{name: "bad error", wire: bytesField(4, "\xff"), err: "error is no valid google.rpc.Status"},
	} {
		op, err := operation.Parse([]byte(tt.wire))
		if tt.err != "" || err != nil {
			if err == nil || tt.err == "" || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: error %v, want %q", tt.name, err, tt.err)
			}
			continue
		}
		show := func(a *operation.Any) string {
			if a == nil {
				return "-"
			}
			return a.URL + ":" + string(a.Value)
		}
		failure := "-"
		if op.Error != nil {
			failure = code.Code(op.Error.GetCode()).String() + ":" + op.Error.GetMessage()
		}
		got := strings.Join([]string{op.Name, show(op.Metadata), map[bool]string{true: "true", false: "false"}[op.Done], failure, show(op.Response)}, " ")
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(bytesField(1, "op") + bytesField(2, anyOf("u/T", "v")) + done + bytesField(4, "\x08\x05") + bytesField(5, "")))
	f.Fuzz(func(t *testing.T, wire []byte) {
		op, err := operation.Parse(wire)
		if err == nil && op.Error != nil && op.Response != nil {
			t.Error("there are an error and a response")
		}
	})
}

func TestResult(t *testing.T) {
	t.Parallel()
	ok := &operation.Operation{Done: true, Response: &operation.Any{URL: "u"}}
	if a, err := ok.Result(); a != ok.Response || err != nil {
		t.Errorf("%v %v", a, err)
	}
	for in, want := range map[code.Code]code.Code{code.Code_ABORTED: code.Code_ABORTED, code.Code_OK: code.Code_UNKNOWN} {
		op := &operation.Operation{Done: true, Error: &statuspb.Status{Code: int32(in), Message: "m"}}
		_, err := op.Result()
		if e, ok := errors.AsType[*rpc.StatusError](err); !ok || e.Code() != want || e.Local {
			t.Errorf("%v: %v", in, err)
		}
	}
}

// backend answers polls by its script.
type backend struct {
	script []any // a wire message or an error
	calls  []string
	header string
	at     []time.Duration
	start  time.Time
}

func (b *backend) Call(_ context.Context, c *rpc.Call, receive func([]byte) error) (*rpc.Trailer, error) {
	b.calls = append(b.calls, c.Procedure+" "+string(c.Requests[0]))
	b.at = append(b.at, time.Since(b.start))
	b.header = c.Header.Get("Authorization")
	c.Header.Set("Authorization", "overwritten")
	next := b.script[0]
	if len(b.script) > 1 {
		b.script = b.script[1:]
	}
	if err, ok := next.(error); ok {
		return &rpc.Trailer{}, err
	}
	return &rpc.Trailer{}, receive([]byte(next.(string)))
}

func failure(c code.Code) error {
	return &rpc.StatusError{Status: &statuspb.Status{Code: int32(c), Message: "no"}}
}

func TestWait(t *testing.T) {
	t.Parallel()
	op := func(step string) string { return bytesField(1, "op") + bytesField(2, anyOf("T", step)) }
	unavailable := failure(code.Code_UNAVAILABLE)
	changedErr := errors.New("the client is gone")
	for _, tt := range []struct {
		name    string
		first   string
		script  []any
		timeout time.Duration
		changed error
		want    string // steps reported
		done    bool
		err     error
		other   bool // an error that is no status
		code    code.Code
		took    time.Duration
	}{
		{name: "done at once", first: op("a") + done, done: true},
		{name: "metadata", first: op("a"), script: []any{op("a"), op("b"), op("b"), op("c") + done}, want: "a b", done: true,
			took: 200*time.Millisecond + 300*time.Millisecond + 450*time.Millisecond + 675*time.Millisecond},
		{name: "none at first", first: bytesField(1, "op"), script: []any{op("a"), done}, want: "a", done: true, took: 500 * time.Millisecond},
		{name: "time is up", first: op("a"), script: []any{op("a")}, timeout: time.Minute, want: "a", err: context.DeadlineExceeded, took: time.Minute},
		{name: "no service", first: op("a"), script: []any{failure(code.Code_UNIMPLEMENTED)}, want: "a", code: code.Code_UNIMPLEMENTED, took: 200 * time.Millisecond},
		{name: "away for a while", first: op("a"), script: []any{unavailable, unavailable, unavailable, unavailable, unavailable, op("b") + done}, want: "a", done: true},
		{name: "away for long", first: op("a"), script: []any{unavailable}, want: "a", code: code.Code_UNAVAILABLE},
		{name: "client gone", first: op("a"), changed: changedErr, want: "a", err: changedErr},
		{name: "client gone later", first: bytesField(1, "op"), script: []any{op("a")}, changed: changedErr, want: "a", err: changedErr, took: 200 * time.Millisecond},
		{name: "no operation", first: op("a"), script: []any{"\xff"}, want: "a", other: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &backend{script: tt.script, start: time.Now()}
				header := map[string][]string{"Authorization": {"Bearer x"}}
				client := &operation.Client{Caller: b, Header: header}
				first, err := operation.Parse([]byte(tt.first))
				if err != nil {
					t.Fatal(err)
				}
				ctx := t.Context()
				if tt.timeout > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.timeout)
					defer cancel()
				}
				var steps []string
				got, err := client.Wait(ctx, first, func(op *operation.Operation) error {
					steps = append(steps, string(op.Metadata.Value))
					return tt.changed
				})
				status, _ := errors.AsType[*rpc.StatusError](err)
				switch {
				case got.Done != tt.done, tt.done && err != nil:
					t.Errorf("done is %t, error %v", got.Done, err)
				case strings.Join(steps, " ") != tt.want:
					t.Errorf("reported %q, want %s", steps, tt.want)
				case tt.other && (err == nil || status != nil), tt.err != nil && !errors.Is(err, tt.err):
					t.Errorf("error %v, want %v", err, tt.err)
				case tt.code != 0 && (status == nil || status.Code() != tt.code):
					t.Errorf("error %v, want %v", err, tt.code)
				case tt.took != 0 && time.Since(b.start) != tt.took:
					t.Errorf("took %v, want %v", time.Since(b.start), tt.took)
				}
				for i, call := range b.calls {
					if call != "/google.longrunning.Operations/GetOperation "+bytesField(1, "op") || b.header != "Bearer x" {
						t.Errorf("call %q with %q", call, b.header)
					}
					if i > 0 && b.at[i]-b.at[i-1] > operation.MaxDelay {
						t.Errorf("polled at %v", b.at)
					}
				}
			})
		})
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	b := &backend{script: []any{"", failure(code.Code_NOT_FOUND)}}
	client := &operation.Client{Caller: b, Header: map[string][]string{}}
	if err := client.Cancel(t.Context(), "op"); err != nil {
		t.Error(err)
	}
	if err := client.Cancel(t.Context(), "op"); err == nil {
		t.Error("no error")
	}
	if want := "/google.longrunning.Operations/CancelOperation " + bytesField(1, "op"); b.calls[0] != want {
		t.Errorf("called %q, want %q", b.calls[0], want)
	}
}

// The option is found in whatever form the descriptor has it.
func TestResponseType(t *testing.T) {
	t.Parallel()
	for option, want := range map[string]protoreflect.FullName{
		bytesField(1049, bytesField(1, "Cake")+bytesField(2, "Baking")): "jobs.v1.Cake",
		bytesField(1049, bytesField(1, "other.v1.Cake")):                "other.v1.Cake",
		bytesField(1049, bytesField(1, ".other.v1.Cake")):               "other.v1.Cake",
		bytesField(1049, bytesField(1, "google.protobuf.Empty")):        "google.protobuf.Empty",
		bytesField(1049, bytesField(1, "no name")):                      "",
		bytesField(1049, bytesField(1, "a..b")):                         "",
		bytesField(1049, bytesField(2, "Baking")):                       "",
		bytesField(1049, "\xff"):                                        "",
		bytesField(1050, bytesField(1, "Cake")):                         "",
		"":                                                              "",
	} {
		opts := &descriptorpb.MethodOptions{}
		if err := proto.Unmarshal([]byte(option), opts); err != nil {
			t.Fatal(err)
		}
		file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
			Name: new("jobs.proto"), Package: new("jobs.v1"), Syntax: new("proto3"),
			MessageType: []*descriptorpb.DescriptorProto{{Name: new("M")}},
			Service: []*descriptorpb.ServiceDescriptorProto{{Name: new("S"), Method: []*descriptorpb.MethodDescriptorProto{
				{Name: new("Do"), InputType: new(".jobs.v1.M"), OutputType: new(".jobs.v1.M"), Options: opts},
			}}},
		}, &protoregistry.Files{})
		if err != nil {
			t.Fatal(err)
		}
		method := file.Services().Get(0).Methods().Get(0)
		if got := operation.ResponseType(method); got != want {
			t.Errorf("option %q: %q, want %q", option, got, want)
		}
		if operation.Is(method) {
			t.Error("a method that returns no operation starts one")
		}
	}
}
