package transcode_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
)

// TestAppendJSONDoesNotAllocate tests that where dst has room and nothing is
// wrong, a conversion takes no memory.
func TestAppendJSONDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector empties pools at random")
	}
	k := load(t)
	for _, name := range roots {
		md := k.message(t, name)
		codec := k.codec(t, name, transcode.Options{}).Writing(transcode.Answers, 1<<20)
		for seed := range uint64(30) {
			g := k.wireGen(3*seed+2, 11) // plain
			g.anys = g.anys[:1]
			wire := g.message(nil, md, 4)
			dst, warnings, err := codec.AppendJSON(nil, wire)
			if err != nil || len(warnings) > 0 {
				continue
			}
			allocs := testing.AllocsPerRun(20, func() {
				if dst, _, err = codec.AppendJSON(dst[:0], wire); err != nil {
					t.Error(err)
				}
			})
			if allocs > 0 {
				t.Errorf("%s, seed %d: %v allocations\n%s", name, seed, allocs, dst)
			}
		}
	}
}

// large are messages of a megabyte that would take hours if the time were
// not in proportion to the length.
func large() map[string][]byte {
	times := func(n int, parts ...string) []byte { return []byte(strings.Repeat(strings.Join(parts, ""), n)) }
	var keys, nested []byte
	for i := range 60_000 {
		key := protowire.AppendVarint([]byte{0x08}, uint64(int64(-i*7919)))
		keys = append(keys, field(42, string(key))...)
	}
	nested = times(500_000, "\x18\x01")
	for range 98 {
		nested = append(field(17, "\x18\x05"), field(17, string(nested))...)
	}
	return map[string][]byte{
		"interleaved lists":          times(150_000, sub(31, "a"), sub(32, "b")),
		"merged messages":            times(200_000, sub(17, "\x18\x01"), "\x18\x01"),
		"merged at every level":      nested,
		"one scalar":                 times(500_000, "\x18\x01"),
		"switches of a oneof":        times(100_000, sub(52, "\x18\x01"), sub(50, "a")),
		"one key":                    times(100_000, sub(40, sub(1, "a")+sub(2, "b"))),
		"keys in reverse":            keys,
		"values of one entry":        field(41, strings.Repeat(sub(2, "\x18\x01"), 200_000)),
		"strings without UTF-8":      times(200_000, sub(31, "\xff")),
		"keys without UTF-8":         append(times(100_000, sub(40, sub(1, "\xff"))), times(100_000, sub(40, sub(1, "\xfe")))...),
		"values that are no numbers": times(80_000, sub(80, "\x11\x00\x00\x00\x00\x00\x00\xf8\x7f")),
		"unknown types in Any":       times(80_000, sub(83, sub(1, "x/no.Such"))),
		"groups in groups":           []byte(sub(91, strings.Repeat("\x1b", 97)+strings.Repeat("\x08\x01", 400_000)+strings.Repeat("\x1c", 97))),
		"unknown groups":             times(8, strings.Repeat("\xc3\x3e", 9000)+strings.Repeat("\xc4\x3e", 9000)),
		"unknown extensions":         []byte(sub(90, strings.Repeat("\xe0\x08\x01", 300_000))),
		"empty messages":             times(300_000, sub(34, "")),
	}
}

func TestAppendJSONOfLargeMessages(t *testing.T) {
	t.Parallel()
	k := load(t)
	codec := k.codec(t, "kitchen.v1.Sink", transcode.Options{})
	for name, wire := range large() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, warnings, err := codec.AppendJSON(nil, wire); err != nil || len(warnings) > transcode.MaxViolations {
				t.Errorf("%d warnings, error %v", len(warnings), err)
			}
		})
	}
}
