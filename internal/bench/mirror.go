package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

// mirrorGoal is what the bridge may take of the proxy's CPU.
const mirrorGoal = 1.30

// newServer returns an MCP server that answers every call with what the work of
// that name wants, ready made.
func newServer() (*streamable.Handler, error) {
	all, err := works()
	if err != nil {
		return nil, err
	}
	results, list := make(map[string]json.RawMessage), []byte(`{"tools":[`)
	for i, w := range all {
		value, err := toJSON(w.want)
		if err != nil {
			return nil, err
		}
		if results[w.tool], err = appendResult(nil, value, nil); err != nil {
			return nil, err
		}
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, `{"name":"`+w.tool+`","inputSchema":{"type":"object"}}`...)
	}
	list = append(list, "]}"...)
	return streamable.New(streamable.Config{Handler: protocol.HandlerFunc(
		func(_ context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
			switch r.Method {
			case protocol.MethodDiscover:
				return &protocol.Result{Body: json.RawMessage(`{"supportedVersions":["` + modern + `","` + legacy + `"],"capabilities":{"tools":{}}}`)}, nil
			case protocol.MethodListTools:
				return &protocol.Result{Body: list, Cache: &protocol.Cache{}}, nil
			case protocol.MethodCallTool:
				var call struct{ Name string }
				if err := json.Unmarshal(r.Params, &call); err != nil || results[call.Name] == nil {
					return nil, protocol.Errorf(protocol.CodeInvalidParams, "there is no such tool")
				}
				return &protocol.Result{Body: results[call.Name]}, nil
			default:
				return nil, protocol.MethodNotFound(r.Method)
			}
		})})
}

// proxy is the least that can stand between a client of MCP over HTTP and a
// server: it reads the envelope of each message, has ids of its own towards the
// server, and passes on the rest as it is.
type proxy struct {
	url    string
	client *http.Client
	lastID atomic.Int64
}

func newProxy(url string) *proxy {
	return &proxy{url: url, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: maxIdle}}}
}

// maxIdle is more connections than there are clients.
const maxIdle = 256

// envelope is a JSON-RPC message.
type envelope struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out, status, err := p.pass(r, http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(out) // the client is gone
}

func (p *proxy) pass(r *http.Request, body io.Reader) ([]byte, int, error) {
	raw, err := io.ReadAll(body)
	if err != nil {
		return nil, 0, err
	}
	var m envelope
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, 0, err
	}
	id := m.ID
	m.ID = strconv.AppendInt(nil, p.lastID.Add(1), 10)
	if raw, err = json.Marshal(m); err != nil {
		return nil, 0, err
	}
	request, err := http.NewRequestWithContext(r.Context(), http.MethodPost, p.url, bytes.NewReader(raw))
	if err != nil {
		return nil, 0, err
	}
	for key, values := range r.Header {
		if strings.HasPrefix(key, "Mcp-") || key == "Content-Type" {
			request.Header[key] = values
		}
	}
	// A call that takes long on a busy machine must not become an event stream,
	// which the proxy does not read.
	request.Header.Set("Accept", "application/json")
	response, err := p.client.Do(request)
	if err != nil {
		return nil, 0, err
	}
	defer response.Body.Close()
	if raw, err = io.ReadAll(io.LimitReader(response.Body, maxBody)); err != nil {
		return nil, 0, err
	}
	var answer envelope
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, 0, err
	}
	answer.ID = id
	out, err := json.Marshal(answer)
	return out, response.StatusCode, err
}

// rpcClient calls tools by McpService. One goroutine at a time may use it.
type rpcClient struct {
	conn     *grpc.ClientConn
	ctx      context.Context //nolint:containedctx // with the metadata of every call
	request  *mcpv1.CallToolRequest
	response *mcpv1.CallToolResponse
	checked  *mcpv1.CallToolResponse
	work     *work
}

func dialRPC(ctx context.Context, address string) (*rpcClient, error) {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxBody), grpc.MaxCallSendMsgSize(maxBody)))
	if err != nil {
		return nil, err
	}
	return &rpcClient{conn: conn, ctx: metadata.AppendToOutgoingContext(ctx, "mcp-json", "raw")}, nil
}

func (c *rpcClient) prepare(w *work) {
	c.request = &mcpv1.CallToolRequest{Name: w.tool, ArgumentsForm: &mcpv1.CallToolRequest_ArgumentsJson{ArgumentsJson: w.arguments}}
}

func (c *rpcClient) call(*work) error {
	ctx, cancel := context.WithTimeout(c.ctx, requestTimeout)
	defer cancel()
	c.response = new(mcpv1.CallToolResponse)
	return c.conn.Invoke(ctx, "/mcp.v1.McpService/CallTool", c.request, c.response)
}

// check checks the last answer: in full, unless it equals one that was.
func (c *rpcClient) check(k *checker) error {
	if c.work == k.work && proto.Equal(c.response, c.checked) {
		return nil
	}
	result := c.response.GetComplete()
	if result == nil || result.GetIsError() || len(result.GetContent()) != 1 {
		return fmt.Errorf("%s: the answer is %.300s", k.work.name, c.response)
	}
	for _, value := range [][]byte{result.GetStructuredContentJson(), []byte(result.GetContent()[0].GetText().GetText())} {
		if err := k.work.sameValue(value); err != nil {
			return fmt.Errorf("%s: %w: %.300s", k.work.name, err, c.response)
		}
	}
	c.work, c.checked = k.work, c.response
	return nil
}

func (c *rpcClient) close() error { return c.conn.Close() }

// measureMirror compares calls by McpService through the bridge with calls
// through the proxy, of one MCP server.
func (o *options) measureMirror(ctx context.Context, b *bed, progress io.Writer) (*table, error) {
	server, err := b.role(ctx, roleServer)
	if err != nil {
		return nil, err
	}
	bare, err := b.role(ctx, roleProxy, server.url())
	if err != nil {
		return nil, err
	}
	through, err := b.bridge(ctx, server.url())
	if err != nil {
		return nil, err
	}
	cpu := &table{title: "CPU of the bridge's process per CallTool by gRPC, as a multiple of a bare JSON-RPC proxy's (goal: " + times(mirrorGoal) + "), and calls per second"}
	heading := []string{"clients at once"}
	for _, w := range o.works {
		heading = append(heading, w.name)
	}
	cpu.add(heading...)
	for _, clients := range o.clients {
		row, err := o.mirrorRow(ctx, bare, through, clients, progress)
		if err != nil {
			return nil, err
		}
		cpu.add(row...)
	}
	return cpu, errors.Join(through.stop(), bare.stop(), server.stop())
}

func (o *options) mirrorRow(ctx context.Context, bare, through *process, clients int, progress io.Writer) ([]string, error) {
	proxied, err := newSide(ctx, "proxy", bare, modern, clients)
	if err != nil {
		return nil, err
	}
	defer proxied.close()
	bridged := &side{name: "bridge", process: through}
	defer bridged.close()
	address := strings.TrimSuffix(strings.TrimPrefix(through.url(), "http://"), "/mcp")
	for range clients {
		c, err := dialRPC(ctx, address)
		if err != nil {
			return nil, err
		}
		bridged.clients = append(bridged.clients, c)
	}
	row := []string{strconv.Itoa(clients)}
	for i := range o.works {
		w := &o.works[i]
		fmt.Fprintf(progress, "%s by McpService, %d at once\n", w.name, clients)
		samples, err := rounds(ctx, []*side{proxied, bridged}, w, clients, o.rounds)
		if err != nil {
			return nil, err
		}
		row = append(row, times(ratio(samples[1], samples[0], cpuOf))+", "+times(ratio(samples[1], samples[0], rateOf)))
	}
	return row, nil
}
