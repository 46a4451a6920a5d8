package auth

import (
	"crypto/x509"
	"encoding/json"
	"net/http"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// certified returns whose client certificate a request came with, or nil. It is
// named by its SPIFFE ID or, if it has none, by another URI, a DNS name, an e-mail
// address or the distinguished name, whichever it has first.
func certified(r *http.Request) *protocol.Principal {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return nil
	}
	chain := r.TLS.VerifiedChains[0]
	leaf := chain[0]
	p := protocol.Principal{Method: protocol.AuthMTLS, Expiry: leaf.NotAfter, Claims: claimsOf(leaf)}
	// An issuer that is renewed is the same: intermediate certificates change.
	p.Issuer = chain[len(chain)-1].Subject.String()
	switch {
	case spiffeID(leaf) != "":
		p.Issuer, p.Subject = "", spiffeID(leaf) // which names its trust domain
	case len(leaf.URIs) > 0:
		p.Subject = leaf.URIs[0].String()
	case len(leaf.DNSNames) > 0:
		p.Subject = leaf.DNSNames[0]
	case len(leaf.EmailAddresses) > 0:
		p.Subject = leaf.EmailAddresses[0]
	default:
		p.Subject = leaf.Subject.String()
	}
	if p.Subject == "" {
		return nil // a certificate of nobody
	}
	return protocol.NewPrincipal(p)
}

// spiffeID returns the SPIFFE ID of a certificate, which must be its only URI
// (X.509-SVID, section 2), or "".
func spiffeID(cert *x509.Certificate) string {
	if len(cert.URIs) != 1 || cert.URIs[0].Scheme != "spiffe" {
		return ""
	}
	return cert.URIs[0].String()
}

// claimsOf returns what a certificate says, for rules to read.
func claimsOf(cert *x509.Certificate) json.RawMessage {
	var uris []string
	for _, u := range cert.URIs {
		uris = append(uris, u.String())
	}
	claims, err := json.Marshal(struct {
		Subject string   `json:"subject,omitempty"`
		URI     []string `json:"uri,omitempty"`
		DNS     []string `json:"dns,omitempty"`
		Email   []string `json:"email,omitempty"`
	}{cert.Subject.String(), uris, cert.DNSNames, cert.EmailAddresses})
	if err != nil {
		return nil // texts always are JSON
	}
	return claims
}
