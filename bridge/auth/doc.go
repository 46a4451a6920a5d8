// Package auth establishes who calls over HTTP. It makes a server an OAuth 2.1
// protected resource as MCP wants it (basic/authorization of 2026-07-28; RFC 6750,
// RFC 8707, RFC 9068, RFC 9728), and knows API keys and client certificates as well.
//
// A request passes through the files like this. [Authenticator.Handler] (auth.go)
// takes the bearer token of a request (bearer.go) and looks for it among those that
// it has verified (cache.go). Others are an API key (apikey.go), a JWT of a
// configured issuer (jwt.go), whose keys are fetched and kept (keys.go, fetch.go), or
// whatever the introspection of an authorization server says they are
// (introspect.go). A request without a token is the subject of its client certificate
// (mtls.go), or anonymous. The outcome is a [protocol.Principal] in the context of the
// request, or a challenge (challenge.go) in the form that the client's protocol has
// for it.
package auth
