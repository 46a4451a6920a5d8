// Package tlsconf makes the TLS configuration of a client from what a user
// gives: files of certificates, and names.
package tlsconf

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
)

// Files says which files and names a client uses. The zero value trusts the
// system's certificate authorities and presents no certificate.
type Files struct {
	// CA is a PEM file of the certificate authorities to trust, instead of
	// the system's.
	CA string
	// Cert and Key are the PEM files of the client's certificate, for mutual
	// TLS: both or neither. They are read again for every handshake, so that a
	// renewed certificate needs no restart.
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

// Config reads the files. All problems are reported at once.
func (f Files) Config() (*tls.Config, error) {
	config := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		ServerName:         f.ServerName,
		InsecureSkipVerify: f.InsecureSkipVerify, //nolint:gosec // the user asked for it by a name that says what it is
	}
	var problems []error
	if f.CA != "" {
		pool, err := readPool(f.CA)
		problems = append(problems, err)
		config.RootCAs = pool
		if f.InsecureSkipVerify {
			problems = append(problems, errors.New("a CA file has no effect when certificates are not verified: give one of --ca and --insecure-skip-verify"))
		}
	}
	switch {
	case f.Cert != "" && f.Key == "":
		problems = append(problems, fmt.Errorf("client certificate %s needs its private key too: add --key", f.Cert))
	case f.Cert == "" && f.Key != "":
		problems = append(problems, fmt.Errorf("private key %s needs its certificate too: add --cert", f.Key))
	case f.Cert != "":
		get, err := clientCertificate(f.Cert, f.Key)
		problems = append(problems, err)
		config.GetClientCertificate = get
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return config, nil
}

func readPool(name string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("CA file: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("CA file %s holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)", name)
	}
	return pool, nil
}

// clientCertificate loads the pair once, so that mistakes show at the start,
// and then again for every handshake. While the files cannot be read, for
// example between the writing of the one and of the other, the last good pair
// serves.
func clientCertificate(cert, key string) (func(*tls.CertificateRequestInfo) (*tls.Certificate, error), error) {
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("client certificate %s with key %s: %w", cert, key, err)
	}
	var last atomic.Pointer[tls.Certificate]
	last.Store(&pair)
	return func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if pair, err := tls.LoadX509KeyPair(cert, key); err == nil {
			last.Store(&pair)
		}
		return last.Load(), nil
	}, nil
}
