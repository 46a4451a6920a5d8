package transcode

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// writer appends the JSON form of messages. The depth that its methods take
// is that of the value: 1 for the outermost object.
type writer struct {
	codec    *Codec
	dst      []byte
	path     path
	warnings []string
	err      error
}

func (w *writer) raw(s string) { w.dst = append(w.dst, s...) }

// comma separates members and elements. The first value of n is 0.
func (w *writer) comma(n int) {
	if n > 0 {
		w.dst = append(w.dst, ',')
	}
}

func (w *writer) warn(format string, args ...any) {
	if len(w.warnings) == MaxViolations {
		return
	}
	text := fmt.Sprintf(format, args...)
	if p := w.path.String(); p != "" {
		text = p + ": " + text
	}
	w.warnings = append(w.warnings, text)
}

// unmarshal reads wire into m. Strings that are not UTF-8 are mended.
func (w *writer) unmarshal(wire []byte, m protoreflect.Message) error {
	opts := proto.UnmarshalOptions{AllowPartial: true, Resolver: w.codec.resolver}
	err := guarded(opts, wire, m)
	if err == nil {
		return nil
	}
	// A level of JSON in a Struct is three of messages.
	mender := mender{resolver: w.codec.resolver, maxDepth: 4 * w.codec.opts.MaxDepth}
	mended, ok := mender.message(nil, wire, m.Descriptor(), 0)
	if !ok || len(mender.fields) == 0 {
		return err
	}
	proto.Reset(m.Interface())
	if guarded(opts, mended, m) != nil {
		return err
	}
	for _, name := range mender.fields {
		w.warn("the field %s held bytes that are not UTF-8; they became U+FFFD", name)
	}
	return nil
}

// guarded unmarshals and makes an error of a panic. In protobuf 1.36, the
// reflective parser panics on a map entry that has its key twice, the second
// time with another wire type, and a peer must not be able to end the process
// with that.
func guarded(opts proto.UnmarshalOptions, wire []byte, m protoreflect.Message) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the parser failed: %v", p)
		}
	}()
	return opts.Unmarshal(wire, m.Interface())
}

// deep reports whether an array or object may not stand at the depth.
func (w *writer) deep(depth int) bool {
	if depth > w.codec.opts.MaxDepth && w.err == nil {
		w.err = fmt.Errorf("arrays and objects are nested more than %d deep, at %s", w.codec.opts.MaxDepth, clip(w.path.String(), 4*maxNameText))
	}
	return w.err != nil
}

func (w *writer) message(m protoreflect.Message, depth int) {
	if wkt := wellKnownOf(m.Descriptor()); wkt != wktNone {
		w.wellKnown(m, wkt, depth)
		return
	}
	if w.deep(depth) {
		return
	}
	w.raw("{")
	w.members(m, 0, depth)
	w.raw("}")
}

// members appends the fields as members, after n others.
func (w *writer) members(m protoreflect.Message, n, depth int) {
	md := m.Descriptor()
	fields := md.Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if !m.Has(fd) && (!w.codec.opts.EmitDefaults || fd.HasPresence()) {
			continue
		}
		w.comma(n)
		w.field(fd, m.Get(fd), depth)
		n++
	}
	if md.ExtensionRanges().Len() == 0 {
		return
	}
	var extensions []protoreflect.FieldDescriptor
	m.Range(func(fd protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		if fd.IsExtension() {
			extensions = append(extensions, fd)
		}
		return true
	})
	slices.SortFunc(extensions, func(a, b protoreflect.FieldDescriptor) int { return cmp.Compare(a.FullName(), b.FullName()) })
	for _, fd := range extensions {
		if sub := fd.Message(); sub != nil && !w.codec.complete(sub) {
			w.warn("the extension %s is left out: its type is not known", fd.FullName())
			continue
		}
		w.comma(n)
		w.field(fd, m.Get(fd), depth)
		n++
	}
}

func (w *writer) field(fd protoreflect.FieldDescriptor, v protoreflect.Value, depth int) {
	name := fd.JSONName()
	w.path.push(step{name: name})
	w.dst = append(jsontok.AppendString(w.dst, name), ':')
	switch {
	case fd.IsList():
		w.list(fd, v.List(), depth+1)
	case fd.IsMap():
		w.mapping(fd, v.Map(), depth+1)
	default:
		w.single(fd, v, depth+1)
	}
	w.path.pop()
}

func (w *writer) list(fd protoreflect.FieldDescriptor, list protoreflect.List, depth int) {
	if w.deep(depth) {
		return
	}
	w.raw("[")
	for i := range list.Len() {
		w.comma(i)
		w.path.push(step{index: i, kind: stepIndex})
		w.single(fd, list.Get(i), depth+1)
		w.path.pop()
		if w.err != nil {
			return
		}
	}
	w.raw("]")
}

func (w *writer) mapping(fd protoreflect.FieldDescriptor, mp protoreflect.Map, depth int) {
	if w.deep(depth) {
		return
	}
	keys := make([]protoreflect.MapKey, 0, mp.Len())
	mended := false
	mp.Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool {
		keys = append(keys, k)
		s, ok := k.Interface().(string)
		mended = mended || ok && !utf8.ValidString(s)
		return true
	})
	slices.SortFunc(keys, compareKeys)
	if mended {
		keys = w.distinct(keys)
	}
	w.raw("{")
	for i, k := range keys {
		w.comma(i)
		name := k.String()
		w.path.push(step{name: name, kind: stepKey})
		w.dst = append(jsontok.AppendString(w.dst, name), ':')
		w.single(fd.MapValue(), mp.Get(k), depth+1)
		w.path.pop()
		if w.err != nil {
			return
		}
	}
	w.raw("}")
}

// distinct leaves out keys that cannot be told from others as JSON.
func (w *writer) distinct(keys []protoreflect.MapKey) []protoreflect.MapKey {
	seen := map[string]bool{}
	for _, k := range keys {
		if utf8.ValidString(k.String()) {
			seen[k.String()] = true
		}
	}
	return slices.DeleteFunc(keys, func(k protoreflect.MapKey) bool {
		if utf8.ValidString(k.String()) {
			return false
		}
		name, _ := jsontok.String(jsontok.AppendString(nil, k.String()))
		if seen[name] {
			w.warn("an entry whose key is not UTF-8 is left out, as %q is there already", clip(name, maxNameText))
			return true
		}
		w.warn("the key %q held bytes that are not UTF-8; they became U+FFFD", clip(name, maxNameText))
		seen[name] = true
		return false
	})
}

func compareKeys(a, b protoreflect.MapKey) int {
	switch x := a.Interface().(type) {
	case bool:
		return cmp.Compare(strconv.FormatBool(x), strconv.FormatBool(b.Bool()))
	case int32, int64:
		return cmp.Compare(a.Int(), b.Int())
	case uint32, uint64:
		return cmp.Compare(a.Uint(), b.Uint())
	default:
		return strings.Compare(a.String(), b.String())
	}
}

// single appends a value that is neither list nor map.
func (w *writer) single(fd protoreflect.FieldDescriptor, v protoreflect.Value, depth int) {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		w.dst = strconv.AppendBool(w.dst, v.Bool())
	case protoreflect.StringKind:
		s := v.String()
		if !utf8.ValidString(s) {
			w.warn("bytes that are not UTF-8 became U+FFFD")
		}
		w.dst = jsontok.AppendString(w.dst, s)
	case protoreflect.BytesKind:
		w.base64(v.Bytes())
	case protoreflect.EnumKind:
		w.enum(fd, v.Enum())
	case protoreflect.FloatKind:
		w.dst = appendFloat(w.dst, v.Float(), 32)
	case protoreflect.DoubleKind:
		w.dst = appendFloat(w.dst, v.Float(), 64)
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		w.dst = strconv.AppendInt(w.dst, v.Int(), 10)
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		w.dst = strconv.AppendUint(w.dst, v.Uint(), 10)
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		w.dst = append(strconv.AppendInt(append(w.dst, '"'), v.Int(), 10), '"')
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		w.dst = append(strconv.AppendUint(append(w.dst, '"'), v.Uint(), 10), '"')
	case protoreflect.MessageKind, protoreflect.GroupKind:
		w.message(v.Message(), depth)
	}
}

func (w *writer) base64(b []byte) {
	w.dst = append(w.dst, '"')
	w.dst = base64.StdEncoding.AppendEncode(w.dst, b)
	w.dst = append(w.dst, '"')
}

func (w *writer) enum(fd protoreflect.FieldDescriptor, n protoreflect.EnumNumber) {
	if isNullEnum(fd) {
		w.raw("null")
		return
	}
	if v := fd.Enum().Values().ByNumber(n); v != nil {
		w.dst = jsontok.AppendString(w.dst, string(v.Name()))
		return
	}
	w.dst = strconv.AppendInt(w.dst, int64(n), 10)
}

// appendFloat appends a float as JavaScript writes it, which is the form that
// ProtoJSON takes over.
func appendFloat(dst []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	abs := math.Abs(f)
	small, large := abs < 1e-6, abs >= 1e21
	if bits == 32 {
		small, large = float32(abs) < 1e-6, float32(abs) >= 1e21
	}
	if abs == 0 || !small && !large {
		return strconv.AppendFloat(dst, f, 'f', -1, bits)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, bits)
	// Go writes two digits of the exponent at least.
	if n := len(dst); dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}
