package status

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/fieldpath"
	"github.com/mcp-bridge/mcp-bridge/internal/clip"
)

// maxItems is how many violations, links and the like of one detail are shown.
const maxItems = 50

// words says what a code means to the one who called.
var words = map[code.Code]string{
	code.Code_CANCELLED:           "The call was cancelled",
	code.Code_UNKNOWN:             "The service failed",
	code.Code_INVALID_ARGUMENT:    "The service refused the arguments",
	code.Code_DEADLINE_EXCEEDED:   "The service took too long and gave the call up",
	code.Code_NOT_FOUND:           "Not found",
	code.Code_ALREADY_EXISTS:      "It exists already",
	code.Code_PERMISSION_DENIED:   "Permission denied",
	code.Code_RESOURCE_EXHAUSTED:  "A quota or limit is used up",
	code.Code_FAILED_PRECONDITION: "The state of the system does not allow this now",
	code.Code_ABORTED:             "The call was aborted, most likely by another one at the same time",
	code.Code_OUT_OF_RANGE:        "A value is out of range",
	code.Code_UNIMPLEMENTED:       "The service does not offer this method",
	code.Code_INTERNAL:            "The service has an internal fault",
	code.Code_UNAVAILABLE:         "The service is not available now",
	code.Code_DATA_LOSS:           "The service lost data or found it damaged",
	code.Code_UNAUTHENTICATED:     "The service does not accept the credentials of this connection",
}

// warnings say what must be known in any case.
var warnings = map[code.Code]string{
	code.Code_DEADLINE_EXCEEDED: "The call may have taken effect: find out before calling again.",
	code.Code_UNAVAILABLE:       "The call may have taken effect: find out before calling again, unless it only reads.",
	code.Code_UNAUTHENTICATED:   "Calling again will not help until somebody has changed them.",
}

// hints say what to do where there is no RetryInfo.
var hints = map[code.Code]string{
	code.Code_RESOURCE_EXHAUSTED: "The service did not say when to retry; wait before calling again.",
	code.Code_UNAVAILABLE:        "The service did not say when to retry; this is often over in some seconds.",
	code.Code_ABORTED:            "Read the current state again, then retry.",
}

// sizes finds what callers and servers of RPCs say of a message that is too large.
// No time makes it smaller.
var sizes = regexp.MustCompile(`(?i)\b(?:message|request|response|payload|body|trying to send)\b.*\b(?:larger than|too (?:large|big|long))|\b(?:size|length|bytes)\b.*\b(?:exceeds?|larger than)\b|\bexceeds?\b.*\b(?:size|length|bytes)\b|larger than (?:configured )?max`)

// tooLarge reports whether a status says that a message is too large.
func tooLarge(st *statuspb.Status) bool {
	if code.Code(st.GetCode()) != code.Code_RESOURCE_EXHAUSTED || !sizes.MatchString(st.GetMessage()) {
		return false
	}
	for _, d := range st.GetDetails() {
		switch readable(d.GetTypeUrl(), d.GetValue()).(type) {
		case *errdetails.QuotaFailure, *errdetails.RetryInfo:
			return false
		}
	}
	return true
}

// builder makes a text of at most MaxText bytes.
type builder struct{ b strings.Builder }

func (b *builder) line(s string) {
	if b.b.Len() > MaxText {
		return
	}
	if b.b.Len() > 0 {
		b.b.WriteByte('\n')
	}
	b.b.WriteString(clean(s))
}

func (b *builder) item(s string) {
	b.line("- " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n  "))
}

func (b *builder) String() string { return clip.Text(b.b.String(), MaxText) }

// clean takes out what a terminal or a model may take for more than text:
// control characters, those that change the direction of writing, and the
// invisible tag characters.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), 0xE0000 <= r && r <= 0xE007F:
			return -1
		default:
			return r
		}
	}, s)
}

// text returns the readable form of a status.
func text(st *statuspb.Status, o Options) string {
	c := code.Code(st.GetCode())
	name, known := code.Code_name[st.GetCode()]
	if !known {
		name = fmt.Sprintf("code %d", st.GetCode())
	}
	what, ok := words[c]
	if !ok {
		what = "The call failed"
	}
	message, warning, hint := strings.TrimSpace(st.GetMessage()), warnings[c], hints[c]
	switch {
	case c == code.Code_UNKNOWN && message == "":
		what = "The service failed and did not say how"
	case c == code.Code_DEADLINE_EXCEEDED && o.Limit > 0:
		what = fmt.Sprintf("The call took longer than its limit of %v and was given up", o.Limit.Round(time.Millisecond))
	case tooLarge(st):
		what = "A message is too large"
		hint = "Calling again with the same arguments will not help. Ask for less: a smaller page, fewer fields or a narrower filter; or send less."
	}
	head := what + " (" + name + ")"
	if message != "" {
		head += ": " + message
	}
	var b builder
	b.line(head)
	if warning != "" {
		b.line(warning)
	}
	retry := false
	for _, d := range st.GetDetails() {
		m := readable(d.GetTypeUrl(), d.GetValue())
		if m == nil {
			continue
		}
		if _, ok := m.(*errdetails.RetryInfo); ok {
			retry = true
		}
		detail(&b, m, o.Request)
	}
	if hint != "" && !retry {
		b.line(hint)
	}
	return b.String()
}

// readable returns the detail if it is of a type that has a readable form.
func readable(url string, value []byte) proto.Message {
	var m proto.Message
	switch url[strings.LastIndexByte(url, '/')+1:] {
	case "google.rpc.BadRequest":
		m = &errdetails.BadRequest{}
	case "google.rpc.PreconditionFailure":
		m = &errdetails.PreconditionFailure{}
	case "google.rpc.ResourceInfo":
		m = &errdetails.ResourceInfo{}
	case "google.rpc.ErrorInfo":
		m = &errdetails.ErrorInfo{}
	case "google.rpc.QuotaFailure":
		m = &errdetails.QuotaFailure{}
	case "google.rpc.RetryInfo":
		m = &errdetails.RetryInfo{}
	case "google.rpc.RequestInfo":
		m = &errdetails.RequestInfo{}
	case "google.rpc.Help":
		m = &errdetails.Help{}
	case "google.rpc.LocalizedMessage":
		m = &errdetails.LocalizedMessage{}
	case "buf.validate.Violations":
		m = &validate.Violations{}
	default:
		return nil
	}
	if proto.Unmarshal(value, m) != nil {
		return nil
	}
	return m
}

// detail appends the readable form of one detail.
func detail(b *builder, m proto.Message, request protoreflect.MessageDescriptor) {
	switch d := m.(type) {
	case *errdetails.BadRequest:
		items(b, "Problems with fields:", d.GetFieldViolations(), func(v *errdetails.BadRequest_FieldViolation) string {
			what := first(v.GetLocalizedMessage().GetMessage(), v.GetDescription())
			return labelled(fieldpath.FromText(v.GetField(), request), tagged(what, v.GetReason()))
		})
	case *validate.Violations:
		items(b, "Problems with fields:", d.GetViolations(), func(v *validate.Violation) string {
			what := first(v.GetMessage(), "the value is not allowed")
			if v.GetForKey() {
				what = "the key: " + what
			}
			return labelled(fieldpath.FromProto(v.GetField(), request), tagged(what, v.GetRuleId()))
		})
	case *errdetails.PreconditionFailure:
		items(b, "What does not hold:", d.GetViolations(), func(v *errdetails.PreconditionFailure_Violation) string {
			return labelled(v.GetSubject(), tagged(v.GetDescription(), v.GetType()))
		})
	case *errdetails.QuotaFailure:
		items(b, "Quotas used up:", d.GetViolations(), func(v *errdetails.QuotaFailure_Violation) string {
			return labelled(v.GetSubject(), tagged(v.GetDescription(), v.GetQuotaId()))
		})
	case *errdetails.ResourceInfo:
		s := "Resource: " + strings.TrimSpace(d.GetResourceType()+" "+d.GetResourceName())
		if d.GetOwner() != "" {
			s += ", owned by " + d.GetOwner()
		}
		if d.GetDescription() != "" {
			s += ": " + d.GetDescription()
		}
		b.line(s)
	case *errdetails.ErrorInfo:
		b.line("Reason: " + tagged(d.GetReason(), d.GetDomain()))
		for i, key := range slices.Sorted(maps.Keys(d.GetMetadata())) {
			if i == maxItems {
				b.item("...")
				break
			}
			b.item(key + " = " + d.GetMetadata()[key])
		}
	case *errdetails.RetryInfo:
		if delay := d.GetRetryDelay(); delay.CheckValid() == nil && delay.AsDuration() > 0 {
			b.line("Retry after " + delay.AsDuration().Round(time.Millisecond).String() + ".")
		} else {
			b.line("It may be retried at once.")
		}
	case *errdetails.RequestInfo:
		b.line("Request id: " + d.GetRequestId())
	case *errdetails.Help:
		items(b, "More about this:", d.GetLinks(), func(l *errdetails.Help_Link) string {
			return labelled(l.GetDescription(), l.GetUrl())
		})
	case *errdetails.LocalizedMessage:
		b.line(tagged(d.GetMessage(), d.GetLocale()))
	}
}

// items appends a heading and a list, if the list has elements.
func items[T any](b *builder, heading string, list []T, text func(T) string) {
	if len(list) == 0 {
		return
	}
	b.line(heading)
	for i, v := range list {
		if i == maxItems {
			b.item(fmt.Sprintf("... and %d more", len(list)-maxItems))
			return
		}
		b.item(text(v))
	}
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// labelled joins a name and what is said of it; either may be empty.
func labelled(name, text string) string {
	if name == "" || text == "" {
		return name + text
	}
	return name + ": " + text
}

// tagged appends a tag in parentheses; either may be empty.
func tagged(text, tag string) string {
	switch {
	case tag == "":
		return text
	case text == "":
		return tag
	default:
		return text + " (" + tag + ")"
	}
}
