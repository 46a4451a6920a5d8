package demo_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"buf.build/go/protovalidate"
	"connectrpc.com/connect"
	"connectrpc.com/grpcreflect"
	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	libraryv1 "github.com/mcp-bridge/mcp-bridge/gen/library/v1"
	"github.com/mcp-bridge/mcp-bridge/gen/library/v1/libraryv1connect"
	"github.com/mcp-bridge/mcp-bridge/internal/demo"
	"github.com/mcp-bridge/mcp-bridge/internal/demo/demogrpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serveHandler serves a library by connect-go and returns its URL.
func serveHandler(t *testing.T, l *demo.Library) string {
	t.Helper()
	s := httptest.NewUnstartedServer(demo.Handler(l))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

// serveGRPC serves a library by grpc-go and returns its URL.
func serveGRPC(t *testing.T, l *demo.Library) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := demogrpc.NewServer(l)
	done := make(chan error, 1)
	go func() { done <- s.Serve(lis) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return "http://" + lis.Addr().String()
}

// httpClient returns a client that speaks HTTP/1.1 or, without TLS, HTTP/2.
func httpClient(t *testing.T, http2 bool) *http.Client {
	t.Helper()
	transport := &http.Transport{Protocols: new(http.Protocols), TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS13}}
	transport.Protocols.SetHTTP1(!http2)
	transport.Protocols.SetUnencryptedHTTP2(http2)
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// TestServe holds all ways to reach a library to the same behaviour.
func TestServe(t *testing.T) {
	t.Parallel()
	for _, way := range []struct {
		name  string
		serve func(*testing.T, *demo.Library) string
		http2 bool
		opts  []connect.ClientOption
	}{
		{"connect", serveHandler, false, nil},
		{"connect get", serveHandler, true, []connect.ClientOption{connect.WithHTTPGet()}},
		{"connect json", serveHandler, false, []connect.ClientOption{connect.WithProtoJSON()}},
		{"grpc", serveHandler, true, []connect.ClientOption{connect.WithGRPC()}},
		{"grpc-web", serveHandler, false, []connect.ClientOption{connect.WithGRPCWeb()}},
		{"grpc-go", serveGRPC, true, []connect.ClientOption{connect.WithGRPC()}},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			waiting := make(chan struct{}, 1)
			l := demo.New()
			demo.OnReindex(l, func() { waiting <- struct{}{} })
			client := libraryv1connect.NewLibraryClient(httpClient(t, way.http2), way.serve(t, l), way.opts...)
			checkUnary(t, client)
			checkErrors(t, client)
			checkCancel(t, client, waiting)
			checkWatch(t, client)
		})
	}
}

func checkUnary(t *testing.T, client libraryv1connect.LibraryClient) {
	t.Helper()
	book, err := client.GetBook(t.Context(), &libraryv1.GetBookRequest{Name: "shelves/2/books/1"})
	if err != nil {
		t.Fatal(err)
	}
	if book.GetTitle() != "Frankenstein" || book.GetIsbn() != 9780141439471 || len(book.GetCoverThumbnail()) == 0 {
		t.Errorf("book %v", book)
	}
	page, err := client.ListBooks(t.Context(), &libraryv1.ListBooksRequest{Parent: "shelves/3"})
	if err != nil || len(page.GetBooks()) != 7 {
		t.Errorf("list %v, error %v", page, err)
	}
	indexed, err := client.Reindex(t.Context(), &libraryv1.ReindexRequest{Delay: durationpb.New(time.Millisecond)})
	if err != nil || indexed.GetBooks() != 28 {
		t.Errorf("reindex %v, error %v", indexed, err)
	}
}

func checkErrors(t *testing.T, client libraryv1connect.LibraryClient) {
	t.Helper()
	_, err := client.CheckOutBook(t.Context(), &libraryv1.CheckOutBookRequest{
		Name: demo.LentBook, Borrower: &libraryv1.CheckOutBookRequest_MemberId{MemberId: "M-000001"},
	})
	details := detailsOf(t, err, connect.CodeFailedPrecondition, "every copy of")
	if len(details) != 3 {
		t.Fatalf("details %v", details)
	}
	_, ok1 := details[0].(*errdetails.PreconditionFailure)
	_, ok2 := details[1].(*errdetails.RetryInfo)
	_, ok3 := details[2].(*errdetails.ResourceInfo)
	if !ok1 || !ok2 || !ok3 {
		t.Errorf("details %v", details)
	}

	for _, tt := range []struct {
		name string
		call func() error
		want []string // the violated rules
	}{
		{"strings", func() error {
			_, err := client.GetBook(t.Context(), &libraryv1.GetBookRequest{})
			return err
		}, []string{"name required"}},
		{"pattern and range", func() error {
			_, err := client.ListBooks(t.Context(), &libraryv1.ListBooksRequest{Parent: "shelf", PageSize: 101})
			return err
		}, []string{"parent string.pattern", "page_size int32.gte_lte"}},
		{"oneof", func() error {
			_, err := client.CheckOutBook(t.Context(), &libraryv1.CheckOutBookRequest{Name: demo.LentBook})
			return err
		}, []string{"borrower required"}},
		{"nested", func() error {
			_, err := client.CreateBook(t.Context(), &libraryv1.CreateBookRequest{
				Parent: "shelves/1",
				Book: &libraryv1.Book{
					Isbn:    1,
					Stock:   map[string]int32{"Main": -1},
					Authors: []*libraryv1.Author{{BirthYear: proto.Int32(1900), DeathYear: proto.Int32(1800)}},
				},
			})
			return err
		}, []string{
			"create.title", "book.authors[0] author.lifespan", "book.authors[0].name string.min_len",
			"book.isbn int64.gte_lte", `book.stock["Main"] string.pattern`, `book.stock["Main"] int32.gte_lte`,
		}},
		{"mask", func() error {
			req := &libraryv1.UpdateBookRequest{Book: &libraryv1.Book{}}
			req.UpdateMask = &fieldmaskpb.FieldMask{Paths: []string{"title", "authors"}}
			_, err := client.UpdateBook(t.Context(), req)
			return err
		}, []string{"update.name", "update.title", "update.authors"}},
		{"duration", func() error {
			_, err := client.Reindex(t.Context(), &libraryv1.ReindexRequest{Delay: durationpb.New(301 * time.Second)})
			return err
		}, []string{"delay duration.gte_lte"}},
		{"enum list", func() error {
			_, err := client.SearchBooks(t.Context(), &libraryv1.SearchBooksRequest{
				Query: "x", Genres: []libraryv1.Genre{0, 99}, PublishedAfter: proto.Int32(2), PublishedBefore: proto.Int32(1),
			})
			return err
		}, []string{"search.years", "genres[0] enum.not_in", "genres[1] enum.defined_only"}},
		{"stream", func() error {
			stream, err := client.WatchBooks(t.Context(), &libraryv1.WatchBooksRequest{Parent: "x"})
			if err != nil {
				return err
			}
			for stream.Receive() {
			}
			return errors.Join(stream.Err(), stream.Close())
		}, []string{"parent string.pattern"}},
	} {
		details := detailsOf(t, tt.call(), connect.CodeInvalidArgument, "validation error")
		if len(details) != 1 {
			t.Errorf("%s: details %v", tt.name, details)
			continue
		}
		violations, ok := details[0].(*validate.Violations)
		if !ok {
			t.Errorf("%s: detail %v", tt.name, details[0])
			continue
		}
		var got []string
		for _, v := range violations.GetViolations() {
			got = append(got, strings.TrimSpace(protovalidate.FieldPathString(v.GetField())+" "+v.GetRuleId()))
		}
		slices.Sort(got)
		slices.Sort(tt.want)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: violations %q\nwant %q", tt.name, got, tt.want)
		}
	}
}

// detailsOf checks the code and the text of an error and returns its details.
func detailsOf(t *testing.T, err error, code connect.Code, text string) []proto.Message {
	t.Helper()
	fault, ok := errors.AsType[*connect.Error](err)
	if !ok {
		t.Errorf("error %v is a %T", err, err)
		return nil
	}
	if fault.Code() != code || !strings.Contains(fault.Message(), text) {
		t.Errorf("error %v, want %s with %q", err, code, text)
	}
	var details []proto.Message
	for _, detail := range fault.Details() {
		m, err := detail.Value()
		if err != nil {
			t.Error(err)
			continue
		}
		details = append(details, m)
	}
	return details
}

// checkCancel cancels a call that is waiting.
func checkCancel(t *testing.T, client libraryv1connect.LibraryClient, waiting <-chan struct{}) {
	t.Helper()
	<-waiting // of the call that ended
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-waiting
		cancel()
	}()
	_, err := client.Reindex(ctx, &libraryv1.ReindexRequest{Delay: durationpb.New(5 * time.Minute)})
	if connect.CodeOf(err) != connect.CodeCanceled {
		t.Errorf("after the cancellation: %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = client.Reindex(ctx, &libraryv1.ReindexRequest{Delay: durationpb.New(5 * time.Minute)})
	if connect.CodeOf(err) != connect.CodeDeadlineExceeded {
		t.Errorf("after the deadline: %v", err)
	}
}

func checkWatch(t *testing.T, client libraryv1connect.LibraryClient) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := client.WatchBooks(ctx, &libraryv1.WatchBooksRequest{Parent: "shelves/2", IncludeExisting: true})
	if err != nil {
		t.Fatal(err)
	}
	for range 8 {
		if !stream.Receive() {
			t.Fatalf("the stream ended: %v", stream.Err())
		}
	}
	if _, err := client.DeleteBook(t.Context(), &libraryv1.DeleteBookRequest{Name: "shelves/2/books/8"}); err != nil {
		t.Fatal(err)
	}
	if !stream.Receive() {
		t.Fatalf("the stream ended: %v", stream.Err())
	}
	if m := stream.Msg(); m.GetChange() != libraryv1.WatchBooksResponse_CHANGE_REMOVED || m.GetBook().GetName() != "shelves/2/books/8" {
		t.Errorf("change %v", m)
	}
	cancel()
	if stream.Receive() || connect.CodeOf(stream.Err()) != connect.CodeCanceled {
		t.Errorf("after the cancellation: %v", stream.Err())
	}
	_ = stream.Close()
}

// TestReflection reads the API as a reflection client does.
func TestReflection(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		serve func(*testing.T, *demo.Library) string
	}{{"connect-go", serveHandler}, {"grpc-go", serveGRPC}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			client := grpcreflect.NewClient(httpClient(t, true), tt.serve(t, demo.New()), connect.WithGRPC())
			stream := client.NewStream(t.Context())
			defer func() { _, _ = stream.Close() }()
			services, err := stream.ListServices()
			if err != nil || !slices.Contains(services, libraryv1connect.LibraryName) {
				t.Fatalf("services %q, error %v", services, err)
			}
			files, err := stream.FileContainingSymbol(libraryv1connect.LibraryName)
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, file := range files {
				if file.GetName() != "library/v1/library.proto" {
					continue
				}
				fd, err := protodesc.NewFile(file, protoregistry.GlobalFiles)
				if err != nil {
					t.Fatal(err)
				}
				found = true
				checkComments(t, fd)
			}
			if !found {
				t.Error("library.proto is missing")
			}
		})
	}
}

// TestDescriptors finds what is in library.proto and what is not.
func TestDescriptors(t *testing.T) {
	t.Parallel()
	resolver := demo.Descriptors()
	file, err := resolver.FindFileByPath("library/v1/library.proto")
	if err != nil {
		t.Fatal(err)
	}
	checkComments(t, file)
	for _, name := range []protoreflect.FullName{"library.v1.Book", "google.rpc.RetryInfo"} {
		if d, err := resolver.FindDescriptorByName(name); err != nil || d.FullName() != name {
			t.Errorf("%s: %v, error %v", name, d, err)
		}
	}
	if _, err := resolver.FindFileByPath("no/such.proto"); !errors.Is(err, protoregistry.NotFound) {
		t.Errorf("error %v", err)
	}
	linked, got := protodesc.ToFileDescriptorProto(libraryv1.File_library_v1_library_proto), protodesc.ToFileDescriptorProto(file)
	linked.Options, got.Options, got.SourceCodeInfo = nil, nil, nil
	if !proto.Equal(linked, got) {
		t.Error("library.binpb is not what the generated code was made from; run `make generate`")
	}
}

// checkComments wants a comment on everything.
func checkComments(t *testing.T, file protoreflect.FileDescriptor) {
	t.Helper()
	locations := file.SourceLocations()
	check := func(d protoreflect.Descriptor) {
		if strings.TrimSpace(locations.ByDescriptor(d).LeadingComments) == "" {
			t.Errorf("%s has no comment", d.FullName())
		}
	}
	service := file.Services().ByName("Library")
	check(service)
	for i := range service.Methods().Len() {
		check(service.Methods().Get(i))
	}
	checkTypes(file, check)
}

type types interface {
	Messages() protoreflect.MessageDescriptors
	Enums() protoreflect.EnumDescriptors
}

func checkTypes(in types, check func(protoreflect.Descriptor)) {
	for i := range in.Enums().Len() {
		enum := in.Enums().Get(i)
		check(enum)
		for j := range enum.Values().Len() {
			check(enum.Values().Get(j))
		}
	}
	for i := range in.Messages().Len() {
		message := in.Messages().Get(i)
		if message.IsMapEntry() {
			continue
		}
		check(message)
		for j := range message.Fields().Len() {
			check(message.Fields().Get(j))
		}
		for j := range message.Oneofs().Len() {
			if oneof := message.Oneofs().Get(j); !oneof.IsSynthetic() {
				check(oneof)
			}
		}
		checkTypes(message, check)
	}
}
