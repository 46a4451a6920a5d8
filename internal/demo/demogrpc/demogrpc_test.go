package demogrpc_test

import (
	"context"
	"net"
	"testing"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	libraryv1 "github.com/mcp-bridge/mcp-bridge/gen/library/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/demo"
	"github.com/mcp-bridge/mcp-bridge/internal/demo/demogrpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// dial serves a library and returns a client of it.
func dial(t *testing.T, opts ...grpc.ServerOption) libraryv1.LibraryClient {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := demogrpc.NewServer(demo.New(), opts...)
	done := make(chan error, 1)
	go func() { done <- server.Serve(lis) }()
	conn, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		server.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return libraryv1.NewLibraryClient(conn)
}

func TestStatuses(t *testing.T) {
	t.Parallel()
	client := dial(t)
	_, err := client.GetBook(t.Context(), &libraryv1.GetBookRequest{Name: "shelves/1/books/999"})
	st := status.Convert(err)
	if want := `there is no book "shelves/1/books/999"; ListBooks and SearchBooks tell which there are`; st.Code() != codes.NotFound || st.Message() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	if details := st.Details(); len(details) != 1 {
		t.Errorf("details %v", details)
	} else if info, ok := details[0].(*errdetails.ResourceInfo); !ok || info.GetResourceName() != "shelves/1/books/999" {
		t.Errorf("detail %v", details[0])
	}
	_, err = client.GetBook(t.Context(), &libraryv1.GetBookRequest{Name: "x"})
	st = status.Convert(err)
	if details := st.Details(); st.Code() != codes.InvalidArgument || len(details) != 1 {
		t.Errorf("got %v with %v", err, details)
	} else if violations, ok := details[0].(*validate.Violations); !ok || len(violations.GetViolations()) != 1 {
		t.Errorf("detail %v", details[0])
	}
}

// TestWatchHeader wants the headers before there is anything to report.
func TestWatchHeader(t *testing.T) {
	t.Parallel()
	client := dial(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := client.WatchBooks(ctx, &libraryv1.WatchBooksRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Header(); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := stream.Recv(); status.Code(err) != codes.Canceled {
		t.Errorf("after the cancellation: %v", err)
	}
}

// TestOptions wants interceptors of the caller to see requests that are
// refused, too.
func TestOptions(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 1)
	client := dial(t, grpc.UnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		seen <- info.FullMethod
		return next(ctx, req)
	}))
	if _, err := client.GetBook(t.Context(), &libraryv1.GetBookRequest{}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("error %v", err)
	}
	if got := <-seen; got != libraryv1.Library_GetBook_FullMethodName {
		t.Errorf("the interceptor saw %s", got)
	}
}
