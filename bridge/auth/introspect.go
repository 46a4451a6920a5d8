package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

const (
	// activeTTL is how long a token counts after its server has withdrawn it, and
	// inactiveTTL how long one that does not count is not asked about again.
	activeTTL   = 60 * time.Second
	inactiveTTL = 10 * time.Second
	// maxAsking bounds how many tokens one server is asked about at a time.
	maxAsking = 64
)

// Introspection is an authorization server that is asked about tokens (RFC 7662).
type Introspection struct {
	// URL is its introspection endpoint.
	URL string
	// ClientID and ClientSecret are how it knows this server.
	ClientID, ClientSecret string
	// Issuer is its issuer identifier, for the metadata of the resource and for
	// tokens that do not say who has issued them. It may be empty.
	Issuer string
	// Audiences are the values of aud of which a token must have one. Without
	// any, a token that has an audience must be for the resource of the request.
	Audiences []string
	// Scopes are what every token needs.
	Scopes []string
}

type introspector struct {
	Introspection

	client *http.Client
	slots  chan struct{}
}

func newIntrospector(cfg Introspection, client *http.Client) (*introspector, error) {
	in := &introspector{Introspection: cfg, client: client, slots: make(chan struct{}, maxAsking)}
	if err := checkURL(cfg.URL); err != nil {
		return in, fmt.Errorf("the introspection endpoint %w", err)
	}
	if cfg.ClientID == "" || cfg.ClientSecret == "" {
		return in, fmt.Errorf("the introspection endpoint %s needs a client id and a client secret", cfg.URL)
	}
	return in, nil
}

// introspected is what a server says of a token (RFC 7662, section 2.2).
type introspected struct {
	claims

	Active   bool   `json:"active"`
	Issuer   string `json:"iss"`
	Username string `json:"username"`
}

// examine asks the server about a token.
func (in *introspector) examine(ctx context.Context, token string, now time.Time) verdict {
	payload, err := in.ask(ctx, token)
	if err != nil {
		return verdict{refusal: unavailable("introspection failed: " + err.Error())}
	}
	refuse := func(reason string) verdict { return verdict{refusal: invalid(reason), until: now.Add(inactiveTTL)} }
	var c introspected
	switch err := json.Unmarshal(payload, &c); {
	case err != nil:
		return verdict{refusal: unavailable("what introspection says is not of its types: " + err.Error())}
	case !c.Active:
		return refuse("introspection says that it is not active")
	case c.Expiry != nil && !now.Before(c.Expiry.Time):
		return refuse("it has expired")
	case c.NotBefore != nil && now.Before(c.NotBefore.Add(-DefaultLeeway)):
		return refuse("it is not valid yet")
	}
	p := protocol.Principal{
		Method: protocol.AuthIntrospection, Issuer: c.Issuer, Subject: c.Subject,
		Scopes: scopesIn(payload, []string{"scope", "scp"}), Claims: payload,
	}
	if p.Issuer == "" {
		p.Issuer = in.Issuer
	}
	if p.Issuer == "" {
		p.Issuer = in.URL
	}
	if p.Subject == "" && c.ClientID != "" {
		p.Subject = "client:" + c.ClientID // a client on its own account
	}
	if p.Subject == "" {
		return refuse("introspection names no subject")
	}
	v := verdict{until: now.Add(activeTTL), allowed: in.Audiences, required: in.Scopes}
	if c.Expiry != nil {
		p.Expiry = c.Expiry.Time
		if p.Expiry.Before(v.until) {
			v.until = p.Expiry
		}
	}
	if len(c.Audience) > 0 || len(in.Audiences) > 0 {
		v.audiences = append([]string{}, c.Audience...)
	}
	v.principal = protocol.NewPrincipal(p)
	return v
}

// ask returns what the server says of a token.
func (in *introspector) ask(ctx context.Context, token string) (json.RawMessage, error) {
	select {
	case in.slots <- struct{}{}:
		defer func() { <-in.slots }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	form := url.Values{"token": {token}, "token_type_hint": {"access_token"}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, in.URL, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	// RFC 6749, section 2.3.1, escapes both.
	r.SetBasicAuth(url.QueryEscape(in.ClientID), url.QueryEscape(in.ClientSecret))
	var payload json.RawMessage
	if err := send(in.client, r, &payload); err != nil {
		if errors.Is(err, errNotFound) {
			return nil, fmt.Errorf("no introspection endpoint is at %s", in.URL)
		}
		return nil, err
	}
	return payload, nil
}
