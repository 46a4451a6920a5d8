package transcode

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// extensionSet are the extensions of a message type that were met so far. It
// is replaced, not changed.
type extensionSet struct {
	list     []*field
	byNumber map[protowire.Number]*field
}

// extensionByNumber returns the extension of that number. It returns nil if
// there is none, and an error if the resolver fails.
func (p *plan) extensionByNumber(n protowire.Number) (*field, error) {
	if !p.extensible {
		return nil, nil
	}
	if s := p.extensions.Load(); s != nil {
		if f := s.byNumber[n]; f != nil {
			return f, nil
		}
	}
	if !p.desc.ExtensionRanges().Has(n) {
		return nil, nil
	}
	typ, err := p.compiler.resolver.FindExtensionByNumber(p.desc.FullName(), n)
	switch {
	case errors.Is(err, protoregistry.NotFound):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("the extension %d of %s cannot be resolved: %s", n, p.desc.FullName(), cleanText(err))
	case typ == nil || typ.TypeDescriptor().Number() != n:
		return nil, nil
	}
	return p.compiler.addExtension(p, typ.TypeDescriptor()), nil
}

// addExtension makes a field of an extension, the same one each time.
func (c *Compiler) addExtension(p *plan, fd protoreflect.FieldDescriptor) *field {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := extensionSet{byNumber: map[protowire.Number]*field{}}
	if s := p.extensions.Load(); s != nil {
		if f := s.byNumber[fd.Number()]; f != nil {
			return f
		}
		next.list = s.list
		maps.Copy(next.byNumber, s.byNumber)
	}
	f := new(field)
	c.fill(f, fd)
	f.slot = int32(len(p.fields) + len(next.list)) //nolint:gosec // files have no more fields than that
	f.incomplete = f.message != nil && !c.complete(f.message)
	next.list = append(slices.Clip(next.list), f)
	next.byNumber[f.number] = f
	p.extensions.Store(&next)
	return f
}

// at returns the field or extension of a slot.
func (p *plan) at(slot int32) *field {
	if int(slot) < len(p.fields) {
		return &p.fields[slot]
	}
	return p.extensions.Load().list[int(slot)-len(p.fields)]
}

// maxURLs and maxURL bound what a compiler remembers of the URLs in Any, which
// come from peers.
const (
	maxURLs = 256
	maxURL  = 256
)

// byURL returns the plan of the message type that the URL of an Any names, or
// nil if that is not known or not complete.
func (c *Compiler) byURL(url []byte) *plan {
	known := c.urls.Load()
	if known != nil {
		if p := (*known)[string(url)]; p != nil {
			return p
		}
	}
	typ, err := c.findMessage(string(url))
	if err != nil {
		return nil
	}
	p := c.plan(typ.Descriptor())
	c.mu.Lock()
	defer c.mu.Unlock()
	if known = c.urls.Load(); len(url) > maxURL || known != nil && len(*known) >= maxURLs {
		return p
	}
	next := map[string]*plan{string(url): p}
	if known != nil {
		maps.Copy(next, *known)
	}
	c.urls.Store(&next)
	return p
}
