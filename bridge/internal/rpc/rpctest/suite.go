package rpctest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
)

// MaxReceive is the limit on responses of the callers that [Run] tests. It is
// larger than any message but those that are to be refused.
const MaxReceive = 2 << 20

// tooLarge is the size of a message that is to be refused.
const tooLarge = 5_000_000

// Options say what differs between the pairs of caller and server.
type Options struct {
	// UnaryTrailersInHeader is true where trailers of a failed unary call come
	// as headers, as in the Connect protocol.
	UnaryTrailersInHeader bool
	// NoKill is true where there is no connection that could break.
	NoKill bool
}

// Setup serves a backend and returns a caller of it, with the limit
// [MaxReceive]. It cleans up at the end of the test.
type Setup func(t *testing.T) (rpc.Caller, *Backend)

// Run runs the suite: one fresh server and caller for each case.
func Run(t *testing.T, setup Setup, o Options) {
	t.Helper()
	for _, c := range cases(o) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			caller, backend := setup(t)
			c.run(t, caller, backend)
		})
	}
	for name, test := range map[string]func(*testing.T, rpc.Caller, *Backend){
		"cancel while waiting":     cancelWaiting,
		"cancel while streaming":   cancelStreaming,
		"receive fails":            receiveFails,
		"deadline while waiting":   deadlineWaiting,
		"deadline travels":         deadlineTravels,
		"reuse of request buffers": reuseBuffers,
		"many at once":             manyAtOnce,
		"backend dies":             backendDies,
	} {
		if name == "backend dies" && o.NoKill {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			caller, backend := setup(t)
			test(t, caller, backend)
		})
	}
}

// ConfiguredHeader tests that a caller shows nothing of the token that it sends in
// a header with every call, where the peer repeats it.
func ConfiguredHeader(t *testing.T, caller rpc.Caller, token string) {
	t.Helper()
	told, err := proto.Marshal(&status.Status{Code: int32(code.Code_UNAUTHENTICATED), Message: "bad token " + token})
	if err != nil {
		t.Fatal(err)
	}
	_, err = caller.Call(t.Context(), NewCall("Fail", nil, string(told)), func([]byte) error { return nil })
	if err == nil || err.Error() != "UNAUTHENTICATED: bad token [redacted]" {
		t.Errorf("error %v", err)
	}
}

// Case is one call and what must come of it.
type Case struct {
	name     string
	method   string
	requests []string
	header   http.Header
	// want are the responses; nil means that they are not looked at.
	want    []string
	head    http.Header
	tail    http.Header
	status  *status.Status
	message string // contained in the message of the status
	local   bool
}

func (c *Case) run(t *testing.T, caller rpc.Caller, _ *Backend) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var got []string
	trailer, err := caller.Call(ctx, NewCall(c.method, c.header, c.requests...), func(message []byte) error {
		if message == nil {
			t.Error("received nil, want an empty slice")
		}
		got = append(got, string(message))
		return nil
	})
	if c.want != nil && !slices.Equal(got, c.want) {
		t.Errorf("received %d messages %.100q, want %d messages %.100q", len(got), got, len(c.want), c.want)
	}
	if trailer == nil {
		t.Fatal("no trailer")
	}
	if !contains(trailer.Header, c.head) {
		t.Errorf("header %q, want %q in it", trailer.Header, c.head)
	}
	if !contains(trailer.Trailer, c.tail) {
		t.Errorf("trailer %q, want %q in it", trailer.Trailer, c.tail)
	}
	for _, h := range []http.Header{trailer.Header, trailer.Trailer} {
		for key := range h {
			if strings.HasPrefix(key, "Grpc-") || strings.HasPrefix(key, "Connect-") || key == "Content-Type" {
				t.Errorf("%s is the protocol's and was returned", key)
			}
		}
	}
	switch {
	case c.status == nil && err != nil:
		t.Errorf("error %v", err)
	case c.status != nil:
		c.checkStatus(t, err)
	}
}

func (c *Case) checkStatus(t *testing.T, err error) {
	t.Helper()
	var failure *rpc.StatusError
	if !errors.As(err, &failure) {
		t.Fatalf("error %v, want a status", err)
	}
	if failure.Local != c.local {
		t.Errorf("Local = %v, want %v", failure.Local, c.local)
	}
	if c.message == "" {
		if !proto.Equal(failure.Status, c.status) {
			t.Errorf("status %v, want %v", failure.Status, c.status)
		}
		return
	}
	if int32(failure.Code()) != c.status.GetCode() || !strings.Contains(failure.Status.GetMessage(), c.message) {
		t.Errorf("status %v, want %v with %q in its message", failure, code.Code(c.status.GetCode()), c.message)
	}
}

// NewCall returns a call of a method of the service.
func NewCall(method string, header http.Header, requests ...string) *rpc.Call {
	c := &rpc.Call{Procedure: Procedure(method), Kind: Kinds[method], Header: header}
	for _, request := range requests {
		c.Requests = append(c.Requests, []byte(request))
	}
	return c
}

func contains(h, want http.Header) bool {
	for key, values := range want {
		if !reflect.DeepEqual(h[key], values) {
			return false
		}
	}
	return true
}

func cases(o Options) []*Case {
	detailed := &status.Status{
		Code:    int32(code.Code_RESOURCE_EXHAUSTED),
		Message: "zu viel: 100 % of 日本",
		Details: []*anypb.Any{
			mustAny(&errdetails.ErrorInfo{Reason: "QUOTA", Domain: "example.com", Metadata: map[string]string{"k": "v"}}),
			{TypeUrl: "type.googleapis.com/not.linked.In", Value: []byte{0x0a, 0x01, 0x00, 0xff}},
		},
	}
	encoded, _ := proto.Marshal(detailed)
	const token = "hunter2-and-more"
	repeating := func(said string, more ...*anypb.Any) *status.Status {
		return &status.Status{Code: int32(code.Code_UNAUTHENTICATED), Message: "bad token " + said, Details: append([]*anypb.Any{
			mustAny(&errdetails.ErrorInfo{Reason: "TOKEN", Metadata: map[string]string{"token": said}}),
		}, more...)}
	}
	told, _ := proto.Marshal(repeating(token, &anypb.Any{TypeUrl: "type.googleapis.com/not.linked.In", Value: []byte("\n\x10" + token)}))
	credentials := http.Header{"Authorization": {"Bearer " + token}}
	fell := http.Header{"X-Tail": {"fell"}}
	unaryHead, unaryTail := http.Header(nil), fell
	if o.UnaryTrailersInHeader {
		unaryHead, unaryTail = fell, nil
	}
	var counted []string
	for i := range 300 {
		counted = append(counted, fmt.Sprint(i+1))
	}
	eager := make([]string, EagerMessages, EagerMessages+1)
	for i := range eager {
		eager[i] = string(make([]byte, EagerBytes))
	}
	large := strings.Repeat("x", tooLarge)
	return []*Case{
		{name: "unary", method: "Echo", requests: []string{"hello"}, want: []string{"hello"}},
		{name: "unary, empty", method: "Echo", requests: []string{""}, want: []string{""}},
		{name: "unary, one megabyte", method: "Echo", requests: []string{large[:1<<20]}, want: []string{large[:1<<20]}},
		{
			name: "metadata", method: "Echo", requests: []string{"m"}, want: []string{"m"},
			header: http.Header{"X-In": {"a", "b, c"}, "X-Raw-Bin": {"\x00\x01\xfe\xff", "text"}, "Content-Type": {"text/html"}, "Te": {"x"}},
			head:   http.Header{"X-Head": {"a", "b, c"}, "X-Head-Bin": {"\x00\x01\xfe\xff", "text"}},
			tail:   http.Header{"X-Tail": {"a", "b, c"}, "X-Tail-Bin": {"\x00\x01\xfe\xff", "text"}},
		},
		{
			name: "impossible metadata", method: "Echo", requests: []string{"m"}, header: http.Header{"X-A": {"a\nb"}},
			want: []string{}, status: just(code.Code_INTERNAL), message: "byte 0x0a at 1 is not printable ASCII", local: true,
		},
		{
			name: "status", method: "Fail", requests: []string{string(encoded)}, want: []string{},
			head: unaryHead, tail: unaryTail, status: detailed,
		},
		{
			name: "status after messages", method: "Break", requests: []string{string(encoded)}, want: []string{"1", "2"},
			tail: fell, status: detailed,
		},
		{
			name: "status that repeats a header", method: "Fail", requests: []string{string(told)}, header: credentials, want: []string{},
			status: repeating("[redacted]"),
		},
		{
			name: "status after messages that repeats a header", method: "Break", requests: []string{string(told)}, header: credentials, want: []string{"1", "2"},
			status: repeating("[redacted]"),
		},
		{name: "server stream", method: "Count", requests: []string{"300"}, want: counted},
		{name: "server stream, empty", method: "Count", requests: []string{"0"}, want: []string{}},
		{name: "client stream", method: "Join", requests: []string{"a", "", "b", "c"}, want: []string{"abc"}},
		{name: "client stream, empty", method: "Join", want: []string{""}},
		{name: "bidi", method: "Chat", requests: []string{"a", "", "b"}, want: []string{"a", "", "b"}},
		{name: "bidi, empty", method: "Chat", want: []string{}},
		{
			name: "bidi, answers before reading", method: "Eager", requests: slices.Repeat([]string{large[:EagerBytes]}, 8),
			want: append(eager, "8"),
		},
		{
			name: "bidi, refused unread", method: "Quit", requests: slices.Repeat([]string{large[:EagerBytes]}, 8), want: []string{},
			status: &status.Status{Code: int32(code.Code_FAILED_PRECONDITION), Message: "no chat today"},
		},
		{
			name: "response too large", method: "Big", requests: []string{fmt.Sprint(tooLarge)}, want: []string{},
			status: just(code.Code_RESOURCE_EXHAUSTED), message: "is larger than the limit of 2097152 bytes", local: true,
		},
		{
			name: "request too large", method: "Echo", requests: []string{large}, want: []string{},
			status: just(code.Code_RESOURCE_EXHAUSTED), message: "request message 1 has 5000000 bytes, the limit is 4194304", local: true,
		},
		{
			name: "two requests of one", method: "Echo", requests: []string{"a", "b"}, want: []string{},
			status: just(code.Code_INTERNAL), message: "takes one request message, got 2", local: true,
		},
		{name: "no deadline", method: "Deadline", requests: []string{""}},
	}
}

func just(c code.Code) *status.Status { return &status.Status{Code: int32(c)} }

func mustAny(m proto.Message) *anypb.Any {
	detail, err := anypb.New(m)
	if err != nil {
		panic(err)
	}
	return detail
}
