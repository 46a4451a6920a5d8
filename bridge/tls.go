package bridge

import (
	"crypto/tls"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/tlsconf"
)

// TLSFiles says which PEM files and names the TLS of a client uses. The zero value
// trusts the system's certificate authorities and presents no certificate. The
// files are read again when they change.
type TLSFiles struct {
	// CA is a PEM file of the certificate authorities to trust, instead of
	// the system's.
	CA string
	// Cert and Key are the PEM files of the client's certificate, for mutual
	// TLS: both or neither.
	Cert, Key string
	// ServerName is the name that the server's certificate must have where it
	// is not the host's.
	ServerName string
	// InsecureSkipVerify accepts every certificate. Only for tests: anybody on
	// the path can then read and change the traffic.
	InsecureSkipVerify bool
}

// IsZero reports whether nothing was asked for.
func (f TLSFiles) IsZero() bool { return f == TLSFiles{} }

// Config reads the files and returns the configuration of a client that connects
// to host, a name or an IP address. All problems are reported at once.
func (f TLSFiles) Config(host string) (*tls.Config, error) { return tlsconf.Files(f).Config(host) }
