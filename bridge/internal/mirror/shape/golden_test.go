package shape_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"google.golang.org/protobuf/encoding/protojson"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden says in which fields MCP's JSON is. A file has pairs: the JSON of a
// message, in a file "MESSAGE: NAME", and behind it the message.
func TestGolden(t *testing.T) {
	t.Parallel()
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join("testdata", revision+".txtar")
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := &txtar.Archive{Comment: archive.Comment}
			for _, file := range archive.Files {
				name, _, ok := strings.Cut(file.Name, ": ")
				if !ok {
					continue
				}
				got.Files = append(got.Files, file, txtar.File{Name: "=", Data: golden(t, name, bytes.TrimSpace(file.Data))})
			}
			if *update {
				if err := os.WriteFile(path, txtar.Format(got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want := txtar.Format(archive); !bytes.Equal(txtar.Format(got), want) {
				t.Errorf("%s is out of date; run go test with -update and look at what has changed:\n%s", path, txtar.Format(got))
			}
		})
	}
}

// golden returns the ProtoJSON of the message that a text is, and checks that
// the message is the text again.
func golden(t *testing.T, name string, text []byte) []byte {
	t.Helper()
	md := message(name)
	if md == nil {
		t.Fatalf("there is no message %s", name)
	}
	if err := checkIdentity(md, text, false); err != nil {
		t.Error(err)
	}
	m, err := read(md, text)
	if err != nil {
		t.Fatal(err)
	}
	out, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	// What protojson writes has spaces at random.
	var indented bytes.Buffer
	if err := json.Indent(&indented, out, "", "  "); err != nil {
		t.Fatal(err)
	}
	indented.WriteByte('\n')
	return indented.Bytes()
}
