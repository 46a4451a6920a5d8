package validate

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/fieldpath"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/internal/clip"
)

// Checker checks the messages of one type. It is used concurrently. A nil
// Checker finds nothing.
type Checker struct {
	validator *Validator
	typ       protoreflect.MessageType
	wrapped   bool // the JSON of the type stands in the member "value"
	plan      func() *plan
}

// Check returns what is wrong with a message, given in wire form: nil, or an
// [*transcode.ArgumentError] with at most [transcode.MaxViolations] of the
// violations, in the order of field numbers. The first Check of a type
// compiles its rules, which takes milliseconds; others wait for it.
//
// It returns nil as well for what cannot be checked, see the package comment.
func (c *Checker) Check(wire []byte) error {
	if c == nil || c.plan() == nil {
		return nil
	}
	m := c.typ.New()
	opts := proto.UnmarshalOptions{AllowPartial: true, Resolver: c.validator.types}
	if guard(func() error { return opts.Unmarshal(wire, m.Interface()) }) == nil {
		return c.check(m, len(wire))
	}
	c.failed("the message cannot be read")
	return nil
}

// CheckMessage is Check for who has the message already; reading it again
// takes about as long as checking it. The message must be of the
// Checker's type; it is not kept or changed.
func (c *Checker) CheckMessage(m protoreflect.Message) error {
	if c == nil || c.plan() == nil {
		return nil
	}
	if m == nil || m.Descriptor() != c.typ.Descriptor() {
		c.failed("the message is of another type")
		return nil
	}
	return c.check(m, math.MaxInt)
}

// check checks a message that takes at most size bytes.
func (c *Checker) check(m protoreflect.Message, size int) error {
	p := c.plan()
	all := true
	var found error
	err := guard(func() error {
		// Small messages need not be measured: an element takes a byte.
		if size > maxCollected || p.tooLong(extent{elements: size, length: size, bytes: size}) {
			var x extent
			x.add(m)
			if p.tooLong(x) {
				c.validator.warn("a call of %s was not checked: its rules may take too long on a message of its size", c.typ.Descriptor().FullName())
				return nil
			}
			all = x.total <= maxCollected
		}
		found = p.validate(m.Interface(), all)
		return nil
	})
	if err = cmp.Or(err, found); err == nil {
		return nil
	}
	if e, ok := errors.AsType[*protovalidate.ValidationError](err); ok && len(e.Violations) > 0 {
		return c.argumentError(e, all)
	}
	c.failed(reason(err))
	return nil
}

// reason says why a check failed, without the values that it failed on.
func reason(err error) string {
	if e, ok := errors.AsType[*protovalidate.RuntimeError](err); ok {
		if outer := errors.Unwrap(e); outer != nil {
			if inner := errors.Unwrap(outer); inner != nil {
				return strings.TrimSuffix(outer.Error(), ": "+inner.Error())
			}
		}
		return "an expression cannot cope with the values of the call"
	}
	return "the rules cannot cope with the message"
}

func (c *Checker) failed(why string) {
	c.validator.warn("a call of %s was not checked: %s", c.typ.Descriptor().FullName(), why)
}

func (c *Checker) argumentError(e *protovalidate.ValidationError, all bool) error {
	// Maps have no order.
	slices.SortStableFunc(e.Violations, func(a, b *protovalidate.Violation) int {
		return slices.CompareFunc(a.Proto.GetField().GetElements(), b.Proto.GetField().GetElements(), compareElements)
	})
	out := &transcode.ArgumentError{Truncated: !all || len(e.Violations) > transcode.MaxViolations}
	for _, v := range e.Violations[:min(len(e.Violations), transcode.MaxViolations)] {
		out.Violations = append(out.Violations, c.violation(v))
	}
	return out
}

func compareElements(a, b *validate.FieldPathElement) int {
	return cmp.Or(
		cmp.Compare(a.GetFieldNumber(), b.GetFieldNumber()),
		cmp.Compare(a.GetIndex(), b.GetIndex()),
		cmp.Compare(a.GetIntKey(), b.GetIntKey()),
		cmp.Compare(a.GetUintKey(), b.GetUintKey()),
		cmp.Compare(a.GetStringKey(), b.GetStringKey()),
		compareBools(a.GetBoolKey(), b.GetBoolKey()),
	)
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

func (c *Checker) violation(v *protovalidate.Violation) transcode.Violation {
	out := transcode.Violation{Problem: oneLine(v.Proto.GetMessage(), maxMessage)}
	if c.wrapped {
		// What the message has in it is not what its JSON has.
		out.Path = "value"
	} else {
		out.Path = fieldpath.FromProto(v.Proto.GetField(), c.typ.Descriptor())
	}
	if out.Problem == "" {
		out.Problem = "the value is not allowed"
		if id := oneLine(v.Proto.GetRuleId(), maxMessage); id != "" {
			out.Problem += " (" + id + ")"
		}
	}
	if v.Proto.GetForKey() {
		out.Problem = "the key: " + out.Problem
	} else if zero := absent(v); zero != "" {
		out.Problem = "is required (left out, it counts as " + zero + "): " + out.Problem
	} else if v.Proto.GetRuleId() != "required" {
		out.Seen = seen(v.FieldDescriptor, v.FieldValue)
	}
	return out
}

// absent returns what a field is that may have been left out: its zero value, where
// nothing tells the two apart. It returns "" for any other value.
func absent(v *protovalidate.Violation) string {
	fd, elements := v.FieldDescriptor, v.Proto.GetField().GetElements()
	if fd == nil || fd.HasPresence() || !v.FieldValue.IsValid() || len(elements) == 0 ||
		elements[len(elements)-1].HasSubscript() || v.Proto.GetRuleId() == "required" {
		return ""
	}
	switch {
	case fd.IsList():
		if list, ok := v.FieldValue.Interface().(protoreflect.List); ok && list.Len() == 0 {
			return "empty"
		}
	case fd.IsMap():
		if m, ok := v.FieldValue.Interface().(protoreflect.Map); ok && m.Len() == 0 {
			return "empty"
		}
	case fd.ContainingMessage().IsMapEntry():
	case fd.Kind() == protoreflect.BytesKind:
		if len(v.FieldValue.Bytes()) == 0 {
			return "empty"
		}
	case v.FieldValue.Equal(fd.Default()):
		return seen(fd, v.FieldValue)
	}
	return ""
}

// seen returns a value as JSON shows it, shortened, or "" if it is no number,
// string, bool or enum.
func seen(fd protoreflect.FieldDescriptor, val protoreflect.Value) string {
	if !val.IsValid() {
		return ""
	}
	switch v := val.Interface().(type) {
	case string:
		return strconv.Quote(clip.Text(v, maxSeen))
	case bool:
		return strconv.FormatBool(v)
	case int32:
		return strconv.FormatInt(int64(v), 10)
	case int64:
		return strconv.FormatInt(v, 10)
	case uint32:
		return strconv.FormatUint(uint64(v), 10)
	case uint64:
		return strconv.FormatUint(v, 10)
	case float32:
		return strconv.FormatFloat(float64(v), 'g', -1, 32)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case protoreflect.EnumNumber:
		if fd != nil && fd.Enum() != nil {
			if name := fd.Enum().Values().ByNumber(v); name != nil {
				return string(name.Name())
			}
		}
		return strconv.FormatInt(int64(v), 10)
	}
	return ""
}
