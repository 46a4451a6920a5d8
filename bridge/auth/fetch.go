package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

const (
	fetchTimeout = 10 * time.Second
	// maxDocumentBytes bounds what an authorization server answers.
	maxDocumentBytes = 1 << 20
	maxRedirects     = 3
	// retryAfter is how long clients are asked to wait, in seconds, while a token
	// cannot be verified.
	retryAfter = "5"
)

// newClient returns the client that fetches metadata and keys.
func newClient() *http.Client {
	return &http.Client{
		Timeout: fetchTimeout,
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			first := via[0].URL
			if len(via) > maxRedirects || r.URL.Scheme != first.Scheme || r.URL.Host != first.Host {
				return errors.New("it redirects to another server, or too often")
			}
			return nil
		},
	}
}

// errNotFound is the error of a document that a server does not have.
var errNotFound = errors.New("the server has no such document")

// fetch gets a JSON object and reads it into v.
func fetch(ctx context.Context, client *http.Client, from string, v any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "application/json")
	return send(client, r, v)
}

// send sends a request and reads the JSON object that is the answer.
func send(client *http.Client, r *http.Request, v any) error {
	res, err := client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }() // read as far as is of use
	where := r.URL.Redacted()
	switch {
	case res.StatusCode == http.StatusNotFound:
		return fmt.Errorf("%s: %w", where, errNotFound)
	case res.StatusCode != http.StatusOK:
		return fmt.Errorf("%s answers %d", where, res.StatusCode)
	}
	if kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type")); err != nil || !isJSON(kind) {
		return fmt.Errorf("%s answers %q and not JSON", where, clip.Name(res.Header.Get("Content-Type")))
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxDocumentBytes+1))
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", where, err)
	case len(body) > maxDocumentBytes:
		return fmt.Errorf("%s answers more than %d bytes", where, maxDocumentBytes)
	}
	if err := decode(body, v); err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	return nil
}

func isJSON(kind string) bool {
	return kind == "application/json" || strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json")
}

// decode reads JSON in which no member may be there twice: another reader could take
// the other one.
func decode(data []byte, v any) error {
	if err := jsontok.Unique(data); err != nil {
		return fmt.Errorf("no JSON that can be trusted: %w", err)
	}
	return json.Unmarshal(data, v)
}

// metadata is what is used of the metadata of an authorization server (RFC 8414,
// OpenID Connect Discovery 1.0).
type metadata struct {
	Issuer  string `json:"issuer"`
	JWKSURI string `json:"jwks_uri"`
}

// discover finds where an issuer has its keys.
func discover(ctx context.Context, client *http.Client, issuer string) (string, error) {
	u, err := url.Parse(issuer)
	if err != nil {
		return "", err
	}
	path := strings.TrimSuffix(u.Path, "/")
	at := func(path string) string { return u.Scheme + "://" + u.Host + path }
	var faults []error
	for _, from := range []string{
		at(path + "/.well-known/openid-configuration"),
		at("/.well-known/oauth-authorization-server" + path),
		at("/.well-known/openid-configuration" + path),
	} {
		var m metadata
		err := fetch(ctx, client, from, &m)
		switch {
		case err != nil:
			faults = append(faults, err)
			if !errors.Is(err, errNotFound) {
				return "", errors.Join(faults...)
			}
			continue
		case m.Issuer != issuer:
			return "", fmt.Errorf("%s is of the issuer %q and not of %q; the configuration must have its spelling", from, clip.Name(m.Issuer), issuer)
		case m.JWKSURI == "":
			return "", fmt.Errorf("%s has no jwks_uri", from)
		}
		if err := checkURL(m.JWKSURI); err != nil {
			return "", fmt.Errorf("%s: jwks_uri %w", from, err)
		}
		return m.JWKSURI, nil
	}
	return "", errors.Join(faults...)
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && addr.IsLoopback()
}
