package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
)

// Revisions of MCP that are measured: with a session, and without.
const (
	legacy = "2025-06-18"
	modern = "2026-07-28"
)

// modernMeta is what every request of the modern revision says of itself.
const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + modern + `",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

// client is one MCP client of a server: a session, for the legacy revision. One
// goroutine at a time may use it.
type client struct {
	conn     *conn
	revision string
	session  string
	lastID   int
	body     bytes.Buffer // of the last response
	message  []byte
	request  []byte
}

// open opens a client on a connection, and its session where the revision has
// them. Clients of one goroutine may share a connection.
func open(conn *conn, revision string) (*client, error) {
	c := &client{conn: conn, revision: revision}
	if revision == modern {
		return c, nil
	}
	c.message = append(c.message[:0], `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+legacy+
		`","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`...)
	resp, err := c.post("initialize", "", http.StatusOK)
	if err != nil {
		return nil, err
	}
	c.session = resp.session // a server need not have any
	c.message = append(c.message[:0], `{"jsonrpc":"2.0","method":"notifications/initialized"}`...)
	_, err = c.post("notifications/initialized", "", http.StatusAccepted)
	return c, err
}

// end ends the session.
func (c *client) end() error {
	if c.session == "" {
		return nil
	}
	c.message = c.message[:0]
	c.frame(http.MethodDelete, "", "")
	_, err := c.conn.roundTrip(c.request, &c.body)
	return err
}

// close ends the session and the connection.
func (c *client) close() error { return errors.Join(c.end(), c.conn.close()) }

// check checks the answer to the last call.
func (c *client) check(k *checker) error { return k.check(c) }

// frame makes c.request of c.message.
func (c *client) frame(verb, method, name string) {
	b := append(c.request[:0], verb...)
	b = append(append(b, ' '), c.conn.path...)
	b = append(append(b, " HTTP/1.1\r\nHost: "...), c.conn.host...)
	b = append(b, "\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMcp-Protocol-Version: "...)
	b = append(b, c.revision...)
	if c.session != "" {
		b = append(append(b, "\r\nMcp-Session-Id: "...), c.session...)
	}
	if c.revision == modern {
		b = append(append(b, "\r\nMcp-Method: "...), method...)
		if name != "" {
			b = append(append(b, "\r\nMcp-Name: "...), name...)
		}
	}
	b = append(b, "\r\nContent-Length: "...)
	b = strconv.AppendInt(b, int64(len(c.message)), 10)
	c.request = append(append(b, "\r\n\r\n"...), c.message...)
}

// post sends c.message and reads the response into c.body.
func (c *client) post(method, name string, status int) (*response, error) {
	c.frame(http.MethodPost, method, name)
	return c.send(method, name, status)
}

// send sends c.request and reads the response into c.body.
func (c *client) send(method, name string, status int) (*response, error) {
	resp, err := c.conn.roundTrip(c.request, &c.body)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s %s: %w", method, name, err)
	case resp.status != status:
		return nil, fmt.Errorf("%s %s: status %d, want %d: %.300s", method, name, resp.status, status, c.body.Bytes())
	case resp.stream:
		return resp, c.unframe()
	}
	return resp, nil
}

// unframe replaces an event stream in c.body by the message in it: a server may
// answer any request with a stream, and does where it takes long.
func (c *client) unframe() error {
	var last []byte
	for line := range bytes.Lines(c.body.Bytes()) {
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok && len(bytes.TrimSpace(data)) > 0 {
			last = bytes.Clone(bytes.TrimSpace(data))
		}
	}
	if last == nil {
		return fmt.Errorf("an event stream without a message: %.300s", c.body.Bytes())
	}
	c.body.Reset()
	_, err := c.body.Write(last)
	return err
}

// appendRequest appends a request; params are the members of its params but
// _meta, with a comma before each.
func appendRequest(b []byte, id int, revision, method string, params ...[]byte) []byte {
	b = strconv.AppendInt(append(b, `{"jsonrpc":"2.0","id":`...), int64(id), 10)
	b = append(append(append(b, `,"method":"`...), method...), `","params":{`...)
	if revision == modern {
		b = append(b, modernMeta...)
	} else {
		b = append(b, `"_meta":{}`...)
	}
	for _, p := range params {
		b = append(b, p...)
	}
	return append(b, `}}`...)
}

// appendCall appends the request of a call.
func (w *work) appendCall(b []byte, id int, revision string) []byte {
	return appendRequest(b, id, revision, "tools/call", []byte(`,"name":"`), []byte(w.tool), []byte(`","arguments":`), w.arguments)
}

// firstID makes all ids equally long, so that answers differ in nothing else.
const firstID = 1_000_000

// prepare makes the next call's request, which call sends.
func (c *client) prepare(w *work) {
	c.lastID++
	c.message = w.appendCall(c.message[:0], firstID+c.lastID, c.revision)
	c.frame(http.MethodPost, "tools/call", w.tool)
}

// call sends what prepare has made; the answer is in c.body.
func (c *client) call(w *work) error {
	_, err := c.send("tools/call", w.tool, http.StatusOK)
	return err
}

// listTools reads all pages of tools/list and returns how many tools there are
// and how long the pages are.
func (c *client) listTools() (tools, size int, err error) {
	var cursor []byte
	for {
		c.lastID++
		c.message = appendRequest(c.message[:0], firstID+c.lastID, c.revision, "tools/list", cursor)
		if _, err := c.post("tools/list", "", http.StatusOK); err != nil {
			return 0, 0, err
		}
		var answer struct {
			Result struct {
				Tools      []struct{}      `json:"tools"`
				NextCursor json.RawMessage `json:"nextCursor"`
			} `json:"result"`
		}
		if err := json.Unmarshal(c.body.Bytes(), &answer); err != nil {
			return 0, 0, fmt.Errorf("tools/list: %w", err)
		}
		tools, size = tools+len(answer.Result.Tools), size+c.body.Len()
		if answer.Result.NextCursor == nil {
			return tools, size, nil
		}
		cursor = append([]byte(`,"cursor":`), answer.Result.NextCursor...)
	}
}
