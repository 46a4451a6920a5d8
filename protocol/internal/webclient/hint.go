package webclient

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/mcp-bridge/mcp-bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/internal/printable"
	"github.com/mcp-bridge/mcp-bridge/internal/secret"
)

// connectionHint says what can be done about a server that gives no response.
func connectionHint(u *url.URL, err error) string {
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, wrongName := errors.AsType[x509.HostnameError](err)
	switch {
	case noTLS, strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return "the server speaks HTTP without TLS there: write " + shown(u, "http", u.Path)
	case wrongName:
		return "the certificate is for another host: use a name that it holds"
	case untrusted:
		return "the certificate is self-signed or of a private authority: name that with --ca, or tls.ca in a configuration"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens at " + u.Host + ": is the server running, and is this its port?"
	}
	if unknown, ok := errors.AsType[*net.DNSError](err); ok && unknown.IsNotFound {
		return "the host is unknown: is the name right?"
	}
	return ""
}

// responseHint says what can be done about a response that no MCP server gives.
func responseHint(u *url.URL, response *http.Response, body []byte) string {
	switch {
	case response.StatusCode == http.StatusBadRequest && bytes.Contains(body, []byte("HTTP request to an HTTPS server")):
		return "the server speaks TLS there: write " + shown(u, "https", u.Path)
	case response.StatusCode == http.StatusUnauthorized:
		return "it wants credentials: send them with --header 'authorization: Bearer TOKEN', or headers in a configuration"
	case mediaType(response) == "text/html" && response.StatusCode < http.StatusMultipleChoices:
		return "it answers with a web page, such as a login page: check the URL, and the credentials"
	case response.StatusCode == http.StatusNotFound, response.StatusCode == http.StatusMethodNotAllowed:
		if strings.Trim(u.Path, "/") == "" {
			return "the URL has no path: many servers answer at " + shown(u, u.Scheme, "/mcp")
		}
		return "nothing at " + shown(u, u.Scheme, u.Path) + " takes MCP: check the path of the URL"
	}
	return ""
}

// redirectHint says what can be done about a redirect that is not followed.
func redirectHint(u *url.URL, location string) string {
	to, err := u.Parse(location)
	switch {
	case err != nil || location == "":
		return ""
	case strings.EqualFold(to.Host, u.Host) && to.Path == u.Path && to.Scheme == "https" && u.Scheme == "http":
		return "the server wants TLS: write " + shown(u, "https", u.Path)
	case strings.EqualFold(to.Host, u.Host) && strings.TrimRight(to.Path, "/") == strings.TrimRight(u.Path, "/"):
		return "it is about the slash at the end: write " + shown(u, u.Scheme, to.Path)
	}
	return "it redirects to " + clip.Text(printable.Line(secret.URL(to.Scheme+"://"+to.Host+to.EscapedPath())), maxHint) + ", such as a login page: check the URL, and the credentials"
}

// maxHint bounds what a hint repeats.
const maxHint = 200

// shown returns a URL with another scheme and path.
func shown(u *url.URL, scheme, path string) string {
	again := *u
	again.Scheme, again.Path, again.RawPath, again.User = scheme, path, "", nil
	return secret.URL(again.String())
}
