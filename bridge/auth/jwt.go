package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// DefaultLeeway is how far the clock of an issuer may be off.
const DefaultLeeway = 60 * time.Second

// maxCacheTime is how long a verified token is not verified again, so that a key
// that its issuer has withdrawn ends what was signed with it.
const maxCacheTime = 10 * time.Minute

// Issuer is an authorization server whose JSON Web Tokens count.
type Issuer struct {
	// Issuer is the issuer identifier, a URL, spelled as the claim iss has it.
	Issuer string
	// Audiences are the values of aud of which a token must have one. Without
	// any, it must be for the resource of the request.
	Audiences []string
	// JWKSURL is where the public keys are, and JWKSFile a file with them that is
	// read again when it changes. Without either, the metadata of the issuer says
	// where they are (OpenID Connect Discovery, RFC 8414).
	JWKSURL, JWKSFile string
	// Scopes are what every token needs.
	Scopes []string
	// ScopeClaims are the claims that hold scopes: texts with spaces between, or
	// lists. The default is scope and scp.
	ScopeClaims []string
	// Leeway is how far the issuer's clock may be off. Zero means
	// [DefaultLeeway].
	Leeway time.Duration
}

// algorithms are those that may sign tokens: none and those with a shared secret are
// not among them (RFC 8725, sections 3.1 and 3.2).
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

type issuer struct {
	Issuer

	keys keys
}

func (a *Authenticator) newIssuer(cfg Issuer, client *http.Client) (*issuer, error) {
	if cfg.Leeway <= 0 {
		cfg.Leeway = DefaultLeeway
	}
	if len(cfg.ScopeClaims) == 0 {
		cfg.ScopeClaims = []string{"scope", "scp"}
	}
	is := &issuer{Issuer: cfg}
	var faults []error
	fault := func(err error) {
		if err != nil {
			faults = append(faults, fmt.Errorf("the issuer %s: %w", cfg.Issuer, err))
		}
	}
	if err := checkURL(cfg.Issuer); err != nil {
		faults = append(faults, fmt.Errorf("the issuer %w", err))
	}
	if len(cfg.Audiences) == 0 && a.cfg.Resource == "" {
		fault(errors.New("its tokens need an audience: say which, or say by which URL clients reach this server"))
	}
	switch {
	case cfg.JWKSFile != "" && cfg.JWKSURL != "":
		fault(errors.New("its keys are in a file or behind a URL, not both"))
	case cfg.JWKSFile != "":
		file, err := newFileKeys(cfg.JWKSFile)
		fault(err)
		is.keys = file
	default:
		if cfg.JWKSURL != "" {
			if err := checkURL(cfg.JWKSURL); err != nil {
				fault(fmt.Errorf("the URL of its keys %w", err))
			}
		}
		is.keys = &remoteKeys{owner: a, client: client, log: a.log, issuer: cfg.Issuer, url: cfg.JWKSURL, back: newBackoff()}
	}
	return is, errors.Join(faults...)
}

// parsedJWT is a token before it is verified.
type parsedJWT struct {
	signed    *jose.JSONWebSignature
	issuer    string // as it says
	keyID     string
	algorithm string
}

// parseJWT reads a token. Nothing of it is verified.
func parseJWT(token string) (*parsedJWT, error) {
	signed, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		return nil, err
	}
	header := signed.Signatures[0].Protected
	if kind, ok := header.ExtraHeaders[jose.HeaderType].(string); ok && !isAccessToken(kind) {
		return nil, errors.New("its typ is not that of an access token")
	}
	var said struct {
		Issuer string `json:"iss"`
	}
	if err := decode(signed.UnsafePayloadWithoutVerification(), &said); err != nil {
		return nil, err
	}
	return &parsedJWT{signed, said.Issuer, header.KeyID, header.Algorithm}, nil
}

// isAccessToken reports whether a typ can be that of an access token: that of RFC
// 9068, or the one that says nothing.
func isAccessToken(kind string) bool {
	switch strings.TrimPrefix(strings.ToLower(kind), "application/") {
	case "at+jwt", "jwt":
		return true
	default:
		return false
	}
}

// examine verifies a token that says it is of this issuer.
func (is *issuer) examine(ctx context.Context, t *parsedJWT, now time.Time) verdict {
	candidates, err := is.keys.find(ctx, t.keyID)
	if err != nil {
		return verdict{refusal: unavailable(err.Error())}
	}
	for _, k := range candidates {
		if k.Algorithm != "" && k.Algorithm != t.algorithm {
			continue
		}
		if payload, err := t.signed.Verify(k.Key); err == nil {
			return is.read(payload, now)
		}
	}
	return verdict{refusal: invalid("no key of the issuer has signed the token")}
}

// claims are the registered claims (RFC 7519, section 4.1; RFC 9068, section 2.2).
type claims struct {
	Subject   string    `json:"sub"`
	ClientID  string    `json:"client_id"`
	Audience  texts     `json:"aud"`
	Expiry    *unixTime `json:"exp"`
	NotBefore *unixTime `json:"nbf"`
	IssuedAt  *unixTime `json:"iat"`
}

// read reads the claims of a token whose signature is good.
func (is *issuer) read(payload []byte, now time.Time) verdict {
	var c claims
	if err := json.Unmarshal(payload, &c); err != nil {
		return verdict{refusal: invalid("its claims are not of their types: " + err.Error())}
	}
	switch {
	case c.Expiry == nil:
		return verdict{refusal: invalid("it does not say when it expires")}
	case !now.Before(c.Expiry.Add(is.Leeway)):
		return verdict{refusal: invalid("it has expired")}
	case c.NotBefore != nil && now.Before(c.NotBefore.Add(-is.Leeway)):
		return verdict{refusal: invalid("it is not valid yet")}
	case c.IssuedAt != nil && now.Before(c.IssuedAt.Add(-is.Leeway)):
		return verdict{refusal: invalid("it was issued in the future")}
	case c.Subject == "":
		return verdict{refusal: invalid("it has no subject")}
	}
	expiry := c.Expiry.Add(is.Leeway)
	v := verdict{
		principal: protocol.NewPrincipal(protocol.Principal{
			Method: protocol.AuthJWT, Issuer: is.Issuer.Issuer, Subject: c.Subject,
			Scopes: scopesIn(payload, is.ScopeClaims), Claims: payload, Expiry: expiry,
		}),
		audiences: append([]string{}, c.Audience...), allowed: is.Audiences, required: is.Scopes, until: expiry,
	}
	if latest := now.Add(maxCacheTime); v.until.After(latest) {
		v.until = latest
	}
	return v
}

// scopesIn returns the scopes that claims hold, sorted.
func scopesIn(payload []byte, names []string) []string {
	var all map[string]json.RawMessage
	if json.Unmarshal(payload, &all) != nil {
		return nil
	}
	var scopes []string
	for _, name := range names {
		var list texts
		if json.Unmarshal(all[name], &list) != nil {
			continue // absent, or of another type
		}
		for _, text := range list {
			scopes = append(scopes, strings.Fields(text)...)
		}
	}
	slices.Sort(scopes)
	return slices.Compact(scopes)
}

// texts is one text or a list of them.
type texts []string

// UnmarshalJSON reads either.
func (t *texts) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = texts{one}
		return nil
	}
	var several []string
	if err := json.Unmarshal(data, &several); err != nil {
		return err
	}
	*t = several
	return nil
}

// unixTime is a NumericDate (RFC 7519, section 2): seconds, also with a fraction.
type unixTime struct{ time.Time }

// UnmarshalJSON reads a number.
func (t *unixTime) UnmarshalJSON(data []byte) error {
	var seconds float64
	if err := json.Unmarshal(data, &seconds); err != nil {
		return err
	}
	const latest = 253402300799 // the year 9999
	if math.IsNaN(seconds) || seconds < 0 || seconds > latest {
		return errors.New("a time out of range")
	}
	t.Time = time.Unix(int64(seconds), 0)
	return nil
}
