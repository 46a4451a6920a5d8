package descriptor

import (
	"fmt"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// Types finds what the files of a [Set] define, by name. It is used
// concurrently.
//
// A file is kept as it came, without its comments, until something in it is
// asked for; only then it is linked, with those that it imports. An API of
// thousands of methods of which some are called takes the memory of those.
type Types struct {
	// files are the files that have not been linked, by path.
	files map[string][]byte
	// symbols says which file declares a top-level symbol, extensions which
	// one extends a message by a number.
	symbols    map[protoreflect.FullName]string
	extensions map[extension]string

	mu     sync.RWMutex
	linked *protoregistry.Files
	types  *dynamicpb.Types
}

type extension struct {
	message protoreflect.FullName
	number  protoreflect.FieldNumber
}

// newTypes returns the Types of linked, to which files are added later.
func newTypes(linked *protoregistry.Files) *Types {
	return &Types{
		files:      make(map[string][]byte),
		symbols:    make(map[protoreflect.FullName]string),
		extensions: make(map[extension]string),
		linked:     linked,
		types:      dynamicpb.NewTypes(linked),
	}
}

// add notes a file that can be linked, raw, and what it declares.
func (t *Types) add(file protoreflect.FileDescriptor, raw []byte) {
	path := file.Path()
	t.files[path] = raw
	for i := range file.Enums().Len() {
		t.symbols[file.Enums().Get(i).FullName()] = path
	}
	for i := range file.Services().Len() {
		t.symbols[file.Services().Get(i).FullName()] = path
	}
	extensions := func(all protoreflect.ExtensionDescriptors) {
		for i := range all.Len() {
			x := all.Get(i)
			t.extensions[extension{x.ContainingMessage().FullName(), x.Number()}] = path
		}
	}
	for i := range file.Extensions().Len() {
		t.symbols[file.Extensions().Get(i).FullName()] = path
	}
	extensions(file.Extensions())
	var messages func(protoreflect.MessageDescriptors)
	messages = func(all protoreflect.MessageDescriptors) {
		for i := range all.Len() {
			extensions(all.Get(i).Extensions())
			messages(all.Get(i).Messages())
		}
	}
	for i := range file.Messages().Len() {
		t.symbols[file.Messages().Get(i).FullName()] = path
	}
	messages(file.Messages())
}

// FindMessageByName returns the message type of that name, or
// [protoregistry.NotFound].
func (t *Types) FindMessageByName(name protoreflect.FullName) (protoreflect.MessageType, error) {
	defer t.reading(name)()
	return t.types.FindMessageByName(name)
}

// FindMessageByURL returns the message type that a URL names after its last
// slash, or [protoregistry.NotFound].
func (t *Types) FindMessageByURL(url string) (protoreflect.MessageType, error) {
	return t.FindMessageByName(protoreflect.FullName(url[strings.LastIndexByte(url, '/')+1:]))
}

// FindExtensionByName returns the extension of that name, or
// [protoregistry.NotFound].
func (t *Types) FindExtensionByName(name protoreflect.FullName) (protoreflect.ExtensionType, error) {
	defer t.reading(name)()
	return t.types.FindExtensionByName(name)
}

// FindExtensionByNumber returns the extension of a message by a number, or
// [protoregistry.NotFound].
func (t *Types) FindExtensionByNumber(message protoreflect.FullName, number protoreflect.FieldNumber) (protoreflect.ExtensionType, error) {
	if path, ok := t.extensions[extension{message, number}]; ok {
		t.link(path)
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.types.FindExtensionByNumber(message, number)
}

// FindMethod returns the method of that full name. It is the same one each
// time.
func (t *Types) FindMethod(name protoreflect.FullName) (protoreflect.MethodDescriptor, error) {
	defer t.reading(name)()
	d, err := t.linked.FindDescriptorByName(name)
	if err != nil {
		return nil, fmt.Errorf("there is no method %s in the descriptors", name)
	}
	method, ok := d.(protoreflect.MethodDescriptor)
	if !ok {
		return nil, fmt.Errorf("%s is no method", name)
	}
	return method, nil
}

// reading links the file that declares name and begins reading. What it
// returns ends that.
func (t *Types) reading(name protoreflect.FullName) (end func()) {
	for symbol := name; symbol != ""; symbol = symbol.Parent() {
		if path, ok := t.symbols[symbol]; ok {
			t.link(path)
			break
		}
	}
	t.mu.RLock()
	return t.mu.RUnlock
}

// link links a file and those it imports, unless they are.
func (t *Types) link(path string) {
	t.mu.RLock()
	_, err := t.linked.FindFileByPath(path)
	t.mu.RUnlock()
	if err == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.linkLocked(path)
}

// linkLocked links a file as it has been linked before, so that nothing can go
// wrong. If it did, what the file declares would not be found.
func (t *Types) linkLocked(path string) {
	raw, ok := t.files[path]
	if !ok {
		return
	}
	if _, err := t.linked.FindFileByPath(path); err == nil {
		return
	}
	fd := &descriptorpb.FileDescriptorProto{}
	if proto.Unmarshal(raw, fd) != nil {
		return
	}
	for _, dep := range fd.GetDependency() {
		t.linkLocked(dep)
	}
	if file, err := protodesc.NewFile(fd, resolver(t.linked)); err == nil {
		_ = t.linked.RegisterFile(file)
	}
}

// sourceInfo is the field of a FileDescriptorProto that has the comments.
const sourceInfo = 9

// withoutComments returns a serialised FileDescriptorProto without its source
// info.
func withoutComments(file []byte) []byte {
	out := make([]byte, 0, len(file)/2)
	for rest := file; len(rest) > 0; {
		num, typ, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return file
		}
		size := protowire.ConsumeFieldValue(num, typ, rest[n:])
		if size < 0 {
			return file
		}
		if num != sourceInfo {
			out = append(out, rest[:n+size]...)
		}
		rest = rest[n+size:]
	}
	return out
}
