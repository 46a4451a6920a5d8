package schema

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (write it with -update)", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (rewrite it with -update after reading):\n%s", path, got)
	}
}

func indent(t *testing.T, b []byte) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", "  "); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	return out.String()
}

func TestGoldenSchemas(t *testing.T) {
	t.Parallel()
	files := sink(t)
	for _, name := range []string{
		"sink.v1.Scalars", "sink.v1.Presence", "sink.v1.Collections", "sink.v1.Tree", "sink.v1.WellKnown",
		"sink.v1.HasNothing", "sink.v2.Legacy", "sink.v3.Modern",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, out := schemas(t, find[protoreflect.MessageDescriptor](t, files, name), Options{Output: transcode.Answers})
			golden(t, name+".golden", []byte("-- input --\n"+indent(t, in)+"\n-- output --\n"+indent(t, out)+"\n"))
		})
	}
}

func TestGoldenFull(t *testing.T) {
	t.Parallel()
	files := sink(t)
	for _, name := range []string{
		"sink.v1.Presence", "sink.v1.Collections", "sink.v1.Tree", "sink.v1.WellKnown", "sink.v2.Legacy", "sink.v3.Modern",
	} {
		in, out := schemas(t, find[protoreflect.MessageDescriptor](t, files, name), Options{Profile: Full, Output: transcode.Answers})
		golden(t, name+".full.golden", []byte("-- input --\n"+indent(t, in)+"\n-- output --\n"+indent(t, out)+"\n"))
	}
}

func TestGoldenTypes(t *testing.T) {
	t.Parallel()
	files := sink(t)
	var b strings.Builder
	for _, name := range []string{"sink.v1.Mode", "sink.v1.Presence", "sink.v1.Tree"} {
		s, err := Type(find[protoreflect.Descriptor](t, files, name), Options{DescribeTool: "describe_type"})
		if err != nil || s.Pruned {
			t.Fatalf("%s: %v, pruned is %t", name, err, s.Pruned)
		}
		fmt.Fprintf(&b, "-- %s --\n%s\n", name, indent(t, s.JSON))
	}
	golden(t, "types.golden", []byte(b.String()))
}

func TestGoldenTools(t *testing.T) {
	t.Parallel()
	files := sink(t)
	service := find[protoreflect.ServiceDescriptor](t, files, "sink.v1.SinkService")
	var b strings.Builder
	for i := range service.Methods().Len() {
		m := service.Methods().Get(i)
		fmt.Fprintf(&b, "%s\n%s\n%s\n\n", m.Name(), Description(m), indent(t, Annotations(m)))
	}
	golden(t, "tools.golden", []byte(b.String()))
}
