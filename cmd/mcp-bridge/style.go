package main

import (
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcp-bridge/mcp-bridge/internal/printable"
)

// Widths of text for people.
const (
	defaultWidth = 80
	minWidth     = 40
	maxWidth     = 120
)

// style is how text for people is shown on one stream.
type style struct {
	terminal bool
	colour   bool
	width    int
}

// styleOf returns the style of w: colours only on a terminal, and not where
// the environment asks for none (https://no-color.org).
func styleOf(w io.Writer) style {
	s := style{width: defaultWidth}
	f, ok := w.(*os.File)
	if !ok {
		return s
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return s
	}
	s.terminal = true
	s.colour = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil {
		s.width = min(max(n, minWidth), maxWidth)
	}
	return s
}

// bold marks a heading or a name.
func (s style) bold(text string) string {
	if !s.colour || text == "" {
		return text
	}
	return "\x1b[1m" + text + "\x1b[0m"
}

// wrap breaks text at spaces into lines of at most width runes, where words
// allow it, and keeps its line breaks.
func wrap(text string, width int) []string {
	var lines []string
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		line, length := "", 0
		for word := range strings.FieldsSeq(paragraph) {
			n := utf8.RuneCountInString(word)
			if length > 0 && length+1+n > width {
				lines = append(lines, line)
				line, length = "", 0
			}
			if length > 0 {
				line += " "
				length++
			}
			line += word
			length += n
		}
		lines = append(lines, line)
	}
	return lines
}

// row is a line of a table of two columns.
type row struct{ name, text string }

// maxNameColumn is the widest first column. Longer names stand on a line of
// their own.
const maxNameColumn = 34

// table lays rows out: names left, wrapped text right. Both may be an upstream's.
func (s style) table(rows []row) string {
	column := 0
	for i := range rows {
		rows[i].name = printable.Name(rows[i].name)
	}
	for _, r := range rows {
		if n := utf8.RuneCountInString(r.name); n <= maxNameColumn {
			column = max(column, n)
		}
	}
	if column == 0 {
		column = 2 // every name is too long: the text stands below, indented
	}
	var b strings.Builder
	for _, r := range rows {
		n := utf8.RuneCountInString(r.name)
		b.WriteString(s.bold(r.name))
		lines := wrap(printable.Text(r.text), max(s.width-column-2, minWidth/2))
		if n > column && r.text != "" {
			b.WriteByte('\n')
			n = 0
		}
		for i, line := range lines {
			if i > 0 {
				n = 0
			}
			if line != "" {
				b.WriteString(strings.Repeat(" ", column+2-n))
				b.WriteString(line)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// text is what an upstream wrote, as it goes to this stream: a terminal must not
// be steered by it, a program gets all of it.
func (s style) text(text string) string {
	if s.terminal {
		return printable.Text(text)
	}
	return text
}

// json is [style.text] for JSON, whose meaning stays the same.
func (s style) json(raw []byte) []byte {
	if s.terminal {
		return printable.JSON(raw)
	}
	return raw
}

// summary returns the first line of a description.
func summary(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return first
}
