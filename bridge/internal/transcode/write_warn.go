package transcode

import (
	"fmt"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// trail leads to the value that is written. It is made a path only where it
// is shown.
type trail []mark

// mark is one element of a trail: a member by its name, an element of a list,
// or the entry of a map whose key, as JSON, is written from start to end.
type mark struct {
	name       string
	index      int
	start, end int
	kind       stepKind
}

// path returns the path to the value that is written, from the outermost
// message.
func (w *writer) path() path {
	var p path
	for _, m := range w.trail {
		switch m.kind {
		case stepKey:
			key, _ := jsontok.String(w.dst[m.start:m.end])
			p.push(step{name: key, kind: stepKey})
		default:
			p.push(step{name: m.name, index: m.index, kind: m.kind})
		}
	}
	return p
}

// warn adds a warning about the value that is written.
func (w *writer) warn(format string, args ...any) {
	if len(w.warnings) == MaxViolations {
		return
	}
	text := fmt.Sprintf(format, args...)
	if p := w.path().String(); p != "" {
		text = p + ": " + text
	}
	w.warnings = append(w.warnings, text)
}
