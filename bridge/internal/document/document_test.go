package document_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/mcp-bridge/mcp-bridge/bridge/fault"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/document"
	optionsv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/options/v1"
)

// read parses and decodes options.
func read(name, text string) (*optionsv1.File, fault.Faults) {
	m := &optionsv1.File{}
	root, faults := document.Parse(name, []byte(text))
	if root == nil {
		return m, faults
	}
	_, more := document.Decode(name, root, m, "")
	return m, append(faults, more...).Sort()
}

func TestSameInAllForms(t *testing.T) {
	t.Parallel()
	want := &optionsv1.File{Methods: map[string]*optionsv1.MethodOptions{
		"a.B.C": {Name: "😀 1", MaxResultBytes: 16, Annotations: &optionsv1.Annotations{ReadOnly: new(true)}},
	}}
	for name, text := range map[string]string{
		"block.yaml":   "methods:\n  a.B.C:\n    name: 😀 1\n    max_result_bytes: 0x10\n    annotations: {read_only: true}\n",
		"flow.yaml":    `{methods: {a.B.C: {name: "\U0001F600 1", maxResultBytes: 1_6, annotations: {readOnly: True}}}}`,
		"plain.json":   `{"methods":{"a.B.C":{"name":"\ud83d\ude00 1","maxResultBytes":16,"annotations":{"readOnly":true}}}}`,
		"noextension":  "// c\n{\"methods\": /* c */ {\"a.B.C\": {\"name\": \"😀 1\", \"maxResultBytes\": \"16\", \"annotations\": {\"readOnly\": true,},},},}\n// end",
		"bom.json":     "\ufeff\t{\"methods\":\n\t{\"a.B.C\":{\"name\":\"😀 1\",\"maxResultBytes\":16,\"annotations\":{\"readOnly\":true}}}}",
		"merged.yaml":  "methods: {a.B.C: {<<: [&m {name: x, annotations: {readOnly: true}}, {maxResultBytes: 16}], name: 😀 1}}",
		"aliased.yaml": "methods: {a.B.C: {annotations: &x {readOnly: true}, name: &n 😀 1, maxResultBytes: 16}}\nservices: {}",
		"comment.yaml": "# x\n---\nmethods: {a.B.C: {name: '😀 1', maxResultBytes: 16, annotations: {readOnly: true}}} # y\n...\n",
	} {
		got, faults := read(name, text)
		if len(faults) > 0 || !proto.Equal(got, want) {
			t.Errorf("%s: got %v, faults %v", name, got, faults)
		}
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	for _, tt := range []struct{ name, text, want string }{
		{"long.yaml", strings.Repeat("#", document.MaxBytes+1), "long.yaml: the file has more than 4194304 bytes"},
		{"latin.yaml", "methods: \xe9", "latin.yaml: the file is not UTF-8 text"},
		{"deep.yaml", "methods: " + deep, "deep.yaml:1:73: values are nested more than 64 deep"},
		{"deep.json", `{"methods": ` + deep + "}", "deep.json:1:76: values are nested more than 64 deep"},
		{"many.json", `{"methods": [` + strings.Repeat("1,", 200_000) + "1]}", "many.json:1:400010: the file has more than 200000 values"},
		{"many.yaml", "methods: [" + strings.Repeat("1,", 200_000) + "1]", "many.yaml:1:400007: the file has more than 200000 values"},
		{"bytes.yaml", "a: &a " + strings.Repeat("x", 600_000) + "\nb: *a\nc: *a", "bytes.yaml:1:4: aliases expand to more than 1048576 bytes"},
		{"cycle.yaml", "a: &a {b: *a}", "cycle.yaml:1:11: the alias *a stands inside of its own anchor"},
		{"empty.json", "{", "empty.json:1:2: not valid JSON: the text ends too early"},
		{"more.json", "{} {}", "more.json:1:5: not valid JSON: there is more text after the end of the value"},
		{"string.json", "{\"a\": \"b\nc\"}", "string.json:1:6: not valid JSON: invalid character '\\n' in string literal"},
		{"list.yaml", "[]", "list.yaml:1:1: wrong type; want a mapping of keys to values, got a list"},
	} {
		_, faults := read(tt.name, tt.text)
		if !strings.Contains(faults.Error(), tt.want) {
			text := faults.Error()
			t.Errorf("%s: faults %s, want %s", tt.name, text[:min(len(text), 500)], tt.want)
		}
	}
}

func TestFaultsAreBounded(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("fields:\n")
	for i := range 300 {
		fmt.Fprintf(&text, "  f%d: {x: 1}\n", i)
	}
	_, faults := read("x.yaml", text.String())
	if lines := strings.Split(faults.Error(), "\n"); len(faults) != 300 || len(lines) != 101 || lines[100] != "and 200 more faults" {
		t.Errorf("%d faults in %d lines, last %q", len(faults), len(lines), lines[len(lines)-1])
	}
}

func TestFaultsDoNotSteerATerminal(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"\"\\e[31m\": 1", "a: !%1b[31m x", "methods: {\"\\u202e\": {titel: x}}"} {
		_, faults := read("x.yaml", text)
		if len(faults) == 0 || strings.ContainsAny(faults.Error(), "\x1b\u202e") {
			t.Errorf("%q: faults %q", text, faults.Error())
		}
	}
}

// FuzzRead looks for panics, for places outside of the text, and for texts that
// JSON and YAML understand differently.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "methods: {a: {name: x}}", `{"methods": {"a": {"name": "x", /* c */ "timeout": "5s",},}} // d`,
		"a: &a [*a]", "a: &a x\nb: *a\n<<: {c: d}", "services: {a: {hide: yes}, a: {hide: !x 1}}", "fields:\n  x: {description: |\n    a\n    b\n}", "? [a]\n: b", "\"\\ud800\"",
		"a: 0x1\nb: .inf\nc: 2020-01-01\nd: ~", "---\n---\n", "%YAML 1.1\n---\na: on", "{a: b", "\t", "*x", "methods: {\"\": {title: '\u2028'}}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lines := 1 + strings.Count(text, "\n") + strings.Count(text, "\r") + strings.Count(text, "\u0085") + strings.Count(text, "\u2028") + strings.Count(text, "\u2029")
		for _, name := range []string{"x.yaml", "x.json"} {
			_, faults := read(name, text)
			for _, fault := range faults {
				if fault.Line < 0 || fault.Line > lines || fault.Column < 0 || fault.Line > 0 && fault.Column < 1 || fault.Problem == "" {
					t.Errorf("%s: the fault %q is outside of %d lines", name, fault, lines)
				}
			}
		}
	})
}
