// Package leaks exports an internal type in every way there is.
package leaks

import "github.com/mcp-bridge/mcp-bridge/internal/walls/testdata/hidden"

// Alias, and all the others, are what TestInternalTypes must find.
type Alias = hidden.Type

// Chan is found.
type Chan <-chan map[string][]*hidden.Type

// Embeds is found, and so is the method that it gets.
type Embeds struct{ hidden.Type }

// Field is found.
type Field struct {
	F hidden.Type

	own hidden.Type
}

// Func is found.
func Func(func() hidden.Type) { _ = Field{}.own }

// Generic is found.
type Generic[T interface{ hidden.Type }] struct{}

// Interface is found.
type Interface interface{ M() hidden.Type }

// Option is found: a caller that is given one can call it.
type Option func(*config)

type config struct{ hidden.Type }

// Through is found.
type Through struct{ unexported }

type unexported struct{ Unexported hidden.Type }

// Var is found.
var Var hidden.Type

// Fine uses the type where nobody sees it.
type Fine struct{ own hidden.Type }

// Own returns nothing internal.
func (f Fine) Own() Fine { return Fine{own: f.own} }
