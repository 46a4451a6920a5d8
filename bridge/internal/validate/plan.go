package validate

import (
	"errors"
	"fmt"

	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/internal/clip"
)

// plan is how the messages of one type are checked. It is immutable.
type plan struct {
	engine protovalidate.Validator
	// skip has the fields and messages whose rules do not compile.
	skip map[protoreflect.Descriptor]bool
	// costs are those of the expressions whose work may be out of proportion
	// to their input.
	costs []cost
}

// compile returns the plan of a message type, given all types that it refers
// to, or nil if it cannot be checked.
func (v *Validator) compile(md protoreflect.MessageDescriptor, types []protoreflect.MessageDescriptor) *plan {
	off := func(format string, args ...any) *plan {
		v.warn("%s is not checked before calls: %s", md.FullName(), fmt.Sprintf(format, args...))
		return nil
	}
	var p plan
	count, length := 0, 0
	var patterns cost
	for _, typ := range types {
		r := v.read(typ)
		count += len(r.texts)
		for _, pattern := range r.patterns {
			patterns.states = max(patterns.states, states(pattern))
		}
		for _, text := range r.texts {
			if length += len(text); length > MaxExpressionBytes || count > MaxExpressions {
				return off("its types have more than %d CEL expressions or %d bytes of them", MaxExpressions, MaxExpressionBytes)
			}
			c, ok := costOf(text)
			if !ok || c.linear() {
				continue // what is no CEL does not compile, either
			}
			c.literal += r.size
			if c.steps(extent{}) > MaxSteps {
				return off("a rule of %s may take too long on any message: %s", typ.FullName(), clip.Text(text, maxMessage))
			}
			p.costs = append(p.costs, c)
		}
	}
	if patterns.states > 0 {
		p.costs = append(p.costs, patterns)
	}
	err := guard(func() error {
		var err error
		if p.engine, err = v.engine(); err != nil {
			return err
		}
		for _, typ := range types {
			v.probe(&p, typ)
		}
		return nil
	})
	if err != nil {
		return off("%v", err)
	}
	return &p
}

// probe finds the fields of a message type whose rules do not compile, and
// whether those of the message do, with an empty message. An evaluator whose
// rules do not compile fails before it looks at any value, and it is the one
// that the filter was asked for last.
func (v *Validator) probe(p *plan, md protoreflect.MessageDescriptor) {
	empty := dynamicpb.NewMessage(md)
	passed := make(map[protoreflect.Descriptor]bool)
	// Each round finds one fault.
	for range md.Fields().Len() + 2 {
		var last protoreflect.Descriptor
		filter := protovalidate.FilterFunc(func(_ protoreflect.Message, d protoreflect.Descriptor) bool {
			if passed[d] || p.skip[d] {
				return false
			}
			last = d
			return true
		})
		err := guard(func() error { return p.engine.Validate(empty, protovalidate.WithFilter(filter)) })
		if _, violated := errors.AsType[*protovalidate.ValidationError](err); err == nil || violated || last == nil {
			return
		}
		if fault, ok := errors.AsType[*protovalidate.CompilationError](err); ok {
			if p.skip == nil {
				p.skip = make(map[protoreflect.Descriptor]bool)
			}
			p.skip[last] = true
			v.warn("the rules of %s are not checked before calls: %v", last.FullName(), fault)
			continue
		}
		// Its rules compile, and cannot cope with an empty message.
		passed[last] = true
	}
}

// ShouldValidate leaves out what does not compile.
func (p *plan) ShouldValidate(_ protoreflect.Message, d protoreflect.Descriptor) bool {
	return !p.skip[d]
}

var _ protovalidate.Filter = (*plan)(nil)

// validate checks a message. With all, it collects all violations.
func (p *plan) validate(m proto.Message, all bool) error {
	opts := make([]protovalidate.ValidationOption, 0, 2)
	if p.skip != nil {
		opts = append(opts, protovalidate.WithFilter(p))
	}
	if !all {
		opts = append(opts, protovalidate.WithFailFast())
	}
	return p.engine.Validate(m, opts...)
}

// tooLong reports whether an expression might take more than MaxSteps on a
// message.
func (p *plan) tooLong(x extent) bool {
	for _, c := range p.costs {
		if c.steps(x) > MaxSteps {
			return true
		}
	}
	return false
}

// guard makes an error of a panic. Neither the parser of dynamic messages nor
// CEL is to end the process, whatever a descriptor says.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it failed: %v", p)
		}
	}()
	return f()
}
