package auth

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/code"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/connectserve"
)

// The error codes of RFC 6750, section 3.1.
const (
	invalidRequest    = "invalid_request"
	invalidToken      = "invalid_token"
	insufficientScope = "insufficient_scope"
)

// MetadataPath is where the metadata of protected resources is found (RFC 9728,
// section 3): the path of a resource follows it.
const MetadataPath = "/.well-known/oauth-protected-resource"

// Refusal says why a request is not let in.
type Refusal struct {
	// Status is the HTTP status: 400, 401, 403, or 503 where nobody could say
	// whether the credential is good.
	Status int
	// Code is the error code of RFC 6750, or empty: then the request has no
	// credential.
	Code string
	// Scopes are what the request needs.
	Scopes []string
	// Reason is for the log: what is wrong. Clients do not get it.
	Reason string
}

// invalid returns the refusal of a token that does not count.
func invalid(reason string) *Refusal {
	return &Refusal{Status: http.StatusUnauthorized, Code: invalidToken, Reason: reason}
}

// unavailable returns the refusal of a token that nobody could verify.
func unavailable(reason string) *Refusal {
	return &Refusal{Status: http.StatusServiceUnavailable, Reason: reason}
}

// text is what a client is told. It is the same whatever is wrong with a token.
func (f *Refusal) text() string {
	switch {
	case f.Status == http.StatusServiceUnavailable:
		return "the credential cannot be verified at present; try again"
	case f.Code == insufficientScope:
		return "the credential lacks a scope that this needs: " + strings.Join(f.Scopes, " ")
	case f.Code == invalidRequest:
		return "the request has several credentials; send one"
	case f.Code == invalidToken:
		return "the credential is not valid here, or not any more"
	default:
		return "this needs a credential: send Authorization: Bearer TOKEN"
	}
}

func (f *Refusal) rpcCode() code.Code {
	switch f.Status {
	case http.StatusBadRequest:
		return code.Code_INVALID_ARGUMENT
	case http.StatusForbidden:
		return code.Code_PERMISSION_DENIED
	case http.StatusServiceUnavailable:
		return code.Code_UNAVAILABLE
	default:
		return code.Code_UNAUTHENTICATED
	}
}

// challenge returns the value of WWW-Authenticate (RFC 6750, section 3; RFC 9728,
// section 5.1), or "".
func (f *Refusal) challenge(metadata string) string {
	if f.Status == http.StatusServiceUnavailable {
		return ""
	}
	var b strings.Builder
	b.WriteString("Bearer")
	for _, p := range [...]struct{ name, value string }{
		{"error", f.Code}, {"error_description", f.description()}, {"scope", strings.Join(f.Scopes, " ")}, {"resource_metadata", metadata},
	} {
		if p.value == "" {
			continue
		}
		if b.Len() > len("Bearer") {
			b.WriteByte(',')
		}
		b.WriteString(" " + p.name + `="` + p.value + `"`)
	}
	return b.String()
}

// description is the text for an error.
func (f *Refusal) description() string {
	if f.Code == "" {
		return ""
	}
	return f.text()
}

// refuse answers a request that is not let in.
func (a *Authenticator) refuse(w http.ResponseWriter, r *http.Request, f *Refusal, isRPC bool) {
	challenge := f.challenge(a.metadataURL(r))
	if f.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", retryAfter)
	}
	if challenge != "" {
		// Of gRPC too, this is a header: HTTP has no trailer of that name.
		w.Header().Set("Www-Authenticate", challenge)
	}
	if isRPC && connectserve.Refuse(w, r, f.rpcCode(), f.text()) {
		return
	}
	http.Error(w, f.text(), f.Status)
}

// resource returns the resource identifier for a request. Below the path of the
// configured one, every path is a resource of its own.
func (a *Authenticator) resource(r *http.Request) string {
	if a.cfg.Resource == "" {
		return base(r) + strings.TrimSuffix(r.URL.Path, "/")
	}
	if below, ok := strings.CutPrefix(r.URL.Path, a.cfg.Path+"/"); ok && below != "" && a.cfg.Path != "" {
		return a.cfg.Resource + "/" + below
	}
	return a.cfg.Resource
}

// servers returns the authorization servers that clients may turn to, sorted.
func (a *Authenticator) servers() []string {
	var all []string
	for _, is := range a.issuers {
		all = append(all, is.Issuer.Issuer)
	}
	for _, in := range a.asked {
		if in.Issuer != "" {
			all = append(all, in.Issuer)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// metadataURL returns where the metadata of the resource of a request is, or "" where
// there is none: it is of no use without an authorization server.
func (a *Authenticator) metadataURL(r *http.Request) string {
	if len(a.servers()) == 0 {
		return ""
	}
	u, err := url.Parse(a.resource(r))
	if err != nil {
		return ""
	}
	path := u.EscapedPath()
	if path == "/" {
		path = ""
	}
	text := u.Scheme + "://" + u.Host + MetadataPath + path
	if strings.ContainsAny(text, "\"\\\r\n") {
		return "" // a Host that would break out of the challenge
	}
	return text
}

// base returns the scheme and the host that a request is for.
func base(r *http.Request) string {
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// Metadata returns what serves the metadata of the protected resource (RFC 9728), at
// [MetadataPath] and below. It needs no credential. Without an authorization server
// that clients could turn to, there is nothing.
func (a *Authenticator) Metadata() http.Handler {
	servers := a.servers()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(servers) == 0 {
			http.NotFound(w, r)
			return
		}
		resource, path := a.cfg.Resource, strings.TrimPrefix(r.URL.Path, MetadataPath)
		if resource == "" {
			resource = base(r) + path
		} else if u, err := url.Parse(resource); err == nil && strings.HasPrefix(path, strings.TrimSuffix(u.Path, "/")+"/") {
			resource = u.Scheme + "://" + u.Host + path
		}
		doc, err := json.Marshal(struct {
			Resource string   `json:"resource"`
			Servers  []string `json:"authorization_servers"`
			Scopes   []string `json:"scopes_supported,omitempty"`
			Methods  []string `json:"bearer_methods_supported"`
		}{resource, servers, a.scopes(), []string{"header"}})
		if err != nil {
			http.Error(w, "internal error", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "max-age=300")
		_, _ = w.Write(append(doc, '\n')) // the client is gone
	})
}
