package eventstream_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/protocol/internal/eventstream"
)

var benchSizes = []int{100, 2_000, 200_000}

func BenchmarkAppendEvent(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			e := eventstream.Event{ID: "1", HasID: true, Name: "message", Data: bytes.Repeat([]byte("x"), size)}
			var dst []byte
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				dst = eventstream.AppendEvent(dst[:0], e)
			}
		})
	}
}

func BenchmarkReader(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			r := eventstream.NewReader(&repeat{
				data: eventstream.AppendEvent(nil, eventstream.Event{Name: "message", Data: bytes.Repeat([]byte("x"), size)}),
			}, 0)
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, err := r.Next(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// repeat is a stream of the same bytes again and again.
type repeat struct {
	data []byte
	off  int
}

var _ io.Reader = (*repeat)(nil)

func (r *repeat) Read(p []byte) (int, error) {
	n := copy(p, r.data[r.off:])
	r.off = (r.off + n) % len(r.data)
	return n, nil
}
