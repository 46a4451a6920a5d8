package schema

import (
	"fmt"
	"slices"
	"strconv"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
)

// wellKnownString is what a rule of the group well_known becomes.
type wellKnownString struct{ keyword, json, text string }

func format(name, text string) wellKnownString {
	return wellKnownString{"format", `"` + name + `"`, text}
}

var wellKnownStrings = map[protoreflect.Name]wellKnownString{
	"email":    format("email", "Must be an email address."),
	"hostname": format("hostname", "Must be a host name."),
	"ipv4":     format("ipv4", "Must be an IPv4 address."),
	"ipv6":     format("ipv6", "Must be an IPv6 address."),
	"uri":      format("uri", "Must be a URI."),
	"uri_ref":  format("uri-reference", "Must be a URI or a relative reference."),
	"uuid":     format("uuid", "Must be a UUID."),
	"tuuid":    {"pattern", `"^[0-9a-fA-F]{32}$"`, "Must be a UUID without dashes."},
	"ulid":     {"pattern", `"^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$"`, "Must be a ULID."},
	"protobuf_fqn": {"pattern", `"^[A-Za-z_][A-Za-z_0-9]*(\\.[A-Za-z_][A-Za-z_0-9]*)*$"`,
		"Must be the full name of a protobuf element."},
	"protobuf_dot_fqn": {"pattern", `"^\\.[A-Za-z_][A-Za-z_0-9]*(\\.[A-Za-z_][A-Za-z_0-9]*)*$"`,
		"Must be the full name of a protobuf element after a dot."},
	"ip":                  {"", "", "Must be an IP address."},
	"address":             {"", "", "Must be a host name or an IP address."},
	"ip_with_prefixlen":   {"", "", "Must be an IP address with a prefix length, such as 192.0.2.1/24."},
	"ipv4_with_prefixlen": {"", "", "Must be an IPv4 address with a prefix length, such as 192.0.2.1/24."},
	"ipv6_with_prefixlen": {"", "", "Must be an IPv6 address with a prefix length, such as 2001:db8::1/64."},
	"ip_prefix":           {"", "", "Must be an IP network, such as 192.0.2.0/24."},
	"ipv4_prefix":         {"", "", "Must be an IPv4 network, such as 192.0.2.0/24."},
	"ipv6_prefix":         {"", "", "Must be an IPv6 network, such as 2001:db8::/32."},
	"host_and_port":       {"", "", "Must be a host and a port, such as example.com:80 or [2001:db8::1]:80."},
}

// Patterns of protovalidate for parts of HTTP headers, strict and not.
const (
	headerName       = "^:?[0-9a-zA-Z!#$%&'*+-.^_|~\\x60]+$"
	headerNameLoose  = "^[^\\x00\\x0A\\x0D]+$"
	headerValue      = "^[^\\x00-\\x08\\x0A-\\x1F\\x7F]*$"
	headerValueLoose = "^[^\\x00\\x0A\\x0D]*$"
)

func stringRules(r *validate.StringRules, g *collector) {
	lengthRules("minLength", "maxLength", " characters", r.Len, r.MinLen, r.MaxLen, g, identity, identity)
	if r.Pattern != nil {
		patternRule(r.GetPattern(), g)
	}
	affix := func(value, before, after, says string) {
		if value == "" {
			return
		}
		text := fmt.Sprintf("%s %s.", says, quote(clip(value, maxRule/2)))
		if len(value) > maxPattern/2 {
			g.sayUnless(text, false)
			return
		}
		g.put("pattern", quote(before+escape(value)+after), text, false)
	}
	affix(r.GetPrefix(), "^", "", "Must start with")
	affix(r.GetSuffix(), "", "$", "Must end with")
	affix(r.GetContains(), "", "", "Must contain")
	if r.GetNotContains() != "" {
		g.say(fmt.Sprintf("Must not contain %s.", quote(clip(r.GetNotContains(), maxRule/2))))
	}
	wellKnownRule(r, g)
	// Lengths in bytes bound those in characters, of which each has up to 4.
	if r.LenBytes != nil || r.MinBytes != nil || r.MaxBytes != nil {
		bytesText(r, g)
		lengthRules("minLength", "maxLength", "", r.LenBytes, r.MinBytes, r.MaxBytes, g, quarter, identity)
	}
	if len(r.GetNotIn()) > 0 {
		g.sayUnless("Must not be one of: "+sample(quoted(r.GetNotIn()), sampleValues, maxRule-30)+".", !slices.Contains(r.GetNotIn(), ""))
	}
	switch {
	case r.Const != nil:
		g.oneOf([]string{quote(r.GetConst())}, `""`)
	case len(r.GetIn()) > 0:
		g.oneOf(quoted(r.GetIn()), `""`)
	}
	g.examples = quoted(r.GetExample())
}

func quoted(list []string) []string {
	values := make([]string, 0, len(list))
	for _, s := range list {
		values = append(values, quote(s))
	}
	return values
}

func identity(n uint64) uint64 { return n }

func quarter(n uint64) uint64 { return n/4 + min(n%4, 1) }

// lengthRules adds bounds of a length. low and high turn a bound into that of
// the keyword. unit is empty where the words were said already.
func lengthRules(least, most, unit string, exact, from, to *uint64, g *collector, low, high func(uint64) uint64) {
	if exact != nil {
		from, to = exact, exact
	}
	add := func(name string, n uint64, zeroFits bool, words string) {
		if unit == "" && (g.has(name) || g.words || g.zero && !zeroFits) {
			return
		}
		g.put(name, count(n), words, zeroFits)
	}
	if from != nil && *from > 0 {
		add(least, low(min(*from, maxCount)), false, "At least "+count(*from)+unit+".")
	}
	if to != nil && *to < maxCount {
		add(most, high(*to), true, "At most "+count(*to)+unit+".")
	}
}

func bytesText(r *validate.StringRules, g *collector) {
	switch {
	case r.LenBytes != nil:
		g.sayUnless("Exactly "+count(r.GetLenBytes())+" bytes in UTF-8.", r.GetLenBytes() == 0)
	default:
		if r.GetMinBytes() > 0 {
			g.sayUnless("At least "+count(r.GetMinBytes())+" bytes in UTF-8.", false)
		}
		if r.MaxBytes != nil {
			g.say("At most " + count(r.GetMaxBytes()) + " bytes in UTF-8.")
		}
	}
}

func patternRule(pattern string, g *collector) {
	valid, fitsEmpty := checkPattern(pattern)
	if !valid {
		return // protovalidate reports it
	}
	text := "Must match the regular expression " + clip(pattern, maxRule/2) + " (RE2)."
	if p, ok := ecma(pattern); ok && len(p) <= maxPattern {
		g.put("pattern", quote(p), text, fitsEmpty)
		return
	}
	g.sayUnless(text, fitsEmpty)
}

func wellKnownRule(r *validate.StringRules, g *collector) {
	m := r.ProtoReflect()
	fd := m.WhichOneof(m.Descriptor().Oneofs().ByName("well_known"))
	if fd == nil {
		return
	}
	var known wellKnownString
	if fd.Kind() == protoreflect.EnumKind {
		strict := r.Strict == nil || r.GetStrict()
		switch r.GetWellKnownRegex() {
		case validate.KnownRegex_KNOWN_REGEX_HTTP_HEADER_NAME:
			known = wellKnownString{"pattern", quote(pick(strict, headerName, headerNameLoose)), "Must be the name of an HTTP header."}
		case validate.KnownRegex_KNOWN_REGEX_HTTP_HEADER_VALUE:
			g.put("pattern", quote(pick(strict, headerValue, headerValueLoose)), "Must be the value of an HTTP header.", true)
			return
		default:
			return
		}
	} else {
		if !m.Get(fd).Bool() {
			return
		}
		known = wellKnownStrings[fd.Name()]
	}
	// The empty string is a URI reference, and nothing else of these.
	zeroFits := fd.Name() == "uri_ref"
	if known.keyword == "" {
		g.sayUnless(known.text, zeroFits)
		return
	}
	if known.keyword == "pattern" && !g.words && !g.zero {
		g.say(known.text) // a pattern says little to a reader
		if g.has("pattern") {
			return
		}
	}
	g.put(known.keyword, known.json, known.text, zeroFits)
}

func bytesRules(r *validate.BytesRules, encoding transcode.Encoding, g *collector) {
	from, to := r.MinLen, r.MaxLen
	if r.Len != nil {
		from, to = r.Len, r.Len
	}
	m := r.ProtoReflect()
	if fd := m.WhichOneof(m.Descriptor().Oneofs().ByName("well_known")); fd != nil && m.Get(fd).Bool() {
		exact := uint64(0)
		switch fd.Name() {
		case "ip":
			g.sayUnless("Must be an IP address: 4 or 16 bytes.", false)
		case "ipv4":
			exact = 4
			g.sayUnless("Must be an IPv4 address: 4 bytes.", false)
		case "ipv6":
			exact = 16
			g.sayUnless("Must be an IPv6 address: 16 bytes.", false)
		case "uuid":
			exact = 16
			g.sayUnless("Must be a UUID: 16 bytes.", false)
		}
		if exact > 0 {
			from, to = &exact, &exact
		}
	} else {
		byteLengthText(from, to, g)
	}
	least, most := encodedLengths(encoding)
	lengthRules("minLength", "maxLength", "", nil, from, to, g, least, most)
	if r.Pattern != nil {
		if valid, fitsEmpty := checkPattern(r.GetPattern()); valid {
			g.sayUnless("The bytes must match the regular expression "+clip(r.GetPattern(), maxRule/2)+" (RE2).", fitsEmpty)
		}
	}
	hexadecimal := func(says string, b []byte) {
		if len(b) > 0 {
			g.sayUnless(says+clip(fmt.Sprintf("%x", b[:min(len(b), maxRule/4)]), maxRule/2)+".", false)
		}
	}
	hexadecimal("The bytes must start with the hexadecimal ", r.GetPrefix())
	hexadecimal("The bytes must end with the hexadecimal ", r.GetSuffix())
	hexadecimal("The bytes must contain the hexadecimal ", r.GetContains())
	if list := encoded(encoding, r.GetNotIn()); len(list) > 0 {
		g.sayUnless("Must not be one of: "+sample(list, sampleValues, maxRule-30)+".", !slices.Contains(list, `""`))
	}
	switch {
	case r.Const != nil:
		g.oneOf(encoded(encoding, [][]byte{r.GetConst()}), `""`)
	case len(r.GetIn()) > 0:
		g.oneOf(encoded(encoding, r.GetIn()), `""`)
	}
	g.examples = encoded(encoding, r.GetExample())
}

func byteLengthText(from, to *uint64, g *collector) {
	switch {
	case from != nil && to != nil && *from == *to:
		g.sayUnless("Exactly "+strconv.FormatUint(*from, 10)+" bytes.", *from == 0)
		return
	case from != nil && *from > 0:
		g.sayUnless("At least "+strconv.FormatUint(*from, 10)+" bytes.", false)
	}
	if to != nil {
		g.say("At most " + strconv.FormatUint(*to, 10) + " bytes.")
	}
}

// encoded returns bytes as JSON.
func encoded(encoding transcode.Encoding, list [][]byte) []string {
	values := make([]string, 0, len(list))
	for _, b := range list {
		values = append(values, string(encoding.AppendJSON(nil, b)))
	}
	return values
}

// encodedLengths return the least and the largest number of characters that a
// number of bytes may take.
func encodedLengths(encoding transcode.Encoding) (least, most func(uint64) uint64) {
	base64 := func(n uint64) uint64 { return min((n+2)/3*4, maxCount) }
	switch encoding {
	case transcode.UTF8:
		return quarter, func(n uint64) uint64 { return min(base64(n)+uint64(len(transcode.RawPrefix)), maxCount) }
	case transcode.Hex:
		double := func(n uint64) uint64 { return min(2*n, maxCount) }
		return double, double
	default:
		return base64, base64
	}
}
