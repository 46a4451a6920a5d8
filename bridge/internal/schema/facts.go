package schema

import (
	"reflect"
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
)

// factBook holds what descriptors say whichever way a message travels. It is
// safe for concurrent use.
type factBook struct {
	messages sync.Map // protoreflect.MessageDescriptor -> *messageFacts
}

// messageFacts is what the descriptor of a message says.
type messageFacts struct {
	desc   protoreflect.MessageDescriptor
	doc    string
	once   sync.Once
	fields []fieldFacts
	shaped sync.Once
	json   *transcode.Shape // or nil
}

// shape returns how the JSON of the message differs from ProtoJSON, or nil.
func (f *messageFacts) shape() *transcode.Shape {
	f.shaped.Do(func() { f.json = transcode.ShapeOf(f.desc) })
	return f.json
}

// fieldFacts is what the descriptor of a field says.
type fieldFacts struct {
	fieldOptions
	doc        string
	example    string // JSON, or ""
	deprecated bool
}

func (b *factBook) of(md protoreflect.MessageDescriptor) *messageFacts {
	// Descriptors are pointers wherever they come from, but for those of
	// absent types; an unusual one may be no key of a map.
	usable := reflect.ValueOf(md).Comparable()
	if usable {
		if facts, ok := b.messages.Load(md); ok {
			return facts.(*messageFacts) //nolint:errcheck // nothing else is stored
		}
	}
	facts := &messageFacts{desc: md, doc: comment(md)}
	if facts.doc == "" {
		facts.doc = commonTypes[md.FullName()]
	}
	if usable {
		first, _ := b.messages.LoadOrStore(md, facts)
		return first.(*messageFacts) //nolint:errcheck // nothing else is stored
	}
	return facts
}

// read returns the facts of the fields, in their order.
func (f *messageFacts) read() []fieldFacts {
	f.once.Do(func() {
		fields := f.desc.Fields()
		f.fields = make([]fieldFacts, fields.Len())
		for i := range f.fields {
			fd := fields.Get(i)
			f.fields[i] = fieldFacts{fieldOptions: readFieldOptions(fd), doc: comment(fd), example: openapiExample(fd), deprecated: deprecated(fd)}
		}
	})
	return f.fields
}
