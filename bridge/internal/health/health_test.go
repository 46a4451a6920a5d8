package health

import (
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/connectserve"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestFile: the file is the one that everybody has, but for what only
// generators read.
func TestFile(t *testing.T) {
	t.Parallel()
	want := protodesc.ToFileDescriptorProto(healthpb.File_grpc_health_v1_health_proto)
	want.Options = nil
	for _, m := range want.GetService()[0].GetMethod() {
		m.Options = nil
	}
	if got := file(); !proto.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// start serves, and returns the server and its address.
func start(t *testing.T) (*Server, string) {
	t.Helper()
	s, err := New(connectserve.Options{Logger: slog.New(slog.DiscardHandler), MaxMessageBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	s.Set("a.v1.A")
	web := httptest.NewUnstartedServer(s)
	web.Config.Protocols = new(http.Protocols)
	web.Config.Protocols.SetHTTP1(true)
	web.Config.Protocols.SetUnencryptedHTTP2(true)
	web.Start()
	t.Cleanup(func() {
		s.Close()
		web.CloseClientConnections()
		web.Close()
	})
	return s, strings.TrimPrefix(web.URL, "http://")
}

func TestHealth(t *testing.T) {
	t.Parallel()
	s, address := start(t)
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	c := healthpb.NewHealthClient(conn)
	check := func(service string, want healthpb.HealthCheckResponse_ServingStatus) {
		t.Helper()
		got, err := c.Check(t.Context(), &healthpb.HealthCheckRequest{Service: service})
		if err != nil || got.GetStatus() != want {
			t.Errorf("%q: %v, %v", service, got, err)
		}
	}
	check("", healthpb.HealthCheckResponse_SERVING)
	check("a.v1.A", healthpb.HealthCheckResponse_SERVING)
	if got, err := c.Check(t.Context(), &healthpb.HealthCheckRequest{Service: "b"}); status.Code(err) != codes.NotFound {
		t.Errorf("%v, %v", got, err)
	}
	list, err := c.List(t.Context(), &healthpb.HealthListRequest{})
	if err != nil || len(list.GetStatuses()) != 2 || list.GetStatuses()["a.v1.A"].GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("%v, %v", list, err)
	}
	streams := make(map[string]grpc.ServerStreamingClient[healthpb.HealthCheckResponse])
	for service, want := range map[string]healthpb.HealthCheckResponse_ServingStatus{
		"": healthpb.HealthCheckResponse_SERVING, "a.v1.A": healthpb.HealthCheckResponse_SERVING, "b": healthpb.HealthCheckResponse_SERVICE_UNKNOWN,
	} {
		stream, err := c.Watch(t.Context(), &healthpb.HealthCheckRequest{Service: service})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := stream.Recv(); err != nil || got.GetStatus() != want {
			t.Errorf("watch %q: %v, %v", service, got, err)
		}
		streams[service] = stream
	}
	s.Set("b")
	for service, want := range map[string]healthpb.HealthCheckResponse_ServingStatus{
		"a.v1.A": healthpb.HealthCheckResponse_SERVICE_UNKNOWN, "b": healthpb.HealthCheckResponse_SERVING,
	} {
		if got, err := streams[service].Recv(); err != nil || got.GetStatus() != want {
			t.Errorf("watch %q after a change: %v, %v", service, got, err)
		}
	}
	s.Close()
	for _, service := range []string{"", "b"} {
		if got, err := streams[service].Recv(); err != nil || got.GetStatus() != healthpb.HealthCheckResponse_NOT_SERVING {
			t.Errorf("watch %q at the end: %v, %v", service, got, err)
		}
	}
	for stream := range maps.Values(streams) {
		if got, err := stream.Recv(); status.Code(err) != codes.Unavailable {
			t.Errorf("watch after the end: %v, %v", got, err)
		}
	}
	check("", healthpb.HealthCheckResponse_NOT_SERVING)
	late, err := c.Watch(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := late.Recv(); status.Code(err) != codes.Unavailable || errors.Is(err, io.EOF) {
		t.Errorf("late watch: %v, %v", got, err)
	}
}

// TestJSON: what has no client of gRPC asks by curl.
func TestJSON(t *testing.T) {
	t.Parallel()
	_, address := start(t)
	for _, tt := range []struct {
		method, body, want string
		status             int
	}{
		{"Check", `{}`, `{"status":"SERVING"}`, http.StatusOK},
		{"Check", `{"service":"b"}`, `"code":"not_found"`, http.StatusNotFound},
		{"Check", `{"name":"b"}`, `"code":"invalid_argument"`, http.StatusBadRequest},
		{"List", `{}`, `"a.v1.A":{"status":"SERVING"}`, http.StatusOK},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/"+ServiceName+"/"+tt.method, strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		transport := &http.Transport{}
		res, err := (&http.Client{Transport: transport}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		transport.CloseIdleConnections()
		if res.StatusCode != tt.status || !strings.Contains(string(body), tt.want) {
			t.Errorf("%s %s: %d %s", tt.method, tt.body, res.StatusCode, body)
		}
	}
}
