// Package mcpschema checks JSON-RPC messages against the JSON schemas that the
// MCP specification publishes for each revision. It is for tests: what a test
// freezes as the wanted output is only worth freezing if it is MCP.
//
// The schemas are not part of this repository. [Dir] says where they are
// looked for, and tests that need them skip where they are absent. Nothing is
// ever loaded from a network.
//
// The published JSON schemas are narrower than the specification. So a numeric
// id may have any form here; an error may have no id, as the text on HTTP has
// it in all revisions; and before 2025-11-25 its id may be null, as JSON-RPC
// has it.
package mcpschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// EnvDir is the environment variable that names the directory of the schemas.
const EnvDir = "MCP_SCHEMA_DIR"

// ErrAbsent says that there are no schemas on this machine.
var ErrAbsent = errors.New("the official MCP schemas are not here: put REVISION.schema.json files into shared/mcp-schema beside the repository, or name their directory in " + EnvDir)

// Dir returns the directory with the files REVISION.schema.json: the one that
// the environment names, or shared/mcp-schema in the working directory or one
// above it. Where there is none the error is [ErrAbsent].
func Dir() (string, error) {
	if dir := os.Getenv(EnvDir); dir != "" {
		return dir, nil
	}
	at, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		dir := filepath.Join(at, "shared", "mcp-schema")
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir, nil
		}
		up := filepath.Dir(at)
		if up == at {
			return "", ErrAbsent
		}
		at = up
	}
}

// Validator checks messages of one revision. It may be used concurrently.
type Validator struct {
	rev      string
	base     string // where the definitions are, as a URL
	defs     map[string]bool
	methods  map[string]string // method -> definition of its request
	notes    map[string]string // method -> definition of its notification
	codes    map[string]string // error code -> definition of the error
	compiler *jsonschema.Compiler

	mu       sync.Mutex
	compiled map[string]*jsonschema.Schema
}

// Load reads the schema of a revision from dir.
func Load(dir, rev string) (*Validator, error) {
	data, err := os.ReadFile(filepath.Join(dir, rev+".schema.json"))
	if err != nil {
		return nil, fmt.Errorf("mcpschema: %w", err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("mcpschema: schema of %s: %w", rev, err)
	}
	v := &Validator{
		rev:      rev,
		defs:     make(map[string]bool),
		methods:  make(map[string]string),
		notes:    make(map[string]string),
		codes:    make(map[string]string),
		compiler: jsonschema.NewCompiler(),
		compiled: make(map[string]*jsonschema.Schema),
	}
	url := "mcp:///" + rev
	v.compiler.UseLoader(jsonschema.SchemeURLLoader{})
	if err := v.compiler.AddResource(url, doc); err != nil {
		return nil, fmt.Errorf("mcpschema: schema of %s: %w", rev, err)
	}
	for _, keyword := range []string{"definitions", "$defs"} {
		if defs, ok := at(doc, keyword).(map[string]any); ok {
			v.base = url + "#/" + keyword + "/"
			v.index(defs)
			return v, nil
		}
	}
	return nil, fmt.Errorf("mcpschema: schema of %s has neither definitions nor $defs", rev)
}

// index notes which definition is for what, by the constants in them.
func (v *Validator) index(defs map[string]any) {
	for name, def := range defs {
		v.defs[name] = true
		if method, ok := at(def, "properties", "method", "const").(string); ok {
			params := v.methods
			if _, request := at(def, "properties", "id").(map[string]any); !request && strings.HasSuffix(name, "Notification") {
				params = v.notes
			}
			params[method] = name
		}
		parts, _ := at(def, "properties", "error", "allOf").([]any)
		for _, part := range append(parts, def) {
			if code, ok := at(part, "properties", "code", "const").(json.Number); ok {
				v.codes[code.String()] = name
			}
		}
	}
}

// Check reports what is wrong with a message, or with one of a batch.
// requestMethod is the method of the request that a response answers; where
// it is empty, only the envelope of the response is checked.
func (v *Validator) Check(message []byte, requestMethod string) error {
	if jsontok.KindOf(bytes.TrimSpace(message)) == jsontok.KindArray {
		return v.checkBatch(message, requestMethod)
	}
	if err := unique(message); err != nil {
		return v.fault(message, err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(message))
	if err != nil {
		return v.fault(message, err)
	}
	m, ok := value.(map[string]any)
	if !ok {
		return v.fault(message, errors.New("a message must be an object"))
	}
	v.widen(m)
	names, err := v.definitions(m, requestMethod)
	if err != nil {
		return v.fault(message, err)
	}
	for _, d := range names {
		if err := v.validate(d.name, d.value); err != nil {
			return v.fault(message, err)
		}
	}
	return nil
}

func (v *Validator) checkBatch(message []byte, requestMethod string) error {
	if v.rev > "2025-03-26" {
		return v.fault(message, errors.New("this revision has no batches"))
	}
	var errs []error
	some := false
	err := jsontok.Array(message, func(_ int, m []byte) error {
		some = true
		errs = append(errs, v.Check(m, requestMethod))
		return nil
	})
	if err == nil && !some {
		err = errors.New("a batch must not be empty")
	}
	if err != nil {
		return v.fault(message, err)
	}
	return errors.Join(errs...)
}

// widen makes up for what the JSON schema has narrower than the specification.
func (v *Validator) widen(m map[string]any) {
	id, has := m["id"]
	_, number := id.(json.Number)
	_, failed := m["error"]
	older := v.rev < "2025-11-25" // later schemas have optional ids in errors
	if number || failed && older && (!has || id == nil) {
		m["id"] = json.Number("1")
	}
}

// part is a value and the definition it must satisfy.
type part struct {
	name  string
	value any
}

// definitions returns what a message must satisfy: the envelope, and what its
// content asks for.
func (v *Validator) definitions(m map[string]any, requestMethod string) ([]part, error) {
	method, named := m["method"].(string)
	_, hasID := m["id"]
	result, succeeded := m["result"]
	_, failed := m["error"]
	switch {
	case succeeded && failed, named && (succeeded || failed):
		return nil, errors.New("a message is a request, a notification, a result or an error, and no two of them")
	case succeeded:
		parts := []part{{v.envelope("JSONRPCResultResponse", "JSONRPCResponse"), m}}
		if requestMethod != "" {
			name, err := v.resultOf(requestMethod, result)
			if err != nil {
				return nil, err
			}
			parts = append(parts, part{name, result})
		}
		return parts, nil
	case failed:
		parts := []part{{v.envelope("JSONRPCErrorResponse", "JSONRPCError"), m}}
		code, _ := at(m, "error", "code").(json.Number)
		if name, ok := v.codes[code.String()]; ok {
			value := any(m)
			if !v.describesResponse(name) {
				value = m["error"]
			}
			parts = append(parts, part{name, value})
		}
		return parts, nil
	case named && hasID:
		return typed("JSONRPCRequest", v.methods[method], m), nil
	case named:
		return typed("JSONRPCNotification", v.notes[method], m), nil
	}
	return nil, errors.New("a message needs a method, a result or an error")
}

func typed(envelope, name string, m map[string]any) []part {
	parts := []part{{envelope, m}}
	if name != "" {
		parts = append(parts, part{name, m})
	}
	return parts
}

// envelope returns the first name that the revision defines.
func (v *Validator) envelope(names ...string) string {
	for _, name := range names[:len(names)-1] {
		if v.defs[name] {
			return name
		}
	}
	return names[len(names)-1]
}

// describesResponse reports whether an error's definition is of the whole
// response, as those of MCP's own codes are, or of the error object in it.
func (v *Validator) describesResponse(name string) bool {
	return !slices.Contains([]string{"ParseError", "InvalidRequestError", "MethodNotFoundError", "InvalidParamsError", "InternalError"}, name)
}

// resultOf returns the definition of a result of the request method.
func (v *Validator) resultOf(method string, result any) (string, error) {
	request, known := v.methods[method]
	kind, _ := at(result, "resultType").(string)
	switch {
	case kind == "input_required" && v.defs["InputRequiredResult"]:
		if !slices.Contains([]string{"tools/call", "prompts/get", "resources/read"}, method) {
			return "", fmt.Errorf("%s cannot have an input_required result", method)
		}
		return "InputRequiredResult", nil
	case kind != "" && kind != "complete", !known:
		return "Result", nil // an extension's
	case at(result, "task") != nil && v.defs["CreateTaskResult"]:
		return "CreateTaskResult", nil
	}
	stem, _ := strings.CutSuffix(request, "Request")
	if name := stem + "Result"; v.defs[name] {
		return name, nil
	}
	return "EmptyResult", nil
}

func (v *Validator) validate(name string, value any) error {
	v.mu.Lock()
	schema := v.compiled[name]
	if schema == nil {
		var err error
		if schema, err = v.compiler.Compile(v.base + name); err != nil {
			v.mu.Unlock()
			return err
		}
		v.compiled[name] = schema
	}
	v.mu.Unlock()
	if err := schema.Validate(value); err != nil {
		return fmt.Errorf("is no %s: %w", name, err)
	}
	return nil
}

func (v *Validator) fault(message []byte, err error) error {
	const limit = 500
	text, more := message, ""
	if len(text) > limit {
		text, more = text[:limit], "..."
	}
	return fmt.Errorf("revision %s: message %s%s: %w", v.rev, text, more, err)
}

// unique reports whether a member of an object in the message, however deep,
// is there twice.
func unique(value []byte) error {
	switch jsontok.KindOf(bytes.TrimSpace(value)) {
	case jsontok.KindObject:
		return jsontok.Object(value, func(_, value []byte) error { return unique(value) })
	case jsontok.KindArray:
		return jsontok.Array(value, func(_ int, value []byte) error { return unique(value) })
	default:
		return nil
	}
}

// at returns the value at a path of member names, or nil.
func at(value any, path ...string) any {
	for _, key := range path {
		object, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = object[key]
	}
	return value
}
