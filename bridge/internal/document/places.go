package document

import (
	"sort"
	"unicode/utf8"
)

// places finds the lines and columns of offsets. It is fast for offsets in their
// order.
type places struct {
	data  []byte
	lines []int // where each line begins
	// last is the latest offset, and before how many characters of its line
	// stand before it.
	last, before int
}

func newPlaces(data []byte) *places {
	p := &places{data: data, lines: []int{0}}
	for i, c := range data {
		if c == '\n' {
			p.lines = append(p.lines, i+1)
		}
	}
	return p
}

// of returns the line and column of an offset, both from 1.
func (p *places) of(offset int) (line, column int) {
	offset = min(max(offset, 0), len(p.data))
	line = sort.Search(len(p.lines), func(i int) bool { return p.lines[i] > offset })
	from, before := p.lines[line-1], 0
	if p.last >= from && p.last <= offset {
		from, before = p.last, p.before
	}
	p.last, p.before = offset, before+utf8.RuneCount(p.data[from:offset])
	return line, 1 + p.before
}
