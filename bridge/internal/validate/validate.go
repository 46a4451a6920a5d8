// Package validate checks requests against the protovalidate rules of their
// types before they are sent, so that a model hears of all violations at
// once, with the paths that it wrote.
//
// One [Validator] serves all methods of a descriptor set. [Validator.For]
// returns the [Checker] of a request type, or nil where neither the type nor
// any that it refers to has rules. Nothing is compiled before the first
// [Checker.Check] of a type.
//
// Rules are read from wherever options come: extensions that are linked in,
// dynamic ones of compiled sources, unknown fields of descriptors that came
// by reflection. Predefined rules are found with the resolver.
//
// The backend remains the authority. What cannot be checked here is sent
// unchecked, and [Options.Warn] is told so, once: a field or message whose
// rules do not compile (the rest is checked), a message on which an expression
// fails, and rules that would take too long. CEL can neither be interrupted
// nor metered by protovalidate, so its expressions are bounded before they
// run: see [MaxSteps].
package validate

import (
	"fmt"
	"strings"
	"sync"
	"unicode"

	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/internal/clip"
)

const (
	// MaxTypes is how many message types a request type may refer to and
	// still be checked.
	MaxTypes = 10_000

	// MaxExpressions is how many CEL expressions they may have between them.
	MaxExpressions = 2000

	// MaxExpressionBytes bounds the length of all of these together.
	MaxExpressionBytes = 256 << 10

	// MaxSteps bounds the work of one CEL expression on one request: a
	// request for which the rules of its type might take more steps is sent
	// unchecked. A loop over n elements is n steps, one inside of another n
	// times as many; matching a regular expression takes a step for a hundred
	// of its states at a byte. The estimate errs on the side of too many.
	MaxSteps = 10_000_000

	// maxCollected is how many elements and entries of lists and maps a
	// request may have for all its violations to be collected. In one that
	// has more, only the first is found.
	maxCollected = 10_000

	// maxMessage bounds what is shown of a rule's own text, in bytes.
	maxMessage = 400
	// maxSeen bounds what is shown of a value, in bytes.
	maxSeen = 60
)

// Options are what a [Validator] needs from its surroundings. The zero value
// knows no extensions and warns nobody.
type Options struct {
	// Resolver finds the extensions of protovalidate's rules by which APIs
	// define rules of their own, and those of requests. After it, those that
	// are linked in are found. It may be nil.
	Resolver transcode.Resolver
	// Warn is told what cannot be checked, once for every fault, in one line.
	// It is called concurrently. It may be nil.
	Warn func(text string)
}

// Validator checks the messages of one descriptor set. It is used
// concurrently.
type Validator struct {
	opts     Options
	types    resolver
	engine   func() (protovalidate.Validator, error)
	checkers sync.Map // of protoreflect.MessageDescriptor: *Checker, nil where there is nothing to check
	ruled    sync.Map // of protoreflect.MessageDescriptor: bool
	warned   sync.Map // of string
}

// New returns a Validator. It costs next to nothing: CEL is set up by the
// first message that is checked.
func New(opts Options) *Validator {
	v := &Validator{opts: opts, types: resolver{opts.Resolver}}
	v.engine = sync.OnceValues(func() (protovalidate.Validator, error) {
		return protovalidate.New(protovalidate.WithExtensionTypeResolver(v.types))
	})
	return v
}

// For returns the Checker of a message type, the same one each time. It is
// nil, which is a Checker that finds nothing, where neither md nor a type that
// it refers to has rules. It only looks at the options of these types.
func (v *Validator) For(md protoreflect.MessageDescriptor) *Checker {
	if md == nil {
		return nil
	}
	c, ok := v.checkers.Load(md)
	if !ok {
		c, _ = v.checkers.LoadOrStore(md, v.checker(md))
	}
	checker, _ := c.(*Checker)
	return checker
}

func (v *Validator) checker(md protoreflect.MessageDescriptor) *Checker {
	types, ok := v.reach(md)
	if !ok {
		v.warn("%s is not checked before calls: it refers to more than %d message types", md.FullName(), MaxTypes)
		return nil
	}
	if types == nil {
		return nil
	}
	c := &Checker{
		validator: v,
		typ:       dynamicpb.NewMessageType(md),
		wrapped:   transcode.Wrapped(md),
	}
	c.plan = sync.OnceValue(func() *plan { return v.compile(md, types) })
	return c
}

// warn tells of a fault, unless it has been told.
func (v *Validator) warn(format string, args ...any) {
	if v.opts.Warn == nil {
		return
	}
	text := oneLine(fmt.Sprintf(format, args...), 3*maxMessage)
	if _, told := v.warned.LoadOrStore(text, true); !told {
		v.opts.Warn(text)
	}
}

// oneLine returns s without line breaks and what else cannot be shown, and
// shortened to n bytes.
func oneLine(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, s)
	return clip.Text(strings.Join(strings.Fields(s), " "), n)
}

// resolver finds the types of a descriptor set, and after them those that are
// linked in.
type resolver struct{ own transcode.Resolver }

var (
	_ protoregistry.ExtensionTypeResolver = resolver{}
	_ protoregistry.MessageTypeResolver   = resolver{}
)

func (r resolver) FindExtensionByName(name protoreflect.FullName) (protoreflect.ExtensionType, error) {
	if r.own != nil {
		if typ, err := r.own.FindExtensionByName(name); err == nil {
			return typ, nil
		}
	}
	return protoregistry.GlobalTypes.FindExtensionByName(name)
}

func (r resolver) FindExtensionByNumber(message protoreflect.FullName, number protoreflect.FieldNumber) (protoreflect.ExtensionType, error) {
	if r.own != nil {
		if typ, err := r.own.FindExtensionByNumber(message, number); err == nil {
			return typ, nil
		}
	}
	return protoregistry.GlobalTypes.FindExtensionByNumber(message, number)
}

func (r resolver) FindMessageByName(name protoreflect.FullName) (protoreflect.MessageType, error) {
	if r.own != nil {
		if typ, err := r.own.FindMessageByName(name); err == nil {
			return typ, nil
		}
	}
	return protoregistry.GlobalTypes.FindMessageByName(name)
}

func (r resolver) FindMessageByURL(url string) (protoreflect.MessageType, error) {
	if r.own != nil {
		if typ, err := r.own.FindMessageByURL(url); err == nil {
			return typ, nil
		}
	}
	return protoregistry.GlobalTypes.FindMessageByURL(url)
}
