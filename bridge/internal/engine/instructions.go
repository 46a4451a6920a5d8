package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/backend"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/schema"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
)

// maxServices bounds how many services the instructions name. Hosts show the
// instructions to the model with every request.
const maxServices = 20

// instructions is what a model is told of the server: what the author says, what
// is in it, and the conventions that hold for all its tools. Those that its schemas do
// not say by themselves are said here, once, and on no tool.
func instructions(cfg *config, methods []protoreflect.MethodDescriptor, served func(protoreflect.FullName) bool) string {
	var parts []string
	if cfg.Instructions != "" {
		parts = append(parts, cfg.Instructions)
	}
	u := usage{seen: make(map[protoreflect.FullName]bool)}
	var services []protoreflect.ServiceDescriptor
	tools := make(map[protoreflect.FullName]int)
	for _, m := range methods {
		if !served(m.FullName()) {
			continue
		}
		u.method(m)
		if s, ok := m.Parent().(protoreflect.ServiceDescriptor); ok {
			if tools[s.FullName()] == 0 {
				services = append(services, s)
			}
			tools[s.FullName()]++
		}
	}
	if len(services) > 0 {
		parts = append(parts, contents(services, tools), u.conventions(cfg.Output))
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n\n")
}

// contents says which services there are, those with most tools first.
func contents(services []protoreflect.ServiceDescriptor, tools map[protoreflect.FullName]int) string {
	slices.SortStableFunc(services, func(a, b protoreflect.ServiceDescriptor) int {
		return cmp.Or(cmp.Compare(tools[b.FullName()], tools[a.FullName()]), cmp.Compare(a.FullName(), b.FullName()))
	})
	lines := []string{"The tools are the methods of these services."}
	for _, s := range services[:min(len(services), maxServices)] {
		line := "- " + string(s.FullName())
		if about := schema.About(s); about != "" {
			line += ": " + about
		}
		lines = append(lines, line)
	}
	if n := len(services) - maxServices; n > 0 {
		lines = append(lines, fmt.Sprintf("- and %d more", n))
	}
	return strings.Join(lines, "\n")
}

// conventionsHead is the first line of the conventions. Where several APIs are served as
// one, package mux joins paragraphs that begin with one line, so it is the same for all.
const conventionsHead = "These conventions hold for all tools:"

// usage is what the messages of tools have that needs a convention.
type usage struct {
	integers, times, durations, bytes, masks bool

	pages, streams, optional bool

	seen map[protoreflect.FullName]bool
}

func (u *usage) method(m protoreflect.MethodDescriptor) {
	u.message(m.Input())
	u.message(m.Output())
	u.streams = u.streams || m.IsStreamingServer()
	in, out := m.Input().Fields(), m.Output().Fields()
	u.pages = u.pages || in.ByName("page_token") != nil && out.ByName("next_page_token") != nil
	u.optional = u.optional || out.Len() > 0 && !schema.Wrapped(m.Output())
}

func (u *usage) message(md protoreflect.MessageDescriptor) {
	if u.seen[md.FullName()] {
		return
	}
	u.seen[md.FullName()] = true
	switch md.FullName() {
	case "google.protobuf.Timestamp":
		u.times = true
		return
	case "google.protobuf.Duration":
		u.durations = true
		return
	case "google.protobuf.FieldMask":
		u.masks = true
		return
	case "google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.ListValue", "google.protobuf.Any":
		return
	}
	fields := md.Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		switch fd.Kind() { //nolint:exhaustive // the others need no word
		case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind, protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
			u.integers = true
		case protoreflect.BytesKind:
			u.bytes = true
		case protoreflect.MessageKind, protoreflect.GroupKind:
			u.message(fd.Message())
		}
	}
}

// conventions returns what holds for all tools.
func (u *usage) conventions(output transcode.Output) string {
	lines := []string{conventionsHead}
	say := func(cond bool, line string) {
		if cond {
			lines = append(lines, "- "+line)
		}
	}
	say(u.optional && output == transcode.Answers, "A result leaves out fields that are unset or empty.")
	say(u.optional && output == transcode.Canonical, "A result leaves out fields that are unset, empty, zero or false.")
	say(u.integers, `Integers of 64 bits are strings of digits, such as "9007199254740993".`)
	say(u.times, `Times are RFC 3339 with a time zone, such as "2026-01-31T12:00:00Z".`)
	say(u.durations, `Durations are seconds with the suffix s, such as "1.5s".`)
	say(u.bytes, "Bytes are base64 unless a field says otherwise.")
	say(u.masks, `A field mask lists the fields to read or change, by paths in lowerCamelCase: "title,author.name". What it does not name stays as it is.`)
	say(u.pages, "Lists come in pages: for the next one, call again with the nextPageToken of the result as pageToken and all else unchanged, until it is empty or absent.")
	say(u.streams, `Results of streams list the messages that came. "complete": false says that there may be more; `+backend.LimitsArgument+" asks for more or fewer.")
	if len(lines) == 1 {
		return ""
	}
	return strings.Join(lines, "\n")
}
