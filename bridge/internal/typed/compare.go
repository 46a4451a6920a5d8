package typed

import (
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/customoption"
	jsonv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/json/v1"
)

// Change is a difference between two versions of a .proto file.
type Change struct {
	// Breaking is set where code that is generated anew would not compile, or
	// would not do the same. On the wire, what a plan with a lock changes never
	// breaks: clients with code of the earlier version go on working, as far as
	// the server still does what they ask for.
	Breaking bool
	// Text says what has changed.
	Text string
}

// Compare returns the changes from one version of a plan's file to the next. It
// sees what `buf breaking` sees by its default rules, in files that plans make.
func Compare(before, after protoreflect.FileDescriptor) []Change {
	c := &comparison{}
	if before.Package() != after.Package() {
		c.add(true, "the package is now %s, no longer %s", after.Package(), before.Package())
		return c.changes
	}
	c.services(before.Services(), after.Services())
	c.messages(before.Messages(), after.Messages())
	c.enums(before.Enums(), after.Enums())
	return c.changes
}

type comparison struct{ changes []Change }

func (c *comparison) add(breaking bool, format string, args ...any) {
	c.changes = append(c.changes, Change{breaking, fmt.Sprintf(format, args...)})
}

// local returns a name without the package.
func local(d protoreflect.Descriptor) string {
	return string(d.FullName()[len(d.ParentFile().Package())+1:])
}

func (c *comparison) services(before, after protoreflect.ServiceDescriptors) {
	for i := range before.Len() {
		old := before.Get(i)
		now := after.ByName(old.Name())
		if now == nil {
			c.add(true, "service %s is gone", old.Name())
			continue
		}
		for j := range old.Methods().Len() {
			m := old.Methods().Get(j)
			n := now.Methods().ByName(m.Name())
			switch {
			case n == nil:
				c.add(true, "RPC %s.%s is gone", old.Name(), m.Name())
			case m.Input().FullName() != n.Input().FullName() || m.Output().FullName() != n.Output().FullName() ||
				m.IsStreamingServer() != n.IsStreamingServer() || m.IsStreamingClient() != n.IsStreamingClient():
				c.add(true, "RPC %s.%s has other types", old.Name(), m.Name())
			}
		}
		for j := range now.Methods().Len() {
			if m := now.Methods().Get(j); old.Methods().ByName(m.Name()) == nil {
				c.add(false, "RPC %s.%s is new", now.Name(), m.Name())
			}
		}
	}
}

func (c *comparison) messages(before, after protoreflect.MessageDescriptors) {
	for i := range before.Len() {
		old := before.Get(i)
		if old.IsMapEntry() {
			continue
		}
		now := after.ByName(old.Name())
		if now == nil {
			c.add(true, "message %s is gone", local(old))
			continue
		}
		c.fields(old, now)
		c.oneofs(old, now)
		c.reservations(old, now)
		c.messages(old.Messages(), now.Messages())
		c.enums(old.Enums(), now.Enums())
	}
	for i := range after.Len() {
		if m := after.Get(i); !m.IsMapEntry() && before.ByName(m.Name()) == nil {
			c.add(false, "message %s is new", local(m))
		}
	}
}

func (c *comparison) fields(old, now protoreflect.MessageDescriptor) {
	for i := range old.Fields().Len() {
		f := old.Fields().Get(i)
		g := now.Fields().ByNumber(f.Number())
		switch {
		case g == nil:
			c.add(true, "field %s (%d) is gone", local(f), f.Number())
		case f.Name() != g.Name():
			c.add(true, "field %s (%d) is now called %s", local(f), f.Number(), g.Name())
		case typeText(f) != typeText(g):
			c.add(true, "field %s (%d) is now %s, no longer %s", local(f), f.Number(), typeText(g), typeText(f))
		case f.JSONName() != g.JSONName():
			c.add(true, "field %s (%d) is now %q in JSON, no longer %q", local(f), f.Number(), g.JSONName(), f.JSONName())
		case oneofOf(f) != oneofOf(g):
			c.add(true, "field %s (%d) is now in oneof %q, no longer in %q", local(f), f.Number(), oneofOf(g), oneofOf(f))
		case alwaysThere(g) && !alwaysThere(f):
			c.add(false, "field %s (%d) is now always in the JSON, also when it is empty", local(f), f.Number())
		case alwaysThere(f) && !alwaysThere(g):
			c.add(false, "field %s (%d) is no longer in the JSON when it is empty", local(f), f.Number())
		}
	}
	for i := range now.Fields().Len() {
		if f := now.Fields().Get(i); old.Fields().ByNumber(f.Number()) == nil {
			c.add(false, "field %s (%d) is new", local(f), f.Number())
		}
	}
}

// alwaysThere reports whether JSON has a field also when it is empty.
func alwaysThere(fd protoreflect.FieldDescriptor) bool {
	o := &jsonv1.FieldOptions{}
	_ = customoption.Read(fd, jsonProto, jsonv1.E_Field.TypeDescriptor().Number(), o) // plans have no others
	return o.GetAlways()
}

// oneofOf returns the name of the oneof that stands in the source.
func oneofOf(f protoreflect.FieldDescriptor) protoreflect.Name {
	if od := f.ContainingOneof(); od != nil && !od.IsSynthetic() {
		return od.Name()
	}
	return ""
}

// typeText returns the type of a field, and how many there are.
func typeText(f protoreflect.FieldDescriptor) string {
	of := func(f protoreflect.FieldDescriptor) string {
		switch {
		case f.Message() != nil:
			return string(f.Message().FullName())
		case f.Enum() != nil:
			return string(f.Enum().FullName())
		default:
			return f.Kind().String()
		}
	}
	switch {
	case f.IsMap():
		return fmt.Sprintf("map<%s, %s>", of(f.MapKey()), of(f.MapValue()))
	case f.IsList():
		return "repeated " + of(f)
	case f.HasOptionalKeyword():
		return "optional " + of(f)
	default:
		return of(f)
	}
}

func (c *comparison) oneofs(old, now protoreflect.MessageDescriptor) {
	for i := range old.Oneofs().Len() {
		od := old.Oneofs().Get(i)
		if !od.IsSynthetic() && now.Oneofs().ByName(od.Name()) == nil {
			c.add(true, "oneof %s is gone", local(od))
		}
	}
}

// reservations reports numbers and names that may be given again.
func (c *comparison) reservations(old, now protoreflect.MessageDescriptor) {
	for i := range old.ReservedRanges().Len() {
		r := old.ReservedRanges().Get(i)
		for n := r[0]; n < r[1]; n++ {
			if !now.ReservedRanges().Has(n) {
				c.add(true, "number %d of %s is no longer reserved", n, local(old))
			}
		}
	}
	for i := range old.ReservedNames().Len() {
		if name := old.ReservedNames().Get(i); !now.ReservedNames().Has(name) {
			c.add(true, "name %q of %s is no longer reserved", name, local(old))
		}
	}
}

func (c *comparison) enums(before, after protoreflect.EnumDescriptors) {
	for i := range before.Len() {
		old := before.Get(i)
		now := after.ByName(old.Name())
		if now == nil {
			c.add(true, "enum %s is gone", local(old))
			continue
		}
		for j := range old.Values().Len() {
			v := old.Values().Get(j)
			w := now.Values().ByNumber(v.Number())
			switch {
			case w == nil:
				c.add(true, "value %s (%d) of enum %s is gone", v.Name(), v.Number(), local(old))
			case v.Name() != w.Name():
				c.add(true, "value %s (%d) of enum %s is now called %s", v.Name(), v.Number(), local(old), w.Name())
			}
		}
		for j := range now.Values().Len() {
			if v := now.Values().Get(j); old.Values().ByNumber(v.Number()) == nil {
				c.add(false, "value %s (%d) of enum %s is new", v.Name(), v.Number(), local(now))
			}
		}
		c.enumReservations(old, now)
	}
	for i := range after.Len() {
		if e := after.Get(i); before.ByName(e.Name()) == nil {
			c.add(false, "enum %s is new", local(e))
		}
	}
}

func (c *comparison) enumReservations(old, now protoreflect.EnumDescriptor) {
	for i := range old.ReservedRanges().Len() {
		r := old.ReservedRanges().Get(i)
		for n := r[0]; n <= r[1]; n++ {
			if !now.ReservedRanges().Has(n) {
				c.add(true, "number %d of %s is no longer reserved", n, local(old))
			}
		}
	}
	for i := range old.ReservedNames().Len() {
		if name := old.ReservedNames().Get(i); !now.ReservedNames().Has(name) {
			c.add(true, "name %q of %s is no longer reserved", name, local(old))
		}
	}
}
