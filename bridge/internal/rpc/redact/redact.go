// Package redact keeps what a peer has been sent in headers out of the errors of
// calls: peers repeat credentials in the messages and details of their statuses.
package redact

import (
	"encoding/base64"
	"errors"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	"github.com/mcp-bridge/mcp-bridge/internal/secret"
)

// Error returns the error of a call without values of the headers that the peer
// has been sent. A detail that has one and is of a type that is not linked in is
// left out. The headers have values of "-Bin" keys as raw bytes.
func Error(err error, sent ...http.Header) error {
	failed, ok := errors.AsType[*rpc.StatusError](err)
	if !ok || failed.Status == nil {
		return err
	}
	var values secret.Values
	for _, header := range sent {
		addTo(&values, header)
	}
	if values.Empty() {
		return err
	}
	told := redactor{&values}.status(failed.Status)
	if told == failed.Status {
		return err
	}
	return &rpc.StatusError{Status: told, Local: failed.Local, Cause: failed.Cause}
}

// addTo adds the values of a header, apart from those that say what is asked for,
// and in which trace.
func addTo(values *secret.Values, header http.Header) {
	for name, all := range header {
		lower := strings.ToLower(name)
		switch {
		case strings.HasPrefix(lower, "mcp-"), strings.HasPrefix(lower, "mcp_"), slices.Contains(trace, lower):
			continue
		}
		for _, value := range all {
			values.Add(name, value)
			if strings.HasSuffix(lower, "-bin") {
				values.Add(name, base64.RawStdEncoding.EncodeToString([]byte(value)))
			}
		}
	}
}

var trace = []string{"traceparent", "tracestate", "baggage"}

type redactor struct{ values *secret.Values }

// status returns st, or another status where it has a value.
func (r redactor) status(st *status.Status) *status.Status {
	out := &status.Status{Code: st.GetCode(), Message: r.values.Redact(st.GetMessage())}
	changed := out.GetMessage() != st.GetMessage()
	for _, detail := range st.GetDetails() {
		told, ok := r.any(detail)
		if ok {
			out.Details = append(out.Details, told)
		}
		changed = changed || told != detail
	}
	if !changed {
		return st
	}
	return out
}

// any returns an Any without values, and false where that cannot be had.
func (r redactor) any(detail *anypb.Any) (*anypb.Any, bool) {
	if !r.values.In(string(detail.GetValue())) && !r.values.In(detail.GetTypeUrl()) {
		return detail, true
	}
	typ, err := protoregistry.GlobalTypes.FindMessageByURL(detail.GetTypeUrl())
	if err != nil || r.values.In(detail.GetTypeUrl()) {
		return nil, false
	}
	m := typ.New()
	if proto.Unmarshal(detail.GetValue(), m.Interface()) != nil {
		return nil, false
	}
	r.message(m)
	value, err := proto.MarshalOptions{Deterministic: true}.Marshal(m.Interface())
	if err != nil || r.values.In(string(value)) {
		return nil, false
	}
	return &anypb.Any{TypeUrl: detail.GetTypeUrl(), Value: value}, true
}

// message redacts a message in place.
func (r redactor) message(m protoreflect.Message) {
	if r.values.In(string(m.GetUnknown())) {
		m.SetUnknown(nil)
	}
	if detail, ok := m.Interface().(*anypb.Any); ok {
		if told, ok := r.any(detail); ok {
			detail.TypeUrl, detail.Value = told.GetTypeUrl(), told.GetValue()
		} else {
			proto.Reset(detail)
		}
		return
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.IsMap():
			r.entries(fd, v.Map())
		case fd.IsList():
			for i := range v.List().Len() {
				if told, ok := r.value(fd, v.List().Get(i)); ok {
					v.List().Set(i, told)
				}
			}
		default:
			if told, ok := r.value(fd, v); ok {
				m.Set(fd, told)
			}
		}
		return true
	})
}

func (r redactor) entries(fd protoreflect.FieldDescriptor, entries protoreflect.Map) {
	entries.Range(func(key protoreflect.MapKey, v protoreflect.Value) bool {
		told, ok := r.value(fd.MapValue(), v)
		if ok {
			entries.Set(key, told)
		}
		if name, changed := r.value(fd.MapKey(), key.Value()); changed {
			entries.Set(name.MapKey(), entries.Get(key))
			entries.Clear(key)
		}
		return true
	})
}

// value returns a value to set in place of one, and false where it stays, or is a
// message, which is redacted itself.
func (r redactor) value(fd protoreflect.FieldDescriptor, v protoreflect.Value) (protoreflect.Value, bool) {
	switch {
	case fd.Message() != nil:
		r.message(v.Message())
	case fd.Kind() == protoreflect.StringKind:
		told := r.values.Redact(v.String())
		return protoreflect.ValueOfString(told), told != v.String()
	case fd.Kind() == protoreflect.BytesKind:
		told := r.values.Redact(string(v.Bytes()))
		return protoreflect.ValueOfBytes([]byte(told)), told != string(v.Bytes())
	}
	return v, false
}
