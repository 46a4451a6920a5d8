package prototest

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/mcp-bridge/mcp-bridge/internal/mcpschema"
)

var update = flag.Bool("update", false, "rewrite the transcripts in testdata with what happens")

// patience is how long a transcript waits for what must come. It is a guard
// against hanging, not a measurement.
const patience = 30 * time.Second

// Settings are the lines "key: value" in the comment of a transcript. Keys in
// lower case are settings; the others are headers of every HTTP request.
// Lines that start with # say what the transcript is about.
type Settings map[string]string

// Duration returns a setting, or otherwise where it is absent.
func (s Settings) Duration(t *testing.T, key string, otherwise time.Duration) time.Duration {
	t.Helper()
	if s[key] == "" {
		return otherwise
	}
	d, err := time.ParseDuration(s[key])
	if err != nil {
		t.Fatalf("setting %s: %v", key, err)
	}
	return d
}

var settingLine = regexp.MustCompile(`^([A-Za-z-]+): (.*)$`)

func parseSettings(t *testing.T, comment []byte) Settings {
	t.Helper()
	s := make(Settings)
	for line := range strings.Lines(string(comment)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		m := settingLine.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("line %q of the comment is neither a setting nor starts with #", line)
		}
		s[m[1]] = m[2]
	}
	if s["revision"] == "" {
		t.Fatal("the comment has no setting revision")
	}
	return s
}

// each runs play on every transcript below dir, and compares what it makes of
// it with what the file says.
func each(t *testing.T, dir string, play func(t *testing.T, s Settings, a *txtar.Archive) *txtar.Archive) {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".txtar" {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mcpschema.Dir(); *update && err != nil {
		t.Fatalf("-update freezes nothing that is not validated: %v", err)
	}
	if len(files) == 0 {
		t.Fatalf("there are no transcripts in %s", dir)
	}
	for _, path := range files {
		name, _ := strings.CutSuffix(path, ".txtar")
		t.Run(filepath.ToSlash(name), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			a := txtar.Parse(data)
			got := txtar.Format(play(t, parseSettings(t, a.Comment), a))
			if bytes.Equal(got, data) {
				return
			}
			if !*update {
				t.Errorf("%s is different (run with -update to accept):\n%s", path, firstDifference(string(data), string(got)))
				return
			}
			if t.Failed() {
				t.Errorf("%s is not updated, because of the faults above", path)
				return
			}
			if err := os.WriteFile(path, got, 0o600); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// firstDifference shows where two texts part, with the lines before.
func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	i := 0
	for i < len(w) && i < len(g) && w[i] == g[i] {
		i++
	}
	const around = 4
	tail := func(lines []string) string {
		return strings.Join(lines[min(i, len(lines)):min(i+around, len(lines))], "\n")
	}
	return "...\n" + strings.Join(w[max(0, i-2*around):i], "\n") + "\n--- want\n" + tail(w) + "\n--- got\n" + tail(g)
}

// act does what a step asks of the Handler, and returns what there is to say
// about it.
func act(t *testing.T, h *Handler, fields []string) (said string, ok bool) {
	t.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	switch {
	case len(fields) == 2 && fields[0] == "trigger":
		h.Trigger(fields[1])
	case len(fields) == 2 && fields[0] == "update":
		h.Update(fields[1])
	case len(fields) == 1 && fields[0] == "release":
		h.Release()
	case len(fields) == 1 && fields[0] == "endlisten":
		h.EndListen()
	case len(fields) == 1 && fields[0] == "started":
		select {
		case said = <-h.Started():
		case <-timeout.C:
			t.Fatal("no tool has started")
		}
	case len(fields) == 1 && fields[0] == "cause":
		select {
		case err := <-h.Causes():
			said = err.Error()
		case <-timeout.C:
			t.Fatal("no call has ended")
		}
	default:
		return "", false
	}
	return said, true
}

// meta is what $META stands for in the messages of a transcript.
const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
