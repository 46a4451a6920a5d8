package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	libraryv1 "github.com/mcp-bridge/mcp-bridge/gen/library/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/demo"
	"github.com/mcp-bridge/mcp-bridge/internal/demo/demogrpc"
)

// protoDir holds library.proto.
var protoDir = filepath.Join("..", "..", "proto")

// writeFile writes a file into a temporary directory and returns its name.
func writeFile(t *testing.T, name string, data []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// descriptorSet writes the descriptor set of the demo API.
func descriptorSet(t *testing.T) string {
	t.Helper()
	set := &descriptorpb.FileDescriptorSet{}
	seen := map[string]bool{}
	var add func(protoreflect.FileDescriptor)
	add = func(fd protoreflect.FileDescriptor) {
		if seen[fd.Path()] {
			return
		}
		seen[fd.Path()] = true
		for i := range fd.Imports().Len() {
			add(fd.Imports().Get(i).FileDescriptor)
		}
		set.File = append(set.File, protodesc.ToFileDescriptorProto(fd))
	}
	add(libraryv1.File_library_v1_library_proto)
	data, err := proto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return writeFile(t, "api.binpb", data)
}

// certificate makes a self-signed certificate for 127.0.0.1 and api.test, and
// writes it, and its key, as PEM files.
func certificate(t *testing.T) (cert tls.Certificate, certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "test"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		DNSNames:              []string{"api.test"},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	if cert, err = tls.X509KeyPair(certPEM, keyPEM); err != nil {
		t.Fatal(err)
	}
	return cert, writeFile(t, "cert.pem", certPEM), writeFile(t, "key.pem", keyPEM)
}

// secure serves the demo library by grpc-go over mutual TLS.
func secure(t *testing.T, cert tls.Certificate, clients *x509.CertPool) string {
	t.Helper()
	config := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	if clients != nil {
		config.ClientCAs, config.ClientAuth = clients, tls.RequireAndVerifyClientCert
	}
	return serveGRPC(t, demogrpc.NewServer(demo.New(), grpc.Creds(credentials.NewTLS(config))))
}

func TestUpstreams(t *testing.T) {
	t.Parallel()
	set := descriptorSet(t)
	cert, certFile, keyFile := certificate(t)
	clients := x509.NewCertPool()
	clients.AddCert(cert.Leaf)
	// HTTP/1.1 only, and below a path.
	web := httptest.NewServer(http.StripPrefix("/api", demo.Handler(demo.New())))
	t.Cleanup(web.Close)
	address := strings.TrimPrefix(web.URL, "http://")
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := demogrpc.NewServer(demo.New())
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() { server.Stop(); <-done })
	tlsAddress := secure(t, cert, clients)

	for name, args := range map[string][]string{
		"grpc, reflection":      {reflective(t)},
		"grpc, descriptor set":  {"--descriptors", set, "grpc://" + unreflective(t)},
		"grpc, sources":         {"--proto", protoDir, "grpc://" + unreflective(t)},
		"grpc, one source":      {"--proto", filepath.Join(protoDir, "library", "v1", "library.proto"), "--proto-path", protoDir, "grpc://" + unreflective(t)},
		"unix socket":           {"unix:" + socket},
		"connect, sources":      {"--proto", protoDir, "connect+http://" + address + "/api"},
		"grpc-web, set":         {"--descriptors", set, "grpcweb+http://" + address + "/api"},
		"mutual TLS":            {"--ca", certFile, "--cert", certFile, "--key", keyFile, "grpcs://" + tlsAddress},
		"mutual TLS, authority": {"--ca", certFile, "--cert", certFile, "--key", keyFile, "--authority", "api.test", "grpcs://" + tlsAddress},
		"unverified TLS":        {"--insecure-skip-verify", "--cert", certFile, "--key", keyFile, "grpcs://" + tlsAddress},
		"one service":           {"--service", "library.*", reflective(t)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tools := mcpBridge(t, append([]string{"tools"}, args...)...)
			contains(t, tools.ok(t), "Library_GetBook", "Library_CreateBook", "Library_WatchBooks")
			if tools.stderr != "" {
				t.Errorf("stderr: %s", tools.stderr)
			}
			called := mcpBridge(t, append([]string{"call"}, append(args, "Library_GetBook", demoArguments)...)...)
			contains(t, called.ok(t), "\n  \"title\": \"Pride and Prejudice\",\n")
		})
	}
}

func TestUpstreamErrors(t *testing.T) {
	t.Parallel()
	cert, certFile, keyFile := certificate(t)
	_, otherFile, _ := certificate(t)
	clients := x509.NewCertPool()
	clients.AddCert(cert.Leaf)
	plain, noReflection := strings.TrimPrefix(reflective(t), "grpc://"), unreflective(t)
	secured, mutual := secure(t, cert, nil), secure(t, cert, clients)
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	webAddress := strings.TrimPrefix(web.URL, "http://")
	free := listen(t)
	closed := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	importing := writeFile(t, "a.proto", []byte("syntax = \"proto3\";\nimport \"not/there.proto\";\nservice S {}\n"))

	for name, tt := range map[string]struct {
		args []string
		want []string
	}{
		"nothing listens":        {[]string{"grpc://" + closed}, []string{"nothing listens on " + closed}},
		"connect, nothing":       {[]string{"connect+http://" + closed}, []string{"nothing listens on " + closed}},
		"no reflection":          {[]string{"grpc://" + noReflection}, []string{"offers no server reflection", "--descriptors api.binpb", "--proto ./proto"}},
		"TLS to plaintext":       {[]string{"grpcs://" + plain}, []string{"does not speak TLS, use grpc://" + plain}},
		"plaintext to TLS":       {[]string{"grpc://" + secured}, []string{secured, "grpcs://" + secured}},
		"connect TLS":            {[]string{"connect+https://" + webAddress}, []string{"does not speak TLS, use connect+http://" + webAddress}},
		"connect plain":          {[]string{"connect+http://" + secured}, []string{"connect+https://" + secured}},
		"unknown authority":      {[]string{"grpcs://" + secured}, []string{"is not signed by a trusted authority", "--ca"}},
		"other authority":        {[]string{"--ca", otherFile, "grpcs://" + secured}, []string{secured, "--ca"}},
		"other name":             {[]string{"--ca", certFile, "--authority", "wrong.test", "grpcs://" + secured}, []string{"is for another name", "--authority"}},
		"no client certificate":  {[]string{"--ca", certFile, "grpcs://" + mutual}, []string{mutual}},
		"missing certificate":    {[]string{"--cert", certFile + "x", "--key", keyFile, "grpcs://" + mutual}, []string{certFile + "x"}},
		"no gRPC":                {[]string{"grpc://" + webAddress}, []string{webAddress}},
		"missing import":         {[]string{"--proto", importing, "grpc://" + plain}, []string{"not/there.proto", "--proto-path"}},
		"missing source":         {[]string{"--proto", "nope.proto", "grpc://" + plain}, []string{"nope.proto"}},
		"missing descriptor set": {[]string{"--descriptors", "nope.binpb", "grpc://" + plain}, []string{"nope.binpb"}},
		"descriptors too large":  {[]string{"--max-message-bytes", "1000", "grpc://" + plain}, []string{"larger than the limit of 1000 bytes", "raise it with --max-message-bytes"}},
		"no such service":        {[]string{"--service", "nope.*", "grpc://" + plain}, []string{`mcp-bridge: no service matches "nope.*"; there are: library.v1.Library`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := mcpBridge(t, append([]string{"tools"}, tt.args...)...)
			if got.status != 1 || got.stdout != "" {
				t.Errorf("exit status %d, stdout %q", got.status, got.stdout)
			}
			if !strings.HasPrefix(got.stderr, "mcp-bridge: ") || strings.Contains(got.stderr, "goroutine ") {
				t.Errorf("stderr: %s", got.stderr)
			}
			contains(t, got.stderr, tt.want...)
		})
	}
}
