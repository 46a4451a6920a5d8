package redact_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/redact"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
)

const (
	token = "hunter2-and-more"
	shown = "[redacted]"
)

func detail(t *testing.T, m proto.Message) *anypb.Any {
	t.Helper()
	out, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func object(t *testing.T, key, value string) *structpb.Struct {
	t.Helper()
	out, err := structpb.NewStruct(map[string]any{key: []any{value, 1.0, map[string]any{"x": value}}})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestError(t *testing.T) {
	t.Parallel()
	of := func(message string, details ...*anypb.Any) *status.Status {
		return &status.Status{Code: int32(code.Code_UNAUTHENTICATED), Message: message, Details: details}
	}
	sent := http.Header{"Authorization": {"Bearer " + token}, "X-Key-Bin": {"\x00\x01raw bytes"}, "Mcp-Name": {"Library_GetBook"}, "Traceparent": {"00-0af7651916cd43dd-b7ad6b7169203331-01"}}
	unknown := &errdetails.RequestInfo{}
	unknown.ProtoReflect().SetUnknown(protowire.AppendString(protowire.AppendTag(nil, 99, protowire.BytesType), token))
	for _, tt := range []struct {
		name       string
		told, want *status.Status
	}{
		{"nothing of it", of("no Library_GetBook in 00-0af7651916cd43dd-b7ad6b7169203331-01", detail(t, object(t, "a", "b"))), nil},
		{"message", of("bad " + token), of("bad " + shown)},
		{"raw bytes", of("bad AAFyYXcgYnl0ZXM="), of("bad " + shown + "=")},
		{
			"strings, lists and maps",
			of("no", detail(t, &errdetails.Help{Links: []*errdetails.Help_Link{{Url: token}}}), detail(t, &errdetails.DebugInfo{StackEntries: []string{"a", token}, Detail: token})),
			of("no", detail(t, &errdetails.Help{Links: []*errdetails.Help_Link{{Url: shown}}}), detail(t, &errdetails.DebugInfo{StackEntries: []string{"a", shown}, Detail: shown})),
		},
		{"any JSON", of("no", detail(t, object(t, token, token))), of("no", detail(t, object(t, shown, shown)))},
		{"bytes", of("no", detail(t, wrapperspb.Bytes([]byte(`{"a":"`+token+`"}`)))), of("no", detail(t, wrapperspb.Bytes([]byte(`{"a":"`+shown+`"}`))))},
		{"a detail in a detail", of("no", detail(t, detail(t, wrapperspb.String(token)))), of("no", detail(t, detail(t, wrapperspb.String(shown))))},
		{"unknown fields", of("no", detail(t, unknown)), of("no", detail(t, &errdetails.RequestInfo{}))},
		{
			"a URL beside it",
			of("see https://u:p@h/?token=a", detail(t, &errdetails.Help_Link{Description: token, Url: "https://h/?token=a"})),
			of("see https://h/?token=xxxxx", detail(t, &errdetails.Help_Link{Description: shown, Url: "https://h/?token=xxxxx"})),
		},
		{
			"what cannot be read", of("no", &anypb.Any{TypeUrl: "x/not.linked.In", Value: []byte(token)}, &anypb.Any{TypeUrl: "x/google.rpc.Help", Value: []byte(token)}, &anypb.Any{TypeUrl: token}, detail(t, wrapperspb.Bool(true))),
			of("no", detail(t, wrapperspb.Bool(true))),
		},
	} {
		in := &rpc.StatusError{Status: proto.CloneOf(tt.told), Local: true, Cause: errors.ErrUnsupported}
		err := redact.Error(in, nil, sent)
		if tt.want == nil {
			if !errors.Is(err, error(in)) {
				t.Errorf("%s: another error: %v", tt.name, err)
			}
			continue
		}
		got, ok := errors.AsType[*rpc.StatusError](err)
		if !ok || !proto.Equal(got.Status, tt.want) || !got.Local || !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: got %v\nwant %v", tt.name, err, tt.want)
		}
		if !proto.Equal(in.Status, tt.told) {
			t.Errorf("%s: the error was changed in place", tt.name)
		}
	}
	plain := errors.New(token)
	if err := redact.Error(plain, sent); !errors.Is(err, plain) {
		t.Errorf("an error without a status becomes %v", err)
	}
}

// FuzzError: whatever a peer says, no value of the header is shown.
func FuzzError(f *testing.F) {
	seed, err := proto.Marshal(&status.Status{Message: token, Details: []*anypb.Any{{TypeUrl: "x/google.protobuf.StringValue", Value: []byte("\n\x10" + token)}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, wire []byte) {
		told := &status.Status{}
		if proto.Unmarshal(wire, told) != nil {
			return
		}
		err := redact.Error(&rpc.StatusError{Status: told}, http.Header{"X-Token": {token}})
		failed, ok := errors.AsType[*rpc.StatusError](err)
		if !ok {
			t.Fatal(err)
		}
		said := []string{failed.Status.GetMessage()}
		for _, detail := range failed.Status.GetDetails() {
			said = append(said, detail.GetTypeUrl(), string(detail.GetValue()))
		}
		for _, s := range said {
			if strings.Contains(s, token) {
				t.Errorf("shown: %q", s)
			}
		}
	})
}
