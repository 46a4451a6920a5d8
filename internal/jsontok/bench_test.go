package jsontok_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

var (
	smallText = []byte(`{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"shop_ListOrders",` +
		`"arguments":{"customer":"4711","page_size":25,"states":["OPEN","PAID"],"exact":true},` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":3}}}`)
	largeText  = largeObject()
	prettyText = indent(largeText)
)

func largeObject() []byte {
	item := `{"id":"1234567890","name":"A thing with a name, of some length","price":{"units":"12","nanos":990000000},` +
		`"tags":["red","green","\u00fcber\n"],"stock":17.25,"text":"` + strings.Repeat("Gr\u00fc\u00dfe aus der Stadt. ", 8) + `","gone":null}`
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"result":{"items":[%s%s]}}`, strings.Repeat(item+",", 399), item)
}

func indent(data []byte) []byte {
	out, err := json.MarshalIndent(json.RawMessage(data), "", "  ")
	if err != nil {
		panic(err)
	}
	return out
}

func BenchmarkValid(b *testing.B) {
	for name, data := range map[string][]byte{"small": smallText, "large": largeText, "pretty": prettyText} {
		b.Run(name+"/jsontok", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if err := jsontok.Valid(data, jsontok.Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/std", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if !json.Valid(data) {
					b.Fatal("not valid")
				}
			}
		})
	}
}

func BenchmarkObject(b *testing.B) {
	b.ReportAllocs()
	b.SetBytes(int64(len(smallText)))
	for b.Loop() {
		var method, params []byte
		err := jsontok.Object(smallText, func(key, value []byte) error {
			switch string(key) {
			case "method":
				method = value
			case "params":
				params = value
			}
			return nil
		})
		if err != nil || method == nil || params == nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkObjectManyMembers(b *testing.B) {
	for _, n := range []int{16, 64, 4096} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			data := []byte{'{'}
			for i := range n {
				data = fmt.Appendf(data, `"member_%d":%d,`, i, i)
			}
			data[len(data)-1] = '}'
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if err := jsontok.Object(data, func(_, _ []byte) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkArray(b *testing.B) {
	result, _ := jsontok.Lookup(largeText, "result")
	items, _ := jsontok.Lookup(result, "items")
	b.ReportAllocs()
	b.SetBytes(int64(len(items)))
	for b.Loop() {
		n := 0
		if err := jsontok.Array(items, func(int, []byte) error { n++; return nil }); err != nil || n != 400 {
			b.Fatal(n, err)
		}
	}
}

func BenchmarkString(b *testing.B) {
	for name, text := range map[string]string{"plain": `"io.modelcontextprotocol/protocolVersion"`, "escapes": `"a\nb\u00e9\ud83d\ude00 c"`} {
		b.Run(name, func(b *testing.B) {
			value := []byte(text)
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := jsontok.String(value); !ok {
					b.Fatal("no string")
				}
			}
		})
	}
}

func BenchmarkAppendString(b *testing.B) {
	text := strings.Repeat("A line of \"text\" with some Gr\u00fc\u00dfe in it, and a break.\n", 100)
	var dst []byte
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		dst = jsontok.AppendString(dst[:0], text)
	}
}

func BenchmarkAppendCompact(b *testing.B) {
	for name, data := range map[string][]byte{"compact": largeText, "pretty": prettyText} {
		b.Run(name, func(b *testing.B) {
			var dst []byte
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				dst = jsontok.AppendCompact(dst[:0], data)
			}
		})
	}
}

// TestAllocations holds the promise of the package comment.
func TestAllocations(t *testing.T) {
	sixteen := []byte(`{"0":0,"1":0,"2":0,"3":0,"4":0,"5":0,"6":0,"7":0,"8":0,"9":0,"a":0,"b":0,"c":0,"d":0,"e":0,"f":0}`)
	batch := fmt.Appendf(nil, "[%s,%s]", smallText, smallText)
	compact := make([]byte, 0, len(prettyText))
	tests := map[string]func(){
		"Valid":  func() { _ = jsontok.Valid(largeText, jsontok.Limits{}) },
		"Object": func() { _ = jsontok.Object(sixteen, func(_, _ []byte) error { return nil }) },
		"Array":  func() { _ = jsontok.Array(batch, func(int, []byte) error { return nil }) },
		"Lookup": func() { _, _ = jsontok.Lookup(smallText, "params") },
		"AppendCompact": func() {
			compact = jsontok.AppendCompact(compact[:0], prettyText)
		},
	}
	for name, f := range tests {
		if n := testing.AllocsPerRun(10, f); n != 0 {
			t.Errorf("%s allocates %v times, want 0", name, n)
		}
	}
}

func BenchmarkAppendBytes(b *testing.B) {
	for name, text := range map[string]string{
		"short":   "shop_ListOrders",
		"ascii":   strings.Repeat("A thing with a name, of some length. ", 30),
		"escapes": strings.Repeat("a \"quoted\" line\n", 60),
		"umlauts": strings.Repeat("Gr\u00fc\u00dfe aus der Stadt. ", 40),
		"kanji":   strings.Repeat("\u6771\u4eac\u90fd", 100),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			out := make([]byte, 0, 2*len(text))
			data := []byte(text)
			for b.Loop() {
				if _, valid := jsontok.AppendBytes(out, data); !valid {
					b.Fatal("not valid")
				}
			}
		})
	}
}
