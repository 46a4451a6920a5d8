package find

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-bridge/mcp-bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// maxFaults bounds how many faults of one call are named.
const maxFaults = 16

// arguments are those of the three tools. Which of them there are depends on the tool.
type arguments struct {
	query     string
	limit     int
	name      string
	arguments json.RawMessage

	faults []string
}

func (a *arguments) fault(text string) {
	if len(a.faults) < maxFaults {
		a.faults = append(a.faults, text)
	}
}

// readArguments reads the arguments of a tool that has the given ones, and notes
// everything that is wrong with them.
func readArguments(data json.RawMessage, known ...string) *arguments {
	a := &arguments{limit: defaultFound, arguments: json.RawMessage("{}")}
	err := jsontok.Object(data, func(key, value []byte) error {
		name := string(key)
		if !slices.Contains(known, name) {
			a.fault(fmt.Sprintf("%s: unknown member; did you mean %s?", clip.Text(name, maxSummary), quoted(known)))
			return nil
		}
		if jsontok.KindOf(value) == jsontok.KindNull {
			return nil
		}
		switch name {
		case "query":
			a.text(&a.query, name, value)
		case "name":
			a.text(&a.name, name, value)
		case "limit":
			a.number(name, value)
		case "arguments":
			a.object(name, value)
		}
		return nil
	})
	if err != nil {
		a.fault(err.Error())
	}
	return a
}

// named notes where the name of a tool is missing.
func (a *arguments) named() *arguments {
	if a.name == "" {
		a.fault("name: is required; want the name of a tool, as " + SearchTool + " shows it")
	}
	return a
}

func quoted(names []string) string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = strconv.Quote(name)
	}
	return strings.Join(list, " or ")
}

func (a *arguments) text(to *string, name string, value []byte) {
	if s, ok := jsontok.String(value); ok {
		*to = s
		return
	}
	a.wrong(name, "a string", value)
}

// number reads a whole number that may be in quotes, and moves it within its bounds.
func (a *arguments) number(name string, value []byte) {
	text := string(value)
	if s, ok := jsontok.String(value); ok {
		text = s
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n != float64(int64(n)) || n < 1 {
		a.wrong(name, fmt.Sprintf("a whole number from 1 to %d", maxFound), value)
		return
	}
	a.limit = min(int(n), maxFound)
}

// object reads an object, which some hosts turn into a string.
func (a *arguments) object(name string, value []byte) {
	if s, ok := jsontok.String(value); ok && jsontok.KindOf([]byte(s)) == jsontok.KindObject && jsontok.Valid([]byte(s), jsontok.Limits{}) == nil {
		a.arguments = json.RawMessage(s)
		return
	}
	if jsontok.KindOf(value) != jsontok.KindObject {
		a.wrong(name, "an object", value)
		return
	}
	a.arguments = value
}

func (a *arguments) wrong(name, want string, value []byte) {
	const maxShown = 60
	a.fault(fmt.Sprintf("%s: wrong type; want %s, got %s", name, want, clip.Text(string(value), maxShown)))
}

// result returns the result for arguments with faults.
func (a *arguments) result() *protocol.Result {
	lines := append([]string{"The arguments do not fit the tool's input schema, so nothing was called. Correct them and call again."}, a.faults...)
	text := strings.Join(lines, "\n- ")
	body := jsontok.AppendString([]byte(`{"content":[{"type":"text","text":`), text)
	return &protocol.Result{Body: append(body, `}],"isError":true}`...)}
}
