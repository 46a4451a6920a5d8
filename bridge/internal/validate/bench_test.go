package validate_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/validate"
)

// messages returns arguments of a small and of a medium size.
func messages() map[string]string {
	var authors []string
	for i := range 3 {
		authors = append(authors, fmt.Sprintf(`{"fullName":"Author number %d","bars":{"1":{"id":"7f2f8d2e-94a1-4e5a-a3cd-2c2f8a0c8e4%d"}}}`, i, i))
	}
	book := `{"displayName":"Dune","pageCount":412,"authors":[` + strings.Join(authors, ",") + `],"labels":{"a":"x","b":"y","c":"z"}`
	return map[string]string{
		"small":  `{"theBook":{"displayName":"Dune","pageCount":412}}`,
		"medium": `{"theBook":` + book + `,"sequel":` + book + `,"sequel":` + book + `,"sequel":` + book + `}}}}}`,
	}
}

func wireOf(tb testing.TB, a api, arguments string) []byte {
	tb.Helper()
	codec, err := transcode.New(a.message(tb, "GetRequest"), a.types, transcode.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	wire, err := codec.AppendWire(nil, []byte(arguments))
	if err != nil {
		tb.Fatal(err)
	}
	return wire
}

func BenchmarkCheck(b *testing.B) {
	a := forms(b, compile(b, rules))["all anew"]
	c := validate.New(validate.Options{Resolver: a.types}).For(a.message(b, "GetRequest"))
	for size, arguments := range messages() {
		b.Run(size, func(b *testing.B) {
			wire := wireOf(b, a, arguments)
			b.SetBytes(int64(len(wire)))
			b.ReportAllocs()
			for b.Loop() {
				if err := c.Check(wire); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCheckMessage(b *testing.B) {
	a := forms(b, compile(b, rules))["all anew"]
	md := a.message(b, "GetRequest")
	c := validate.New(validate.Options{Resolver: a.types}).For(md)
	for size, arguments := range messages() {
		b.Run(size, func(b *testing.B) {
			m := dynamicpb.NewMessage(md)
			if err := proto.Unmarshal(wireOf(b, a, arguments), m); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := c.CheckMessage(m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFirst is the first check of a type, with the set-up of CEL, which
// all types share, and without.
func BenchmarkFirst(b *testing.B) {
	a := forms(b, compile(b, rules))["all anew"]
	wire := wireOf(b, a, messages()["small"])
	b.Run("of all", func(b *testing.B) {
		for b.Loop() {
			if err := validate.New(validate.Options{Resolver: a.types}).For(a.message(b, "GetRequest")).Check(wire); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, name := range []string{"GetRequest", "Predefined", "Cel", "Kinds"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				v := validate.New(validate.Options{Resolver: a.types})
				if err := v.For(a.message(b, "Choice")).Check([]byte("\x0a\x01x\x1a\x01x")); err != nil {
					b.Fatal(err)
				}
				md := a.file.Messages().ByName(protoreflect.Name(name))
				b.StartTimer()
				_ = v.For(md).Check(nil)
			}
		})
	}
}
