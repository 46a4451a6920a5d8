package gateway

import (
	"net/http"
	"slices"
	"time"

	connectcors "connectrpc.com/cors"
	"github.com/rs/cors"
)

// preflightTTL is how long a browser may remember what it is allowed to send.
const preflightTTL = 2 * time.Hour

// withCORS tells the browsers of the allowed origins what their pages may send
// and see, of MCP, gRPC-Web and Connect. Without any, no page of another origin
// gets to see an answer.
func withCORS(origins []string, h http.Handler) http.Handler {
	if len(origins) == 0 {
		return h
	}
	return cors.New(cors.Options{
		AllowedOrigins: origins,
		AllowedMethods: []string{http.MethodGet, http.MethodPost, http.MethodDelete},
		// Headers of tools (Mcp-Param-*) and of callers have any name.
		AllowedHeaders: []string{"*"},
		ExposedHeaders: slices.Concat(connectcors.ExposedHeaders(),
			[]string{"Mcp-Session-Id", "Mcp-Protocol-Version", "Mcp-Json", "Www-Authenticate"}),
		MaxAge: int(preflightTTL.Seconds()),
	}).Handler(h)
}
