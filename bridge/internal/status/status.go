package status

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	"github.com/mcp-bridge/mcp-bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

const (
	// MetaKey is the member of _meta that holds the status: the wire bytes of
	// a google.rpc.Status in standard base64.
	MetaKey = "io.github.mcp-bridge/status"

	// MaxInternalMessage bounds the message of a status that is a fault of
	// the service, in bytes.
	MaxInternalMessage = 8 << 10

	// MaxText bounds the readable text, in bytes.
	MaxText = 16 << 10

	// MaxJSON bounds the details as JSON, in bytes. Larger ones are left out of
	// the content; they are still in _meta.
	MaxJSON = 32 << 10
)

// What HTTP fronts answer to a token that the backend refused, and to a request
// without one that needs it (RFC 6750, section 3.1).
const (
	challenge       = `Bearer error="invalid_token"`
	challengeAbsent = `Bearer`
)

// Options are what [Result] must know of the call.
type Options struct {
	// Resolver finds the types of details that have no readable form. If it is
	// nil, those of the program are found.
	Resolver transcode.Resolver
	// Request is the request message. With it, the field paths of details
	// are shown with the names that JSON has. It may be nil.
	Request protoreflect.MessageDescriptor
	// TokenForwarded is set where the caller's own token was sent to the
	// backend, so that it is this token which was refused.
	TokenForwarded bool
	// TokenAbsent is set where a token of the caller would have been sent to the
	// backend, which the caller can send but has not.
	TokenAbsent bool
	// Limit is the bound of the call that has passed, or 0.
	Limit time.Duration
	// Partial is what a stream had sent before it failed, as JSON, or nil. It
	// is the last text of the result.
	Partial json.RawMessage
}

// Result returns what the client gets for err: a result with isError, or else
// an error where the backend refused the caller's own token. Exactly one of
// the two is not nil. A nil err or status counts as UNKNOWN.
func Result(err *rpc.StatusError, o Options) (*protocol.Result, *protocol.Error) {
	st := &statuspb.Status{Code: int32(code.Code_UNKNOWN), Message: "the call failed without a status"}
	local := false
	if err != nil && err.Status != nil {
		st, local = err.Status, err.Local
	}
	if refused := code.Code(st.GetCode()) == code.Code_UNAUTHENTICATED && !local; refused && o.TokenForwarded {
		return nil, &protocol.Error{
			Code:      protocol.CodeInvalidRequest,
			Message:   "the service refused the access token; get a new one and try again",
			Challenge: challenge,
		}
	} else if refused && o.TokenAbsent {
		return nil, &protocol.Error{
			Code:      protocol.CodeInvalidRequest,
			Message:   "the service needs an access token; get one and try again",
			Challenge: challengeAbsent,
		}
	}
	st = sanitised(st, local)
	readable := text(st, o)
	if o.Partial != nil {
		readable += "\nThe stream had sent some messages by then: the last text has them."
	}
	result := failure(readable, detailsJSON(st, o.Resolver), string(o.Partial))
	if wire, err := (proto.MarshalOptions{Deterministic: true}).Marshal(st); err == nil {
		result.Meta = json.RawMessage(`{"` + MetaKey + `":"` + base64.StdEncoding.EncodeToString(wire) + `"}`)
	}
	return result, nil
}

// OfResult returns the status that a result of [Result] stands for, or nil if
// there is none in its _meta.
func OfResult(res *protocol.Result) *statuspb.Status {
	raw, ok := jsontok.Lookup(res.Meta, MetaKey)
	if !ok {
		return nil
	}
	text, _ := jsontok.String(raw)
	wire, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	st := &statuspb.Status{}
	if proto.Unmarshal(wire, st) != nil || st.GetCode() == int32(code.Code_OK) {
		return nil
	}
	return st
}

// Arguments returns the result for arguments that could not be read. It lists
// all violations.
func Arguments(err *transcode.ArgumentError) *protocol.Result {
	var b builder
	b.line("The arguments do not fit the tool's input schema, so nothing was called. Correct them and call again.")
	for _, v := range err.Violations {
		b.item(v.String())
	}
	if err.Truncated {
		b.line("There may be more problems than these.")
	}
	return failure(b.String(), "")
}

// TooLarge returns the result for one that is larger than its tool may return, in
// bytes. The advice says how to ask for less.
func TooLarge(most int, advice string) *protocol.Result {
	return failure(fmt.Sprintf("The call succeeded, but its result is longer than %d bytes, the most that this tool returns. %s", most, advice))
}

// Refused returns the result for a call that was not made, with the reason.
func Refused(reason string) *protocol.Result { return failure(reason) }

// failure returns a result with isError whose content is the texts, without
// those that are empty.
func failure(texts ...string) *protocol.Result {
	type block struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	var body struct {
		Content []block `json:"content"`
		IsError bool    `json:"isError"`
	}
	body.IsError = true
	for _, t := range texts {
		if t != "" {
			body.Content = append(body.Content, block{"text", t})
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(body); err != nil { // strings always encode
		return &protocol.Result{Body: json.RawMessage(`{"content":[],"isError":true}`)}
	}
	return &protocol.Result{Body: bytes.TrimSpace(b.Bytes())}
}

// ForOperators returns what the people who run the bridge should know of a status
// and clients do not get to see, or "".
func ForOperators(err *rpc.StatusError) string {
	if err == nil || err.Status == nil {
		return ""
	}
	switch c := err.Code(); {
	case c == code.Code_CANCELLED, err.Local && c == code.Code_DEADLINE_EXCEEDED:
		return ""
	case c == code.Code_UNAUTHENTICATED:
		return "the service refused the credential of the bridge, which --header sets, or --forward-header for each caller: " + err.Status.GetMessage()
	case err.Local, sanitised(err.Status, false).GetMessage() != err.Status.GetMessage():
		return err.Status.GetMessage()
	default:
		return ""
	}
}

// Addresses and stack traces in messages.
var (
	dialled = regexp.MustCompile(`\b(dial (?:tcp[46]?|udp[46]?|unix)|remote address:) *[^\s,;]*[^\s,;:]+|\b(lookup) [^\s,;:]*\.[^\s,;:]+`)
	address = regexp.MustCompile(`\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b|\[[0-9a-fA-F]*:[0-9a-fA-F]*:[0-9a-fA-F:.]*(?:%[^\]\s]+)?\](?::\d{1,5})?`)
	trace   = regexp.MustCompile(`(?s)\n*goroutine \d+ \[.*`)
)

const hidden = "(address)"

// sanitised returns the status as a client may see it. It does not change st.
func sanitised(st *statuspb.Status, local bool) *statuspb.Status {
	message := st.GetMessage()
	switch code.Code(st.GetCode()) {
	case code.Code_RESOURCE_EXHAUSTED, code.Code_INVALID_ARGUMENT:
		local = false // what is made here of those is about the messages
	case code.Code_UNKNOWN, code.Code_INTERNAL, code.Code_DATA_LOSS, code.Code_UNAVAILABLE:
		message = trace.ReplaceAllString(strings.TrimSpace(message), "")
		message = address.ReplaceAllString(dialled.ReplaceAllString(message, "$1$2 "+hidden), hidden)
		message = clip.Text(message, MaxInternalMessage)
	}
	if local {
		message = ""
	}
	debug := (&errdetails.DebugInfo{}).ProtoReflect().Descriptor().FullName()
	stripped := false
	for _, d := range st.GetDetails() {
		stripped = stripped || d.MessageName() == debug
	}
	valid := strings.ToValidUTF8(message, "\uFFFD")
	if !stripped && valid == st.GetMessage() {
		return st
	}
	out := proto.CloneOf(st)
	out.Message = valid
	out.Details = nil
	for _, d := range st.GetDetails() {
		if d.MessageName() != debug {
			out.Details = append(out.Details, d)
		}
	}
	return out
}

// detailsJSON returns the details that have no readable form as ProtoJSON, or ""
// if there are none, or they are too large.
func detailsJSON(st *statuspb.Status, resolver transcode.Resolver) string {
	rest := &statuspb.Status{}
	for _, d := range st.GetDetails() {
		if readable(d.GetTypeUrl(), d.GetValue()) == nil {
			rest.Details = append(rest.Details, d)
		}
	}
	if len(rest.GetDetails()) == 0 {
		return ""
	}
	wire, err := proto.Marshal(rest)
	if err != nil || len(wire) > MaxJSON {
		return ""
	}
	if resolver == nil {
		resolver = protoregistry.GlobalTypes
	}
	codec, err := transcode.New(st.ProtoReflect().Descriptor(), resolver, transcode.Options{})
	if err != nil {
		return ""
	}
	out, _, err := codec.AppendJSON(nil, wire)
	if err != nil || len(out) > MaxJSON {
		return ""
	}
	return string(out)
}
