package bridge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

const spellProto = `
syntax = "proto3";
package spell.v1;
import "google/protobuf/duration.proto";
import "google/protobuf/wrappers.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/field_mask.proto";
service Spell {
  rpc One(All) returns (All) { option idempotency_level = NO_SIDE_EFFECTS; }
  rpc Many(stream All) returns (stream All);
  rpc Watch(All) returns (stream All);
}
message All {
  int32 small_number = 1;
  int64 large_number = 2;
  uint64 id = 3;
  double ratio = 4;
  bool is_open = 5;
  string given_name = 6;
  bytes raw_data = 7;
  Colour colour = 8;
  optional string maybe_text = 9;
  repeated int32 some_numbers = 10;
  repeated string names = 11;
  map<string, int64> counts = 12;
  map<int32, All> by_number = 13;
  All inner_part = 14;
  repeated All parts = 15;
  oneof choice { string text_choice = 16; All part_choice = 17; int64 number_choice = 18; }
  google.protobuf.Duration time_out = 19;
  google.protobuf.Int64Value wrapped_number = 20;
  google.protobuf.Value any_value = 21;
  google.protobuf.Timestamp created_at = 22;
  google.protobuf.FieldMask update_mask = 23;
  google.protobuf.Struct extra = 24;
}
enum Colour { COLOUR_UNSPECIFIED = 0; COLOUR_RED = 1; COLOUR_DARK_BLUE = 2; }
`

// spelling is an API whose calls are looked at and answered by nobody.
type spelling struct {
	*bridge.Bridge

	message protoreflect.MessageDescriptor
	sent    [][]byte // by the last call
}

func startSpelling(t *testing.T) *spelling {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "spell.proto"), []byte(spellProto), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &spelling{}
	caller := rpc.CallerFunc(func(_ context.Context, c *rpc.Call, receive func([]byte) error) (*rpc.Trailer, error) {
		s.sent = c.Requests
		return &rpc.Trailer{}, receive(nil)
	})
	source := bridge.ProtoFiles([]string{dir}, nil)
	var err error
	if s.Bridge, err = bridge.New(t.Context(), []bridge.Upstream{{Caller: caller, Descriptors: source}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	loaded, err := source.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	files, err := protodesc.NewFiles(loaded.Files())
	if err != nil {
		t.Fatal(err)
	}
	d, err := files.FindDescriptorByName("spell.v1.All")
	if err != nil {
		t.Fatal(err)
	}
	s.message = d.(protoreflect.MessageDescriptor)
	return s
}

// send calls a tool and returns the messages that went out.
func (s *spelling) send(t *testing.T, r *protocol.Request) []proto.Message {
	t.Helper()
	s.sent = nil
	if res, err := s.Handle(t.Context(), r, protocol.Discard); err != nil || strings.Contains(string(res.Body), `"isError":true`) {
		t.Fatalf("%s: %v, %+v", r.Params, err, res)
	}
	messages := make([]proto.Message, len(s.sent))
	for i, wire := range s.sent {
		messages[i] = dynamicpb.NewMessage(s.message)
		if err := proto.Unmarshal(wire, messages[i]); err != nil {
			t.Fatal(err)
		}
	}
	return messages
}

// resolved returns the canonical message of a request, and the request that sends
// it.
func (s *spelling) resolved(t *testing.T, r *protocol.Request) (json.RawMessage, *protocol.Request) {
	t.Helper()
	res, err := s.Resolve(t.Context(), r)
	if err != nil || res == nil {
		t.Fatalf("%s: resolution %+v, error %v", r.Params, res, err)
	}
	message, sends, err := res.Message()
	if err != nil {
		t.Fatalf("%s: %v", r.Params, err)
	}
	return message, sends
}

// However a message is spelled, it is decided in its one canonical form, which is
// that of protojson, and what is then sent is the message that the client meant.
func TestResolveSpellings(t *testing.T) {
	t.Parallel()
	s := startSpelling(t)
	for seed := range uint64(400) {
		speller := speller{rand.New(rand.NewPCG(seed, 7)), s.message}
		want := dynamicpb.NewMessage(s.message)
		speller.fill(want, 3)
		canonical, err := protojson.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		spelled := speller.object(canonical, s.message)
		r := request(protocol.MethodCallTool, `{"name":"Spell_One","arguments":`+string(spelled)+`,"_meta":{"a":1}}`)
		message, sends := s.resolved(t, r)
		if got := string(message); got != string(jsontok.AppendCompact(nil, canonical)) {
			t.Fatalf("seed %d: %s\nbecomes %s\nwant    %s", seed, spelled, got, canonical)
		}
		for _, r := range []*protocol.Request{r, sends} {
			if got := s.send(t, r); len(got) != 1 || !proto.Equal(got[0], want) {
				t.Fatalf("seed %d: %s\nsent %v\nwant %v", seed, r.Params, got, want)
			}
		}
		first := s.sent[0]
		message, again := s.resolved(t, sends)
		if string(again.Params) != string(sends.Params) {
			t.Fatalf("seed %d: %s becomes %s", seed, sends.Params, again.Params)
		}
		if s.send(t, again); !bytes.Equal(first, s.sent[0]) || string(message) != string(jsontok.AppendCompact(nil, canonical)) {
			t.Fatalf("seed %d: the canonical request sends %x, and again %x", seed, first, s.sent[0])
		}
	}
}

// speller makes messages, and writes their JSON in the ways that are accepted.
type speller struct {
	*rand.Rand
	message protoreflect.MessageDescriptor
}

func (s speller) fill(m protoreflect.Message, depth int) {
	for i := range m.Descriptor().Fields().Len() {
		fd := m.Descriptor().Fields().Get(i)
		if s.IntN(3) > 0 {
			continue
		}
		switch {
		case fd.IsMap():
			for range s.IntN(3) {
				key := protoreflect.ValueOfString(s.word()).MapKey()
				if fd.MapKey().Kind() == protoreflect.Int32Kind {
					key = protoreflect.ValueOfInt32(s.Int32()).MapKey()
				}
				if v, ok := s.value(fd.MapValue(), m.NewField(fd).Map().NewValue, depth); ok {
					m.Mutable(fd).Map().Set(key, v)
				}
			}
		case fd.IsList():
			for range s.IntN(3) {
				if v, ok := s.value(fd, m.NewField(fd).List().NewElement, depth); ok {
					m.Mutable(fd).List().Append(v)
				}
			}
		default:
			if v, ok := s.value(fd, func() protoreflect.Value { return m.NewField(fd) }, depth); ok {
				m.Set(fd, v)
			}
		}
	}
}

func (s speller) word() string {
	return []string{"", "a", "Ünder", "two words", "42", "true"}[s.IntN(6)]
}

func (s speller) value(fd protoreflect.FieldDescriptor, empty func() protoreflect.Value, depth int) (protoreflect.Value, bool) {
	switch fd.Kind() {
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(s.Int32() - 1<<30), true
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(s.Int64() >> s.IntN(60)), true
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(s.Uint64()), true
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(s.Float64() * 1e6), true
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(s.IntN(2) == 0), true
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(s.word()), true
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte(s.word())), true
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(s.IntN(3))), true
	default: // a message
	}
	v := empty()
	if depth == 0 || !s.special(v.Message(), depth) {
		return v, false
	}
	return v, true
}

// special fills a message.
func (s speller) special(m protoreflect.Message, depth int) bool {
	set := func(number protoreflect.FieldNumber, value any) {
		m.Set(m.Descriptor().Fields().ByNumber(number), protoreflect.ValueOf(value))
	}
	switch m.Descriptor().Name() {
	case "All":
		s.fill(m, depth-1)
	case "Duration":
		set(1, s.Int64N(100000))
	case "Timestamp":
		set(1, s.Int64N(1<<32))
	case "Int64Value":
		set(1, s.Int64())
	case "FieldMask":
		m.Mutable(m.Descriptor().Fields().ByNumber(1)).List().Append(protoreflect.ValueOfString("small_number"))
	case "Value":
		set(3, s.word())
	case "Struct":
		m.Mutable(m.Descriptor().Fields().ByNumber(1)) // empty
	}
	return true
}

// object writes the JSON of a message in another way, in another order.
func (s speller) object(canonical []byte, md protoreflect.MessageDescriptor) []byte {
	var members [][]byte
	var wrapped []byte
	_ = jsontok.Object(canonical, func(key, value []byte) error {
		fd := md.Fields().ByJSONName(string(key))
		name := fd.JSONName()
		if s.IntN(2) == 0 {
			name = string(fd.Name())
		}
		written := s.field(fd, value)
		member := append(jsontok.AppendString(nil, name), ':')
		member = append(member, written...)
		if one := fd.ContainingOneof(); one != nil && !one.IsSynthetic() && s.IntN(2) == 0 {
			wrapped = append(append([]byte(`"choice":{`), member...), '}')
			return nil
		}
		if s.IntN(8) == 0 { // escapes mean the same
			member = append([]byte(fmt.Sprintf(`"\u%04x`, name[0])), member[2:]...)
		}
		members = append(members, member)
		return nil
	})
	if wrapped != nil {
		members = append(members, wrapped)
	}
	s.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return append(append([]byte{'{'}, bytes.Join(members, []byte(", "))...), '}')
}

func (s speller) field(fd protoreflect.FieldDescriptor, value []byte) []byte {
	switch {
	case fd.IsMap():
		var members [][]byte
		_ = jsontok.Object(value, func(key, value []byte) error {
			members = append(members, append(append(jsontok.AppendString(nil, string(key)), ':'), s.single(fd.MapValue(), value)...))
			return nil
		})
		value = append(append([]byte{'{'}, bytes.Join(members, []byte(","))...), '}')
	case fd.IsList():
		var elements [][]byte
		_ = jsontok.Array(value, func(_ int, value []byte) error {
			elements = append(elements, s.single(fd, value))
			return nil
		})
		if len(elements) == 1 && fd.Kind() == protoreflect.Int32Kind && s.IntN(2) == 0 {
			return elements[0]
		}
		value = append(append([]byte{'['}, bytes.Join(elements, []byte(","))...), ']')
	default:
		return s.single(fd, value)
	}
	return s.stringified(value)
}

// stringified puts an object or an array into a string, as hosts do.
func (s speller) stringified(value []byte) []byte {
	if s.IntN(4) == 0 {
		return jsontok.AppendString(nil, value)
	}
	return value
}

func (s speller) single(fd protoreflect.FieldDescriptor, value []byte) []byte {
	text, quoted := jsontok.String(value)
	switch fd.Kind() {
	case protoreflect.Int32Kind, protoreflect.BoolKind, protoreflect.DoubleKind:
		if s.IntN(2) == 0 {
			return jsontok.AppendString(nil, value)
		}
	case protoreflect.Int64Kind, protoreflect.Uint64Kind:
		if n, err := strconv.ParseInt(text, 10, 64); quoted && err == nil && n < 1<<53 && n > -1<<53 && s.IntN(2) == 0 {
			return []byte(text)
		}
	case protoreflect.EnumKind:
		number := fd.Enum().Values().ByName(protoreflect.Name(text)).Number()
		return [][]byte{
			value, []byte(strconv.Itoa(int(number))), []byte(strings.ToLower(string(value))),
			[]byte(strings.Replace(string(value), "COLOUR_", "", 1)),
		}[s.IntN(4)]
	case protoreflect.MessageKind:
		switch fd.Message().Name() {
		case "All":
			return s.stringified(s.object(value, fd.Message()))
		case "Duration":
			d, _ := time.ParseDuration(text)
			return jsontok.AppendString(nil, []string{text, d.String()}[s.IntN(2)])
		case "FieldMask":
			return [][]byte{value, []byte(`["small_number"]`), []byte(`"small_number"`), []byte(`{"paths":["small_number"]}`)}[s.IntN(4)]
		}
	default: // there is one way to write it
	}
	return value
}

// Streams have a list of messages, and limits that are no part of it.
func TestResolveStreams(t *testing.T) {
	t.Parallel()
	s := startSpelling(t)
	for _, tt := range []struct{ tool, arguments, message, sends string }{
		{"Many", `{"messages":"[{\"small_number\":\"1\"},{}]"}`, `{"messages":[{"smallNumber":1},{}]}`, `{"messages":[{"smallNumber":1},{}]}`},
		{"Many", `{"messages":{"colour":"red"},"_limits":{"messages":"2","seconds":2.5}}`,
			`{"messages":[{"colour":"COLOUR_RED"}]}`, `{"messages":[{"colour":"COLOUR_RED"}],"_limits":{"messages":2,"bytes":65536,"seconds":2.5}}`},
		{"Many", `{"messages":null,"_limits":null}`, `{"messages":[]}`, `{"messages":[]}`},
		{"Watch", `{"_limits":"{\"bytes\":5}","is_open":"true"}`, `{"isOpen":true}`, `{"isOpen":true,"_limits":{"messages":100,"bytes":5,"seconds":30}}`},
	} {
		r := request(protocol.MethodCallTool, `{"arguments":`+tt.arguments+`,"name":"Spell_`+tt.tool+`"}`)
		message, sends := s.resolved(t, r)
		if want := `{"arguments":` + tt.sends + `,"name":"Spell_` + tt.tool + `"}`; string(message) != tt.message || string(sends.Params) != want {
			t.Errorf("%s\nis %s, want %s\nsent as %s, want %s", tt.arguments, message, tt.message, sends.Params, want)
		}
		if a, b := s.send(t, r), s.send(t, sends); !slices.EqualFunc(a, b, proto.Equal) {
			t.Errorf("%s sends %v, and in the canonical form %v", tt.arguments, a, b)
		}
	}
}

// What the bridge would refuse runs nothing, and so does what needs no RPC.
func TestResolveNothing(t *testing.T) {
	t.Parallel()
	s := startSpelling(t)
	for _, tt := range []struct{ method, params string }{
		{protocol.MethodCallTool, `{"name":"Spell_None"}`},
		{protocol.MethodCallTool, `{"name":7}`},
		{protocol.MethodCallTool, `{"name":"Spell_One","arguments":[]}`},
		{protocol.MethodListTools, `{}`},
		{protocol.MethodGetPrompt, `{"name":"p"}`},
		{protocol.MethodReadResource, `{"uri":"a:b"}`},
		{protocol.MethodComplete, `{"ref":{"type":"ref/prompt","name":"p"}}`},
		{protocol.MethodGetTask, `{"taskId":"t"}`},
	} {
		if res, err := s.Resolve(t.Context(), request(tt.method, tt.params)); res.RPC != "" || res.Message != nil || err != nil {
			t.Errorf("%s %s: %+v, %v", tt.method, tt.params, res, err)
		}
	}
	// Arguments that are wrong have an RPC, and no message.
	res, err := s.Resolve(t.Context(), request(protocol.MethodCallTool, `{"name":"Spell_One","arguments":{"nope":1}}`))
	if err != nil || res.RPC != "spell.v1.Spell.One" || res.Hints != (protocol.Hints{ReadOnly: true, Idempotent: true, OpenWorld: true}) {
		t.Fatalf("%+v, %v", res, err)
	}
	if message, r, err := res.Message(); err == nil || message != nil || r != nil {
		t.Errorf("wrong arguments become %s", message)
	}
}

// Prompts, resources, completions and tasks have the RPC that they run.
func TestResolvePresented(t *testing.T) {
	t.Parallel()
	b := start(t, startNotes(t).Backend)
	bakery := start(t, startBakery(t).Backend)
	task := bakeTask(t, bakery)
	for _, tt := range []struct {
		h                         *bridge.Bridge
		method, params, rpc, want string
	}{
		{b, protocol.MethodGetPrompt, `{"name":"summ\u0061rise","arguments":{"id":"7","kind":"short","copies":"2"}}`, "present.v1.Notes.Summarise", `{"id":"7","kind":"KIND_SHORT","copies":2}`},
		{b, protocol.MethodReadResource, `{"uri":"notes://7?kind=1"}`, "present.v1.Notes.GetNote", `{"id":"7","kind":"KIND_SHORT"}`},
		{b, protocol.MethodReadResource, `{"uri":"notes:all"}`, "present.v1.Notes.GetAll", `{}`},
		{b, protocol.MethodComplete, `{"ref":{"type":"ref/prompt","name":"summarise"},"argument":{"name":"id","value":"x"},"context":{"arguments":{"kind":"long","prefix":"y"}}}`, "present.v1.Notes.ListIds", `{"prefix":"x","kind":"KIND_LONG"}`},
		{bakery, protocol.MethodGetTask, task, "jobs.v1.Jobs.Bake", `{}`},
		{bakery, protocol.MethodCancelTask, task, "jobs.v1.Jobs.Bake", `{}`},
	} {
		r := follower(tt.method, tt.params)
		res, err := tt.h.Resolve(t.Context(), r)
		if err != nil || res == nil || res.RPC != tt.rpc {
			t.Errorf("%s %s: %+v, %v", tt.method, tt.params, res, err)
			continue
		}
		message, sends, err := res.Message()
		if err != nil || string(message) != tt.want {
			t.Errorf("%s %s: %s, %v", tt.method, tt.params, message, err)
			continue
		}
		if _, err := tt.h.Handle(t.Context(), sends, protocol.Discard); err != nil {
			t.Errorf("%s %s: %v", tt.method, sends.Params, err)
		}
	}
	theirs := follower(protocol.MethodGetTask, task)
	theirs.Caller.Principal = protocol.AnonymousPrincipal("", "other")
	if res, err := bakery.Resolve(t.Context(), theirs); res.RPC != "" || err != nil {
		t.Errorf("somebody else's task: %+v, %v", res, err)
	}
	if res, err := b.Resolve(t.Context(), request(protocol.MethodComplete, `{"ref":{"type":"ref/prompt","name":"summarise"},"argument":{"name":"kind","value":""}}`)); res.RPC != "" || err != nil {
		t.Errorf("the values of an enum: %+v, %v", res, err)
	}
}

// A request that carries the pin of its resolution runs what it was resolved to, and
// nothing where that was nothing, whatever is served since.
func TestResolvePinned(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	b, err := bridge.New(t.Context(), []bridge.Upstream{{Caller: w, Descriptors: w}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	requests := []*protocol.Request{
		request(protocol.MethodReadResource, `{"uri":"polled:it"}`),
		request(protocol.MethodCallTool, `{"name":"Watched_Poll"}`),
		request(protocol.MethodCallTool, `{"name":"Watched_Again"}`),
	}
	pinned := make([]*protocol.Request, len(requests))
	for i, want := range []string{"watched.v1.Watched.Poll", "watched.v1.Watched.Poll", ""} {
		res, err := b.Resolve(t.Context(), requests[i])
		if err != nil || res.RPC != want || res.Pin == nil {
			t.Fatalf("%s: %+v, %v", requests[i].Params, res, err)
		}
		own := *requests[i]
		own.Pin = res.Pin
		pinned[i] = &own
	}
	w.set(func() { w.poll = "Again" })
	if changed, err := b.Refresh(t.Context()); !changed || err != nil {
		t.Fatal(changed, err)
	}
	for _, tt := range []struct {
		requests []*protocol.Request
		want     [][]string
	}{
		{pinned, [][]string{{"Poll "}, {"Poll "}, nil}},
		{requests, [][]string{{"Again "}, nil, {"Again "}}},
	} {
		for i, r := range tt.requests {
			_, err := b.Handle(t.Context(), r, protocol.Discard)
			if got := w.taken(); !slices.Equal(got, tt.want[i]) || (err == nil) != (got != nil) {
				t.Errorf("%s called %q, %v; want %q", r.Params, got, err, tt.want[i])
			}
		}
	}
	// A message of the resolution is resolved again by the same pin.
	res, err := b.Resolve(t.Context(), pinned[0])
	if err != nil || res.RPC != "watched.v1.Watched.Poll" || res.Pin != pinned[0].Pin {
		t.Errorf("again: %+v, %v", res, err)
	}
}

// What tells of the changes of a resource is named, and what reads a template.
func TestResolveWatch(t *testing.T) {
	t.Parallel()
	b := start(t, startNotes(t).Backend)
	w := newWatched(t)
	watching, err := bridge.New(t.Context(), []bridge.Upstream{{Caller: w, Descriptors: w}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(watching.Close)
	listen := func(uris string) *protocol.Request {
		return request(protocol.MethodListen, `{"notifications":{"resourceSubscriptions":[`+uris+`]}}`)
	}
	for _, tt := range []struct {
		h       *bridge.Bridge
		r       *protocol.Request
		rpc     string
		message string
	}{
		{watching, listen(`"polled:it"`), "watched.v1.Watched.Poll", "{}"},
		{watching, listen(`"followed:it"`), "watched.v1.Watched.Follow", "{}"},
		{watching, listen(`"nothing:it"`), "", ""},
		{watching, listen(`7`), "", ""},
		{watching, listen(`"polled:it","followed:it"`), "", ""},
		{watching, listen(``), "", ""},
		{b, listen(`"notes:all"`), "present.v1.Notes.GetAll", "{}"},
		{b, listen(`"notes://7?kind=1"`), "present.v1.Notes.WatchNote", `{"id":"7","kind":"KIND_SHORT"}`},
		{b, listen(`"pictures://7"`), "", ""},
		{b, request(protocol.MethodReadResource, `{"uri":"notes://{id}{?kind}"}`), "present.v1.Notes.GetNote", ""},
	} {
		res, err := tt.h.Resolve(t.Context(), tt.r)
		if err != nil || res.RPC != tt.rpc || (res.Message != nil) != (tt.message != "") {
			t.Errorf("%s: %+v, %v; want %s", tt.r.Params, res, err, tt.rpc)
			continue
		}
		if res.Message == nil {
			continue
		}
		if message, _, err := res.Message(); err != nil || string(message) != tt.message {
			t.Errorf("%s: %s, %v", tt.r.Params, message, err)
		}
	}
}
