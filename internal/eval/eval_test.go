package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden report")

var recorded = filepath.Join("testdata", "recording.json")

// noEnv is an environment without variables.
func noEnv(string) string { return "" }

// tokenCount is a number of tokens in a report.
var tokenCount = regexp.MustCompile(`(?m)(\| |about )[0-9]+( \|$| tokens)`)

// TestReplay does all tasks as a recording does them. The report is what it was, but for
// tokens: a change of it is one of what becomes of the calls.
func TestReplay(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	if err := command(t.Context(), []string{"-replay", recorded}, noEnv, &got); err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "report.golden")
	// Every change of a description would change the tokens.
	got = *bytes.NewBuffer(tokenCount.ReplaceAll(got.Bytes(), []byte("${1}N${2}")))
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("the report differs; run the tests with -update and review. Got:\n%s", got.String())
	}
	if !strings.Contains(got.String(), "| all | 16 of 16 |") {
		t.Errorf("not all tasks are done:\n%s", got.String())
	}
}

// TestTasks: a task that nobody does is not done, and no task changes more than its own.
func TestTasks(t *testing.T) {
	t.Parallel()
	count := make(map[class]int)
	seen := make(map[string]bool)
	for _, task := range tasks {
		count[task.class]++
		if seen[task.id] {
			t.Errorf("two tasks are called %s", task.id)
		}
		seen[task.id] = true
		if err := task.check(newWorld(), "Done: yes or no, 3."); err == nil {
			t.Errorf("%s is done before it begins", task.id)
		}
	}
	for _, c := range classes {
		if count[c] < 2 {
			t.Errorf("%d tasks of the class %s", count[c], c)
		}
	}
}

// scripted is a model that says what a test wants, whatever it hears.
type scripted []reply

func (m scripted) next(_ context.Context, c *conversation) (*reply, error) {
	if len(c.turns) >= len(m) {
		return nil, errors.New("nothing more to say")
	}
	return &m[len(c.turns)], nil
}

func taskOf(t *testing.T, id string) *task {
	t.Helper()
	for _, one := range tasks {
		if one.id == id {
			return one
		}
	}
	t.Fatalf("there is no task %s", id)
	return nil
}

func calling(name, arguments string) reply {
	return reply{Calls: []toolCall{{Name: name, Arguments: json.RawMessage(arguments)}}}
}

// TestScores does tasks in bad ways, and looks at how that counts.
func TestScores(t *testing.T) {
	t.Parallel()
	erase := calling("ContactService_DeleteContact", `{"id":"c4"}`)
	for _, tt := range []struct {
		name, task string
		says       scripted
		want       score
		err        string
	}{
		{"the wrong tool", "ambiguous-archive", scripted{erase, {Text: "Done."}}, score{runs: 1, first: 1, calls: 1, silent: 1}, "contact c4 is {<nil>}"},
		{"an unknown tool, then the right one", "delete-contact", scripted{calling("Delete", `{}`), calling("ContactService_DeleteContact", `{"id":"c3"}`), {Text: "Done."}}, score{runs: 1, done: 1, calls: 1, refused: 1, repaired: 1}, ""},
		{"invalid twice", "delete-contact", scripted{calling("ContactService_DeleteContact", `{"ident":"c3"}`), calling("ContactService_DeleteContact", `"c3"`), {Text: "I cannot."}}, score{runs: 1, calls: 1, refused: 2}, "there are 8 contacts, want 7"},
		{"nothing", "delete-contact", scripted{{Text: "Done."}}, score{runs: 1}, "there are 8 contacts, want 7"},
		{"an error of the backend", "delete-contact", scripted{calling("ContactService_DeleteContact", `{"id":"c99"}`), {Text: "There is none."}}, score{runs: 1, first: 1, calls: 1}, "there are 8 contacts, want 7"},
		{"no answer", "delete-contact", nil, score{runs: 1}, "nothing more to say"},
		{"a guess", "no-writer", scripted{{Text: "No."}}, score{runs: 1}, "nobody asked"},
		{"without the token", "token-revoke", scripted{
			calling("AccessService_RevokeAccess", `{"tuple":{"subject":{"type":"user","id":"dave"},"relation":"RELATION_READER","document":"budget"}}`),
			calling("AccessService_CheckAccess", `{"tuple":{"subject":{"type":"user","id":"dave"},"relation":"RELATION_READER","document":"budget"}}`),
			{Text: "Yes."},
		}, score{runs: 1, first: 1, calls: 1, silent: 1}, "did not name the token"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := do(t.Context(), tt.says, taskOf(t, tt.task))
			var got score
			got.add(r)
			got.list, got.read = 0, 0
			if got != tt.want {
				t.Errorf("scores %+v, want %+v; results %+v", got, tt.want, r.results)
			}
			if (r.err == nil) != (tt.err == "") || r.err != nil && !strings.Contains(r.err.Error(), tt.err) {
				t.Errorf("error %v, want %q", r.err, tt.err)
			}
		})
	}
}

// TestEndless: a model that never answers is stopped.
func TestEndless(t *testing.T) {
	t.Parallel()
	var says scripted
	for range maxTurns + 1 {
		says = append(says, calling("BlobService_GetBlob", `{"key":"motto"}`))
	}
	if r := do(t.Context(), says, taskOf(t, "bytes-get")); r.err == nil || r.err.Error() != "no answer after 16 turns" || len(r.results) != maxTurns {
		t.Errorf("%d results, error %v", len(r.results), r.err)
	}
}

func TestCommand(t *testing.T) {
	t.Parallel()
	broken := filepath.Join(t.TempDir(), "broken.json")
	if err := os.WriteFile(broken, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	short := filepath.Join(t.TempDir(), "short.json")
	if err := os.WriteFile(short, []byte(`{"bytes-get":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		env  map[string]string
		want string // in the error, or in the report
	}{
		{nil, nil, "set MCP_EVAL_URL"},
		{nil, map[string]string{"MCP_EVAL_URL": "http://h"}, "an endpoint needs a URL and the name of a model"},
		{nil, map[string]string{"MCP_EVAL_URL": "http://h", "MCP_EVAL_MODEL": "m", "MCP_EVAL_SHAPE": "square"}, `there is no shape "square"; want openai or anthropic`},
		{[]string{"x"}, nil, `unknown argument "x"`},
		{[]string{"-replay", "none.json"}, nil, "none.json"},
		{[]string{"-replay", broken}, nil, "is no recording"},
		{[]string{"-replay", recorded, "-tasks", "zyxw"}, nil, `no task has "zyxw" in its id`},
		{[]string{"-replay", recorded, "-tasks", "bytes"}, nil, "| all | 2 of 2 |"},
		{[]string{"-replay", short, "-tasks", "bytes-get"}, nil, "- bytes-get: the model: the recording of bytes-get has 0 replies; record it again"},
	} {
		var out bytes.Buffer
		err := command(t.Context(), tt.args, func(name string) string { return tt.env[name] }, &out)
		got := out.String()
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, tt.want) {
			t.Errorf("%q, %v: got %s, want %s", tt.args, tt.env, got, tt.want)
		}
	}
}
