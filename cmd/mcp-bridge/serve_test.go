package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// web is an HTTP client of one test.
func web(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func request(t *testing.T, method, url, body string, header ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for pair := range slices.Chunk(header, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	return r
}

// do performs a request and returns the status and the body.
func do(t *testing.T, c *http.Client, r *http.Request) (int, string) {
	t.Helper()
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

const (
	listTools  = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
)

// startInProcess runs a serving command in this process, until the test ends,
// and returns its first line of output. It must exit with 0.
func startInProcess(t *testing.T, stderr io.Writer, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, w := io.Pipe()
	status := make(chan int, 1)
	go func() {
		status <- run(ctx, args, strings.NewReader(""), w, stderr)
		_ = w.Close()
	}()
	out := bufio.NewReader(r)
	line, err := out.ReadString('\n')
	if err != nil {
		cancel()
		t.Fatalf("exit status %d: %s", <-status, stderr)
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, out)
	}()
	t.Cleanup(func() {
		cancel()
		if s := <-status; s != 0 {
			t.Errorf("exit status %d: %s", s, stderr)
		}
		<-drained
	})
	return strings.TrimSpace(line)
}

func TestServe(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	line := startInProcess(t, &stderr, "serve", "--listen", "127.0.0.1:0", "--path", "/tools", "--sse",
		"--allowed-origin", "https://app.example.com", reflective(t))
	url, ok := strings.CutPrefix(line, "Listening on ")
	if !ok || !strings.HasPrefix(url, "http://127.0.0.1:") || !strings.HasSuffix(url, "/tools") {
		t.Fatalf("printed %q", line)
	}
	base := strings.TrimSuffix(url, "/tools")
	client := web(t)
	for name, tt := range map[string]struct {
		r      *http.Request
		status int
		want   string
	}{
		"legacy":         {request(t, "POST", url, listTools), 200, `"name":"Library_GetBook"`},
		"modern":         {request(t, "POST", url, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+modernMeta+`}}`, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/list"), 200, `"resultType":"complete"`},
		"health":         {request(t, "GET", base+"/healthz", ""), 200, "ok\n"},
		"elsewhere":      {request(t, "GET", base+"/", ""), 404, "the MCP endpoint is /tools"},
		"other method":   {request(t, "PUT", url, ""), 405, ""},
		"rebound":        {hosted(request(t, "POST", url, listTools), "evil.example.com"), 403, "evil.example.com"},
		"allowed origin": {request(t, "POST", url, listTools, "Origin", "https://app.example.com"), 200, `"tools"`},
		"other origin":   {request(t, "POST", url, listTools, "Origin", "https://evil.example.com"), 403, "evil.example.com"},
		"large header":   {request(t, "POST", url, listTools, "X-Large", strings.Repeat("x", 128<<10)), 431, ""},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := do(t, client, tt.r)
			if status != tt.status {
				t.Errorf("status %d, want %d", status, tt.status)
			}
			contains(t, body, tt.want)
		})
	}
	t.Run("HTTP/2", func(t *testing.T) {
		var protocols http.Protocols
		protocols.SetUnencryptedHTTP2(true)
		transport := &http.Transport{Protocols: &protocols}
		defer transport.CloseIdleConnections()
		if status, body := do(t, &http.Client{Transport: transport}, request(t, "POST", url, listTools)); status != 200 {
			t.Errorf("status %d: %s", status, body)
		}
	})
	t.Run("HTTP+SSE", func(t *testing.T) {
		resp, err := client.Do(request(t, "GET", base+"/sse", ""))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if line, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil || line != "event: endpoint\n" {
			t.Errorf("%q, %v", line, err)
		}
	})
	if stderr.Len() > 0 {
		t.Errorf("stderr: %s", stderr.String())
	}
}

func hosted(r *http.Request, host string) *http.Request {
	r.Host = host
	return r
}

func TestServeExposed(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	line := startInProcess(t, &stderr, "serve", "--listen", ":0", "--allow-unauthenticated", "--json", reflective(t))
	var started struct {
		URL, Upstream      string
		Tools, NotCallable int
	}
	if err := json.Unmarshal([]byte(line), &started); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(started.URL, "http://127.0.0.1:") || started.Tools != 9 || started.NotCallable != 0 || !strings.HasPrefix(started.Upstream, "grpc://") {
		t.Errorf("printed %s", line)
	}
	contains(t, stderr.String(), "mcp-bridge: warning: ", "there is no authentication")
}

func TestListenErrors(t *testing.T) {
	t.Parallel()
	l := listen(t)
	defer l.Close()
	for _, command := range [][]string{{"serve", exampleURL}, {"demo"}} {
		got := mcpBridge(t, append(command, "--listen", l.Addr().String())...)
		if got.status != 1 {
			t.Errorf("exit status %d", got.status)
		}
		contains(t, got.stderr, "the port is in use", "--listen")
	}
	got := mcpBridge(t, "demo", "--listen", "192.0.2.1:0", "--allow-unauthenticated")
	if got.status != 1 {
		t.Errorf("exit status %d", got.status)
	}
	contains(t, got.stderr, "cannot listen on 192.0.2.1:0: ", "--listen")
	got = mcpBridge(t, "demo", "--listen", "0.0.0.0:0")
	if got.status != 1 {
		t.Errorf("exit status %d", got.status)
	}
	contains(t, got.stderr, "--listen: other machines can reach this address", "--allow-unauthenticated")
	if got := mcpBridge(t, "serve", "--allowed-origin", "app.example.com", "--listen", "127.0.0.1:0", reflective(t)); got.status != 2 {
		t.Errorf("exit status %d: %s", got.status, got.stderr)
	}
}

// refused waits until nothing listens on the URL's address.
func refused(t *testing.T, url string) {
	t.Helper()
	address := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/mcp")
	for {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if errors.Is(err, syscall.ECONNREFUSED) {
			return
		}
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
		if err == nil {
			_ = conn.Close() // it was accepted before the end
		}
	}
}

// callReindex calls the slow tool and sends the response to the channel.
func callReindex(t *testing.T, c *http.Client, url string, header ...string) <-chan string {
	t.Helper()
	r := request(t, "POST", url, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"Library_Reindex"}}`, header...)
	response := make(chan string, 1)
	go func() {
		resp, err := c.Do(r)
		if err != nil {
			response <- "error: " + err.Error()
			return
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			response <- "error: " + err.Error()
			return
		}
		response <- string(body)
	}()
	return response
}

// TestDrain holds that SIGTERM tells health checks and subscribers that it is
// over, lets calls under way finish, ends the streams of sessions, and exits with 0.
func TestDrain(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	p, url := startServe(t, "--sse", reflective(t, g.option()))
	client := web(t)

	listening, err := client.Do(request(t, "POST", url,
		`{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},`+modernMeta+`}}`,
		"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen"))
	if err != nil {
		t.Fatal(err)
	}
	defer listening.Body.Close()

	opened, err := client.Do(request(t, "POST", url, initialize))
	if err != nil {
		t.Fatal(err)
	}
	_ = opened.Body.Close()
	session := []string{"Mcp-Session-Id", opened.Header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version", "2025-11-25"}
	stream, err := client.Do(request(t, "GET", url, "", session...))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	sse, err := client.Do(request(t, "GET", strings.TrimSuffix(url, "/mcp")+"/sse", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer sse.Body.Close()

	conn, err := grpc.NewClient(strings.TrimPrefix(strings.TrimSuffix(url, "/mcp"), "http://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	watching, err := healthpb.NewHealthClient(conn).Watch(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	hears := func(want healthpb.HealthCheckResponse_ServingStatus) {
		t.Helper()
		if got, err := watching.Recv(); err != nil || got.GetStatus() != want {
			t.Errorf("health %v, %v, want %v", got, err, want)
		}
	}
	hears(healthpb.HealthCheckResponse_SERVING)

	stateless, inSession := callReindex(t, client, url), callReindex(t, client, url, session...)
	<-g.entered
	<-g.entered
	p.signal(syscall.SIGTERM)
	hears(healthpb.HealthCheckResponse_NOT_SERVING)
	refused(t, url)
	events, err := io.ReadAll(listening.Body)
	if err != nil {
		t.Errorf("the subscription ended with %v", err)
	}
	contains(t, string(events), "notifications/subscriptions/acknowledged", `"id":"l","result":`)
	g.release()
	for _, response := range []string{<-stateless, <-inSession} {
		contains(t, response, `"id":7`, `"structuredContent":{"books":`)
	}
	for _, body := range []io.Reader{stream.Body, sse.Body} {
		if _, err := io.Copy(io.Discard, body); err != nil {
			t.Errorf("a stream ended with %v", err)
		}
	}
	p.ended()
}

// TestDrainTimeout holds that a call that does not end does not keep the
// program from ending.
func TestDrainTimeout(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	p, url := startServe(t, "--shutdown-timeout", "1ms", reflective(t, g.option()))
	response := callReindex(t, web(t), url)
	<-g.entered
	p.signal(syscall.SIGINT)
	contains(t, <-response, "error: ")
	p.ended()
	contains(t, p.stderr.String(), "the shutdown timeout has passed")
}

// TestSecondSignal holds that a second signal ends the program at once.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	p, url := startServe(t, "--shutdown-timeout", "1h", reflective(t, g.option()))
	response := callReindex(t, web(t), url)
	<-g.entered
	p.signal(syscall.SIGTERM)
	refused(t, url)
	ended := make(chan error, 1)
	go func() { ended <- p.wait() }()
	for {
		select {
		case err := <-ended:
			exit, ok := errors.AsType[*exec.ExitError](err)
			if !ok || exit.ExitCode() != exitSignal+int(syscall.SIGTERM) {
				t.Errorf("ended with %v\n%s", err, p.stderr.String())
			}
			contains(t, <-response, "error: ")
			return
		default:
			_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may just have ended
		}
	}
}

// TestDemo runs what the demo proposes.
func TestDemo(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip(err)
	}
	p := start(t, "demo", "--listen", "127.0.0.1:0")
	if line := p.line(); !strings.HasPrefix(line, "Listening on http://127.0.0.1:") || !strings.HasSuffix(line, "/mcp") {
		t.Fatalf("printed %q", line)
	}
	var commands []string
	for line := p.line(); line != "Ctrl-C ends it."; line = p.line() {
		command := strings.TrimPrefix(line, "  ")
		for strings.HasSuffix(command, "\\") {
			command += "\n" + p.line()
		}
		if name, _, _ := strings.Cut(command, " "); name == "curl" || name == "mcp-bridge" || name == "grpcurl" {
			commands = append(commands, command)
		}
	}
	ran := 0
	for _, command := range commands {
		name, _, _ := strings.Cut(command, " ")
		if _, err := exec.LookPath(name); err != nil && name != "mcp-bridge" {
			continue
		}
		script := strings.Replace(command, "mcp-bridge", binary, 1)
		out, err := exec.CommandContext(t.Context(), "bash", "-c", script).CombinedOutput()
		if err != nil {
			t.Errorf("%s\n%v\n%s", command, err, out)
		}
		if text := string(out); !strings.Contains(text, "Pride and Prejudice") && !strings.Contains(text, demoTool) {
			t.Errorf("%s\n%s", command, text)
		}
		ran++
	}
	if ran < 3 {
		t.Errorf("only %d commands in %q", ran, commands)
	}
	p.signal(syscall.SIGINT)
	p.ended()
	if p.stderr.Len() > 0 {
		t.Errorf("stderr: %s", p.stderr.String())
	}
}
