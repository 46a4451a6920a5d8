package transcode_test

import (
	"os"
	"strings"
	"testing"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
)

// compile returns the file that a source is.
func compile(tb testing.TB, source string) protoreflect.FileDescriptor {
	tb.Helper()
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(protocompile.CompositeResolver{
		&protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(map[string]string{"test.proto": source})},
		protocompile.ResolverFunc(func(path string) (protocompile.SearchResult, error) {
			fd, err := protoregistry.GlobalFiles.FindFileByPath(path)
			return protocompile.SearchResult{Desc: fd}, err
		}),
	})}
	files, err := compiler.Compile(tb.Context(), "test.proto")
	if err != nil {
		tb.Fatal(err)
	}
	return files[0]
}

// shapes is the file testdata/shapes.proto.
func shapes(tb testing.TB) protoreflect.MessageDescriptors {
	tb.Helper()
	source, err := os.ReadFile("testdata/shapes.proto")
	if err != nil {
		tb.Fatal(err)
	}
	return compile(tb, string(source)).Messages()
}

func newCodec(tb testing.TB, md protoreflect.MessageDescriptor, opts transcode.Options) *transcode.Codec {
	tb.Helper()
	if md == nil {
		tb.Fatal("no such message")
	}
	codec, err := transcode.New(md, protoregistry.GlobalTypes, opts)
	if err != nil {
		tb.Fatal(err)
	}
	return codec
}

// TestShapes reads and writes what no ProtoJSON can be, without and with all
// leniency.
func TestShapes(t *testing.T) {
	t.Parallel()
	all := shapes(t)
	const exact, lenient, preferRaw = 1, 2, 4
	for _, tt := range []struct {
		name, message  string
		modes          int
		in, out, fault string
	}{
		{"tag", "Content", exact | lenient, `{"type":"text","text":"a","x":1}`, `{"type":"text","text":"a","x":1}`, ""},
		{"tag last", "Content", exact | lenient, `{"x":1,"text":"a","type":"text"}`, `{"type":"text","text":"a","x":1}`, ""},
		{"tag with a field for it", "Content", exact | lenient, `{"data":"AQ==","type":"image"}`, `{"type":"image","data":"AQ=="}`, ""},
		{"tag with escapes", "Content", exact | lenient, `{"\u0074ype":"te\u0078t"}`, `{"type":"text"}`, ""},
		{"tag that is not known", "Content", exact | lenient, `{"text":1, "type":"video"}`, `{"text":1,"type":"video"}`, ""},
		{"tag that is no string", "Content", exact | lenient, `{"type":null}`, `{"type":null}`, ""},
		{"no tag", "Content", exact | lenient, `{"text":"a"}`, `{"text":"a"}`, ""},
		{"tag twice", "Content", exact | lenient, `{"type":"text","type":"image"}`, "", "type: the field occurs twice"},
		{"arm that does not fit", "Content", exact, `{"type":"image","data":"AQ==","y":1}`, `{"type":"image","data":"AQ==","y":1}`, ""},
		{"arm that does not fit", "Content", lenient, `{"type":"image","data":"AQ==","y":1}`, "", "y: unknown field; want one of type, data, inner"},
		{"no object", "Content", exact | lenient, `"text"`, "", "wrong type; want an object (shapes.v1.Content)"},
		{"unions in a union", "Content", exact | lenient, `{"type":"image","data":"AQ==","inner":[{"type":"text"},{"type":"?"},{}]}`, `{"type":"image","data":"AQ==","inner":[{"type":"text"},{"type":"?"},{}]}`, ""},

		{"no tag where that is possible", "Ask", exact | lenient, `{"message":"a"}`, `{"message":"a"}`, ""},
		{"tag where there may be none", "Ask", exact | lenient, `{"mode":"form","message":"a"}`, `{"mode":"form","message":"a"}`, ""},
		{"the other tag", "Ask", exact | lenient, `{"url":"a","mode":"url"}`, `{"mode":"url","url":"a"}`, ""},
		{"no place for the tag", "Ask", exact | lenient, `{"mode":"link"}`, "", `mode: no such mode; want one of form, url, got the string "link"`},
		{"no place for a tag near one", "Ask", exact | lenient, `{"mode":"urls"}`, "", `did you mean "url"?`},
		{"no place for a member", "Ask", exact | lenient, `{"mode":"url","to":1}`, "", "to: unknown field; want url"},

		{"content", "Call", exact | lenient, `{"jsonrpc":"2.0","params":{"url":"a"},"method":"open","z":1}`, `{"jsonrpc":"2.0","method":"open","params":{"url":"a"},"z":1}`, ""},
		{"content that is a value", "Call", exact | lenient, `{"method":"reply","params":[]}`, `{"method":"reply","params":[]}`, ""},
		{"content that is not known", "Call", exact | lenient, `{"method":"close","params":[1,null]}`, `{"method":"close","params":[1,null]}`, ""},
		{"content that is missing", "Call", exact | lenient, `{"method":"open"}`, `{"method":"open"}`, ""},
		{"content that is empty", "Call", exact | lenient, `{"method":"open","params":{}}`, `{"method":"open","params":{}}`, ""},
		{"content without a tag", "Call", exact | lenient, `{"params":{"url":"a"}}`, `{"params":{"url":"a"}}`, ""},
		{"content that does not fit", "Call", exact, `{"method":"open","params":{"url":"a","x":1e400}}`, `{"method":"open","params":{"url":"a","x":1e400}}`, ""},
		{"content that does not fit", "Call", lenient, `{"method":"open","params":{"url":1}}`, "", `params.url: wrong type; want a string`},
		{"content twice", "Call", exact | lenient, `{"method":"open","params":{},"params":{}}`, "", "params: the field occurs twice"},
		{"method that is no string", "Call", exact, `{"method":1,"params":{}}`, `{"params":{},"method":1}`, ""},

		{"value", "Answer", exact | lenient, `"a"`, `"a"`, ""},
		{"number", "Answer", exact | lenient, `95.5`, `95.5`, ""},
		{"number that is too long", "Answer", exact, `9007199254740993`, `9007199254740993`, ""},
		{"flag", "Answer", exact | lenient, `false`, `false`, ""},
		{"list", "Answer", exact | lenient, `["a",""]`, `["a",""]`, ""},
		{"list of others", "Answer", exact, `["a",1]`, `["a",1]`, ""},
		{"object", "Answer", exact | lenient, `{"url":"a"}`, `{"url":"a"}`, ""},
		{"another object", "Answer", exact | lenient, `{"url":1}`, `{"url":1}`, ""},
		{"null", "Answer", exact | lenient, `null`, `null`, ""},
		{"empty list", "StringList", exact | lenient, `[]`, `[]`, ""},
		{"list of the wrong kind", "StringList", exact, `["a",1]`, "", "[1]: the field cannot hold the value exactly; want a string, got the number 1"},
		{"no list", "StringList", exact, `"a"`, "", "wrong type; want an array"},
		{"one", "OneOrMany", exact | lenient, `{"type":"text"}`, `{"type":"text"}`, ""},
		{"many", "OneOrMany", exact | lenient, `[{"type":"text"}]`, `[{"type":"text"}]`, ""},
		{"neither", "OneOrMany", exact | lenient, `1`, "", "wrong type; want"},

		{"forms", "All", exact | lenient, `{"id":"a","inputSchema":{"a":1},"ttl":null}`, `{"id":"a","inputSchema":{"a":1},"ttl":null}`, ""},
		{"other forms", "All", exact | lenient, `{"id":7,"inputSchema":[],"ttl":0}`, `{"id":7,"inputSchema":[],"ttl":0}`, ""},
		{"raw forms", "All", exact, `{"id":1.5,"inputSchema":{"a":1,"a":9007199254740993},"ttl":1.5}`, `{"id":1.5,"inputSchema":{"a":1,"a":9007199254740993},"ttl":1.5}`, ""},
		{"fraction without one", "All", exact, `{"id":1.0}`, `{"id":1}`, ""},
		{"raw first", "All", exact | lenient | preferRaw, `{"id":1.0,"inputSchema":{"a":1.0},"ttl":5}`, `{"id":1,"inputSchema":{"a":1.0},"ttl":5}`, ""},
		{"form twice", "All", exact | lenient, `{"id":1,"id":2}`, "", "id: the field occurs twice"},
		{"null, and no form for it", "All", lenient, `{"left":null}`, `{}`, ""},
		{"values in a map", "All", exact | lenient, `{"answers":{"a":null,"b":[],"c":"x"},"lists":[[],["a"]],"list":[]}`, `{"answers":{"a":null,"b":[],"c":"x"},"list":[],"lists":[[],["a"]]}`, ""},
		{"one of two", "All", exact, `{"left":"a","right":"b"}`, `{"left":"a","right":"b"}`, ""},
		{"one of two", "All", lenient, `{"left":"a","right":"b"}`, "", `"left" and "right" are both set`},

		{"extra map", "Typed", exact | lenient, `{"name":"a","b":1.5,"a":0}`, `{"name":"a","a":0,"b":1.5}`, ""},
		{"extra map and bytes", "Typed", exact | lenient, `{"name":"a","b":1.5,"a":null,"c":"x"}`, `{"name":"a","b":1.5,"a":null,"c":"x"}`, ""},
		{"extra bytes first", "Typed", exact | lenient | preferRaw, `{"name":"a","b":1.50,"a":null}`, `{"name":"a","b":1.50,"a":null}`, ""},
		{"extra twice", "Typed", exact | lenient, `{"a":1,"a":2}`, "", "a: the member occurs twice"},
		{"extra map alone", "Numbers", exact | lenient, `{"a":{},"b":{"url":"x"},"name":"n"}`, `{"name":"n","a":{},"b":{"url":"x"}}`, ""},
		{"extra that does not fit", "Numbers", exact | lenient, `{"a":{"url":1}}`, "", "a.url:"},
		{"extra that is null", "Numbers", exact | lenient, `{"a":null}`, "", "a: null cannot be the value of a key"},

		{"zero", "All", exact, `{"flag":false,"small":0,"text":"","names":[],"byName":{},"content":null}`, `{"flag":false,"small":0,"text":"","names":[],"byName":{},"content":null}`, ""},
		{"always", "Always", exact | lenient, `{"content":[],"number":0,"x":1}`, `{"content":[],"number":0,"x":1}`, ""},
		{"always, and there is something else", "Always", exact, `{"content":null,"number":"0"}`, `{"content":null,"number":"0"}`, ""},
		{"always, and there is nothing", "Always", exact | lenient, `{}`, `{"content":[],"number":0}`, ""},
		{"zero with presence", "All", exact, `{"maybe":false,"size":0,"shortRatio":0,"blob":""}`, `{"maybe":false,"size":0,"shortRatio":0,"blob":""}`, ""},
		{"wrong kinds", "All", exact, `{"flag":"true","small":"1","large":1,"count":"1","ratio":"1","text":1,"blob":1,"role":"ROLE_USER","names":"a","byName":[],"content":{}}`,
			`{"flag":"true","small":"1","large":1,"count":"1","ratio":"1","text":1,"blob":1,"role":"ROLE_USER","names":"a","byName":[],"content":{}}`, ""},
		{"proto names", "All", exact, `{"short_ratio":1,"by_name":{"a":{}},"id_text":"a"}`, `{"short_ratio":1,"by_name":{"a":{}},"id_text":"a"}`, ""},
		{"numbers", "All", exact, `{"small":1e2,"large":"-9223372036854775808","count":9007199254740993,"ratio":0.1,"shortRatio":0.1}`,
			`{"small":100,"large":"-9223372036854775808","count":9007199254740993,"ratio":0.1,"shortRatio":0.1}`, ""},
		{"numbers that would change", "All", exact, `{"small":1.5,"large":"01","count":9223372036854775808,"ratio":9007199254740993,"shortRatio":16777217}`,
			`{"small":1.5,"large":"01","count":9223372036854775808,"ratio":9007199254740993,"shortRatio":16777217}`, ""},
		{"base64", "All", exact, `{"blob":"-_8"}`, `{"blob":"+/8="}`, ""},
		{"base64 of something else", "All", exact, `{"blob":"-_9"}`, `{"blob":"-_9"}`, ""},
		{"times", "All", exact, `{"time":"2026-01-31T09:30:00Z"}`, `{"time":"2026-01-31T09:30:00Z"}`, ""},
		{"times in another zone", "All", exact, `{"time":"2026-01-31T09:30:00+01:00"}`, `{"time":"2026-01-31T09:30:00+01:00"}`, ""},
		{"keys", "All", exact, `{"raws":{"1":1,"-2":{}}}`, `{"raws":{"-2":{},"1":1}}`, ""},
		{"keys that are no numbers", "All", exact, `{"raws":{"01":1}}`, `{"raws":{"01":1}}`, ""},
		{"misfit inside", "All", exact, `{"strict":{"name":"a","number":null},"next":{"small":"1"}}`, `{"next":{"small":"1"},"strict":{"name":"a","number":null}}`, ""},
		{"misfit in a list", "All", exact, `{"content":[{"type":"text"},1]}`, `{"content":[{"type":"text"},1]}`, ""},
		{"misfit without extra", "Strict", exact, `{"name":"a","number":null}`, "", "number: the field cannot hold the value exactly; want an integer from -2147483648 to 2147483647, got null"},
		{"zero without extra", "Strict", exact, `{"name":""}`, "", "name: the value cannot be told from none; leave it out"},
		{"member twice", "All", exact, `{"next":{"small":1,"small":2}}`, "", "next.small: the field occurs twice"},
		{"empty text", "All", exact, ` `, "", "not valid JSON"},
		{"null for an object", "All", exact, `null`, "", "wrong type"},
	} {
		for _, mode := range []int{exact, lenient} {
			if tt.modes&mode == 0 {
				continue
			}
			opts := transcode.Options{Exact: mode == exact, PreferRaw: tt.modes&preferRaw > 0}
			name := tt.name + "/exact"
			if mode == lenient {
				name = tt.name + "/lenient"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				codec := newCodec(t, all.ByName(protoreflect.Name(tt.message)), opts)
				wire, err := codec.AppendWire(nil, []byte(tt.in))
				if tt.fault != "" {
					checkFault(t, err, tt.fault)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				out, warnings, err := codec.AppendJSON(nil, wire)
				if err != nil || len(warnings) > 0 || string(out) != tt.out {
					t.Errorf("got  %s, %q, %v\nwant %s", out, warnings, err, tt.out)
				}
			})
		}
	}
}

func checkFault(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestShapesAsMessages says in which fields the values are.
func TestShapesAsMessages(t *testing.T) {
	t.Parallel()
	all := shapes(t)
	for _, tt := range []struct {
		name, message, in, want string
		opts                    transcode.Options
	}{
		{"union", "Content", `{"text":"a","type":"text","x":1}`, `text {text: "a" extra: '{"x":1}'}`, transcode.Options{Exact: true}},
		{"tag field", "Content", `{"type":"image","data":"AQ"}`, `image {type: "image" data: "\x01"}`, transcode.Options{Exact: true}},
		{"fallback", "Content", `{"type":"video"}`, `other: '{"type":"video"}'`, transcode.Options{Exact: true}},
		{"misfit of an arm", "Content", `{"type":"image","data":1}`, `other: '{"type":"image","data":1}'`, transcode.Options{Exact: true}},
		{"untagged", "Ask", `{"message":"a"}`, `form {message: "a"}`, transcode.Options{Exact: true}},
		{"tagged", "Ask", `{"mode":"form"}`, `form {mode: "form"}`, transcode.Options{Exact: true}},
		{"content", "Call", `{"method":"open","params":{"url":"a"}}`, `open {url: "a"}`, transcode.Options{Exact: true}},
		{"content, lenient", "Call", `{"method":"open","params":{"url":"a"}}`, `open {url: "a"}`, transcode.Options{}},
		{"other content", "Call", `{"method":"x","params":{"url":"a"}}`, `method: "x" params_json: '{"url":"a"}'`, transcode.Options{Exact: true}},
		{"no content", "Call", `{"method":"open"}`, `method: "open"`, transcode.Options{}},
		{"misfit of content", "Call", `{"method":"open","params":{"url":1}}`, `method: "open" params_json: '{"url":1}'`, transcode.Options{Exact: true}},
		{"text", "Answer", `"a"`, `text: "a"`, transcode.Options{Exact: true}},
		{"list", "Answer", `[]`, `list {}`, transcode.Options{Exact: true}},
		{"link", "Answer", `{"url":"a"}`, `link {url: "a"}`, transcode.Options{Exact: true}},
		{"struct", "Answer", `{"url":1}`, `struct {fields {key: "url" value {number_value: 1}}}`, transcode.Options{}},
		{"other answer", "Answer", `{"url":1,"url":2}`, `json: '{"url":1,"url":2}'`, transcode.Options{Exact: true}},
		{"first member", "Reply", `{"x":1,"text":"a"}`, `text {text: "a" extra: '{"x":1}'}`, transcode.Options{Exact: true}},
		{"second member", "Reply", `{"n\u0061me":"a"}`, `typed {name: "a"}`, transcode.Options{}},
		{"both members", "Reply", `{"name":"a","text":"b"}`, `text {text: "b" extra: '{"name":"a"}'}`, transcode.Options{Exact: true}},
		{"neither member", "Reply", `{"a":1}`, `other {fields {key: "a" value {number_value: 1}}}`, transcode.Options{Exact: true}},
		{"no object", "Reply", `[]`, `json: "[]"`, transcode.Options{Exact: true}},
		{"raw answer", "Answer", `"a"`, `text: "a"`, transcode.Options{Exact: true, PreferRaw: true}},
		{"raw object", "Answer", `{"x":1}`, `json: '{"x":1}'`, transcode.Options{Exact: true, PreferRaw: true}},
		{"id", "All", `{"id":1.0}`, `id_number: 1`, transcode.Options{Exact: true}},
		{"text id", "All", `{"id":"1"}`, `id_text: "1"`, transcode.Options{}},
		{"raw id", "All", `{"id":1.5}`, `id_json: "1.5"`, transcode.Options{Exact: true}},
		{"schema", "All", `{"inputSchema":{"a":1.0}}`, `input_schema {fields {key: "a" value {number_value: 1}}}`, transcode.Options{Exact: true}},
		{"raw schema", "All", `{"inputSchema":{"a":9007199254740993}}`, `input_schema_json: '{"a":9007199254740993}'`, transcode.Options{Exact: true}},
		{"null", "All", `{"ttl":null}`, `ttl_null: NULL_VALUE`, transcode.Options{}},
		{"scalars", "All", `{"flag":true,"small":1e1,"large":"7","count":8,"ratio":0.1,"text":"a","role":"user","names":["b"]}`,
			`flag: true small: 10 large: 7 count: 8 ratio: 0.1 text: "a" role: ROLE_USER names: "b"`, transcode.Options{Exact: true}},
		{"misfits", "All", `{"flag":1,"strict":{"strict":{"number":null}},"typed":{"number":"1","a":2,"b":"c"}}`,
			`typed {others {key: "a" value: 2} rest: '{"number":"1","b":"c"}'} extra: '{"flag":1,"strict":{"strict":{"number":null}}}'`, transcode.Options{Exact: true}},
		{"bytes first", "Typed", `{"a":2}`, `rest: '{"a":2}'`, transcode.Options{PreferRaw: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			md := all.ByName(protoreflect.Name(tt.message))
			wire, err := newCodec(t, md, tt.opts).AppendWire(nil, []byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			got, want := dynamicpb.NewMessage(md), dynamicpb.NewMessage(md)
			if err := proto.Unmarshal(wire, got); err != nil {
				t.Fatal(err)
			}
			if err := prototext.Unmarshal([]byte(tt.want), want); err != nil {
				t.Fatal(err)
			}
			if !proto.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}
