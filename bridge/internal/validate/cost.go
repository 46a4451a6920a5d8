package validate

import (
	"math"
	"regexp/syntax"

	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/parser"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// cost bounds the work of a CEL expression by a polynomial in the size of its
// input. CEL always ends, but loops that stand in each other, and calls that
// make strings longer, take its time and memory to any power.
type cost struct {
	// loops counts how many loops stand in each other, or feed each other.
	loops int
	// grows counts the calls, in the same way, whose result may be as long
	// as the product of what they are given.
	grows int
	// splits is set where loops may be over the characters of a string.
	splits bool
	// literal bounds the lists and strings that the expression itself and the
	// rules that it reads have.
	literal int
	// states is the size of the largest regular expression, in instructions,
	// each of which may take a step for every byte of a string.
	states int
}

// stepsPerState is how many such steps count as one.
const stepsPerState = 100

// states returns the size of a regular expression, zero if it is none.
func states(pattern string) int {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0
	}
	return len(program.Inst)
}

// costOf returns the cost of an expression, and false if it is no CEL.
func costOf(expression string) (cost, bool) {
	p, err := parser.NewParser(parser.Macros(parser.AllMacros...), parser.ExpressionSizeCodePointLimit(MaxExpressionBytes))
	if err != nil {
		return cost{}, false
	}
	parsed, errs := p.Parse(common.NewTextSource(expression))
	if errs != nil && len(errs.GetErrors()) > 0 {
		return cost{}, false
	}
	c := costOfExpr(parsed.Expr())
	c.literal = len(expression)
	return c, true
}

// costOfExpr recurses no deeper than the parser does, which has a limit.
func costOfExpr(e ast.Expr) cost {
	var c cost
	switch e.Kind() {
	case ast.CallKind:
		call := e.AsCall()
		if call.IsMemberFunction() {
			c = c.max(costOfExpr(call.Target()))
		}
		for _, arg := range call.Args() {
			c = c.max(costOfExpr(arg))
		}
		switch call.FunctionName() {
		case "replace", "join", "format":
			if !constant(call) {
				c.grows++
			}
		case "split":
			c.splits = true
		case overloads.Matches:
			c = c.max(costOfPattern(call))
		case operators.In:
			// Lists of literals become sets.
			if args := call.Args(); len(args) == 2 && args[1].Kind() != ast.ListKind {
				c.loops++
			}
		}
	case ast.ComprehensionKind:
		loop := e.AsComprehension()
		body := costOfExpr(loop.LoopStep()).max(costOfExpr(loop.LoopCondition()))
		over := costOfExpr(loop.IterRange())
		c = cost{
			loops:  over.loops + body.loops + 1,
			grows:  over.grows + body.grows,
			splits: over.splits || body.splits,
			states: max(over.states, body.states),
		}
		c = c.max(costOfExpr(loop.AccuInit())).max(costOfExpr(loop.Result()))
	case ast.ListKind:
		for _, x := range e.AsList().Elements() {
			c = c.max(costOfExpr(x))
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			c = c.max(costOfExpr(entry.AsMapEntry().Key())).max(costOfExpr(entry.AsMapEntry().Value()))
		}
	case ast.StructKind:
		for _, field := range e.AsStruct().Fields() {
			c = c.max(costOfExpr(field.AsStructField().Value()))
		}
	case ast.SelectKind:
		c = costOfExpr(e.AsSelect().Operand())
	case ast.IdentKind, ast.LiteralKind, ast.UnspecifiedExprKind:
	}
	return c
}

// costOfPattern returns the cost of matching a regular expression. One that is
// not written in the expression may be as large as its input.
func costOfPattern(call ast.CallExpr) cost {
	args := call.Args()
	if len(args) == 0 {
		return cost{}
	}
	pattern := args[len(args)-1]
	if pattern.Kind() != ast.LiteralKind {
		return cost{grows: 1}
	}
	text, _ := pattern.AsLiteral().Value().(string)
	return cost{states: states(text)}
}

// constant reports whether a call that builds a string adds no more than what
// is written in it: the arguments after the first are literals.
func constant(call ast.CallExpr) bool {
	args := call.Args()
	if call.FunctionName() == "format" {
		// What it is given is a list of values, each of which is written once.
		return call.IsMemberFunction() && call.Target().Kind() == ast.LiteralKind
	}
	for _, arg := range args {
		if arg.Kind() != ast.LiteralKind {
			return false
		}
	}
	return true
}

// max returns the larger of two costs.
func (c cost) max(d cost) cost {
	return cost{
		loops:   max(c.loops, d.loops),
		grows:   max(c.grows, d.grows),
		splits:  c.splits || d.splits,
		literal: max(c.literal, d.literal),
		states:  max(c.states, d.states),
	}
}

// linear reports whether the expression is as cheap as reading its input.
func (c cost) linear() bool { return c.loops+c.grows <= 1 && c.states == 0 }

// steps bounds the work on an input of the given extent.
func (c cost) steps(x extent) float64 {
	length := max(x.length, c.literal, 2)
	elements := max(x.elements, c.literal/2, 2)
	if c.splits || c.grows > 0 {
		elements = max(elements, length)
	}
	matched := max(x.bytes, c.literal) // each string once
	if c.loops > 0 {
		matched = length // a string for every round
	}
	return math.Pow(float64(elements), float64(c.loops)) * math.Pow(float64(length), float64(c.grows)) *
		max(float64(c.states)*float64(matched)/stepsPerState, 1)
}

// extent is how large a message is.
type extent struct {
	total    int // elements and entries of all lists and maps
	elements int // of the longest list or map
	length   int // of the longest string, in bytes
	bytes    int // of all strings
}

// add adds a message. Its depth is limited by the parser that made it.
func (x *extent) add(m protoreflect.Message) {
	m.Range(func(fd protoreflect.FieldDescriptor, val protoreflect.Value) bool {
		switch {
		case fd.IsList():
			list := val.List()
			x.collection(list.Len())
			for i := range list.Len() {
				x.value(list.Get(i))
			}
		case fd.IsMap():
			x.collection(val.Map().Len())
			val.Map().Range(func(key protoreflect.MapKey, val protoreflect.Value) bool {
				x.value(key.Value())
				x.value(val)
				return true
			})
		default:
			x.value(val)
		}
		return true
	})
}

func (x *extent) collection(n int) {
	x.total += n
	x.elements = max(x.elements, n)
}

func (x *extent) text(n int) {
	x.length = max(x.length, n)
	x.bytes += n
}

func (x *extent) value(val protoreflect.Value) {
	switch v := val.Interface().(type) {
	case string:
		x.text(len(v))
	case []byte:
		x.text(len(v))
	case protoreflect.Message:
		x.add(v)
	}
}
