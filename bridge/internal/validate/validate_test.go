package validate_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	rulespb "buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/validate"
)

const rules = `
extend buf.validate.StringRules {
  bool shouty = 80001 [(buf.validate.predefined).cel = {
    id: "string.shouty" message: "must be upper case" expression: "!rule || this == this.upperAscii()"
  }];
}
extend buf.validate.Int32Rules {
  int32 multiple = 80002 [(buf.validate.predefined).cel = {
    id: "int32.multiple"
    expression: "this % rule == 0 ? '' : 'must be a multiple of %d'.format([rule])"
  }];
}
message Plain { string text = 1; Plain next = 2; Bare bare = 3; }
message Bare { int32 n = 1; }
message Book {
  string display_name = 1 [(buf.validate.field).string = {min_len: 3, max_len: 10}];
  int32 page_count = 2 [(buf.validate.field).int32.gte = 0];
  repeated Author authors = 3 [(buf.validate.field).repeated.max_items = 3];
  map<string, string> labels = 4 [(buf.validate.field).map = {
    keys: {string: {pattern: "^[a-z]+$"}} values: {string: {max_len: 3}}
  }];
  Book sequel = 5;
}
message Author { string full_name = 1 [(buf.validate.field).required = true]; map<int32, Bar> bars = 2; }
message Bar { string id = 1 [(buf.validate.field).string.uuid = true]; }
message GetRequest { Book the_book = 1; }
message Predefined {
  string code = 1 [(buf.validate.field).string.(shouty) = true];
  int32 dozens = 2 [(buf.validate.field).int32.(multiple) = 12];
  repeated string codes = 3 [(buf.validate.field).repeated.items.string.(shouty) = true];
}
message Cel {
  option (buf.validate.message).cel = {
    id: "order" message: "start_day must not be after end_day" expression: "this.start_day <= this.end_day"
  };
  option (buf.validate.message).cel_expression = "size(this.names) < 3";
  int32 start_day = 1;
  int32 end_day = 2;
  repeated string names = 3 [(buf.validate.field).cel_expression = "this.all(x, x.startsWith('n'))"];
  google.protobuf.Duration wait = 4 [(buf.validate.field).cel = {
    id: "wait" expression: "this < duration('10s') ? '' : 'must be less than ten seconds'"
  }];
  Book book = 5 [(buf.validate.field).cel = { id: "book" message: "must have pages" expression: "this.page_count > 0" }];
}
message Choice {
  option (buf.validate.message).oneof = { fields: ["a", "b"], required: true };
  string a = 1;
  string b = 2;
  oneof pick { option (buf.validate.oneof).required = true; string c = 3; string d = 4; }
}
message Ignored {
  string always = 1 [(buf.validate.field).ignore = IGNORE_ALWAYS, (buf.validate.field).string.min_len = 3];
  string zero = 2 [(buf.validate.field).ignore = IGNORE_IF_ZERO_VALUE, (buf.validate.field).string.min_len = 3];
}
enum Color { COLOR_UNSPECIFIED = 0; COLOR_RED = 1; COLOR_BLUE = 2; }
message Kinds {
  Color color = 1 [(buf.validate.field).enum = {not_in: [0]}];
  google.protobuf.Timestamp at = 2 [(buf.validate.field).timestamp.gt = {seconds: 100}];
  google.protobuf.StringValue maybe = 3 [(buf.validate.field).string.min_len = 2];
  google.protobuf.Any any = 4 [(buf.validate.field).any.in = "type.googleapis.com/t.v1.Bar"];
  bytes data = 5 [(buf.validate.field).bytes.max_len = 2];
  double ratio = 6 [(buf.validate.field).double = {finite: true, lt: 1}];
  bool agreed = 7 [(buf.validate.field).bool.const = true];
  uint64 big = 8 [(buf.validate.field).uint64.lt = 10];
}
`

func TestCheck(t *testing.T) {
	t.Parallel()
	tests := []struct {
		message, arguments string
		want               []string
	}{
		{"Book", `{"displayName":"Dune"}`, nil},
		{"Book", `{"displayName":"xy","pageCount":-1}`, []string{
			`displayName: must be at least 3 characters, got "xy"`,
			`pageCount: must be greater than or equal to 0, got -1`,
		}},
		{"Book", `{}`, []string{`displayName: is required (left out, it counts as ""): must be at least 3 characters`}},
		{"GetRequest", `{"theBook":{"displayName":"Dune","authors":[{"fullName":"F"},{},{"fullName":"H","bars":{"-7":{"id":"x"}}}]}}`, []string{
			`theBook.authors[1].fullName: value is required`,
			`theBook.authors[2].bars["-7"].id: must be a valid UUID, got "x"`,
		}},
		{"GetRequest", `{"theBook":{"displayName":"Dune","labels":{"ok":"long","B":"x","A":"y"},"sequel":{"displayName":"D","authors":[{}]}}}`, []string{
			`theBook.labels["A"]: the key: does not match regex pattern ` + "`^[a-z]+$`",
			`theBook.labels["B"]: the key: does not match regex pattern ` + "`^[a-z]+$`",
			`theBook.labels["ok"]: must be at most 3 characters, got "long"`,
			`theBook.sequel.displayName: must be at least 3 characters, got "D"`,
			`theBook.sequel.authors[0].fullName: value is required`,
		}},
		{"Predefined", `{"code":"LOUD","dozens":24,"codes":["A"]}`, nil},
		{"Predefined", `{"code":"loud","dozens":25,"codes":["A","b"]}`, []string{
			`code: must be upper case, got "loud"`,
			`dozens: must be a multiple of 12, got 25`,
			`codes[1]: must be upper case, got "b"`,
		}},
		{"Cel", `{"startDay":1,"endDay":2,"names":["n1"],"wait":"3s","book":{"displayName":"Dune","pageCount":1}}`, nil},
		{"Cel", `{"startDay":2,"endDay":1,"names":["n1","b","c"],"wait":"30s","book":{"displayName":"Dune"}}`, []string{
			`"size(this.names) < 3" returned false`,
			`start_day must not be after end_day`,
			`names: "this.all(x, x.startsWith('n'))" returned false`,
			`wait: must be less than ten seconds`,
			`book: must have pages`,
		}},
		{"Choice", `{"a":"x","c":"y"}`, nil},
		{"Choice", `{"a":"x","b":"y"}`, []string{
			`only one of a, b can be set`,
			`pick: exactly one field is required in oneof`,
		}},
		{"Ignored", `{"always":"a"}`, nil},
		{"Ignored", `{"zero":"a"}`, []string{`zero: must be at least 3 characters, got "a"`}},
		{"Kinds", `{"agreed":true}`, []string{`color: is required (left out, it counts as COLOR_UNSPECIFIED): must not be in list [0]`}},
		{"Kinds", `{"color":"COLOR_RED","at":"1970-01-01T00:00:01Z","maybe":"a","any":{"@type":"type.googleapis.com/t.v1.Book"},"data":"AAAA","ratio":2.5,"big":"18446744073709551615"}`, []string{
			`at: must be greater than 1970-01-01T00:01:40Z`,
			`maybe: must be at least 2 characters, got "a"`,
			`any: type URL must be in the allow list`,
			`data: must be at most 2 bytes`,
			`ratio: must be less than 1, got 2.5`,
			`agreed: is required (left out, it counts as false): must equal true`,
			`big: must be less than 10, got 18446744073709551615`,
		}},
	}
	for form, a := range forms(t, compile(t, rules)) {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			var w warnings
			v := validate.New(validate.Options{Resolver: a.types, Warn: w.warn})
			for _, name := range []string{"Plain", "Bare"} {
				if v.For(a.file.Messages().ByName("Plain")) != nil {
					t.Errorf("%s has a Checker", name)
				}
			}
			for _, tt := range tests {
				want := ""
				switch len(tt.want) {
				case 0:
				case 1:
					want = "invalid arguments: " + tt.want[0]
				default:
					want = fmt.Sprintf("invalid arguments, %d problems:\n- %s", len(tt.want), strings.Join(tt.want, "\n- "))
				}
				if got := check(t, v, a, protoreflect.Name(tt.message), tt.arguments); got != want {
					t.Errorf("%s %s:\n%s\nwant\n%s", tt.message, tt.arguments, got, want)
				}
			}
			if got := w.texts(); got != nil {
				t.Errorf("warnings %q", got)
			}
		})
	}
}

const broken = `
message Broken {
  option (buf.validate.message).cel = { id: "bad" expression: "this.no_such > 1" };
  string wrong = 1 [(buf.validate.field).int32.gt = 1];
  string syntax = 2 [(buf.validate.field).cel_expression = "this ==="];
  string good = 3 [(buf.validate.field).string.min_len = 2];
  repeated string items = 4 [(buf.validate.field).cel_expression = "this[0] == 'a'"];
}
message Holder {
  Broken broken = 1;
  string also_good = 2 [(buf.validate.field).string.min_len = 2];
}
message Fails { repeated string items = 1 [(buf.validate.field).cel_expression = "this[3] == 'a'"]; }
`

// What does not compile is left out, with a warning, and the rest is checked.
func TestBroken(t *testing.T) {
	t.Parallel()
	for form, a := range forms(t, compile(t, broken)) {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			var w warnings
			v := validate.New(validate.Options{Resolver: a.types, Warn: w.warn})
			for i := range a.file.Messages().Len() {
				if v.For(a.file.Messages().Get(i)) == nil {
					t.Errorf("no Checker of %s", a.file.Messages().Get(i).FullName())
				}
			}
			if got := w.texts(); got != nil {
				t.Errorf("compiled before the first call: %q", got)
			}
			for range 3 {
				if got, want := check(t, v, a, "Broken", `{"wrong":"x","good":"g","items":["a"]}`), `invalid arguments: good: must be at least 2 characters, got "g"`; got != want {
					t.Errorf("got %s, want %s", got, want)
				}
				if got, want := check(t, v, a, "Holder", `{"broken":{"good":"g"},"alsoGood":"a"}`), `invalid arguments: alsoGood: must be at least 2 characters, got "a"`; got != want {
					t.Errorf("got %s, want %s", got, want)
				}
				if got := check(t, v, a, "Fails", `{"items":["x"]}`); got != "" {
					t.Errorf("got %s", got)
				}
			}
			wantPrefixes := []string{
				"a call of t.v1.Fails was not checked: error evaluating ",
				"the rules of t.v1.Broken are not checked before calls: compilation error: failed to compile expression bad: ",
				"the rules of t.v1.Broken.syntax are not checked before calls: ",
				`the rules of t.v1.Broken.wrong are not checked before calls: compilation error: expected rule "buf.validate.FieldRules.string", got "buf.validate.FieldRules.int32"`,
				"the rules of t.v1.Holder.broken are not checked before calls: compilation error: failed to compile embedded type t.v1.Broken",
			}
			got := w.texts()
			if len(got) != len(wantPrefixes) {
				t.Fatalf("warnings %q", got)
			}
			for i, want := range wantPrefixes {
				if !strings.HasPrefix(got[i], want) || strings.Contains(got[i], "\n") {
					t.Errorf("warning %q, want %q", got[i], want)
				}
			}
			for text, n := range w.all {
				if n != 1 {
					t.Errorf("%d times: %s", n, text)
				}
			}
		})
	}
}

const costly = `
message Pairs { repeated int32 n = 1 [(buf.validate.field).cel_expression = "this.all(x, this.all(y, x + y < 100))"]; }
message Deep { int32 n = 1 [(buf.validate.field).cel_expression = "%s"]; }
message Growing { string s = 1 [(buf.validate.field).cel_expression = "this.replace('', this).replace('', this).size() > 0"]; }
message Mild { string s = 1 [(buf.validate.field).cel_expression = "this.replace('-', '').replace(' ', '').size() > 1"]; }
message In { repeated string s = 1 [(buf.validate.field).cel_expression = "this.all(x, x in ['a', 'b'])"]; }
message Pattern { string s = 1 [(buf.validate.field).string.pattern = "(.{100}){10}x"]; string t = 2; }
message Matches { repeated string s = 1 [(buf.validate.field).cel_expression = "this.all(x, x.matches('^(a|b){1,50}$'))"]; }
message Many { repeated Item items = 1; }
message Item { string s = 1 [(buf.validate.field).required = true]; }
`

// Rules that may take too long are not checked, and what has violations
// without number does not collect them.
func TestCost(t *testing.T) {
	t.Parallel()
	list := "[" + strings.Repeat("1,", 200) + "1]"
	deep := fmt.Sprintf("%[1]s.all(a, %[1]s.all(b, %[1]s.all(c, %[1]s.all(d, %[1]s.all(e, a + b + c + d + e + this > 0)))))", list)
	a := forms(t, compile(t, fmt.Sprintf(costly, deep)))["unknown"]
	repeated := func(field, value string, n int) string {
		return `{"` + field + `":[` + strings.Repeat(value+",", n-1) + value + "]}"
	}
	for _, tt := range []struct {
		name            string
		message         protoreflect.Name
		arguments       string
		want, wantWarns string
	}{
		{"few pairs", "Pairs", repeated("n", "60", 50), `invalid arguments: n: "this.all(x, this.all(y, x + y < 100))" returned false`, ""},
		{"many pairs", "Pairs", repeated("n", "60", 100_000), "", "a call of t.v1.Pairs was not checked: its rules may take too long on a message of its size"},
		{"deep", "Deep", `{"n":1}`, "", "t.v1.Deep is not checked before calls: a rule of t.v1.Deep may take too long on any message"},
		{"growing", "Growing", `{"s":"` + strings.Repeat("x", 100_000) + `"}`, "", "a call of t.v1.Growing was not checked: its rules may take too long"},
		{"not growing", "Growing", `{"s":"abc"}`, "", ""},
		{"mild", "Mild", `{"s":"` + strings.Repeat("-", 1_000_000) + `"}`, `invalid arguments: s: "this.replace('-', '').replace(' ', '').size() > 1" returned false, got "` + strings.Repeat("-", 57) + `..."`, ""},
		{"in a list", "In", repeated("s", `"a"`, 100_000), "", ""},
		{"pattern", "Pattern", `{"s":"x"}`, "invalid arguments: s: does not match regex pattern `(.{100}){10}x`, got \"x\"", ""},
		{"long pattern", "Pattern", `{"t":"` + strings.Repeat("x", 4_000_000) + `"}`, "", "a call of t.v1.Pattern was not checked: its rules may take too long"},
		{"matches", "Matches", `{"s":["ab","c"]}`, "returned false", ""},
		{"long matches", "Matches", repeated("s", `"`+strings.Repeat("a", 2000)+`"`, 20_000), "", "a call of t.v1.Matches was not checked: its rules may take too long"},
		{"many violations", "Many", repeated("items", "{}", 100_000), "invalid arguments: items[0].s: value is required", ""},
		{"some violations", "Many", repeated("items", "{}", 12), "items[9].s: value is required", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var w warnings
			got := check(t, validate.New(validate.Options{Resolver: a.types, Warn: w.warn}), a, tt.message, tt.arguments)
			if !strings.HasSuffix(got, tt.want) || tt.want == "" && got != "" {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			warned := w.texts()
			if (tt.wantWarns == "") != (warned == nil) || warned != nil && !strings.HasPrefix(warned[0], tt.wantWarns) {
				t.Errorf("warnings %q, want %q", warned, tt.wantWarns)
			}
		})
	}
}

func TestTruncated(t *testing.T) {
	t.Parallel()
	a := forms(t, compile(t, fmt.Sprintf(costly, "true")))["linked"]
	v := validate.New(validate.Options{})
	for n, truncated := range map[int]bool{10: false, 11: true, 20_000: true} {
		wire := []byte(strings.Repeat("\x0a\x00", n))
		err := v.For(a.message(t, "Many")).Check(wire)
		e, ok := errors.AsType[*transcode.ArgumentError](err)
		if !ok || len(e.Violations) > transcode.MaxViolations || e.Truncated != truncated {
			t.Errorf("%d violations: got %v", n, err)
		}
	}
}

// The JSON of a well-known type stands in the member "value".
func TestWrapped(t *testing.T) {
	t.Parallel()
	fdp := protodesc.ToFileDescriptorProto(wrapperspb.File_google_protobuf_wrappers_proto)
	for _, m := range fdp.GetMessageType() {
		if m.GetName() == "StringValue" {
			m.Field[0].Options = &descriptorpb.FieldOptions{}
			proto.SetExtension(m.Field[0].GetOptions(), rulespb.E_Field, &rulespb.FieldRules{
				Type: &rulespb.FieldRules_String_{String_: &rulespb.StringRules{MinLen: proto.Uint64(3)}},
			})
		}
	}
	file, err := protodesc.NewFile(fdp, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := api{file, dynamicpb.NewTypes(new(protoregistry.Files))}
	if got, want := check(t, validate.New(validate.Options{}), a, "StringValue", `{"value":"xy"}`), `invalid arguments: value: must be at least 3 characters, got "xy"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// One Validator compiles each type once, however many calls come first.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	a := forms(t, compile(t, rules))["all anew"]
	v := validate.New(validate.Options{Resolver: a.types})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got := check(t, v, a, "Cel", `{"startDay":2,"endDay":1}`); !strings.Contains(got, "start_day") {
				t.Errorf("got %s", got)
			}
			if got := check(t, v, a, "Book", `{}`); !strings.Contains(got, "displayName") {
				t.Errorf("got %s", got)
			}
		})
	}
	wg.Wait()
	if first, second := v.For(a.message(t, "Book")), v.For(a.message(t, "Book")); first != second {
		t.Error("two Checkers of one type")
	}
}

// Bytes that are no message are for the backend to refuse.
func TestNoMessage(t *testing.T) {
	t.Parallel()
	a := forms(t, compile(t, rules))["unknown"]
	var w warnings
	v := validate.New(validate.Options{Resolver: a.types, Warn: w.warn})
	// A map entry with its key twice, of which the parser panics.
	entry := protowire.AppendTag(nil, 1, protowire.BytesType)
	entry = protowire.AppendString(entry, "k")
	entry = protowire.AppendTag(entry, 1, protowire.VarintType)
	entry = protowire.AppendVarint(entry, 1)
	book := protowire.AppendTag(nil, 4, protowire.BytesType)
	book = protowire.AppendBytes(book, entry)
	for _, wire := range [][]byte{book, {0xff}} {
		if err := v.For(a.message(t, "Book")).Check(wire); err != nil {
			t.Errorf("%x: %v", wire, err)
		}
	}
	if got, want := w.texts(), []string{"a call of t.v1.Book was not checked: the message cannot be read"}; !slices.Equal(got, want) {
		t.Errorf("warnings %q", got)
	}
	if err := v.For(a.message(t, "Book")).CheckMessage(dynamicpb.NewMessage(a.message(t, "Cel"))); err != nil {
		t.Error(err)
	}
	if err := v.For(a.message(t, "Book")).CheckMessage(nil); err != nil {
		t.Error(err)
	}
	if got := w.texts(); len(got) != 2 {
		t.Errorf("warnings %q", got)
	}
	if v.For(nil) != nil {
		t.Error("a Checker of no type")
	}
}

func FuzzCheck(f *testing.F) {
	a := forms(f, compile(f, rules))["unknown"]
	v := validate.New(validate.Options{Resolver: a.types})
	f.Add([]byte("\x0a\x02xy\x10\x01"))
	f.Add([]byte("\x22\x04\x0a\x02xy\x1a\x00"))
	f.Fuzz(func(t *testing.T, wire []byte) {
		for i := range a.file.Messages().Len() {
			err := v.For(a.file.Messages().Get(i)).Check(wire)
			if err == nil {
				continue
			}
			e, ok := errors.AsType[*transcode.ArgumentError](err)
			if !ok || len(e.Violations) == 0 || len(e.Violations) > transcode.MaxViolations {
				t.Fatalf("%x: %v", wire, err)
			}
		}
	})
}
