package typed

import (
	"fmt"
	"strings"
	"unicode"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/jsonschema"
	"github.com/mcp-bridge/mcp-bridge/internal/clip"
)

const (
	// maxComment is how long a comment may be, and lineWidth how long its
	// lines are.
	maxComment = 4 << 10
	lineWidth  = 78
)

// cleanComment makes a comment of a text of the server's: lines of a length
// that people read, without what programs take for directives.
func cleanComment(text string) string {
	text = clip.Text(text, maxComment)
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t' || r == '\u2028' || r == '\u2029' || unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, strings.ReplaceAll(text, "\r\n", "\n"))
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		lower := strings.ToLower(strings.TrimSpace(line))
		if strings.HasPrefix(lower, "buf:lint") || strings.HasPrefix(lower, "@exclude") || strings.HasPrefix(lower, "protolint:") {
			continue
		}
		lines = append(lines, wrap(strings.TrimRight(line, " "))...)
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// wrap breaks a line at spaces. Further lines begin as deep as the first.
func wrap(line string) []string {
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	if len(indent) > lineWidth/2 {
		indent = ""
	}
	var lines []string
	for len(line) > lineWidth {
		at := strings.LastIndexByte(line[:lineWidth+1], ' ')
		if at <= len(indent) {
			next := strings.IndexByte(line[lineWidth:], ' ')
			if next < 0 {
				break
			}
			at = lineWidth + next
		}
		lines = append(lines, strings.TrimRight(line[:at], " "))
		rest := strings.TrimLeft(line[at:], " ")
		if rest == "" {
			return lines
		}
		line = indent + rest
	}
	return append(lines, line)
}

// oneLine joins the lines of a text.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func quote(s string) string { return fmt.Sprintf("%q", clip.Text(s, 100)) }

// fieldComment returns the comment of the field of a property: what the schema
// tells people, and those of its constraints that neither the type nor a rule
// expresses.
func (b *builder) fieldComment(m member) string {
	s := m.shape.schema
	text := cleanComment(pick(pick(m.schema.Description, s.Description), pick(m.schema.Title, s.Title)))
	if limits := b.constraints(m); limits != "" {
		text = strings.TrimLeft(text+"\n\n"+limits, "\n")
	}
	return text
}

// constraints says in a sentence what the schema demands.
func (b *builder) constraints(m member) string {
	s := m.shape.schema
	var all []string
	add := func(name, value string) {
		if value != "" {
			all = append(all, name+" "+clip.Text(oneLine(value), 200))
		}
	}
	count := func(name string, n *uint64) {
		if n != nil {
			all = append(all, fmt.Sprintf("%s %d", name, *n))
		}
	}
	if m.required && !b.rules {
		all = append(all, "required")
	}
	if m.shape.constant != nil {
		add("const", string(m.shape.constant))
	}
	add("format", s.Format)
	add("contentEncoding", s.ContentEncoding)
	b.bounds(m.shape, add, count)
	add("multipleOf", s.MultipleOf)
	add("more in", strings.Join(unexplained(s), ", "))
	if s.Default != nil && len(s.Default) <= 200 {
		add("default", string(s.Default))
	}
	if len(all) == 0 {
		return ""
	}
	return strings.Join(wrap("JSON Schema: "+strings.Join(all, ", ")+"."), "\n")
}

// bounds names the constraints that can be rules, and are none.
func (b *builder) bounds(of *shape, add func(name, value string), count func(string, *uint64)) {
	s, rules := of.schema, &validate.FieldRules{}
	if b.rules {
		rules = valueRules(of)
	}
	if rules.GetInt64().GetGreaterThan() == nil && rules.GetDouble().GetGreaterThan() == nil {
		add("minimum", s.Minimum)
		add("exclusiveMinimum", s.ExclusiveMinimum)
	}
	if rules.GetInt64().GetLessThan() == nil && rules.GetDouble().GetLessThan() == nil {
		add("maximum", s.Maximum)
		add("exclusiveMaximum", s.ExclusiveMaximum)
	}
	if rules.GetString() == nil {
		count("minLength", s.MinLength)
		count("maxLength", s.MaxLength)
	}
	if !rules.GetString().HasPattern() {
		add("pattern", s.Pattern)
	}
	if rules.GetRepeated() == nil {
		count("minItems", s.MinItems)
		count("maxItems", s.MaxItems)
	}
	if s.UniqueItems && !rules.GetRepeated().GetUnique() {
		add("uniqueItems", "true")
	}
	if rules.GetMap() == nil {
		count("minProperties", s.MinProps)
		count("maxProperties", s.MaxProps)
	}
}

// unexplained returns the keywords that constrain values by schemas of their
// own, which a comment is too short for.
func unexplained(s *jsonschema.Schema) []string {
	var all []string
	if s.Not != nil {
		all = append(all, "not")
	}
	if s.PropertyNames != nil {
		all = append(all, "propertyNames")
	}
	if s.If != nil {
		all = append(all, "if")
	}
	return append(all, s.Other...)
}

func (b *builder) serviceComment(server Server) string {
	return fmt.Sprintf("The tools, prompts and resource templates of %s.\n\nbuf:lint:ignore SERVICE_SUFFIX", cleanComment(clip.Text(oneLine(server.Name), 60)))
}

// sourceInfo makes the source info of the file: its comments.
func (b *builder) sourceInfo(header string) *descriptorpb.SourceCodeInfo {
	info := &descriptorpb.SourceCodeInfo{}
	add := func(comment string, path ...int32) *descriptorpb.SourceCodeInfo_Location {
		loc := &descriptorpb.SourceCodeInfo_Location{Path: path, Span: []int32{0, 0, 0}}
		if comment != "" {
			loc.LeadingComments = new(commentText(comment))
		}
		info.Location = append(info.Location, loc)
		return loc
	}
	file := b.plan.File
	add("", syntaxTag).LeadingDetachedComments = []string{commentText(header)}
	for i, s := range file.Service {
		at := []int32{serviceTag, index(i)}
		add(b.comments[s], at...)
		for j, m := range s.Method {
			add(b.comments[m], append(at[:2:2], methodTag, index(j))...)
		}
	}
	var message func(m *descriptorpb.DescriptorProto, at []int32)
	message = func(m *descriptorpb.DescriptorProto, at []int32) {
		add(b.comments[m], at...)
		n := len(at)
		for i, f := range m.Field {
			add(b.comments[f], append(at[:n:n], fieldTag, index(i))...)
		}
		for i, e := range m.EnumType {
			enum := append(at[:n:n], enumTag, index(i))
			add(b.comments[e], enum...)
			for j, v := range e.Value {
				add(b.comments[v], append(enum[:n+2:n+2], valueTag, index(j))...)
			}
		}
		for i, inner := range m.NestedType {
			message(inner, append(at[:n:n], nestedTag, index(i)))
		}
	}
	for i, m := range file.MessageType {
		message(m, []int32{messageTag, index(i)})
	}
	return info
}

// Numbers of fields of descriptors, of which paths are made.
const (
	syntaxTag  = 12
	messageTag = 4
	serviceTag = 6
	methodTag  = 2
	fieldTag   = 2
	nestedTag  = 3
	enumTag    = 4
	valueTag   = 2
)

func index(i int) int32 { return int32(i) } //nolint:gosec // files have fewer parts

// commentText returns a comment as source info has it: a space before each line.
func commentText(comment string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(comment, "\n") {
		if line != "" {
			b.WriteString(" " + line)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// textMember makes a member that is a string.
func textMember(name, description string, required bool) member {
	s := &jsonschema.Schema{Description: description, Types: jsonschema.String}
	return member{name: name, schema: s, required: required, shape: &shape{kind: kindString, schema: s}}
}
