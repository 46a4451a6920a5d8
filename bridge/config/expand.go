package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/mcp-bridge/mcp-bridge/bridge/fault"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/document"
)

const (
	// maxSecretFile is how long a file may be that a reference names.
	maxSecretFile = 1 << 20
	// maxExpanded is how many bytes all references of a file may bring.
	maxExpanded = 8 << 20
)

// variableName matches the name of a variable of the environment.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// expander replaces references in the texts of a tree.
type expander struct {
	file string
	dir  string // where relative paths start
	env  func(name string) (string, bool)
	// host are the references of hosts' files, or nil.
	host *hostReferences

	// sums are the files that references have named.
	sums   sums
	bytes  int
	faults fault.Faults
}

// tree expands the texts of all scalars below a node. path is for faults.
func (e *expander) tree(n *document.Node, path string) {
	switch n.Kind {
	case document.Map:
		for _, m := range n.Members {
			at := m.Key
			if path != "" {
				at = path + "." + m.Key
			}
			e.tree(m.Value, at)
		}
	case document.List:
		for i, item := range n.Items {
			e.tree(item, fmt.Sprintf("%s[%d]", path, i))
		}
	case document.String:
		if !strings.Contains(n.Text, "${") {
			return
		}
		text, written, err := e.text(n.Text)
		if err != nil {
			e.faults = append(e.faults, fault.Fault{File: e.file, Line: n.Line, Column: n.Column, Path: path, Problem: err.Error()})
			n.Leave()
			return
		}
		n.Raw, n.Text = written, text
	case document.Null, document.Bool, document.Number:
	}
}

// text returns a text with its references replaced, and how a configuration
// writes it. The error says all that is wrong, and shows no value.
func (e *expander) text(s string) (text, written string, err error) {
	var out, raw strings.Builder
	var problems []string
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			out.WriteString(s)
			raw.WriteString(s)
			break
		}
		if i > 0 && s[i-1] == '$' && e.host == nil {
			out.WriteString(s[:i-1] + "${") // $${ is a literal
			raw.WriteString(s[:i+2])
			s = s[i+2:]
			continue
		}
		out.WriteString(s[:i])
		raw.WriteString(s[:i])
		end := strings.IndexByte(s[i:], '}')
		if end < 0 {
			problems = append(problems, `a reference that begins with "${" does not end; write $${ for the text itself`)
			break
		}
		value, reference, err := e.reference(s[i+2 : i+end])
		if err != nil {
			problems = append(problems, err.Error())
		}
		if e.bytes += len(value); e.bytes > maxExpanded {
			return "", "", fmt.Errorf("references expand to more than %d bytes", maxExpanded)
		}
		out.WriteString(value)
		raw.WriteString(reference)
		s = s[i+end+1:]
	}
	if len(problems) > 0 {
		return "", "", errors.New(strings.Join(problems, "; "))
	}
	return out.String(), raw.String(), nil
}

// escape writes a text so that nothing in it is a reference.
func escape(s string) string { return strings.ReplaceAll(s, "${", "$${") }

// reference returns what a reference stands for, which is VAR, VAR:-default or
// file:PATH, and how a configuration writes it.
func (e *expander) reference(ref string) (value, written string, err error) {
	if strings.Contains(ref, "${") {
		return "", "", fmt.Errorf("the reference ${%s} has another one inside", shorten(ref))
	}
	if e.host != nil {
		if value, written, ok, err := e.host.value(ref, e.env); ok {
			return value, written, err
		}
	}
	written = "${" + ref + "}"
	if path, ok := strings.CutPrefix(ref, "file:"); ok {
		value, err = e.contents(path)
		return value, written, err
	}
	name, fallback, has := strings.Cut(ref, ":-")
	if !variableName.MatchString(name) {
		hint := "want ${VAR}, ${VAR:-default} or ${file:PATH}; write $${ for the text itself"
		if rest, ok := strings.CutPrefix(ref, "env:"); ok && variableName.MatchString(rest) {
			hint = "did you mean ${" + rest + "}?"
		}
		return "", "", fmt.Errorf("${%s} is not a reference: %s", shorten(ref), hint)
	}
	value, ok := e.env(name)
	switch {
	case has && value == "":
		value = fallback
	case !ok:
		return "", "", fmt.Errorf("the environment variable %s is not set", name)
	}
	if !utf8.ValidString(value) {
		return "", "", fmt.Errorf("the environment variable %s is not UTF-8 text", name)
	}
	return value, written, nil
}

// contents returns the text of a file without one newline at the end.
func (e *expander) contents(path string) (string, error) {
	if path == "" {
		return "", errors.New("${file:} names no file")
	}
	path = absolute(e.dir, path)
	data, err := readBounded(path, maxSecretFile)
	if err != nil {
		e.sums.note(path)
		return "", err
	}
	e.sums.read(path, data)
	if !utf8.Valid(data) {
		return "", fmt.Errorf("the file %s is not UTF-8 text", path)
	}
	text := string(data)
	if rest, ok := strings.CutSuffix(text, "\n"); ok {
		text = strings.TrimSuffix(rest, "\r")
	}
	return text, nil
}

// readBounded reads a regular file of at most limit bytes.
func readBounded(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fileProblem(path, err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fileProblem(path, err)
	}
	defer func() { _ = f.Close() }() // it has only been read
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, fileProblem(path, err)
	case int64(len(data)) > limit:
		return nil, fmt.Errorf("the file %s has more than %d bytes", path, limit)
	default:
		return data, nil
	}
}

// fileProblem words an error of the operating system.
func fileProblem(path string, err error) error {
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("the file %s does not exist", path)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("the file %s cannot be read: permission denied", path)
	default:
		return err
	}
}

// absolute returns a path that starts at dir unless it is absolute.
func absolute(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// shorten bounds a text that a fault shows.
func shorten(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	n := most
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}
