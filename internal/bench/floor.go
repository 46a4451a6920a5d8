package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/mcp-bridge/mcp-bridge/gen/bench/v1/benchv1connect"
)

// maxBody bounds what is read of one HTTP message.
const maxBody = 16 << 20

// floor is the bridge that one would write by hand for one API: net/http,
// protojson into generated types, a connect-go client that speaks gRPC, and the
// least of MCP 2025-06-18 that is correct. The bridge does the same for APIs
// that it learns of when it starts.
type floor struct{ tools map[string]tool }

// tool performs one call, from the arguments as JSON to the response as JSON.
type tool func(ctx context.Context, arguments []byte) ([]byte, error)

// newFloor returns the floor in front of the gRPC server at an address.
func newFloor(backend string) *floor {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	client := benchv1connect.NewBenchServiceClient(
		&http.Client{Transport: &http.Transport{Protocols: &protocols}},
		"http://"+backend, connect.WithGRPC())
	return &floor{tools: map[string]tool{
		"BenchService_Echo":   unary(client.Echo),
		"BenchService_Medium": unary(client.Medium),
		"BenchService_Large":  unary(client.Large),
		"BenchService_Fetch":  unary(client.Fetch),
	}}
}

// message is a pointer to a generated type.
type message[T any] interface {
	*T
	proto.Message
}

func unary[In, Out any, PIn message[In], POut message[Out]](call func(context.Context, *In) (*Out, error)) tool {
	return func(ctx context.Context, arguments []byte) ([]byte, error) {
		in := new(In)
		if err := fromJSON(arguments, PIn(in)); err != nil {
			return nil, err
		}
		out, err := call(ctx, in)
		if err != nil {
			return nil, err
		}
		return toJSON(POut(out))
	}
}

func toJSON(m proto.Message) ([]byte, error)     { return protojson.Marshal(m) }
func fromJSON(raw []byte, m proto.Message) error { return protojson.Unmarshal(raw, m) }

func (f *floor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"params"`
	}
	if err := json.Unmarshal(body, &m); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	out := append([]byte(`{"jsonrpc":"2.0","id":`), m.ID...)
	switch call := f.tools[m.Params.Name]; {
	case m.Method == "initialize":
		out = append(out, `,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"floor","version":"1"}}}`...)
	case m.Method != "tools/call" || call == nil:
		out = append(out, `,"error":{"code":-32601,"message":"there is no such method or tool"}}`...)
	default:
		result, err := call(r.Context(), m.Params.Arguments)
		if out, err = appendResult(append(out, `,"result":`...), result, err); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		out = append(out, '}')
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(out) // the client is gone
}

// appendResult appends a CallToolResult: the value as structured content
// and, as the specification asks for, as text.
func appendResult(out, result []byte, fault error) ([]byte, error) {
	text := string(result)
	if fault != nil {
		text = fault.Error()
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		return nil, fmt.Errorf("text of the result: %w", err)
	}
	out = append(append(out, `{"content":[{"type":"text","text":`...), quoted...)
	if fault != nil {
		out = append(out, `}],"isError":true`...)
	} else {
		out = append(append(out, `}],"structuredContent":`...), result...)
	}
	return append(out, '}'), nil
}
