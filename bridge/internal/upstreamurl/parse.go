package upstreamurl

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/mcp-bridge/mcp-bridge/internal/secret"
)

// maxLength bounds what is parsed and quoted back.
const maxLength = 4096

// known is the list of an error message.
const known = "grpc://, grpcs://, grpcweb+http://, grpcweb+https://, connect+http://, connect+https://, dns:///, unix:"

// Parse reads an upstream URL. Its error says what to write instead, and
// reports every problem of the URL at once. It shows no credentials.
func Parse(s string) (URL, error) {
	shown := secret.URL(s)
	switch {
	case strings.TrimSpace(s) == "":
		return URL{}, errors.New("upstream URL is empty: write for example grpc://localhost:50051")
	case len(s) > maxLength:
		return URL{}, fmt.Errorf("upstream URL has %d bytes, the limit is %d", len(s), maxLength)
	}
	lower := strings.ToLower(s)
	for _, prefix := range []string{"grpc+unix:", "unix:"} {
		if strings.HasPrefix(lower, prefix) {
			return parseUnix(shown, s[len(prefix):])
		}
	}
	if strings.HasPrefix(lower, "dns:") && !isPort(s[len("dns:"):]) {
		return parseDNS(shown, s[len("dns:"):])
	}
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok || scheme == "" {
		return URL{}, noScheme(s[strings.LastIndexByte(s, '@')+1:])
	}
	switch lower := strings.ToLower(scheme); lower {
	case "http", "https":
		grpc := "grpc://"
		if lower == "https" {
			grpc = "grpcs://"
		}
		_, rest, _ = strings.Cut(shown, "://")
		return URL{}, fmt.Errorf("upstream %q: an MCP server is not an upstream here; "+
			"for an API write connect+%s://%s (Connect), grpcweb+%s://%s (gRPC-Web) or %s%s (gRPC)",
			shown, lower, rest, lower, rest, grpc, authorityOf(rest))
	default:
		for _, known := range schemes {
			if known.name == lower {
				u := URL{Protocol: known.protocol, TLS: known.tls}
				return parseHost(shown, rest, u, known.defaultPort)
			}
		}
		return URL{}, &schemeError{shown, scheme}
	}
}

// schemeError says that a scheme is none of an RPC protocol.
type schemeError struct{ url, scheme string }

func (e *schemeError) Error() string {
	return fmt.Sprintf("upstream %q: unknown scheme %q, known are %s", e.url, e.scheme, known)
}

func noScheme(s string) error {
	switch {
	case strings.HasPrefix(s, "/") || strings.HasPrefix(s, "./") || strings.HasPrefix(s, "../"):
		return fmt.Errorf("upstream %q has no scheme: did you mean unix:%s?", s, s)
	case strings.HasSuffix(s, ":443"):
		return fmt.Errorf("upstream %q has no scheme: did you mean grpcs://%s?", s, s)
	default:
		address := strings.TrimLeft(s, ":/")
		if address == "" || isPort(address) {
			address = "localhost:" + address
		}
		if !strings.Contains(address, ":") {
			address += ":PORT"
		}
		return fmt.Errorf("upstream %q has no scheme: did you mean grpc://%s? (known are %s)", s, address, known)
	}
}

// parseHost parses rest, what follows the scheme of s. Errors show s.
func parseHost(s, rest string, u URL, defaultPort string) (URL, error) {
	// The scheme is replaced by one that net/url surely parses.
	parsed, err := url.Parse("x://" + rest)
	if err != nil {
		return URL{}, fmt.Errorf("upstream %q: %w", s, parseFault("x://"+rest, err))
	}
	var problems []error
	problem := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("upstream %q: "+format, append([]any{s}, args...)...))
	}
	if parsed.User != nil {
		problem("a user name or password in a URL is not supported, send an Authorization header instead")
	}
	if parsed.RawQuery != "" || parsed.ForceQuery {
		problem("a query is not supported")
	}
	if strings.Contains(rest, "#") {
		problem("a fragment is not supported")
	}
	u.Path = strings.TrimRight(parsed.EscapedPath(), "/")
	if u.Path != "" && u.Protocol == GRPC {
		problem("gRPC has no path prefix, remove %q", u.Path)
	}
	u.Host = parsed.Hostname()
	if err := checkHost(u.Host); err != nil {
		problem("%w", err)
	}
	u.Port = parsed.Port()
	switch {
	case u.Port == "" && defaultPort == "":
		problem("the port is missing, write for example %s%s:50051", u.scheme(u.TLS), u.Host)
	case u.Port == "":
		u.Port = defaultPort
	case !isPort(u.Port):
		problem("port %s is not between 1 and 65535", u.Port)
	}
	if err := errors.Join(problems...); err != nil {
		return URL{}, err
	}
	return u, nil
}

// parseFault says why net/url does not parse a URL. The error that it has given
// may repeat a password.
func parseFault(s string, err error) error {
	if shown := secret.URL(s); shown != s {
		if _, err = url.Parse(shown); err == nil {
			return errors.New("the user information cannot be read")
		}
	}
	if urlErr, ok := errors.AsType[*url.Error](err); ok {
		return urlErr.Err
	}
	return err
}

func parseDNS(s, rest string) (URL, error) {
	resolver := ""
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		resolver, rest, ok = strings.Cut(after, "/")
		if !ok {
			return URL{}, fmt.Errorf("upstream %q: did you mean dns:///%s? (what follows dns:// is a name server)", s, after)
		}
	}
	u, err := parseHost(s, rest, URL{Protocol: GRPC}, "")
	if err != nil || resolver == "" {
		return u, err
	}
	server, err := parseHost(s, resolver, URL{Protocol: GRPC}, "53")
	if err != nil {
		return URL{}, fmt.Errorf("name server: %w", err)
	}
	u.Resolver = server.Address()
	return u, nil
}

func parseUnix(s, rest string) (URL, error) {
	path := rest
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		if after != "" && !strings.HasPrefix(after, "/") {
			return URL{}, fmt.Errorf("upstream %q names a host: did you mean unix:///%s or unix:%s?", s, after, after)
		}
		path = "/" + strings.TrimLeft(after, "/")
	}
	switch {
	case strings.Trim(path, "/") == "" || path == "@":
		return URL{}, fmt.Errorf("upstream %q: the path of the socket is missing, write for example unix:///run/api.sock", s)
	case strings.ContainsAny(path, "\x00?#%"):
		return URL{}, fmt.Errorf("upstream %q: the path of a socket cannot hold NUL, ?, # or %%", s)
	}
	return URL{Protocol: GRPC, Unix: path}, nil
}

func checkHost(host string) error {
	if host == "" {
		return errors.New("the host is missing")
	}
	for _, r := range host {
		if r <= ' ' || r == 0x7f || strings.ContainsRune(`/\?#@"<>[]^{|}`, r) {
			return fmt.Errorf("the host %q holds %q", host, r)
		}
	}
	if strings.Contains(host, ":") {
		if _, err := netip.ParseAddr(host); err != nil {
			return fmt.Errorf("the host %q is neither a name nor an IP address; an IPv6 address stands in brackets", host)
		}
	}
	return nil
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}

// authorityOf returns what stands before the path.
func authorityOf(rest string) string {
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		return rest[:i]
	}
	return rest
}
