// Package tlsconf makes TLS configurations, of clients and of servers, from the
// PEM files that a user names. The files are read again when they change, so a
// renewed certificate or another authority needs no restart. While a file cannot
// be read, for example between the writing of a certificate and of its key, the
// last good state serves.
package tlsconf

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"github.com/mcp-bridge/mcp-bridge/internal/watched"
)

// Files says which files and names a client uses. The zero value trusts the
// system's certificate authorities and presents no certificate.
type Files struct {
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
func (f Files) IsZero() bool { return f == Files{} }

// Config reads the files and returns the configuration of a client that connects
// to host, a name or an IP address. All problems are reported at once.
func (f Files) Config(host string) (*tls.Config, error) {
	config := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		ServerName:         f.ServerName,
		InsecureSkipVerify: f.InsecureSkipVerify, //nolint:gosec // the user asked for it by a name that says what it is
	}
	var problems []error
	if f.CA != "" {
		pool, err := watched.New(readPool, f.CA)
		problems = append(problems, err)
		config.InsecureSkipVerify = true // VerifyConnection verifies, with the authorities of the moment
		config.VerifyConnection = func(state tls.ConnectionState) error {
			return verify(state, pool.Get(), host)
		}
		if f.InsecureSkipVerify {
			problems = append(problems, fmt.Errorf("CA file %s has no effect when certificates are not verified", f.CA))
		}
	}
	if err := pairProblem("client certificate", f.Cert, f.Key); err != nil {
		problems = append(problems, err)
	} else if f.Cert != "" {
		pair, err := watched.New(readPair("client certificate"), f.Cert, f.Key)
		problems = append(problems, err)
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return pair.Get(), nil
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return config, nil
}

// verify checks a server's certificate as package crypto/tls does, with
// authorities that may have changed since the configuration was made.
func verify(state tls.ConnectionState, roots *x509.CertPool, host string) error {
	name := state.ServerName
	if name == "" {
		name = host // an IP address, which TLS does not send
	}
	if name == "" || len(state.PeerCertificates) == 0 {
		return errors.New("tls: there is no name or no certificate to verify")
	}
	opts := x509.VerifyOptions{Roots: roots, DNSName: name, Intermediates: x509.NewCertPool()}
	for _, cert := range state.PeerCertificates[1:] {
		opts.Intermediates.AddCert(cert)
	}
	if _, err := state.PeerCertificates[0].Verify(opts); err != nil {
		return &tls.CertificateVerificationError{UnverifiedCertificates: state.PeerCertificates, Err: err}
	}
	return nil
}

// ServerFiles says which files a server uses.
type ServerFiles struct {
	// Cert and Key are the PEM files of the server's certificate.
	Cert, Key string
	// ClientCA is a PEM file of authorities. Where it is given, clients must
	// present a certificate that one of them has signed.
	ClientCA string
}

// Config reads the files and returns the configuration of a server of HTTP/1.1
// and HTTP/2. All problems are reported at once.
func (f ServerFiles) Config() (*tls.Config, error) {
	var problems []error
	if f.Cert == "" && f.Key == "" {
		problems = append(problems, errors.New("the certificate and its private key are missing"))
	} else if err := pairProblem("certificate", f.Cert, f.Key); err != nil {
		problems = append(problems, err)
	}
	var (
		pair    *watched.Value[*tls.Certificate]
		clients *watched.Value[*x509.CertPool]
		err     error
	)
	if len(problems) == 0 {
		pair, err = watched.New(readPair("certificate"), f.Cert, f.Key)
		problems = append(problems, err)
	}
	if f.ClientCA != "" {
		clients, err = watched.New(readPool, f.ClientCA)
		problems = append(problems, err)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	config := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.Get(), nil },
	}
	if clients == nil {
		return config, nil
	}
	config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, clients.Get()
	// A session of TLS that was resumed would not be verified by the
	// authorities of the moment.
	config.SessionTicketsDisabled = true
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		current := config.Clone()
		current.ClientCAs, current.GetConfigForClient = clients.Get(), nil
		return current, nil
	}
	return config, nil
}

// pairProblem reports one half of a certificate without the other.
func pairProblem(what, cert, key string) error {
	switch {
	case cert != "" && key == "":
		return fmt.Errorf("%s %s needs its private key too", what, cert)
	case cert == "" && key != "":
		return fmt.Errorf("private key %s needs its certificate too", key)
	default:
		return nil
	}
}

func readPool(names []string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(names[0])
	if err != nil {
		return nil, fmt.Errorf("CA file: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("CA file %s holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)", names[0])
	}
	return pool, nil
}

func readPair(what string) func([]string) (*tls.Certificate, error) {
	return func(names []string) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(names[0], names[1])
		if err != nil {
			return nil, fmt.Errorf("%s %s with key %s: %w", what, names[0], names[1], err)
		}
		return &pair, nil
	}
}
