package config

import (
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	configv1 "github.com/mcp-bridge/mcp-bridge/gen/mcpbridge/config/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// WithDefaults returns a copy of a configuration in which every key that has a
// default is set: those of the server, of the log, and those that an upstream of
// its kind takes. The timeout and the prefix of an upstream are then its own,
// and a sole upstream is required and has no prefix, unless it says otherwise.
// others are the names of upstreams that a program adds itself: they count.
func WithDefaults(c *configv1.Config, others ...string) *configv1.Config {
	out := proto.CloneOf(c)
	if out == nil {
		out = &configv1.Config{}
	}
	if out.Server == nil {
		out.Server = &configv1.Server{}
	}
	if out.Defaults == nil {
		out.Defaults = &configv1.Defaults{}
	}
	if out.Telemetry == nil {
		out.Telemetry = &configv1.Telemetry{}
	}
	if out.Telemetry.Log == nil {
		out.Telemetry.Log = &configv1.Log{}
	}
	withAuth(out)
	fill(out.ProtoReflect(), 0)
	sole := len(out.GetUpstreams())+len(others) == 1
	for _, u := range out.GetUpstreams() {
		k := kindOf(u)
		if k == api {
			if u.Stream == nil {
				u.Stream = &configv1.Stream{}
			}
			if u.Schema == nil {
				u.Schema = &configv1.Schema{}
			}
		}
		fill(u.ProtoReflect(), k)
		if u.Timeout == nil {
			u.Timeout = durationpb.New(out.GetDefaults().GetTimeout().AsDuration())
		}
		if u.Required == nil {
			u.Required = new(sole)
		}
		switch {
		case u.GetPrefix() != configv1.Prefix_PREFIX_UNSPECIFIED:
		case sole:
			u.Prefix = configv1.Prefix_PREFIX_NEVER
		default:
			u.Prefix = out.GetDefaults().GetPrefix()
		}
	}
	return out
}

// fill sets the defaults of a message and of the messages that it has. Those of
// upstreams depend on their kind.
func fill(m protoreflect.Message, k kind) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		switch {
		case m.Has(fd):
			if fd.Message() != nil && !fd.IsMap() && !fd.IsList() && ours(fd.Message()) {
				fill(m.Mutable(fd).Message(), k)
			}
		case k.takes(fd.Name()):
			if wire := defaultOf(fd); wire != nil {
				_ = proto.UnmarshalOptions{Merge: true}.Unmarshal(wire, m.Interface()) // a test reads all of them
			}
		}
	}
}

// ownPackage is the package of the configuration's own messages.
const ownPackage = "mcpbridge.config.v1"

// ours reports whether a message is one of the configuration's own.
func ours(md protoreflect.MessageDescriptor) bool { return md.ParentFile().Package() == ownPackage }

// defaultText returns the default of a field as text, or "".
func defaultText(fd protoreflect.FieldDescriptor) string { return fieldOptions(fd).GetDefault() }

// fieldOptions returns what the configuration says about a field of its own.
func fieldOptions(fd protoreflect.FieldDescriptor) *configv1.FieldOptions {
	o, _ := proto.GetExtension(fd.Options(), configv1.E_Field).(*configv1.FieldOptions)
	return o
}

// defaults are the defaults of fields as wire bytes of their messages.
var defaults sync.Map // protoreflect.FullName -> []byte

// defaultOf returns a message in wire bytes that has the default of a field, or
// nil.
func defaultOf(fd protoreflect.FieldDescriptor) []byte {
	if wire, ok := defaults.Load(fd.FullName()); ok {
		out, _ := wire.([]byte)
		return out
	}
	var wire []byte
	if text := defaultText(fd); text != "" {
		wire, _ = parseDefault(fd, text) // a test reads all of them
	}
	defaults.Store(fd.FullName(), wire)
	return wire
}

func parseDefault(fd protoreflect.FieldDescriptor, text string) ([]byte, error) {
	codec, err := transcode.New(fd.ContainingMessage(), nil, transcode.Options{})
	if err != nil {
		return nil, err
	}
	object := append(jsontok.AppendString([]byte("{"), fd.JSONName()), ':')
	object = append(jsontok.AppendString(object, text), '}')
	return codec.AppendWire(nil, object)
}
