// Package gateway runs a configuration: every front before any number of
// upstreams. The command mcp-bridge is this package with flags and printing.
//
// [New] checks a Config and begins to open its upstreams. [Gateway.Serve] listens
// as the Config says; [Gateway.Handler] is for an HTTP server of one's own, behind
// one's own middleware; [Gateway.ServeStdio] serves one client on a pair of
// streams. [Gateway.Apply] replaces the configuration while all of them go on.
//
// A request passes these files: edge.go says who it comes from and whether it may
// be here; site.go finds the front for its path; the front, of the packages
// protocol and bridge, reads its envelope; pipeline.go counts it, passes it
// through the middleware and tool search, and hands it to the Mux, which asks the
// upstreams that build.go has made of the configuration. listen.go accepts the
// connections below that, and serve.go begins and ends everything.
package gateway
