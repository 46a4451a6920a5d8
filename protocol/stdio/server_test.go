//go:build unix

package stdio_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"github.com/mcp-bridge/mcp-bridge/protocol/internal/prototest"
	"github.com/mcp-bridge/mcp-bridge/protocol/stdio"
)

// serverEnv makes the test binary a server that behaves as its value says.
const serverEnv = "STDIO_TEST_SERVER"

// beServer is a server in a process of its own.
// stubborn is what a server says on standard error that ignores signals from
// then on.
const stubborn = "no signal ends this server"

func beServer(mode string) int {
	if mode == "good" {
		fmt.Fprintln(os.Stderr, "ready")
		if err := stdio.Serve(context.Background(), os.Stdin, os.Stdout, stdio.Config{Handler: prototest.NewHandler()}); err != nil {
			return 1
		}
		return 0
	}
	switch mode {
	case "dies":
		fmt.Fprintln(os.Stderr, "no configuration")
		return 2
	case "stubborn", "deaf":
		signal.Ignore(syscall.SIGTERM)
		fmt.Fprintln(os.Stderr, stubborn)
	}
	if mode == "deaf" {
		select {}
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		if err := json.Unmarshal(in.Bytes(), &m); err != nil {
			return 1
		}
		say := func(result string) {
			fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
		}
		if mode == "garbage" {
			fmt.Fprint(os.Stdout, "Listening...\n\n\x00\xff\n[]\n{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}\n{}\n")
		}
		switch m.Method {
		case "initialize":
			say(`{"protocolVersion":"2025-06-18","capabilities":{"logging":{}},"serverInfo":{"name":"s","version":"1"}}`)
			continue
		case "server/discover":
			if mode != "silent" {
				fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"what?"}}`+"\n", m.ID)
			}
			continue
		case "tools/call":
		default:
			continue
		}
		switch m.Params.Name {
		case "exit":
			fmt.Fprintln(os.Stderr, "out of memory")
			return 3
		case "kill":
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		case "long":
			fmt.Fprintln(os.Stdout, strings.Repeat("x", 11<<20))
		case "broken":
			fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","id":%s,"result":{"content":[`+"\n", m.ID)
		case "cut":
			fmt.Fprintln(os.Stdout, `{"jsonrpc":"2.0","result":{"content":[`)
		case "flood":
			for i := range 100_000 {
				fmt.Fprintf(os.Stderr, "\x1b[31mline %d\x1b[0m %s\n", i, strings.Repeat("x", 100))
			}
			fmt.Fprintln(os.Stderr, "the end")
			return 3
		case "tells": // what it should not
			secret := os.Getenv("TEST_API_TOKEN")
			fmt.Fprintln(os.Stderr, "the token is", secret)
			fmt.Fprintln(os.Stdout, "the token is", secret)
			fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","id":%s,"error":{"code":-1,"message":"bad token %s","data":{"token":"%s"}}}`+"\n", m.ID, secret, secret)
		case "hang":
		case "close":
			_ = os.Stdout.Close()
		case "spawn":
			child := exec.Command("sleep", "1000")
			child.Stdout, child.Stderr = os.Stdout, os.Stderr
			if err := child.Start(); err != nil {
				return 1
			}
			say(fmt.Sprintf(`{"pid":%d}`, child.Process.Pid))
		case "env":
			text, _ := json.Marshal(os.Environ())
			say(`{"env":` + string(text) + `}`)
		case "pwd":
			dir, _ := os.Getwd()
			text, _ := json.Marshal(dir)
			say(`{"dir":` + string(text) + `}`)
		default:
			say(fmt.Sprintf(`{"pid":%d}`, os.Getpid()))
		}
	}
	if mode == "stubborn" {
		select {}
	}
	return 0
}
