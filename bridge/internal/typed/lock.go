package typed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/internal/clip"
)

const lockVersion = 1

// Lock remembers every name and number that was ever given. What is in it
// stays as it is, so that clients of earlier .proto files go on working. It is
// committed beside the .proto file.
type Lock struct {
	Version int    `json:"version"`
	Package string `json:"package"`
	Service string `json:"service"`
	// Tools, Prompts and Templates are the names of RPCs, by the names of
	// tools and prompts and by URI templates.
	Tools     map[string]string `json:"tools,omitempty"`
	Prompts   map[string]string `json:"prompts,omitempty"`
	Templates map[string]string `json:"templates,omitempty"`
	// Messages and Enums are by their name in the package, such as
	// EchoRequest.Options.
	Messages map[string]*LockedMessage `json:"messages,omitempty"`
	Enums    map[string]*LockedEnum    `json:"enums,omitempty"`
}

// LockedMessage is what there is, and was, in a message.
type LockedMessage struct {
	// Fields are by the property that they stand for.
	Fields map[string]LockedField `json:"fields,omitempty"`
	// Extra is the field of properties without names of their own.
	Extra *LockedField `json:"extra,omitempty"`
	// Types are the names of the types within the message, by what they are
	// made of.
	Types   map[string]string `json:"types,omitempty"`
	Retired Retired           `json:"retired,omitzero"`
}

// LockedField is a field. Its kind is its type, and how many there are.
type LockedField struct {
	Number int32  `json:"number"`
	Name   string `json:"name"`
	Kind   string `json:"kind"`
}

// LockedEnum is what there is, and was, in an enum.
type LockedEnum struct {
	// Values are by the string that they stand for.
	Values  map[string]LockedValue `json:"values,omitempty"`
	Retired Retired                `json:"retired,omitzero"`
}

// LockedValue is a value of an enum.
type LockedValue struct {
	Number int32  `json:"number"`
	Name   string `json:"name"`
}

// Retired are numbers and names that are never given again.
type Retired struct {
	Numbers []int32  `json:"numbers,omitempty"`
	Names   []string `json:"names,omitempty"`
}

func (r *Retired) add(number int32, name string) {
	if !slices.Contains(r.Numbers, number) {
		r.Numbers = append(r.Numbers, number)
		slices.Sort(r.Numbers)
	}
	if !slices.Contains(r.Names, name) {
		r.Names = append(r.Names, name)
		slices.Sort(r.Names)
	}
}

// newLock returns a lock that remembers nothing.
func newLock(pkg, service string) *Lock {
	l := &Lock{Version: lockVersion, Package: pkg, Service: service}
	l.init()
	return l
}

func (l *Lock) init() {
	for _, m := range []*map[string]string{&l.Tools, &l.Prompts, &l.Templates} {
		if *m == nil {
			*m = make(map[string]string)
		}
	}
	if l.Messages == nil {
		l.Messages = make(map[string]*LockedMessage)
	}
	if l.Enums == nil {
		l.Enums = make(map[string]*LockedEnum)
	}
}

// message returns what is locked of a message.
func (l *Lock) message(path string) *LockedMessage {
	m := l.Messages[path]
	if m == nil {
		m = &LockedMessage{}
		l.Messages[path] = m
	}
	if m.Fields == nil {
		m.Fields = make(map[string]LockedField)
	}
	if m.Types == nil {
		m.Types = make(map[string]string)
	}
	return m
}

func (l *Lock) enum(path string) *LockedEnum {
	e := l.Enums[path]
	if e == nil {
		e = &LockedEnum{}
		l.Enums[path] = e
	}
	if e.Values == nil {
		e.Values = make(map[string]LockedValue)
	}
	return e
}

// ParseLock reads a lock. It is an error if the text is none, or if the names
// or numbers in it cannot be those of one .proto file.
func ParseLock(text []byte) (*Lock, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	l := &Lock{}
	if err := d.Decode(l); err != nil {
		return nil, fmt.Errorf("the lock file: %w", err)
	}
	if l.Version != lockVersion {
		return nil, fmt.Errorf("the lock file has version %d, but this program knows version %d", l.Version, lockVersion)
	}
	if !protoreflect.FullName(l.Package).IsValid() || !protoreflect.Name(l.Service).IsValid() {
		return nil, fmt.Errorf("the lock file: package %q and service %q are no names", clip.Text(l.Package, 100), clip.Text(l.Service, 100))
	}
	l.init()
	if faults := l.faults(); len(faults) > 0 {
		return nil, fmt.Errorf("the lock file: %w", errors.Join(faults...))
	}
	return l, nil
}

// maxFaults bounds what is said of a lock at once.
const maxFaults = 10

func (l *Lock) faults() []error {
	var faults []error
	report := func(format string, args ...any) {
		if len(faults) < maxFaults {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	top := newNames(false, l.Service)
	for _, rpcs := range []map[string]string{l.Tools, l.Prompts, l.Templates} {
		for _, of := range slices.Sorted(maps.Keys(rpcs)) {
			name := rpcs[of]
			if !isPascal(name) {
				report("%q is no name of an RPC", clip.Text(name, 100))
			}
			for _, derive := range rpcNames {
				if top.has(derive(name)) {
					report("the name %s is given twice", derive(name))
				}
			}
			for _, derive := range rpcNames {
				top.take(derive(name))
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(l.Messages)) {
		m := l.Messages[path]
		if m == nil || !protoreflect.FullName(path).IsValid() {
			report("message %q is none", clip.Text(path, 100))
			continue
		}
		fields := slices.Collect(maps.Values(m.Fields))
		if m.Extra != nil {
			fields = append(fields, *m.Extra)
		}
		checkNumbers(path, fields, m.Retired, protoNumber, report)
		types := newNames(false)
		for _, origin := range slices.Sorted(maps.Keys(m.Types)) {
			if name := m.Types[origin]; !isPascal(name) || types.has(name) {
				report("the type %q in %s is given twice, or no name", clip.Text(name, 100), path)
			}
			types.take(m.Types[origin])
		}
	}
	for _, path := range slices.Sorted(maps.Keys(l.Enums)) {
		e := l.Enums[path]
		if e == nil || !protoreflect.FullName(path).IsValid() {
			report("enum %q is none", clip.Text(path, 100))
			continue
		}
		var values []LockedField
		for _, v := range e.Values {
			values = append(values, LockedField{Number: v.Number, Name: v.Name})
		}
		checkNumbers(path, values, e.Retired, func(n int32) bool { return n > 0 && n <= maxNumber }, report)
	}
	return faults
}

// checkNumbers reports names and numbers that occur twice or are none.
func checkNumbers(path string, fields []LockedField, retired Retired, valid func(int32) bool, report func(string, ...any)) {
	slices.SortFunc(fields, func(a, b LockedField) int { return strings.Compare(a.Name, b.Name) })
	numbers := make(map[int32]bool)
	for _, n := range retired.Numbers {
		if !valid(n) || numbers[n] {
			report("number %d of %s is given twice, or out of range", n, path)
		}
		numbers[n] = true
	}
	taken := newNames(false)
	exact := make(map[string]bool)
	for _, name := range retired.Names {
		if !protoreflect.Name(name).IsValid() || exact[name] {
			report("the retired name %q in %s is given twice, or no name", clip.Text(name, 100), path)
		}
		exact[name] = true
		taken.take(name)
	}
	for _, f := range fields {
		if !valid(f.Number) || numbers[f.Number] {
			report("number %d of %s.%s is given twice, or out of range", f.Number, path, clip.Text(f.Name, 100))
		}
		if !protoreflect.Name(f.Name).IsValid() || taken.has(f.Name) {
			report("the name %q in %s is given twice, or no name", clip.Text(f.Name, 100), path)
		}
		numbers[f.Number] = true
		taken.take(f.Name)
	}
}

// protoNumber reports whether a plan may give a number to a field.
func protoNumber(n int32) bool {
	return n > 0 && n <= maxNumber && (n < firstReserved || n > lastReserved)
}

const (
	// maxNumber leaves half of protobuf's numbers free behind those of a lock,
	// which are given one after the other.
	maxNumber = 1<<28 - 1
	// Numbers that protobuf keeps for itself.
	firstReserved = 19000
	lastReserved  = 19999
)

func isPascal(name string) bool {
	return protoreflect.Name(name).IsValid() && name[0] >= 'A' && name[0] <= 'Z' && !strings.Contains(name, "_")
}

// Bytes returns the text of the lock file: the same for the same lock.
func (l *Lock) Bytes() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(l); err != nil {
		return nil, fmt.Errorf("write the lock file: %w", err)
	}
	return b.Bytes(), nil
}

// clone returns a copy that shares nothing.
func (l *Lock) clone() *Lock {
	out := *l
	out.Tools, out.Prompts, out.Templates = maps.Clone(l.Tools), maps.Clone(l.Prompts), maps.Clone(l.Templates)
	out.Messages = make(map[string]*LockedMessage, len(l.Messages))
	for path, m := range l.Messages {
		copied := *m
		copied.Fields, copied.Types = maps.Clone(m.Fields), maps.Clone(m.Types)
		if m.Extra != nil {
			extra := *m.Extra
			copied.Extra = &extra
		}
		copied.Retired = m.Retired.clone()
		out.Messages[path] = &copied
	}
	out.Enums = make(map[string]*LockedEnum, len(l.Enums))
	for path, e := range l.Enums {
		out.Enums[path] = &LockedEnum{Values: maps.Clone(e.Values), Retired: e.Retired.clone()}
	}
	out.init()
	return &out
}

func (r Retired) clone() Retired {
	return Retired{Numbers: slices.Clone(r.Numbers), Names: slices.Clone(r.Names)}
}
