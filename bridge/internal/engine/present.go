package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// present makes the resources, prompts and completions of a catalog.
func (s *said) present(cfg *config, c *catalog, methods []protoreflect.MethodDescriptor) {
	descriptors := make(map[protoreflect.FullName]protoreflect.MethodDescriptor, len(methods))
	for _, method := range methods {
		descriptors[method.FullName()] = method
	}
	find := func(name string) (*tool, protoreflect.MethodDescriptor) {
		return c.byMethod(protoreflect.FullName(name)), descriptors[protoreflect.FullName(name)]
	}
	c.completions = make(map[protoreflect.FullName]*completion)
	uris, prompts := make(map[string]bool), make(map[string]bool)
	for _, method := range methods {
		name, o := method.FullName(), s.methods[method.FullName()]
		t := c.byMethod(name)
		if t == nil {
			continue // it cannot be called
		}
		var of []*resource
		if o.GetResource() == nil {
			of = namedResources(t, method)
		} else if res, err := newResource(cfg, t, method, o.GetResource()); err != nil {
			s.fault(cfg, name, "resource: %w", err)
		} else {
			of = []*resource{res}
			if watch := o.GetResource().GetWatch(); watch != "" {
				if to, md := find(watch); to == nil || !md.IsStreamingServer() || md.IsStreamingClient() {
					s.fault(cfg, name, "resource: watch: there is no server-streaming method %q among the tools", watch)
				} else {
					res.bindWatch(to, md)
				}
			}
		}
		for _, res := range of {
			if uris[res.uri] {
				s.fault(cfg, name, "resource: there is one with the URI %s already", res.uri)
				continue
			}
			uris[res.uri] = true
			c.resources = append(c.resources, res)
		}
		if o.GetPrompt() != nil {
			p, err := newPrompt(t, method, o.GetPrompt())
			if err == nil && prompts[p.name] {
				err = fmt.Errorf("there is one with the name %s already", p.name)
			}
			if err != nil {
				s.fault(cfg, name, "prompt: %w", err)
			} else {
				prompts[p.name] = true
				c.prompts = append(c.prompts, p)
				of = append(of, nil)
			}
		}
		if of != nil {
			s.complete(cfg, c, t, method.Input(), "", find)
		}
		s.confirmation(cfg, t, method)
	}
	slices.SortStableFunc(c.resources, func(a, b *resource) int {
		if a.static() != b.static() {
			if a.static() {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.uri, b.uri)
	})
	slices.SortFunc(c.prompts, func(a, b *prompt) int { return cmp.Compare(a.name, b.name) })
}

// maxInputs bounds the fields of a request that may be completed.
const maxInputs = 1000

// complete notes the fields of a request, with those of messages in it, and
// how they are completed.
func (s *said) complete(cfg *config, c *catalog, t *tool, md protoreflect.MessageDescriptor, prefix string, find func(string) (*tool, protoreflect.MethodDescriptor)) {
	if t.inputs == nil {
		t.inputs = make(map[string]protoreflect.FullName)
	}
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		path := prefix + fd.JSONName()
		if _, known := t.inputs[path]; known || len(t.inputs) == maxInputs {
			return
		}
		t.inputs[path] = fd.FullName()
		if sub := fd.Message(); sub != nil && !fd.IsList() && !fd.IsMap() && strings.Count(path, ".") < 4 {
			s.complete(cfg, c, t, sub, path+".", find)
		}
		if c.completions[fd.FullName()] != nil {
			continue
		}
		o, err := cfg.options.Field(fd)
		if err != nil {
			s.notes = append(s.notes, err.Error()+"; it is ignored")
		}
		of, err := newCompletion(fd, o.GetCompletion(), find)
		if err != nil {
			s.notes = append(s.notes, fmt.Sprintf("options of %s: %v; it is ignored", fd.FullName(), err))
		} else if of != nil {
			c.completions[fd.FullName()] = of
		}
	}
}
