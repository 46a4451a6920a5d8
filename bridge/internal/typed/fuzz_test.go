package typed_test

import (
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/typed"
)

// FuzzNew tests that whatever a server sends makes a file that links and is
// read back as it was written.
func FuzzNew(f *testing.F) {
	for _, d := range kitchen {
		f.Add(d.name, `{"type":"object","properties":{"x":`+d.schema+`},"$defs":`+defs+`}`)
	}
	f.Fuzz(func(t *testing.T, name, schema string) {
		server := typed.Server{Name: name, Tools: []typed.Tool{{Name: name, Description: name, Input: []byte(schema), Output: []byte(schema)}}}
		plan, fd := newPlan(t, server, typed.Options{Rules: true})
		text := string(typed.Render(fd))
		compile(t, map[string]string{fd.Path(): text}, fd.Path())
		_, again := newPlan(t, server, typed.Options{Rules: true, Lock: plan.Lock})
		if got := string(typed.Render(again)); got != text {
			t.Errorf("the second plan is another:\n%s", firstDifference(text, got))
		}
		newPlan(t, server, typed.Options{Hashed: true})
	})
}

// FuzzParseLock tests that a lock that is read makes plans that link, and is
// written as it was.
func FuzzParseLock(f *testing.F) {
	schema := `{"type":"object","properties":{"a":{"enum":["x","y"]},"b":{"type":"object","properties":{"c":{}}},"m":{"type":"object","additionalProperties":{"type":"integer"}}},"additionalProperties":{"type":"string"}}`
	server := typed.Server{Name: "s", Tools: []typed.Tool{{Name: "t", Input: []byte(schema), Output: []byte(schema)}}}
	plan, err := typed.New(server, typed.Options{})
	if err != nil {
		f.Fatal(err)
	}
	lock, err := plan.Lock.Bytes()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(lock)
	f.Add([]byte(`{"version":1,"package":"a.v1","service":"S","tools":{"t":"TRequest"},"messages":{"TRequest":{"fields":{"a":{"number":1,"name":"b","kind":"string"}},"types":{"x":"B"},"retired":{"numbers":[2],"names":["c"]}}}}`))
	f.Add([]byte(`{"version":1,"package":"a.v1","service":"S","tools":{"t":"T"},"messages":{"TRequest":{"fields":{"z":{"number":536870911,"name":"b","kind":"string"}}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := typed.ParseLock(text)
		if err != nil {
			return
		}
		written, err := l.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := typed.ParseLock(written); err != nil {
			t.Fatalf("it is written as what cannot be read: %v", err)
		}
		p, err := typed.New(server, typed.Options{Lock: l})
		if err != nil {
			t.Skip(err)
		}
		fd, err := p.Link(newImports(t))
		if err != nil {
			t.Fatal(err)
		}
		compile(t, map[string]string{fd.Path(): string(typed.Render(fd))}, fd.Path())
	})
}
