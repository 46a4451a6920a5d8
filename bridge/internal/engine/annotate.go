package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/backend"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/descriptor"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	optionsv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/options/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// validToolName is what all hosts and providers accept.
var validToolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// said is what options say of the methods of a catalog.
type said struct {
	methods map[protoreflect.FullName]*optionsv1.MethodOptions
	faults  []error  // of the operator's file
	notes   []string // of descriptors
}

// fault notes what is wrong with the options of a method.
func (s *said) fault(cfg *config, method protoreflect.FullName, format string, args ...any) {
	err := fmt.Errorf("options of %s: %w", method, fmt.Errorf(format, args...))
	if cfg.options.Has(method) {
		s.faults = append(s.faults, err)
	} else {
		s.notes = append(s.notes, err.Error()+"; it is ignored")
	}
}

// read reads the options of a method, and reports whether the method is hidden.
func (s *said) read(cfg *config, method protoreflect.MethodDescriptor) (hidden bool) {
	o, err := cfg.options.Method(method)
	if err != nil {
		s.notes = append(s.notes, err.Error()+"; it is ignored")
	}
	if service, ok := method.Parent().(protoreflect.ServiceDescriptor); ok && o.Hide == nil {
		of, err := cfg.options.Service(service)
		if err != nil {
			s.notes = append(s.notes, err.Error()+"; it is ignored")
		}
		o.Hide = of.Hide
	}
	if o.GetHide() {
		return true
	}
	name := method.FullName()
	if o.GetName() != "" && !validToolName.MatchString(o.GetName()) {
		s.fault(cfg, name, "the name %q is none that all hosts accept: use 1 to 64 letters, digits, _ and -", o.GetName())
		o.Name = ""
	}
	for what, d := range map[string]**durationpb.Duration{"timeout": &o.Timeout, "stream.time": streamTime(o)} {
		if *d != nil && (*d).CheckValid() != nil || (*d).AsDuration() < 0 {
			s.fault(cfg, name, "the %s must be a time of zero or more", what)
			*d = nil
		}
	}
	if o.GetMaxResultBytes() < 0 || o.GetStream().GetMessages() < 0 || o.GetStream().GetBytes() < 0 {
		s.fault(cfg, name, "max_result_bytes, stream.messages and stream.bytes must not be negative")
		o.MaxResultBytes, o.Stream = 0, nil
	}
	if problem := checkTool(method, o.GetTool()); problem != "" {
		s.fault(cfg, name, "tool: %s", problem)
		o.Tool = nil
	}
	s.methods[name] = o
	return false
}

// checkTool says what is wrong with an option that makes a method a tool of MCP
// in itself, or returns "".
func checkTool(method protoreflect.MethodDescriptor, o *optionsv1.Tool) string {
	if o == nil {
		return ""
	}
	if method.IsStreamingClient() || method.IsStreamingServer() {
		return "the method streams"
	}
	for name, schema := range map[string]string{"input_schema": o.GetInputSchema(), "output_schema": o.GetOutputSchema()} {
		switch {
		case schema == "":
		case len(schema) > maxGivenSchema:
			return fmt.Sprintf("the %s has %d bytes, and may have %d", name, len(schema), maxGivenSchema)
		case jsontok.Valid([]byte(schema), jsontok.Limits{}) != nil || jsontok.KindOf(bytes.TrimSpace([]byte(schema))) != jsontok.KindObject:
			return fmt.Sprintf("the %s is no JSON object", name)
		}
	}
	return ""
}

// maxGivenSchema bounds a schema in the options of a method.
const maxGivenSchema = 256 << 10

func streamTime(o *optionsv1.MethodOptions) **durationpb.Duration {
	if o.Stream == nil {
		return new(*durationpb.Duration)
	}
	return &o.Stream.Time
}

// rename adds the names that options give to those that methods have.
func (s *said) rename(cfg *config, methods []protoreflect.MethodDescriptor, taken map[protoreflect.FullName]string) {
	owner := make(map[string]protoreflect.FullName)
	for _, method := range methods {
		name := s.methods[method.FullName()].GetName()
		if name == "" {
			continue
		}
		if first, twice := owner[name]; twice {
			s.fault(cfg, method.FullName(), "%s has the name %q already", first, name)
			continue
		}
		owner[name] = method.FullName()
		taken[method.FullName()] = name
	}
	// Who had a name that an option gives to another gets a new one.
	for method, name := range taken {
		if first, given := owner[name]; given && first != method {
			delete(taken, method)
		}
	}
}

// settings returns what the plan of a method is told.
func (s *said) settings(cfg *config, method protoreflect.FullName) backend.Settings {
	o := s.methods[method]
	out := backend.Settings{Limits: cfg.Limits, Output: cfg.Output, MaxResult: cfg.MaxResult, Tool: o.GetTool() != nil}
	if n := o.GetStream().GetMessages(); n > 0 {
		out.Limits.Messages = int(n)
	}
	if n := o.GetStream().GetBytes(); n > 0 {
		out.Limits.Bytes = int(n)
	}
	if d := o.GetStream().GetTime().AsDuration(); d > 0 {
		out.Limits.Time = d
	}
	if n := int(o.GetMaxResultBytes()); n > 0 {
		out.MaxResult, out.MaxContent = n, n
		out.Limits.Bytes = min(out.Limits.Bytes, n)
	}
	return out
}

// apply sets what options say of a tool that has been rendered.
func (t *tool) apply(cfg *config, o *optionsv1.MethodOptions) error {
	t.timeout = cfg.Timeout
	if o.GetTimeout() != nil {
		t.timeout = o.GetTimeout().AsDuration()
	}
	if o.GetTitle() == "" && o.GetAnnotations() == nil {
		return nil
	}
	// Hints are absent where they are MCP's defaults.
	var hints struct {
		Title       string `json:"title,omitempty"`
		ReadOnly    *bool  `json:"readOnlyHint,omitempty"`
		Destructive *bool  `json:"destructiveHint,omitempty"`
		Idempotent  *bool  `json:"idempotentHint,omitempty"`
		OpenWorld   *bool  `json:"openWorldHint,omitempty"`
	}
	if err := json.Unmarshal(t.Annotations, &hints); err != nil {
		return err
	}
	hints.Title = t.Title
	if a := o.GetAnnotations(); a != nil {
		override(&hints.ReadOnly, a.ReadOnly)
		override(&hints.Destructive, a.Destructive)
		override(&hints.Idempotent, a.Idempotent)
		override(&hints.OpenWorld, a.OpenWorld)
	}
	var err error
	t.Annotations, err = json.Marshal(hints)
	return err
}

func override(hint **bool, says *bool) {
	if says != nil {
		*hint = says
	}
}

// comment returns what options say of a field in place of its comment.
func (c *config) comment(fd protoreflect.FieldDescriptor) string {
	o, err := c.options.Field(fd)
	if err != nil {
		return "" // read makes it known where the field is completed
	}
	return o.GetDescription()
}

// encoding returns the encoding of the bytes in a field.
func (c *config) encoding(fd protoreflect.FieldDescriptor) transcode.Encoding {
	o, err := c.options.Field(fd)
	if err != nil {
		return c.Bytes // Hidden makes it known
	}
	switch o.GetEncoding() {
	case optionsv1.Encoding_ENCODING_BASE64:
		return transcode.Base64
	case optionsv1.Encoding_ENCODING_UTF8:
		return transcode.UTF8
	case optionsv1.Encoding_ENCODING_HEX:
		return transcode.Hex
	default:
		return c.Bytes
	}
}

// visible returns a set without the fields that options hide. All else is built
// on it, so a hidden field is nowhere. The notes say which options cannot be
// read.
func (c *config) visible(set *descriptor.Set) (visible *descriptor.Set, notes []string, err error) {
	hidden := make(map[protoreflect.FullName]bool)
	set.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		if err := c.options.Hidden(file, hidden); err != nil {
			notes = append(notes, err.Error()+"; it is ignored")
		}
		return true
	})
	visible, err = set.Without(hidden)
	return visible, notes, err
}

// checkNames reports the names in the file of options that do not exist.
func (s *said) checkNames(cfg *config, sets []*descriptor.Set) {
	var services, methods []string
	for _, set := range sets {
		for _, service := range set.Services() {
			services = append(services, string(service.FullName()))
			for i := range service.Methods().Len() {
				methods = append(methods, string(service.Methods().Get(i).FullName()))
			}
		}
	}
	fields := func(yield func(string) bool) {
		for _, set := range sets {
			for name := range set.Fields() {
				if !yield(string(name)) {
					return
				}
			}
		}
	}
	err := cfg.options.Check(services, methods, fields, func(name string) protoreflect.FieldDescriptor {
		for _, set := range sets {
			if fd := set.Field(protoreflect.FullName(name)); fd != nil {
				return fd
			}
		}
		return nil
	})
	if err != nil {
		s.faults = append(s.faults, fmt.Errorf("options: %w", err))
	}
}

// settle returns the faults of the file as an error, or, once the engine is
// running, notes them.
func (s *said) settle(first bool) error {
	if first {
		return errors.Join(s.faults...)
	}
	for _, err := range s.faults {
		s.notes = append(s.notes, err.Error())
	}
	return nil
}
