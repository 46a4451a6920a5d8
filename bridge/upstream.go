package bridge

import (
	"net/http"

	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
)

// Upstream is a backend whose methods become tools.
type Upstream struct {
	// Caller carries the calls. It must not be nil. The Bridge does not close
	// it, except one that [InProcess] made. Package grpcgo has one for gRPC,
	// [Connect] and [InProcessCaller] return those for Connect, gRPC-Web and a
	// handler in this process.
	Caller rpc.Caller
	// Descriptors says where the backend's descriptors come from. Nil means
	// server reflection by the Caller.
	Descriptors Source
	// Services chooses among the services that Descriptors has, by globs
	// over full names, such as "library.v1.*". Empty means all. Health and
	// reflection services are never served.
	Services []string

	close func() error // of a Caller that nobody else knows
	err   error        // why there is no Caller
}

// InProcess returns an Upstream for services that h serves in this very
// process, such as the handlers that connect-go generates, mounted on a mux.
// Calls go to h directly: no socket, no second listener. The services'
// generated code must be linked in. [New] reports what is wrong.
func InProcess(h http.Handler, services ...string) Upstream {
	caller, err := InProcessCaller(h)
	if err != nil {
		return Upstream{err: err}
	}
	return Upstream{Caller: caller, Descriptors: Linked(services...), close: caller.Close}
}
