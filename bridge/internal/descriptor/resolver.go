package descriptor

import (
	"context"
	"maps"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
)

const (
	// maxFoundBytes bounds the files that are asked for because of one type.
	maxFoundBytes = 4 << 20
	// maxFound bounds the types that were found in this way, maxMissed the names of
	// which it is known that there is none.
	maxFound  = 256
	maxMissed = 1000
	// findTimeout bounds the wait for one type. A backend that does not answer is
	// not asked again for findPause, which is also how long it is known at least
	// that a type does not exist.
	findTimeout = 5 * time.Second
	findPause   = time.Minute
)

// Resolver finds the types that messages name, such as those in an Any: in the
// files of a [Set], in the program, and then where the set came from. It is used
// concurrently. One caller at a time waits for the source, and the others for
// that one.
type Resolver struct {
	*Types

	find    func(context.Context, protoreflect.FullName) (*Set, error)
	prepare func(*Set) (*Set, error)

	// asking is held while the source is asked, mu to read or change found. With
	// asking held, found does not change.
	asking, mu sync.Mutex
	// found has nil for types that do not exist; missed counts those.
	found  map[protoreflect.FullName]protoreflect.MessageType
	missed int
	// since is when the first of those was asked for, and until is until when
	// nothing is asked for.
	since, until time.Time
}

// NewResolver returns the Resolver of a set, which it does not keep. Prepare
// returns what is to be used of files that come later. It may be nil.
func NewResolver(s *Set, prepare func(*Set) (*Set, error)) *Resolver {
	if prepare == nil {
		prepare = func(s *Set) (*Set, error) { return s, nil }
	}
	return &Resolver{Types: s.types, find: s.find, prepare: prepare, found: make(map[protoreflect.FullName]protoreflect.MessageType)}
}

// FindMessageByName returns the message type of that name, or
// [protoregistry.NotFound].
func (r *Resolver) FindMessageByName(name protoreflect.FullName) (protoreflect.MessageType, error) {
	if typ, err := r.Types.FindMessageByName(name); err == nil {
		return typ, nil
	}
	if d, err := program().FindDescriptorByName(name); err == nil {
		if md, ok := d.(protoreflect.MessageDescriptor); ok {
			return dynamicpb.NewMessageType(md), nil
		}
		return nil, protoregistry.NotFound
	}
	if r.find == nil || !name.IsValid() || len(name) > maxName {
		return nil, protoregistry.NotFound
	}
	typ, known := r.known(name)
	if !known {
		typ = r.ask(name)
	}
	if typ == nil {
		return nil, protoregistry.NotFound
	}
	return typ, nil
}

// known returns the type of that name, or nil, if the source has been asked.
func (r *Resolver) known(name protoreflect.FullName) (typ protoreflect.MessageType, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	typ, known = r.found[name]
	return typ, known
}

// maxName bounds the names that a source is asked for.
const maxName = 512

// ask asks the source for a type, and returns nil where it has none or cannot be
// asked now.
func (r *Resolver) ask(name protoreflect.FullName) protoreflect.MessageType {
	r.asking.Lock()
	defer r.asking.Unlock()
	if typ, known := r.known(name); known {
		return typ
	}
	now := time.Now()
	if r.missed >= maxMissed && now.Sub(r.since) > findPause {
		r.mu.Lock()
		maps.DeleteFunc(r.found, func(_ protoreflect.FullName, typ protoreflect.MessageType) bool { return typ == nil })
		r.mu.Unlock()
		r.missed = 0
	}
	if now.Before(r.until) || r.missed >= maxMissed || len(r.found)-r.missed >= maxFound {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), findTimeout)
	defer cancel()
	set, err := r.find(ctx, name)
	if err != nil {
		r.until = time.Now().Add(findPause)
		return nil
	}
	var typ protoreflect.MessageType
	if set, err = r.prepare(set); err == nil {
		if found, err := set.types.FindMessageByName(name); err == nil {
			typ = found
		}
	}
	if typ == nil {
		if r.missed++; r.missed == 1 {
			r.since = now
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found[name] = typ
	return typ
}

// FindMessageByURL returns the message type that a URL names after its last
// slash, or [protoregistry.NotFound].
func (r *Resolver) FindMessageByURL(url string) (protoreflect.MessageType, error) {
	return r.FindMessageByName(protoreflect.FullName(url[strings.LastIndexByte(url, '/')+1:]))
}

// FindExtensionByName returns the extension of that name in the files of the set
// or in the program, or [protoregistry.NotFound].
func (r *Resolver) FindExtensionByName(name protoreflect.FullName) (protoreflect.ExtensionType, error) {
	if typ, err := r.Types.FindExtensionByName(name); err == nil {
		return typ, nil
	}
	return protoregistry.GlobalTypes.FindExtensionByName(name)
}

// FindExtensionByNumber is FindExtensionByName by the message and the number.
func (r *Resolver) FindExtensionByNumber(message protoreflect.FullName, number protoreflect.FieldNumber) (protoreflect.ExtensionType, error) {
	if typ, err := r.Types.FindExtensionByNumber(message, number); err == nil {
		return typ, nil
	}
	return protoregistry.GlobalTypes.FindExtensionByNumber(message, number)
}
