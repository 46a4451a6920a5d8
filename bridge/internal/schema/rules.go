package schema

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/customoption"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
)

// Rules of protovalidate say which messages a backend accepts. In the schema
// of an input a rule is a keyword where the keyword says the same, or else
// words. A schema accepts whatever the rules accept: a value that a rule
// passes over, such as the zero value under IGNORE_IF_ZERO_VALUE, must not
// meet it as a keyword.

const (
	// maxRule bounds the words of one rule, maxRules those of one place, and
	// maxShortRules those of one place where space is short.
	maxRule       = 300
	maxRules      = 1000
	maxShortRules = 160
	// maxPattern bounds a pattern that is a keyword.
	maxPattern = 500
	// maxCount bounds the numbers in keywords: beyond it, numbers of JSON are
	// not exact.
	maxCount = 1 << 53
)

// Legacy spellings of "ignore", from before protovalidate 0.14.
const (
	legacySkipped     = 24
	legacyIgnoreEmpty = 26
	ignoreNumber      = 27
	legacyIgnoreZero  = 2
)

// noTypes resolves nothing, so that extensions stay unknown fields. They are
// then the same whether or not some package links them in.
var noTypes = new(protoregistry.Types)

func unmarshalRules(b []byte, m proto.Message) bool {
	return proto.UnmarshalOptions{AllowPartial: true, Resolver: noTypes}.Unmarshal(b, m) == nil
}

// fieldRules are the rules of a field, of its items or of its values.
type fieldRules struct {
	rules *validate.FieldRules // nil where there are none
	// zero is set where the rules pass over the zero value.
	zero bool
	// lax is set where rules inside a message are passed over, too.
	lax bool
	// set is set where a field without presence must not be zero.
	set bool
	// encoding is that of bytes.
	encoding transcode.Encoding
}

// fieldRules reads the rules of a field. Malformed ones count as none. member
// is set where the field is in a oneof of buf.validate.MessageRules.
func (c *cache) fieldRules(fd protoreflect.FieldDescriptor, raw []byte, member bool) fieldRules {
	if len(raw) == 0 {
		return fieldRules{}
	}
	rules := new(validate.FieldRules)
	if !unmarshalRules(raw, rules) {
		return fieldRules{}
	}
	says := newFieldRules(rules, !fd.HasPresence(), member)
	says.set = says.required() && !fd.HasPresence()
	if says.set {
		says.zero = false
	}
	return says
}

// newFieldRules applies "ignore". hasZero is set where the zero value can be
// passed over: fields with presence are passed over only where they are unset.
func newFieldRules(rules *validate.FieldRules, hasZero, member bool) fieldRules {
	if rules == nil {
		return fieldRules{}
	}
	ignore := rules.GetIgnore()
	explicit := rules.HasIgnore()
	for f := range customoption.Fields(rules.ProtoReflect().GetUnknown()) {
		switch {
		case f.Type != protowire.VarintType || f.Value == 0:
		case f.Number == legacySkipped:
			ignore = validate.Ignore_IGNORE_ALWAYS
		case explicit:
		case f.Number == legacyIgnoreEmpty, f.Number == ignoreNumber && f.Value == legacyIgnoreZero:
			ignore = validate.Ignore_IGNORE_IF_ZERO_VALUE
		}
	}
	if ignore == validate.Ignore_IGNORE_ALWAYS {
		return fieldRules{lax: true}
	}
	zero := ignore == validate.Ignore_IGNORE_IF_ZERO_VALUE || member && !explicit
	return fieldRules{rules: rules, zero: zero && hasZero}
}

func (s fieldRules) any() bool { return s.rules != nil }

func (s fieldRules) required() bool { return s.rules.GetRequired() }

// items returns the rules of the items of a list.
func (s fieldRules) items() fieldRules {
	sub := newFieldRules(s.rules.GetRepeated().GetItems(), true, false)
	sub.lax = sub.lax || s.lax
	return sub
}

// mapValues returns the rules of the values of a map.
func (s fieldRules) mapValues() fieldRules {
	sub := newFieldRules(s.rules.GetMap().GetValues(), true, false)
	sub.lax = sub.lax || s.lax
	return sub
}

// typed returns the rules of one type, if they are of the type that the field
// has. Rules of another type are a mistake that protovalidate reports.
func (s fieldRules) typed(name protoreflect.Name) protoreflect.Message {
	if s.rules == nil {
		return nil
	}
	m := s.rules.ProtoReflect()
	fd := m.WhichOneof(m.Descriptor().Oneofs().ByName("type"))
	if fd == nil || fd.Name() != name {
		return nil
	}
	return m.Get(fd).Message()
}

// A collector gathers what rules say of one node.
type collector struct {
	// zero is set where the rules pass over the zero value.
	zero bool
	// words is set where there can be no keywords.
	words    bool
	keywords []keyword
	texts    []string
	unless   []string // texts that the zero value does not meet
	enum     *enumValue
	examples []string
	// breaks is set where a rule refuses the zero value.
	breaks bool
}

type keyword struct{ name, json string }

// put adds a rule: a keyword, or the text where the keyword is taken or would
// refuse a zero value that the rules pass over. zeroFits is set where zero
// meets the rule.
func (c *collector) put(name, json, text string, zeroFits bool) {
	c.fits(zeroFits)
	switch {
	case c.zero && !zeroFits:
		c.unless = append(c.unless, cut(text, maxRule))
	case c.words || c.has(name):
		c.say(text)
	default:
		c.keywords = append(c.keywords, keyword{name, json})
	}
}

// fits notes whether the zero value meets a rule.
func (c *collector) fits(zero bool) { c.breaks = c.breaks || !zero && !c.zero }

func (c *collector) has(name string) bool {
	for _, k := range c.keywords {
		if k.name == name {
			return true
		}
	}
	return false
}

// say adds words. Where the zero value is passed over, they say so.
func (c *collector) say(text string) {
	if text != "" {
		c.texts = append(c.texts, cut(text, maxRule))
	}
}

// sayUnless adds words that the zero value does not meet.
func (c *collector) sayUnless(text string, zeroFits bool) {
	c.fits(zeroFits)
	c.sayCustom(text, zeroFits)
}

// sayCustom adds words of which nobody knows whether the zero value meets them,
// unless zeroFits.
func (c *collector) sayCustom(text string, zeroFits bool) {
	if c.zero && !zeroFits {
		c.unless = append(c.unless, cut(text, maxRule))
		return
	}
	c.say(text)
}

// oneOf adds a rule that allows some values, which are JSON.
func (c *collector) oneOf(values []string, zero string) {
	fits := slices.Contains(values, zero)
	c.fits(fits)
	if c.zero && !fits {
		values = append(values, zero)
	}
	if c.words {
		c.say("One of: " + sample(values, sampleValues, maxRule) + ".")
		return
	}
	c.enum = newLiterals(values)
}

// text returns the words of the rules.
func (c *collector) text() string {
	texts := c.texts
	if len(c.unless) > 0 {
		texts = append(texts, "Unless zero or empty: "+join(c.unless...))
	}
	return cut(join(texts...), maxRules)
}

// json returns the keywords.
func (c *collector) json() string {
	var b strings.Builder
	for _, k := range c.keywords {
		b.WriteString(`,"` + k.name + `":` + k.json)
	}
	return b.String()
}

// into writes what was gathered to v, which is a scalar or a message.
func (c *collector) into(v *value) {
	v.needed = c.breaks
	v.rules = join(v.rules, c.text())
	switch {
	case c.enum != nil:
		head, tail := splitType(v.keywords)
		c.enum.head = head
		if i := strings.Index(tail, `,"contentEncoding"`); i >= 0 {
			c.enum.tail = tail[i:]
		}
		v.enum, v.keywords, v.note = c.enum, "", ""
	case v.enum == nil && v.message == nil:
		v.keywords += c.json()
	}
	if len(c.examples) > 0 && v.message == nil {
		v.examples = examples(c.examples)
	}
}

// examples returns the first of the examples, as a keyword.
func examples(values []string) string {
	const most, room = 4, 400
	var b strings.Builder
	for i, v := range values {
		if i >= most || b.Len()+len(v) > room {
			break
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(v)
	}
	if b.Len() == 0 {
		return ""
	}
	return `,"examples":[` + b.String() + `]`
}

// wrapperKinds are the kinds inside the wrappers, to which the rules of the kind
// apply.
var wrapperKinds = map[protoreflect.FullName]protoreflect.Kind{
	"google.protobuf.BoolValue":   protoreflect.BoolKind,
	"google.protobuf.Int32Value":  protoreflect.Int32Kind,
	"google.protobuf.UInt32Value": protoreflect.Uint32Kind,
	"google.protobuf.Int64Value":  protoreflect.Int64Kind,
	"google.protobuf.UInt64Value": protoreflect.Uint64Kind,
	"google.protobuf.FloatValue":  protoreflect.FloatKind,
	"google.protobuf.DoubleValue": protoreflect.DoubleKind,
	"google.protobuf.StringValue": protoreflect.StringKind,
	"google.protobuf.BytesValue":  protoreflect.BytesKind,
}

// apply adds the rules of one value of fd to v.
func (s fieldRules) apply(c *cache, fd protoreflect.FieldDescriptor, v *value) {
	g := &collector{zero: s.zero}
	kind := fd.Kind()
	if md := fd.Message(); md != nil {
		w, ok := wrapperKinds[md.FullName()]
		if !ok {
			s.message(c, fd, md, g)
			g.into(v)
			return
		}
		kind = w
		if s.required() { // null is unset
			v.rule = withoutNull(v.rule)
			v.keywords = strings.Replace(v.keywords, `,"null"]`, "]", 1)
		}
	}
	s.gather(kind, v, g)
	if fd.Kind() == protoreflect.EnumKind {
		s.enumExtras(fd, g)
	}
	s.custom(c, fd, g)
	g.into(v)
}

// gather adds the rules of a scalar kind.
func (s fieldRules) gather(kind protoreflect.Kind, v *value, g *collector) {
	switch kind {
	case protoreflect.BoolKind:
		if m := s.typed("bool"); m != nil {
			boolRules(m, g)
		}
		if s.set {
			g.oneOf([]string{"true"}, "false")
		}
	case protoreflect.StringKind:
		if rules := s.rules.GetString(); rules != nil {
			stringRules(rules, g)
		}
		if s.set && !g.has("minLength") {
			g.put("minLength", "1", "Must not be empty.", false)
		}
	case protoreflect.BytesKind:
		if rules := s.rules.GetBytes(); rules != nil {
			bytesRules(rules, s.encoding, g)
		}
		if s.set && !g.has("minLength") {
			g.put("minLength", "1", "Must not be empty.", false)
		}
	case protoreflect.EnumKind:
	default:
		m := s.typed(protoreflect.Name(kind.String()))
		numberRules(kind, m, s.set, v, g)
	}
}

// message adds the rules of a message that is no wrapper.
func (s fieldRules) message(c *cache, fd protoreflect.FieldDescriptor, md protoreflect.MessageDescriptor, g *collector) {
	switch md.FullName() {
	case "google.protobuf.Duration":
		if m := s.typed("duration"); m != nil {
			timeRules(m, durationText, g)
		}
	case "google.protobuf.Timestamp":
		if m := s.typed("timestamp"); m != nil {
			timeRules(m, timestampText, g)
		}
	case "google.protobuf.FieldMask":
		if rules := s.rules.GetFieldMask(); rules != nil {
			fieldMaskRules(rules, g)
		}
	case "google.protobuf.Any":
		if rules := s.rules.GetAny(); rules != nil {
			sayList(g, `"@type" must be one of: `, rules.GetIn())
			sayList(g, `"@type" must not be one of: `, rules.GetNotIn())
		}
	}
	s.custom(c, fd, g)
}

// list adds the rules of a list to its node.
func (s fieldRules) list(v *value) {
	if !s.any() {
		return
	}
	g := &collector{zero: s.zero}
	rules := s.rules.GetRepeated()
	if n := rules.GetMinItems(); n > 0 {
		g.put("minItems", count(n), "At least "+count(n)+" items.", false)
	} else if s.set {
		g.put("minItems", "1", "Must not be empty.", false)
	}
	if rules.HasMaxItems() {
		n := rules.GetMaxItems()
		g.put("maxItems", count(n), "At most "+count(n)+" items.", true)
	}
	if rules.GetUnique() {
		g.put("uniqueItems", "true", "Items must be unique.", true)
	}
	s.customContainer(v, g)
}

// mapping adds the rules of a map to its node, and makes its keys known.
func (s fieldRules) mapping(c *cache, fd protoreflect.FieldDescriptor, v *value) {
	key := fd.MapKey()
	keys := scalar(key.Kind(), c.dir)
	switch key.Kind() {
	case protoreflect.BoolKind:
		v.note = "Keys are true or false."
		keys.keywords = `"enum":["true","false"]`
	case protoreflect.StringKind:
	default:
		v.note = "Keys are decimal integers."
		keys.keywords = keyPatterns[key.Kind()]
	}
	v.keys = when(c.full && key.Kind() != protoreflect.StringKind, keys.keywords)
	if !s.any() {
		return
	}
	g := &collector{zero: s.zero}
	rules := s.rules.GetMap()
	if n := rules.GetMinPairs(); n > 0 {
		g.put("minProperties", count(n), "At least "+count(n)+" entries.", false)
	} else if s.set {
		g.put("minProperties", "1", "Must not be empty.", false)
	}
	if rules.HasMaxPairs() {
		n := rules.GetMaxPairs()
		g.put("maxProperties", count(n), "At most "+count(n)+" entries.", true)
	}
	if sub := newFieldRules(rules.GetKeys(), true, false); sub.any() {
		native := c.full && key.Kind() == protoreflect.StringKind
		k := &collector{zero: sub.zero, words: !native}
		sub.gather(key.Kind(), keys, k)
		sub.custom(c, key, k)
		if native {
			k.into(keys)
			text := ""
			if keys.enum != nil {
				keys.keywords, text = keys.enum.keywords(false, "")
			}
			v.keys = keys.keywords
			k.texts, k.unless = []string{text, k.text()}, nil
		}
		if text := k.text(); text != "" {
			g.say("Keys: " + text)
		}
	}
	s.customContainer(v, g)
	s.predefined(c, fd, g)
}

// customContainer ends the rules of a list or a map.
func (s fieldRules) customContainer(v *value, g *collector) {
	s.cel(g)
	v.needed = g.breaks
	v.keywords += g.json()
	v.rules = join(v.rules, g.text())
}

var keyPatterns = map[protoreflect.Kind]string{
	protoreflect.Int32Kind:    `"pattern":"^-?[0-9]{1,10}$"`,
	protoreflect.Sint32Kind:   `"pattern":"^-?[0-9]{1,10}$"`,
	protoreflect.Sfixed32Kind: `"pattern":"^-?[0-9]{1,10}$"`,
	protoreflect.Uint32Kind:   `"pattern":"^[0-9]{1,10}$"`,
	protoreflect.Fixed32Kind:  `"pattern":"^[0-9]{1,10}$"`,
	protoreflect.Int64Kind:    `"pattern":"^-?[0-9]{1,19}$"`,
	protoreflect.Sint64Kind:   `"pattern":"^-?[0-9]{1,19}$"`,
	protoreflect.Sfixed64Kind: `"pattern":"^-?[0-9]{1,19}$"`,
	protoreflect.Uint64Kind:   `"pattern":"^[0-9]{1,20}$"`,
	protoreflect.Fixed64Kind:  `"pattern":"^[0-9]{1,20}$"`,
}

// count returns a length or number of items as JSON.
func count(n uint64) string { return strconv.FormatUint(min(n, maxCount), 10) }

// sayList adds words with a list of names to g.
func sayList(g *collector, lead string, names []string) {
	if len(names) > 0 {
		g.say(lead + sample(names, sampleValues, maxRule-len(lead)) + ".")
	}
}

// quote returns s as JSON.
func quote(s string) string { return string(appendString(nil, s)) }

// quoteNumber returns a floating-point number as JSON; ok is false where JSON
// has none.
func quoteNumber(v any) (s string, ok bool) {
	b, err := json.Marshal(v)
	return string(b), err == nil
}
