package stdio

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"testing"
)

// readLines reads all of data. A line that is too long is nil.
func readLines(t *testing.T, data []byte, buffer, limit int) (got [][]byte) {
	t.Helper()
	r := bufio.NewReaderSize(bytes.NewReader(data), buffer)
	for {
		line, tooLong, err := readLine(r, limit)
		if tooLong {
			if line != nil {
				t.Errorf("a line that is too long has %d bytes", len(line))
			}
			got = append(got, nil)
		} else if len(line) > 0 {
			got = append(got, line)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Errorf("error %v, want io.EOF", err)
			}
			return got
		}
	}
}

func FuzzReadLine(f *testing.F) {
	f.Add([]byte("a\nbc\n\nlong line\nend"), byte(3))
	f.Add([]byte("\n"), byte(0))
	f.Add(bytes.Repeat([]byte("0123456789"), 20), byte(200))
	f.Fuzz(func(t *testing.T, data []byte, limit byte) {
		got := readLines(t, data, 16, int(limit))
		for _, want := range bytes.SplitAfter(data, []byte{'\n'}) {
			if len(want) == 0 {
				continue
			}
			if len(got) == 0 {
				t.Fatalf("line %q is missing", want)
			}
			if len(bytes.TrimSuffix(want, []byte{'\n'})) > int(limit) {
				want = nil
			}
			if !bytes.Equal(got[0], want) || (got[0] == nil) != (want == nil) {
				t.Errorf("line %q, want %q", got[0], want)
			}
			got = got[1:]
		}
		if len(got) > 0 {
			t.Errorf("lines %q too many", got)
		}
	})
}
