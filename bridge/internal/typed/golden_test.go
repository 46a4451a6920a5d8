package typed_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/typed"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares a text with that in a file.
func golden(tb testing.TB, name string, got []byte) {
	tb.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			tb.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	if string(want) != string(got) {
		tb.Errorf("%s differs; see what with -update and git diff", path)
	}
}

// check compares a plan with golden files, and that what is written of it is
// what it is.
func check(t *testing.T, name string, server typed.Server, rules bool) {
	t.Helper()
	plan, fd := newPlan(t, server, typed.Options{Rules: rules})
	text := typed.Render(fd)
	golden(t, name+".proto", text)
	lock, err := plan.Lock.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, name+".mcp.lock.json", lock)
	parsed, err := typed.ParseLock(lock)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, name+".warnings.txt", []byte(strings.Join(append(plan.Warnings, ""), "\n")))

	compiled := compile(t, map[string]string{fd.Path(): string(text)}, fd.Path())[0]
	for _, c := range append(typed.Compare(fd, compiled), typed.Compare(compiled, fd)...) {
		t.Errorf("written and compiled: %s", c.Text)
	}
	// The plan of the lock is the same, and that of a lock which is recovered.
	recovered, err := typed.RecoverLock(compiled)
	if err != nil {
		t.Fatal(err)
	}
	for _, old := range []*typed.Lock{parsed, recovered} {
		_, again := newPlan(t, server, typed.Options{Rules: rules, Lock: old})
		if got := typed.Render(again); string(got) != string(text) {
			t.Errorf("the plan is another with the lock:\n%s", firstDifference(string(text), string(got)))
		}
	}
	if again := typed.Render(compiled); string(again) != string(text) {
		t.Error("what is compiled of the text is written otherwise")
	}
}

// firstDifference returns the first lines that are not the same.
func firstDifference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return "want " + a[i] + "\ngot  " + b[i]
		}
	}
	return "one is longer"
}

func TestGolden(t *testing.T) {
	t.Parallel()
	kitchen := kitchenTool("kitchen", "SCHEMA", true)
	kitchen.Output = []byte(`{"type":"array","items":{"type":"string"}}`)
	yes := true
	server := typed.Server{
		Name: "kitchen",
		Tools: []typed.Tool{
			kitchen,
			{Name: "no arguments", Hints: typed.Hints{ReadOnly: &yes}, Input: []byte(`{"type":"object"}`), Output: []byte(`{"$ref":"#/$defs/Tree","$defs":{"Tree":{"type":"object","properties":{"trees":{"type":"array","items":{"$ref":"#/$defs/Tree"}},"root":{"$ref":"#"}}}}}`)},
			{Name: "stream_kitchen", Title: "A name that is another's", Input: []byte(`{"type":"object","oneOf":[{"properties":{"by":{"const":"id"},"id":{"type":"integer"}},"required":["by","id"]},{"properties":{"by":{"const":"name"},"name":{"type":"string"},"id":{"type":"integer","minimum":5}},"required":["by"]}]}`)},
			{Name: "", Description: "It has neither a name nor a schema."},
			{Name: "broken", Input: []byte(`{"type":`), Output: []byte(`[]`)},
			{Name: "no object", Input: []byte(`{"type":"string"}`), Output: []byte(`{"type":"string"}`)},
			{Name: "kitchen", Title: "The name occurs twice."},
		},
		Prompts: []typed.Prompt{
			{Name: "kitchen", Description: "Describes the kitchen.", Arguments: []typed.Argument{{Name: "mood", Description: "How it is described.", Required: true}, {Name: "a b"}, {Name: "mood"}, {}}},
			{Name: "plain"},
		},
		Templates: []typed.Template{{URI: "kitchen://{room}/{+path}{?q}", Name: "Rooms", Title: "The rooms", MIMEType: "text/plain", Variables: []string{"room", "path", "q"}}},
	}
	for _, rules := range []bool{false, true} {
		name := "kitchen"
		if rules {
			name += "-rules"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, name, server, rules)
		})
	}
}
