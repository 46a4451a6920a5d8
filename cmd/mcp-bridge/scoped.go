package main

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/spf13/cobra"
)

// scoped is the value of a flag about upstreams: for all of those for which it
// means something, or, as NAME=value, for one of them.
type scoped[T any] struct {
	flag    string
	kind    string // for the help text
	initial string
	parse   func(string) (T, error)
	given   []given[T]
}

// given is one use of a flag.
type given[T any] struct {
	upstream string // or "" for all
	value    T
}

// scope matches NAME=.
var scope = regexp.MustCompile(`^([A-Za-z0-9_-]{1,32})=(.*)$`)

// Set takes one use of the flag.
func (s *scoped[T]) Set(text string) error {
	var g given[T]
	rest := text
	if m := scope.FindStringSubmatch(text); m != nil {
		g.upstream, rest = m[1], m[2]
	}
	var err error
	if g.value, err = s.parse(rest); err != nil {
		return err
	}
	s.given = append(s.given, g)
	return nil
}

// String is the default, for the help text.
func (s *scoped[T]) String() string { return s.initial }

// Type is the kind of value, for the help text.
func (s *scoped[T]) Type() string { return s.kind }

// values returns what the flag says of an upstream: all of what it says of it by
// name, or else of all.
func (s *scoped[T]) values(upstream string) []T {
	var own, all []T
	for _, g := range s.given {
		switch g.upstream {
		case "":
			all = append(all, g.value)
		case upstream:
			own = append(own, g.value)
		}
	}
	if len(own) > 0 {
		return own
	}
	return all
}

// last returns the last of the values, and whether there is any.
func (s *scoped[T]) last(upstream string) (value T, ok bool) {
	all := s.values(upstream)
	if len(all) == 0 {
		return value, false
	}
	return all[len(all)-1], true
}

// only returns the last of the values, or nothing.
func (s *scoped[T]) only(upstream string) T {
	value, _ := s.last(upstream)
	return value
}

// scopes returns for each use of the flag the name of the upstream that it is for,
// or "" for all.
func (s *scoped[T]) scopes() []string {
	names := make([]string, len(s.given))
	for i, g := range s.given {
		names[i] = g.upstream
	}
	return names
}

// name is the name of the flag.
func (s *scoped[T]) name() string { return s.flag }

// scopedFlag is a scoped of any type.
type scopedFlag interface {
	name() string
	scopes() []string
}

// addScoped adds a flag.
func addScoped[T any](cmd *cobra.Command, s *scoped[T], name, kind, initial, usage string, parse func(string) (T, error)) {
	*s = scoped[T]{flag: name, kind: kind, initial: initial, parse: parse}
	f := cmd.Flags().VarPF(s, name, "", usage)
	if kind == "bool" {
		f.NoOptDefVal = "true"
	}
}

func anyText(text string) (string, error) { return text, nil }

func addText(cmd *cobra.Command, s *scoped[string], name, initial, usage string) {
	addScoped(cmd, s, name, "string", initial, usage, anyText)
}

func addBool(cmd *cobra.Command, s *scoped[bool], name, usage string) {
	addScoped(cmd, s, name, "bool", "false", usage, strconv.ParseBool)
}

func addInt(cmd *cobra.Command, s *scoped[int32], name string, initial int, usage string) {
	addScoped(cmd, s, name, "int", strconv.Itoa(initial), usage, func(text string) (int32, error) {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return 0, fmt.Errorf("%q is no number of up to 32 bits", text)
		}
		return int32(n), nil
	})
}

func addDuration(cmd *cobra.Command, s *scoped[time.Duration], name string, initial time.Duration, usage string) {
	text := initial.String()
	if initial == 0 {
		text = "0"
	}
	addScoped(cmd, s, name, "duration", text, usage, time.ParseDuration)
}
