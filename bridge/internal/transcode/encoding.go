package transcode

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// Encoding is how bytes stand in JSON.
type Encoding uint8

const (
	// Base64 is that of ProtoJSON: base64 with padding. Either alphabet is read.
	Base64 Encoding = iota
	// UTF8 is for bytes that are text: they stand as they are. Those that are
	// not UTF-8, and text that begins with [RawPrefix], have that prefix and
	// their base64 behind it, so that every value is read again as it was.
	UTF8
	// Hex is hexadecimal digits. They are written in lower case.
	Hex
)

// RawPrefix begins the JSON of bytes that their encoding, which is [UTF8],
// cannot show.
const RawPrefix = "base64:"

const (
	// maxShownBytes is up to how many bytes a value that does not fit is shown
	// in the encoding of its field: an encoding that is cut says something else.
	maxShownBytes = 256
	// maxChance is up to how many characters text is told that may be in an
	// encoding only by chance.
	maxChance = 64
)

// base64 without padding in both alphabets, refusing bits that stand for nothing.
var (
	strictStd = base64.RawStdEncoding.Strict()
	strictURL = base64.RawURLEncoding.Strict()
)

// name is that of the encoding in messages.
func (e Encoding) name() string {
	if e == Hex {
		return "hexadecimal"
	}
	return "base64"
}

// want says what the JSON of a field is.
func (e Encoding) want() string {
	switch e {
	case UTF8:
		return "a string"
	case Hex:
		return `bytes in hexadecimal, such as "68656c6c6f" for the text hello`
	default:
		return `bytes in base64, such as "aGVsbG8=" for the text hello`
	}
}

// encode returns bytes in the encoding, which is not UTF8.
func (e Encoding) encode(b []byte) string {
	if e == Hex {
		return hex.EncodeToString(b)
	}
	return base64.StdEncoding.EncodeToString(b)
}

// appendTo appends what s says, with its length before it, and reports whether
// that is possible. Otherwise what it appended does not count. Without padded,
// base64 may lack its padding.
func (e Encoding) appendTo(dst, s []byte, padded bool) (out []byte, ok bool) {
	switch e {
	case UTF8:
		if rest, ok := bytes.CutPrefix(s, []byte(RawPrefix)); ok {
			return appendBase64(dst, rest, true)
		}
		return protowire.AppendBytes(dst, s), true
	case Hex:
		s = cutHexPrefix(s)
		dst = protowire.AppendVarint(dst, uint64(len(s)/2))
		dst, err := hex.AppendDecode(dst, s)
		return dst, err == nil
	default:
		return appendBase64(dst, s, padded)
	}
}

// cutHexPrefix returns the digits of a hexadecimal number.
func cutHexPrefix(s []byte) []byte {
	if len(s) > 1 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') {
		return s[2:]
	}
	return s
}

// appendBase64 appends what s says in base64, with its length before it. It
// reports whether s is base64 of exactly some bytes, with all of its padding or,
// unless that is needed, with none.
func appendBase64(dst, s []byte, padded bool) ([]byte, bool) {
	text := bytes.TrimRight(s, "=")
	if padding := len(s) - len(text); (padded || padding > 0) && (padding > 2 || len(s)%4 != 0) {
		return dst, false
	}
	enc := strictStd
	if bytes.ContainsAny(text, "-_") {
		enc = strictURL
	}
	size := enc.DecodedLen(len(text))
	dst = protowire.AppendVarint(dst, uint64(size)) //nolint:gosec // a length
	start := len(dst)
	dst, err := enc.AppendDecode(dst, text)
	// The decoder passes over line breaks.
	return dst, err == nil && len(dst)-start == size
}

// decodeBase64 returns what s says in base64 with its padding.
func decodeBase64(s string) ([]byte, bool) {
	field, ok := appendBase64(nil, []byte(s), true)
	if !ok {
		return nil, false
	}
	out, _ := protowire.ConsumeBytes(field)
	return out, true
}

// misread returns the fault of text that is not of the encoding, in which it
// shows that text. Raw is the text as JSON.
func (e Encoding) misread(s, raw []byte) Violation {
	v := Violation{Problem: "not " + e.name(), Expected: "bytes in " + e.name(), Seen: describe(raw)}
	switch {
	case e == UTF8:
		v.Problem = "not base64 after " + RawPrefix
		v.Expected = "text, or " + RawPrefix + " and base64 with its padding for bytes that are not text"
		if len(s) <= maxShownBytes {
			v.Expected += ": for this text, send " + strconv.Quote(RawPrefix+base64.StdEncoding.EncodeToString(s))
		}
	case len(s) > maxShownBytes:
		v.Expected += pick(e == Hex, ", two digits a byte", ", in one alphabet and with its padding")
	default:
		v.Expected += ": for this text, send " + strconv.Quote(e.encode(s))
		if decoded, ok := looseBase64(s); ok && e == Base64 {
			v.Expected += ", or " + strconv.Quote(e.encode(decoded)) + " if it is base64 already"
		}
	}
	return v
}

func pick(cond bool, yes, no string) string {
	if cond {
		return yes
	}
	return no
}

// looseBase64 returns what s says in base64, with line breaks, without padding
// or with bits that stand for nothing.
func looseBase64(s []byte) ([]byte, bool) {
	text := strings.TrimRight(strings.NewReplacer("\r", "", "\n", "").Replace(string(s)), "=")
	enc := base64.RawStdEncoding
	if strings.ContainsAny(text, "-_") {
		enc = base64.RawURLEncoding
	}
	decoded, err := enc.DecodeString(text)
	return decoded, err == nil && len(decoded) > 0
}

// byChance reports whether s, which is of the encoding, may just as well be
// text: it is short and has nothing that text has not, and what it stands for is
// no text.
func (e Encoding) byChance(s []byte) bool {
	if e == UTF8 || len(s) == 0 || len(s) > maxChance || bytes.ContainsAny(s, pick(e == Hex, "0123456789", "=")) {
		return false
	}
	field, ok := e.appendTo(nil, s, true)
	decoded, n := protowire.ConsumeBytes(field)
	return ok && n >= 0 && !isText(decoded)
}

// isText reports whether b is text that a person could have written.
func isText(b []byte) bool {
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && size <= 1 || !unicode.IsPrint(r) && r != '\n' && r != '\t' && r != '\r' {
			return false
		}
		b = b[size:]
	}
	return true
}
