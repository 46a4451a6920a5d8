package bridge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// metaArguments are the arguments of a meta-tool. Which of them there are
// depends on the tool.
type metaArguments struct {
	query     string
	limit     int
	name      string
	arguments json.RawMessage

	faults []transcode.Violation
}

func (a *metaArguments) fault(v transcode.Violation) {
	if len(a.faults) < transcode.MaxViolations {
		a.faults = append(a.faults, v)
	}
}

// readMetaArguments reads the arguments of a meta-tool that has the given
// ones, and notes everything that is wrong with them.
func readMetaArguments(data json.RawMessage, known ...string) *metaArguments {
	a := &metaArguments{limit: defaultFound, arguments: json.RawMessage("{}")}
	err := jsontok.Object(data, func(key, value []byte) error {
		name := string(key)
		if !slices.Contains(known, name) {
			a.fault(transcode.Violation{Path: clip.Text(name, maxSummary), Problem: "unknown member", Suggestions: known})
			return nil
		}
		kind := jsontok.KindOf(value)
		if kind == jsontok.KindNull {
			return nil
		}
		switch name {
		case "query":
			a.text(&a.query, name, value)
		case "name":
			a.text(&a.name, name, value)
		case "limit":
			a.number(&a.limit, name, value)
		case "arguments":
			a.object(&a.arguments, name, value)
		}
		return nil
	})
	if err != nil {
		a.fault(transcode.Violation{Problem: err.Error()})
	}
	return a
}

func (a *metaArguments) text(to *string, name string, value []byte) {
	if s, ok := jsontok.String(value); ok {
		*to = s
		return
	}
	a.wrong(name, "a string", value)
}

// number reads a whole number that may be in quotes, and moves it within its
// bounds.
func (a *metaArguments) number(to *int, name string, value []byte) {
	text := string(value)
	if s, ok := jsontok.String(value); ok {
		text = s
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n != float64(int64(n)) || n < 1 {
		a.wrong(name, fmt.Sprintf("a whole number from 1 to %d", maxFound), value)
		return
	}
	*to = min(int(n), maxFound)
}

// object reads an object, which some hosts turn into a string.
func (a *metaArguments) object(to *json.RawMessage, name string, value []byte) {
	if s, ok := jsontok.String(value); ok && jsontok.KindOf([]byte(s)) == jsontok.KindObject && jsontok.Valid([]byte(s), jsontok.Limits{}) == nil {
		*to = json.RawMessage(s)
		return
	}
	if jsontok.KindOf(value) != jsontok.KindObject {
		a.wrong(name, "an object", value)
		return
	}
	*to = value
}

func (a *metaArguments) wrong(name, want string, value []byte) {
	a.fault(transcode.Violation{Path: name, Problem: "wrong type", Expected: want, Seen: clip.Text(string(value), 60)})
}
