// Package health serves grpc.health.v1.Health: whether services are being
// served, for load balancers and orchestrators.
//
// The generated package would link grpc-go into every program that uses this
// one, and registers its file where another copy may have done so. So the file
// is described here, and its messages, which are small, are written by hand.
package health

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/connectserve"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/plainjson"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/fault"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/wire"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
)

// ServiceName is the full name of the service.
const ServiceName = "grpc.health.v1.Health"

// The values of grpc.health.v1.HealthCheckResponse.ServingStatus that are used.
const (
	serving        = 1
	notServing     = 2
	serviceUnknown = 3
)

// The fields of the messages.
const (
	requestService   = 1
	responseStatus   = 1
	responseStatuses = 1
	mapKey           = 1
	mapValue         = 2
)

// Server answers health checks: services are served until it is drained. The
// service "" stands for all of them.
type Server struct {
	mux   *http.ServeMux
	files *protoregistry.Files

	mu       sync.Mutex
	services map[string]bool
	changed  chan struct{} // closed, and replaced, when services change
	closed   chan struct{}
	done     bool
	wg       sync.WaitGroup // calls of Watch
}

var _ http.Handler = (*Server)(nil)

// New returns a Server that knows the service "".
func New(o connectserve.Options) (*Server, error) {
	fd, err := protodesc.NewFile(file(), nil)
	if err != nil {
		return nil, fmt.Errorf("health: %w", err)
	}
	s := &Server{mux: http.NewServeMux(), files: new(protoregistry.Files), services: map[string]bool{"": true}, changed: make(chan struct{}), closed: make(chan struct{})}
	if err := s.files.RegisterFile(fd); err != nil {
		return nil, fmt.Errorf("health: %w", err)
	}
	codecs := plainjson.New(fd)
	methods := fd.Services().Get(0).Methods()
	for name, serve := range map[protoreflect.Name]func(context.Context, *connectserve.Call) error{
		"Check": s.check, "Watch": s.watch, "List": s.list,
	} {
		md := methods.ByName(name)
		m := &connectserve.Method{Procedure: "/" + ServiceName + "/" + string(name), Types: codecs.Types(md), Serve: serve}
		if md.IsStreamingServer() {
			m.Kind = rpc.ServerStream
		}
		s.mux.Handle(m.Procedure, connectserve.Handler(m, o))
	}
	return s, nil
}

// Files returns a resolver of the service's file, for server reflection.
func (s *Server) Files() protodesc.Resolver { return s.files }

// ServeHTTP answers a call.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Set replaces the services that are known beside "".
func (s *Server) Set(services ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.services = map[string]bool{"": true}
	for _, service := range services {
		s.services[service] = true
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// Drain says that nothing is served any more, and ends the calls of Watch. Check
// and List go on to answer.
func (s *Server) Drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.done {
		s.done = true
		close(s.closed)
	}
}

// Close is Drain, and waits for the calls of Watch.
func (s *Server) Close() {
	s.Drain()
	s.wg.Wait()
}

// status returns that of a service, and what is closed when it may change.
func (s *Server) status(service string) (status uint64, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.services[service]:
		return serviceUnknown, s.changed
	case s.done:
		return notServing, s.changed
	}
	return serving, s.changed
}

func (s *Server) check(_ context.Context, c *connectserve.Call) error {
	service, err := receive(c)
	if err != nil {
		return err
	}
	status, _ := s.status(service)
	if status == serviceUnknown {
		return fault.New(code.Code_NOT_FOUND, nil, "there is no service %q; leave the name out to ask for all", service)
	}
	return c.Send(response(status))
}

// watch sends the status, and again when it changes, until the server is closed. A
// service that is not known may be one day.
func (s *Server) watch(ctx context.Context, c *connectserve.Call) error {
	service, err := receive(c)
	if err != nil {
		return err
	}
	s.mu.Lock()
	if s.done {
		s.mu.Unlock()
		return errClosed
	}
	s.wg.Add(1)
	s.mu.Unlock()
	defer s.wg.Done()
	for last := uint64(0); ; {
		status, changed := s.status(service)
		if status != last {
			if err := c.Send(response(status)); err != nil {
				return err
			}
		}
		last = status
		select {
		case <-changed:
			continue
		case <-s.closed:
		case <-ctx.Done():
			return ctx.Err()
		}
		if status == serving {
			if err := c.Send(response(notServing)); err != nil {
				return err
			}
		}
		return errClosed
	}
}

var errClosed = fault.New(code.Code_UNAVAILABLE, nil, "the server is shutting down")

func (s *Server) list(_ context.Context, c *connectserve.Call) error {
	if _, err := c.Receive(); err != nil {
		return err
	}
	s.mu.Lock()
	names := slices.Sorted(maps.Keys(s.services))
	s.mu.Unlock()
	var out []byte
	for _, name := range names {
		entry := protowire.AppendString(protowire.AppendTag(nil, mapKey, protowire.BytesType), name)
		status, _ := s.status(name)
		entry = protowire.AppendBytes(protowire.AppendTag(entry, mapValue, protowire.BytesType), response(status))
		out = protowire.AppendBytes(protowire.AppendTag(out, responseStatuses, protowire.BytesType), entry)
	}
	return c.Send(out)
}

// receive returns the service that a request names.
func receive(c *connectserve.Call) (service string, err error) {
	request, err := c.Receive()
	if err != nil {
		return "", err
	}
	err = wire.EachBytes(request, func(num protowire.Number, value []byte) error {
		if num == requestService {
			service = string(value)
		}
		return nil
	})
	if err != nil {
		return "", fault.New(code.Code_INVALID_ARGUMENT, err, "the request cannot be read: %v", err)
	}
	return service, nil
}

func response(status uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, responseStatus, protowire.VarintType), status)
}
