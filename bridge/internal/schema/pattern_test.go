package schema

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/nodetools"
)

func TestECMA(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ pattern, want string }{
		{`^[a-z0-9-]{1,63}$`, `^[a-z0-9\-]{1,63}$`},
		{`^projects/[^/]+/locations/.*$`, `^projects/[^/]+/locations/[^\n]*$`},
		{`\Aa\z`, `^a$`},
		{`\s[\s]\S`, `[\t\n\f\r ][\t\n\f\r ][^\t\n\f\r ]`},
		{`a\-b\/c\_d\.`, `a-b/c_d\.`},
		{`[]a]`, `[\]a]`},
		{`[a-c-e]`, `[a-c\-e]`},
		{`[\w-a]`, `[\w\-a]`},
		{`[+--]`, `[\+-\-]`},
		{`x]}`, `x\]\}`},
		{`(?:a|b)*?`, `(?:a|b)*?`},
		{`é\x41`, `é\x41`},
		{``, ``},
	} {
		got, ok := ecma(test.pattern)
		if !ok || got != test.want {
			t.Errorf("%s: %q, %t, want %q", test.pattern, got, ok, test.want)
		}
	}
	for _, pattern := range []string{
		`(`, `(?i)a`, `(?P<n>a)`, `\pL`, `[[:alpha:]]`, `\Qa\E`, `\x{41}`, `\C`, `\a`, `\123`, `a{,3}`, `{`, `[\S]`, "\U0001F600", "\xff", `^*`, `a\b{2}`,
		strings.Repeat("a", maxPattern+1),
	} {
		if got, ok := ecma(pattern); ok {
			t.Errorf("%s: %q", pattern, got)
		}
	}
}

// TestECMAInNode compares translated patterns in a JavaScript engine with the
// originals in Go.
func TestECMAInNode(t *testing.T) {
	t.Parallel()
	node := nodetools.Node(t)
	r := rand.New(rand.NewPCG(1, 1))
	pieces := []string{"a", "b", "-", "]", "}", ",", ".", "^", "$", "|", "(", ")", "(?:", "*", "+", "?", "{1,2}", "{2}", "[", "[^", "]", "a-c", `\d`, `\w`, `\W`,
		`\s`, `\S`, `\n`, `\.`, `\-`, `\]`, `\[`, `\\`, `\/`, `\A`, `\z`, `\b`, `\B`, `\x41`, "/", "é", " ", "--", "#"}
	subjects := []string{"", "a", "b", "ab", "-", "]", "}", "\n", "\r", "a\nb", " ", "\u00a0", "\u2028", "\v", "é", "A", "aab-c", "1", "a]b", "a,b", "/", `\`, "[", "a}", "#-a", "\U0001F600", "\U0001F600a"}
	type question struct {
		Pattern  string
		original string
		want     []bool
	}
	var questions []question
	for len(questions) < 3000 {
		var b strings.Builder
		for range 1 + r.IntN(7) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		re, err := regexp.Compile(b.String())
		if err != nil {
			continue
		}
		translated, ok := ecma(b.String())
		if !ok {
			continue
		}
		q := question{Pattern: translated, original: b.String()}
		for _, s := range subjects {
			q.want = append(q.want, re.MatchString(s))
		}
		questions = append(questions, q)
	}
	in, err := json.Marshal(map[string]any{"questions": questions, "subjects": subjects})
	if err != nil {
		t.Fatal(err)
	}
	const script = `const {questions, subjects} = JSON.parse(require("fs").readFileSync(0, "utf8"));
const test = (p, flags) => { try { const re = new RegExp(p, flags); return subjects.map(s => re.test(s)); } catch (e) { return String(e); } };
console.log(JSON.stringify(questions.map(q => [test(q.Pattern, "u"), test(q.Pattern, "")])));`
	cmd := exec.CommandContext(t.Context(), node, "-e", script)
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var answers [][2]json.RawMessage
	if err := json.Unmarshal(out, &answers); err != nil || len(answers) != len(questions) {
		t.Fatalf("%v, %d answers", err, len(answers))
	}
	for i, q := range questions {
		for flag, answer := range answers[i] {
			var got []bool
			if err := json.Unmarshal(answer, &got); err != nil {
				t.Errorf("%q as %q: %s", q.original, q.Pattern, answer)
				continue
			}
			for j, s := range subjects {
				// Without the flag u, a character beyond U+FFFF is two.
				if got[j] != q.want[j] && (flag == 0 || !strings.Contains(s, "\U0001F600")) {
					t.Errorf("%q as %q, flag %d: %q is %t, want %t", q.original, q.Pattern, flag, s, got[j], q.want[j])
				}
			}
		}
	}
}
