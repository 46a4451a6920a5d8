package status_test

import (
	"encoding/base64"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/status"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// request is a message type with nested, repeated and map fields whose JSON
// names differ from their proto names.
func request() protoreflect.MessageDescriptor {
	return (&descriptorpb.FileDescriptorProto{}).ProtoReflect().Descriptor()
}

func failed(tb testing.TB, c code.Code, message string, details ...proto.Message) *rpc.StatusError {
	tb.Helper()
	st := &statuspb.Status{Code: int32(c), Message: message}
	for _, d := range details {
		packed, err := anypb.New(d)
		if err != nil {
			tb.Fatal(err)
		}
		st.Details = append(st.Details, packed)
	}
	return &rpc.StatusError{Status: st}
}

func local(e *rpc.StatusError) *rpc.StatusError {
	e.Local = true
	return e
}

type content struct {
	Content []struct{ Type, Text string } `json:"content"`
	IsError bool                          `json:"isError"`
}

func read(tb testing.TB, r *protocol.Result) content {
	tb.Helper()
	var c content
	dec := json.NewDecoder(strings.NewReader(string(r.Body)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		tb.Fatalf("%v: %s", err, r.Body)
	}
	if !c.IsError || len(c.Content) == 0 {
		tb.Fatalf("no error result: %s", r.Body)
	}
	for _, b := range c.Content {
		if b.Type != "text" || b.Text == "" {
			tb.Errorf("content block %+v", b)
		}
	}
	return c
}

// exact returns the status that _meta holds.
func exact(tb testing.TB, r *protocol.Result) *statuspb.Status {
	tb.Helper()
	var meta map[string]string
	if err := json.Unmarshal(r.Meta, &meta); err != nil {
		tb.Fatal(err)
	}
	wire, err := base64.StdEncoding.DecodeString(meta[status.MetaKey])
	if err != nil {
		tb.Fatal(err)
	}
	st := &statuspb.Status{}
	if err := proto.Unmarshal(wire, st); err != nil {
		tb.Fatal(err)
	}
	return st
}

func TestResult(t *testing.T) {
	t.Parallel()
	violations := &validate.Violations{Violations: []*validate.Violation{
		{
			Field: &validate.FieldPath{Elements: []*validate.FieldPathElement{
				{FieldNumber: proto.Int32(4), FieldName: new("message_type"), Subscript: &validate.FieldPathElement_Index{Index: 2}},
				{FieldNumber: proto.Int32(8), FieldName: new("oneof_decl"), Subscript: &validate.FieldPathElement_StringKey{StringKey: "a b"}},
				{FieldNumber: proto.Int32(99), FieldName: new("not_known")},
			}},
			Message: new("must be set"), RuleId: new("required"),
		},
		{Message: new("start must be before end"), RuleId: new("range.order")},
		{Field: &validate.FieldPath{Elements: []*validate.FieldPathElement{{FieldNumber: proto.Int32(1), FieldName: new("name")}}}, ForKey: new(true)},
	}}
	tests := []struct {
		name string
		err  *rpc.StatusError
		opts status.Options
	}{
		{"invalid_argument", failed(t, code.Code_INVALID_ARGUMENT, "two fields are wrong",
			&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{
				{Field: "message_type[2].oneof_decl[0].name", Description: "must not be empty", Reason: "EMPTY"},
				{Field: "public_dependency.3", LocalizedMessage: &errdetails.LocalizedMessage{Message: "zu groß"}},
				{Field: "not_known.message_type", Description: "x"},
				{Description: "everything is wrong\non two lines"},
			}}, violations,
			&errdetails.LocalizedMessage{Locale: "de", Message: "Zwei Felder sind falsch"}), status.Options{Request: request()}},
		{"invalid_argument_no_descriptor", failed(t, code.Code_INVALID_ARGUMENT, "",
			&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: "message_type[2]", Description: "bad"}}}, violations), status.Options{}},
		{"failed_precondition", failed(t, code.Code_FAILED_PRECONDITION, "not now",
			&errdetails.PreconditionFailure{Violations: []*errdetails.PreconditionFailure_Violation{{Type: "TOS", Subject: "example.com", Description: "accept the terms first"}}},
			&errdetails.Help{Links: []*errdetails.Help_Link{{Description: "terms", Url: "https://example.com/terms?a=1&b=<2>"}}}), status.Options{}},
		{"not_found", failed(t, code.Code_NOT_FOUND, "no such book",
			&errdetails.ResourceInfo{ResourceType: "Book", ResourceName: "books/7", Owner: "users/1", Description: "deleted"},
			&errdetails.ErrorInfo{Reason: "GONE", Domain: "example.com", Metadata: map[string]string{"since": "2026", "by": "x"}},
			&errdetails.RequestInfo{RequestId: "r-1"}), status.Options{}},
		{"resource_exhausted", failed(t, code.Code_RESOURCE_EXHAUSTED, "slow down",
			&errdetails.QuotaFailure{Violations: []*errdetails.QuotaFailure_Violation{{Subject: "project:1", Description: "100 a minute", QuotaId: "per-minute"}}},
			&errdetails.RetryInfo{RetryDelay: durationpb.New(2 * time.Second)}), status.Options{}},
		{"unavailable", failed(t, code.Code_UNAVAILABLE, "connection refused"), status.Options{}},
		{"unavailable_at_once", failed(t, code.Code_UNAVAILABLE, "moved", &errdetails.RetryInfo{}), status.Options{}},
		{"deadline_exceeded", failed(t, code.Code_DEADLINE_EXCEEDED, ""), status.Options{}},
		{"internal", failed(t, code.Code_INTERNAL, " nil pointer\ngoroutine 1 [running]", &errdetails.DebugInfo{Detail: "secret", StackEntries: []string{"secret"}}, &errdetails.RequestInfo{RequestId: "r-1"}), status.Options{}},
		{"unavailable_proxy", failed(t, code.Code_UNAVAILABLE, "upstream connect error\nremote address:10.1.2.3:80, dial tcp db.internal:5432: refused by [fe80::1%eth0]:99"), status.Options{}},
		{"unavailable_local", local(failed(t, code.Code_UNAVAILABLE, "nothing listens on secret:1: is this its port?")), status.Options{}},
		{"deadline_of_the_call", local(failed(t, code.Code_DEADLINE_EXCEEDED, "the deadline passed before secret:1 finished the call")), status.Options{Limit: 2500 * time.Millisecond}},
		{"too_large", failed(t, code.Code_RESOURCE_EXHAUSTED, "grpc: received message larger than max (5000000 vs. 4194304)"), status.Options{}},
		{"too_large_local", local(failed(t, code.Code_RESOURCE_EXHAUSTED, "a response message is larger than the limit of 1000 bytes")), status.Options{}},
		{"quota", failed(t, code.Code_RESOURCE_EXHAUSTED, "the request rate exceeds 5 a second"), status.Options{}},
		{"unknown", failed(t, code.Code_UNKNOWN, "not found\nneither here\nnor there"), status.Options{}},
		{"unknown_silent", failed(t, code.Code_UNKNOWN, ""), status.Options{}},
		{"unauthenticated", failed(t, code.Code_UNAUTHENTICATED, "token expired"), status.Options{}},
		{"unimplemented", failed(t, code.Code_UNIMPLEMENTED, "unknown method"), status.Options{}},
		{"unknown_code", failed(t, 77, "odd"), status.Options{}},
		{"unknown_detail", &rpc.StatusError{Status: &statuspb.Status{Code: 10, Message: "m", Details: []*anypb.Any{{TypeUrl: "x/no.Such", Value: []byte{1}}}}}, status.Options{}},
		{"control_characters", failed(t, code.Code_ABORTED, "a\x1b[31mb\u202ec\x00"), status.Options{}},
		{"not_utf8", failed(t, code.Code_ABORTED, "a\xffb"), status.Options{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, fault := status.Result(tt.err, tt.opts)
			if fault != nil {
				t.Fatal(fault)
			}
			var got strings.Builder
			for _, b := range read(t, r).Content {
				got.WriteString(b.Text + "\n\n")
			}
			path := filepath.Join("testdata", tt.name+".txt")
			if *update {
				if err := os.WriteFile(path, []byte(got.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got.String(), want)
			}
			if strings.Contains(string(r.Body), "secret") || strings.Contains(string(r.Body), "goroutine") {
				t.Errorf("not sanitised: %s", r.Body)
			}
		})
	}
}

func TestExactStatus(t *testing.T) {
	t.Parallel()
	e := failed(t, code.Code_NOT_FOUND, "a\nb", &errdetails.ErrorInfo{Reason: "R"})
	e.Status.ProtoReflect().SetUnknown([]byte{0x98, 0x06, 0x01})
	before := proto.CloneOf(e.Status)
	r, _ := status.Result(e, status.Options{})
	if got := exact(t, r); !proto.Equal(got, before) {
		t.Errorf("got %v, want %v", got, before)
	}
	debug := &errdetails.DebugInfo{Detail: "secret"}
	for _, c := range []code.Code{code.Code_NOT_FOUND, code.Code_INTERNAL} {
		e = failed(t, c, "first\nsecond", &errdetails.ErrorInfo{Reason: "R"}, debug)
		e.Status.ProtoReflect().SetUnknown([]byte{0x98, 0x06, 0x01})
		before = proto.CloneOf(e.Status)
		r, _ = status.Result(e, status.Options{})
		want := proto.CloneOf(before)
		want.Details = want.Details[:1]
		if got := exact(t, r); !proto.Equal(got, want) {
			t.Errorf("%v: got %v, want %v", c, got, want)
		}
		if !proto.Equal(e.Status, before) {
			t.Errorf("%v: the status was changed", c)
		}
	}
	r, _ = status.Result(failed(t, code.Code_UNKNOWN, strings.Repeat("ü", status.MaxInternalMessage)), status.Options{})
	if got := exact(t, r).GetMessage(); len(got) > status.MaxInternalMessage || !strings.HasSuffix(got, "ü...") {
		t.Errorf("message of %d bytes: %q", len(got), got)
	}
}

func TestUnauthenticated(t *testing.T) {
	t.Parallel()
	e := failed(t, code.Code_UNAUTHENTICATED, "token expired")
	r, fault := status.Result(e, status.Options{TokenForwarded: true})
	if r != nil || fault == nil || fault.Challenge != `Bearer error="invalid_token"` || strings.Contains(fault.Message, "expired") {
		t.Errorf("got %v, %+v", r, fault)
	}
	r, fault = status.Result(e, status.Options{TokenAbsent: true})
	if r != nil || fault == nil || fault.Challenge != "Bearer" || strings.Contains(fault.Message, "expired") {
		t.Errorf("no token: got %v, %+v", r, fault)
	}
	e.Local = true
	if r, fault = status.Result(e, status.Options{TokenForwarded: true, TokenAbsent: true}); r == nil || fault != nil {
		t.Errorf("a local status: got %v, %+v", r, fault)
	}
}

func TestNoStatus(t *testing.T) {
	t.Parallel()
	for _, e := range []*rpc.StatusError{nil, {}} {
		r, fault := status.Result(e, status.Options{})
		if fault != nil || !strings.Contains(read(t, r).Content[0].Text, "(UNKNOWN): the call failed without a status") {
			t.Errorf("got %s, %v", r.Body, fault)
		}
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	many := &errdetails.BadRequest{}
	for range 5000 {
		many.FieldViolations = append(many.FieldViolations, &errdetails.BadRequest_FieldViolation{Field: strings.Repeat("f.", 20), Description: strings.Repeat("d", 50)})
	}
	r, _ := status.Result(failed(t, code.Code_INVALID_ARGUMENT, strings.Repeat("m", 5000), many), status.Options{Request: request()})
	c := read(t, r)
	if len(c.Content) != 1 || len(c.Content[0].Text) > status.MaxText || !strings.Contains(c.Content[0].Text, "... and 4950 more") {
		t.Errorf("%d blocks, the first of %d bytes", len(c.Content), len(c.Content[0].Text))
	}
	r, _ = status.Result(failed(t, code.Code_INVALID_ARGUMENT, strings.Repeat("m", 1<<20)), status.Options{})
	if c = read(t, r); len(c.Content) != 1 || len(c.Content[0].Text) > status.MaxText {
		t.Errorf("%d blocks, the first of %d bytes", len(c.Content), len(c.Content[0].Text))
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	r := status.Arguments(&transcode.ArgumentError{Truncated: true, Violations: []transcode.Violation{
		{Path: "a.b[1]", Problem: "unknown field", Suggestions: []string{"c", "d"}},
		{Problem: "wrong type", Expected: "an object", Seen: "null"},
	}})
	const want = `The arguments do not fit the tool's input schema, so nothing was called. Correct them and call again.
- a.b[1]: unknown field; did you mean "c" or "d"?
- wrong type; want an object, got null
There may be more problems than these.`
	if got := read(t, r).Content; len(got) != 1 || got[0].Text != want {
		t.Errorf("got %+v", got)
	}
	if r.Meta != nil {
		t.Errorf("meta %s", r.Meta)
	}
}

// TestForOperators: the log gets what clients do not get to see.
func TestForOperators(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  *rpc.StatusError
		want string
	}{
		{nil, ""},
		{failed(t, code.Code_NOT_FOUND, "10.0.0.1 is not here"), ""},
		{failed(t, code.Code_UNAVAILABLE, "try later"), ""},
		{failed(t, code.Code_UNAVAILABLE, "dial tcp 10.0.0.1:1: refused"), "dial tcp 10.0.0.1:1: refused"},
		{local(failed(t, code.Code_UNAVAILABLE, "nothing listens on h:1")), "nothing listens on h:1"},
		{local(failed(t, code.Code_DEADLINE_EXCEEDED, "the deadline passed")), ""},
		{local(failed(t, code.Code_CANCELLED, "cancelled")), ""},
		{failed(t, code.Code_UNAUTHENTICATED, "who?"), "the service refused the credential of the bridge, which --header sets, or --forward-header for each caller: who?"},
	} {
		if got := status.ForOperators(tt.err); got != tt.want {
			t.Errorf("%v: got %q, want %q", tt.err, got, tt.want)
		}
	}
}

// FuzzMessage: whatever a message holds, its result is valid and bounded, and one
// of a service that failed has no address that can be recognised.
func FuzzMessage(f *testing.F) {
	for _, s := range []string{"", "a\nb", "dial tcp 10.0.0.1:80: refused", "1.2.3.4.5", "goroutine 1 [running]", "\xff[::1]:1", "larger than max (1 vs. 2)"} {
		f.Add(int32(14), s)
		f.Add(int32(8), s)
		f.Add(int32(5), s)
	}
	dial := regexp.MustCompile(`(?:^|\s)(?:dial tcp \d|10\.0\.0\.1(?:\s|$))`) // words of their own
	f.Fuzz(func(t *testing.T, c int32, message string) {
		e := &rpc.StatusError{Status: &statuspb.Status{Code: c, Message: message}}
		r, fault := status.Result(e, status.Options{})
		if fault != nil {
			t.Fatal(fault)
		}
		if !json.Valid(r.Body) || r.Meta != nil && !json.Valid(r.Meta) {
			t.Fatalf("not JSON: %s %s", r.Body, r.Meta)
		}
		text := read(t, r).Content[0].Text
		if len(text) > status.MaxText {
			t.Fatalf("%d bytes", len(text))
		}
		if code.Code(c) == code.Code_UNAVAILABLE && utf8.ValidString(message) && dial.MatchString(text) {
			t.Fatalf("an address: %q", text)
		}
	})
}
