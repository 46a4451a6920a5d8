package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// fakeArgument, as the first argument, makes the test binary an MCP server on
// its standard input and output: fakeArgument MODE DIRECTORY. The directory
// tells its process from others.
const fakeArgument = "fake-mcp-server"

// The modes of fake servers.
const (
	fakeLegacy = "legacy" // speaks 2025-06-18
	fakeModern = "modern" // speaks 2026-07-28
	// fakeStays is fakeLegacy that does not end with its input.
	fakeStays = "stays"
	// fakeDeaf reads nothing.
	fakeDeaf = "deaf"
	// fakeBroken is fakeLegacy that ends as soon as it is started while its
	// directory has a file of the name brokenFile.
	fakeBroken = "broken"
)

const brokenFile = "broken"

// fakeServer is an MCP server that misbehaves as its tools are asked to. What
// the tools do stands in call.
type fakeServer struct {
	mode      string
	calls     int               // of tools, but "calls"
	asked     map[string]string // the ids of calls, by those of the questions they have asked
	cancelled int               // calls that nobody has been told of
	waiting   []string          // the ids of calls of "cancelled"
}

// fakeMessage is what a fakeServer reads.
type fakeMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name string `json:"name"`
		Meta struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// beFakeServer serves until its input ends, and returns the exit status.
func beFakeServer(mode, dir string) int {
	if _, err := os.Stat(dir + "/" + brokenFile); mode == fakeBroken && err == nil {
		fmt.Fprintln(os.Stderr, "no configuration")
		return 2
	}
	if mode == fakeDeaf {
		select {}
	}
	s := &fakeServer{mode: mode, asked: make(map[string]string)}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var m fakeMessage
		if err := json.Unmarshal(in.Bytes(), &m); err != nil {
			fmt.Fprintf(os.Stderr, "%v in %s\n", err, in.Bytes())
			return 1
		}
		s.receive(&m)
	}
	if mode == fakeStays {
		select {}
	}
	return 0
}

func (s *fakeServer) receive(m *fakeMessage) {
	switch m.Method {
	case "":
		if call, ok := s.asked[string(m.ID)]; ok {
			delete(s.asked, string(m.ID))
			s.text(call, string(m.Result)+string(m.Error))
		}
	case "server/discover":
		if s.mode == fakeModern {
			s.result(string(m.ID), `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`)
			return
		}
		fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"what?"}}`+"\n", m.ID)
	case "initialize":
		s.result(string(m.ID), `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"1"}}`)
	case "tools/list":
		s.result(string(m.ID), `{"tools":[{"name":"pid","inputSchema":{"type":"object"}},{"name":"hang","inputSchema":{"type":"object"}},{"name":"env","inputSchema":{"type":"object"}},{"name":"ask","inputSchema":{"type":"object"}}]}`)
	case "tools/call":
		s.call(m)
	case "notifications/cancelled":
		s.cancelled++
		s.tell()
	}
}

// call does what a tool does.
func (s *fakeServer) call(m *fakeMessage) {
	id := string(m.ID)
	if m.Params.Name != "calls" {
		s.calls++
	}
	switch m.Params.Name {
	case "pid":
		s.text(id, strconv.Itoa(os.Getpid()))
	case "env": // says what is in its environment
		s.text(id, strings.Join(os.Environ(), "\n"))
	case "calls": // says how many calls there were
		s.text(id, strconv.Itoa(s.calls))
	case "hang": // sends progress, and nothing more
		if m.Params.Meta.Token != nil {
			fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`+"\n", m.Params.Meta.Token)
		}
	case "flood": // sends more progress than anybody takes, and nothing more
		out := bufio.NewWriter(os.Stdout)
		for i := range 5_000 {
			fmt.Fprintf(out, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`+"\n", m.Params.Meta.Token, i)
		}
		_ = out.Flush() // nobody is left where it fails
	case "ask": // says what the user has answered
		question := strconv.Quote("question " + id)
		s.asked[question] = id
		fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","id":%s,"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}`+"\n", question)
	case "cancelled": // waits until a call has been cancelled
		s.waiting = append(s.waiting, id)
		s.tell()
	case "garbage":
		fmt.Fprint(os.Stdout, "Listening...\n\n\x00\xff\n[]\n{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}\n{}\n")
		s.text(id, "clean")
	case "long":
		fmt.Fprintln(os.Stdout, strings.Repeat("x", 10<<20+1))
	case "exit":
		fmt.Fprintln(os.Stderr, "out of memory")
		os.Exit(3)
	}
}

// tell answers calls of "cancelled".
func (s *fakeServer) tell() {
	for s.cancelled > 0 && len(s.waiting) > 0 {
		s.text(s.waiting[0], "cancelled")
		s.waiting = s.waiting[1:]
		s.cancelled--
	}
}

func (s *fakeServer) text(id, text string) {
	quoted, _ := json.Marshal(text) // a string
	s.result(id, `{"resultType":"complete","content":[{"type":"text","text":`+string(quoted)+`}]}`)
}

func (s *fakeServer) result(id, result string) {
	fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
}
