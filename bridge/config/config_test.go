package config_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/config"
	"github.com/mcp-bridge/mcp-bridge/bridge/fault"
	"github.com/mcp-bridge/mcp-bridge/bridge/find"
	optionsv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/options/v1"
	configv1 "github.com/mcp-bridge/mcp-bridge/gen/mcpbridge/config/v1"
)

// anyVariable has a value for every variable.
func anyVariable(name string) (string, bool) { return "value-of-" + strings.ToLower(name), true }

// TestExamples loads the examples, of which one is that of the reference page.
func TestExamples(t *testing.T) {
	t.Parallel()
	schema := compileSchema(t)
	files, err := filepath.Glob("../../examples/config/*")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d examples, error %v", len(files), err)
	}
	for _, path := range files {
		f, err := config.Load(path, config.Options{LookupEnv: anyVariable})
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if len(f.Warnings) > 0 {
			t.Errorf("%s: warnings %v", path, f.Warnings)
		}
		if filepath.Ext(path) == ".yaml" {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			validates(t, schema, text)
		}
		if text, err := f.YAML(); err != nil {
			t.Error(err)
		} else {
			validates(t, schema, text)
		}
	}
}

// validates checks YAML against the JSON Schema.
func validates(t testing.TB, schema *jsonschema.Schema, text []byte) {
	t.Helper()
	if err := validate(t, schema, text); err != nil {
		t.Errorf("the JSON Schema does not allow what is valid: %v\n%s", err, text)
	}
}

func validate(t testing.TB, schema *jsonschema.Schema, text []byte) error {
	t.Helper()
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	j, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(j))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(doc)
}

// TestJSONSchemaRefuses checks that editors see the faults that a schema can
// express.
func TestJSONSchemaRefuses(t *testing.T) {
	t.Parallel()
	schema := compileSchema(t)
	for _, text := range []string{
		"sever: {}",
		"upstreams: {'a b': {url: x}}",
		"upstreams: {a: {}}",
		"upstreams: {a: {url: x, command: [y]}}",
		"upstreams: {a: {url: x, timeout: soon}}",
		"upstreams: {a: {url: x, prefix: allways}}",
		"upstreams: {a: {url: x, gzip: maybe}}",
		"upstreams: {a: {url: x, schema: {maxBytes: 10}}}",
		"upstreams: {a: {command: [x], env: {1A: x}}}",
		"server: {tls: {cert: x}}",
		"keys: [{}]",
	} {
		if validate(t, schema, []byte(text)) == nil {
			t.Errorf("the JSON Schema allows %s", text)
		}
	}
	for _, text := range []string{
		"upstreams: {a: {url: \"${URL}\", timeout: \"${T}\", gzip: \"${G}\", prefix: \"${P}\", maxMessageBytes: \"${M}\"}}",
		"upstreams: {a: {command: x, env: {PORT: 8080}, timeout: 1h30m}}",
	} {
		validates(t, schema, []byte(text))
	}
}

// random makes configurations.
type random struct{ *rand.Rand }

func (r random) one(all ...string) string { return all[r.IntN(len(all))] }

func (r random) texts() []string {
	var out []string
	for range r.IntN(3) {
		out = append(out, r.text())
	}
	return out
}

// text is a text that is hard to print.
func (r random) text() string {
	return r.one("x", "8080", "true", "null", "~", "1e3", "0x10", "2026-01-01", " lead", "trail ", "a: b", "# no comment", "- a", "{", "}", "[x", "*a", "&a", "!tag", "%", "@", "`", "'", "\"", "\\",
		"${VAR}", "$${VAR}", "$$${VAR}", "${", "$", "line\nbreak", "tab\t", "\u0085", "\u2028", "\ufeff", "\x7f", "é", "😀", "<<", "=", "on", "No", ".inf", "1_000", "12:30:45", "|", ">", "?", ",", "...", "---")
}

func (r random) duration() *durationpb.Duration {
	if r.IntN(2) == 0 {
		return nil
	}
	return durationpb.New(time.Duration(r.Int64N(int64(100 * time.Hour))))
}

func (r random) upstream() *configv1.Upstream {
	u := &configv1.Upstream{Probe: r.duration(), Timeout: r.duration(), Required: []*bool{nil, new(true), new(false)}[r.IntN(3)], Prefix: configv1.Prefix(r.IntN(3)),
		TrustAnnotations: r.IntN(2) == 0}
	if r.IntN(2) == 0 {
		u.Tools = &configv1.Tools{Include: []string{"a*", r.text()}, Rename: map[string]string{r.text(): "x"}, Override: map[string]*configv1.Override{
			r.text(): {Title: r.text(), Description: r.text(), Annotations: &optionsv1.Annotations{ReadOnly: new(r.IntN(2) == 0)}, Set: &structpb.Struct{Fields: map[string]*structpb.Value{
				"v": structpb.NewStringValue(r.text()), "n": structpb.NewNumberValue(float64(r.IntN(1000)) / 4), "b": structpb.NewBoolValue(true), "z": structpb.NewNullValue(),
				"l": structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{structpb.NewStringValue(r.text()), structpb.NewNullValue(), structpb.NewStructValue(&structpb.Struct{})}}),
			}}},
		}}
	}
	if r.IntN(2) == 0 {
		u.Command = append([]string{"program"}, r.texts()...)
		u.Env = map[string]string{"A": r.text(), "NO": r.text()}
		u.Process = configv1.Process(r.IntN(3))
		return u
	}
	u.Url = r.one("grpc://h:1", "https://h/mcp?a=${b}", "connect+http://h/a", "sse+http://h", "mcp+grpcs://h", "unix:/run/x")
	u.Headers = map[string]*configv1.HeaderValues{"x": {Values: []string{r.one("a", "8", "${A}", "true")}}, "y": {Values: []string{"a", "b"}}}
	if strings.HasPrefix(u.GetUrl(), "grpc:") {
		u.Options = &optionsv1.File{Methods: map[string]*optionsv1.MethodOptions{"a.B.C": {Title: r.text(), Confirm: &optionsv1.Confirmation{Message: r.text()}, Timeout: r.duration()}}}
		u.Services = []string{"a.*"}
		u.Validate = new(false)
		u.Stream = &configv1.Stream{Messages: 5}
	}
	return u
}

func (r random) config() *configv1.Config {
	c := &configv1.Config{
		Server:    &configv1.Server{Listen: []string{r.one("127.0.0.1:80", "[::1]:8080", "unix:/run/x.sock")}, Path: "/a/b", Sse: r.IntN(2) == 0, ShutdownTimeout: r.duration(), Reflection: configv1.Reflection(r.IntN(3))},
		Upstreams: map[string]*configv1.Upstream{},
		Endpoints: map[string]*configv1.Endpoint{"true": {Tools: &configv1.EndpointTools{Exclude: []string{r.text()}}}},
		Telemetry: &configv1.Telemetry{Log: &configv1.Log{Level: configv1.LogLevel(r.IntN(5))}},
	}
	for i := range 1 + r.IntN(3) {
		c.Upstreams[r.one("u", "null", "on", "1")+fmt.Sprint(i)] = r.upstream()
	}
	if r.IntN(2) == 0 {
		c.ToolsBytes = new(int32(r.IntN(2)))
	}
	return c
}

// TestPrintedMeansTheSame prints random configurations and reads them again. The
// JSON Schema allows all of them.
func TestPrintedMeansTheSame(t *testing.T) {
	t.Parallel()
	schema := compileSchema(t)
	for seed := range uint64(60) {
		c := random{rand.New(rand.NewPCG(seed, 1))}.config()
		if err := config.Validate(c); err != nil {
			t.Fatalf("seed %d: the test makes an invalid configuration: %v", seed, err)
		}
		text, err := config.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		f, err := config.Parse("x.yaml", text, config.Options{LookupEnv: anyVariable, Dir: "/"})
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		if want := config.WithDefaults(c); !proto.Equal(f.Config, want) {
			t.Fatalf("seed %d: got %v\nwant %v\n%s", seed, f.Config, want, text)
		}
		validates(t, schema, text)
		again, err := f.YAML()
		if err != nil || !bytes.Equal(again, text) {
			t.Fatalf("seed %d: printed again, error %v:\n%s\nat first:\n%s", seed, err, again, text)
		}
	}
}

// TestDefaults checks that every default can be read, and that defaults are
// valid and have none themselves.
func TestDefaults(t *testing.T) {
	t.Parallel()
	c := &configv1.Config{Upstreams: map[string]*configv1.Upstream{"a": {Url: "grpc://h:1"}, "b": {Command: []string{"x"}}, "c": {Url: "https://h"}}}
	full := config.WithDefaults(c)
	if err := config.Validate(full); err != nil {
		t.Error(err)
	}
	same(t, config.WithDefaults(full), full)
	if c.GetServer() != nil || c.GetUpstreams()["a"].GetProbe() != nil {
		t.Error("the original has changed")
	}
	for name, ok := range map[string]bool{
		"listen":     full.GetServer().GetListen()[0] == "127.0.0.1:8080",
		"reflection": full.GetServer().GetReflection() == configv1.Reflection_REFLECTION_PUBLIC,
		"stop":       full.GetServer().GetShutdownTimeout().AsDuration() == 10*time.Second,
		"timeout":    full.GetUpstreams()["a"].GetTimeout().AsDuration() == time.Minute,
		"task":       full.GetUpstreams()["a"].GetTaskTtl().AsDuration() == 24*time.Hour,
		"validate":   full.GetUpstreams()["a"].GetValidate(),
		"no task":    full.GetUpstreams()["b"].GetTaskTtl() == nil,
		"process":    full.GetUpstreams()["b"].GetProcess() == configv1.Process_PROCESS_SHARED,
		"prefix":     full.GetUpstreams()["b"].GetPrefix() == configv1.Prefix_PREFIX_ALWAYS,
		"required":   full.GetUpstreams()["b"].Required != nil && !full.GetUpstreams()["b"].GetRequired(),
		"toolsBytes": full.GetToolsBytes() == find.DefaultBytes,
		"level":      full.GetTelemetry().GetLog().GetLevel() == configv1.LogLevel_LOG_LEVEL_WARN,
	} {
		if !ok {
			t.Errorf("the default of %s is wrong", name)
		}
	}
	sole := &configv1.Config{Upstreams: map[string]*configv1.Upstream{"a": {Url: "grpc://h:1"}}}
	if u := config.WithDefaults(sole).GetUpstreams()["a"]; !u.GetRequired() || u.GetPrefix() != configv1.Prefix_PREFIX_NEVER {
		t.Errorf("a sole upstream: %v", u)
	}
	if u := config.WithDefaults(sole, "other").GetUpstreams()["a"]; u.GetRequired() || u.GetPrefix() != configv1.Prefix_PREFIX_ALWAYS {
		t.Errorf("one of two upstreams: %v", u)
	}
}

func TestOthers(t *testing.T) {
	t.Parallel()
	const text = "endpoints: {a: {upstreams: [mine]}}"
	if _, err := config.Parse("x", []byte(text), config.Options{Others: []string{"mine"}}); err != nil {
		t.Error(err)
	}
	_, err := config.Parse("x", []byte(text+"\nupstreams: {mine_too: {url: 'grpc://h:1'}}"), config.Options{Others: []string{"mine"}})
	if err == nil || !strings.Contains(err.Error(), `x:2:13: upstreams.mine_too: the name begins with that of the upstream "mine"`) {
		t.Errorf("error %v", err)
	}
}

// FuzzParse looks for panics, and for values of variables in faults. What is
// valid must mean the same once it is printed.
func FuzzParse(f *testing.F) {
	for _, dir := range []string{"faults", "load"} {
		files, _ := filepath.Glob(filepath.Join("testdata", dir, "*.txtar"))
		for _, path := range files {
			text, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			_, after, _ := bytes.Cut(text, []byte("\n"))
			before, _, _ := bytes.Cut(after, []byte("\n-- "))
			f.Add(string(before))
		}
	}
	f.Add(`{"mcpServers": {"a": {"command": "x", "args": ["${input:b}", "${env:C}"]}, "A ": {"url": "http://h", "type": "sse"}}}`)
	f.Add(`upstreams: {a: {url: "unix:x", headers: {a: "${X}$${Y}"}, timeout: "${T:-5s}"}}`)
	const secret = "s3cr3t\x00\"'\n"
	lookup := func(name string) (string, bool) { return secret, len(name)%2 == 1 }
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "file:") || strings.Contains(text, "s3cr3t") {
			return
		}
		opts := config.Options{LookupEnv: lookup, Dir: dir}
		file, err := config.Parse("x", []byte(text), opts)
		if err != nil {
			if strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("the value of a variable is in %q", err)
			}
			if _, ok := errors.AsType[fault.Faults](err); !ok {
				t.Errorf("%T is not faults: %v", err, err)
			}
			return
		}
		printed, err := file.YAML()
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(printed, []byte("s3cr3t")) {
			t.Errorf("the value of a variable is printed:\n%s", printed)
		}
		again, err := config.Parse("x.yaml", printed, opts)
		if err != nil {
			t.Fatalf("%v\n%s", err, printed)
		}
		if !proto.Equal(again.Config, config.WithDefaults(file.Config)) {
			t.Errorf("got %v\nwant %v\n%s", again.Config, config.WithDefaults(file.Config), printed)
		}
	})
}

// validName is what the name of an upstream is.
var validName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// FuzzHostNames checks that every name of a server becomes one of an upstream,
// always the same.
func FuzzHostNames(f *testing.F) {
	for _, seed := range []string{"a", "", "My Server", "日本", "@scope/pkg", strings.Repeat("x", 40), "a_b", "\x00", "-", "x\u2028"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		key, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for range 2 {
			file, err := config.Parse("x.json", fmt.Appendf(nil, `{"mcpServers": {%s: {"command": "x"}}}`, key), config.Options{LookupEnv: anyVariable})
			if err != nil {
				t.Fatal(err)
			}
			for name := range file.Config.GetUpstreams() {
				names = append(names, name)
			}
		}
		if len(names) != 2 || names[0] != names[1] || !validName.MatchString(names[0]) || strings.Contains(names[0], "_") {
			t.Errorf("%q becomes %q", name, names)
		}
	})
}
