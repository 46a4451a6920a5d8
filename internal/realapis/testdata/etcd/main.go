// Command etcd serves an etcd of one node, with server reflection, in a new
// directory that it removes, until its standard input is closed. It writes the
// address to standard output. It is a module of its own because nothing else
// needs its packages.
package main

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"os"

	"go.etcd.io/etcd/server/v3/embed"
	"google.golang.org/grpc"
	"google.golang.org/grpc/reflection"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() (err error) {
	dir, err := os.MkdirTemp("", "etcd")
	if err != nil {
		return err
	}
	defer func() {
		if removed := os.RemoveAll(dir); err == nil {
			err = removed
		}
	}()
	client, err := free()
	if err != nil {
		return err
	}
	peer, err := free()
	if err != nil {
		return err
	}
	config := embed.NewConfig()
	config.Dir = dir
	config.LogLevel = "error"
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	config.ServiceRegister = func(s *grpc.Server) { reflection.Register(s) }
	server, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	defer server.Close()
	select {
	case <-server.Server.ReadyNotify():
	case err := <-server.Err():
		return err
	}
	fmt.Println(client.Host)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// free returns the URL of a port that is free.
func free() (url.URL, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return url.URL{}, err
	}
	defer func() { _ = l.Close() }() // nobody has connected
	return url.URL{Scheme: "http", Host: l.Addr().String()}, nil
}
