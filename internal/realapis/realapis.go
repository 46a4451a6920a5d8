// Package realapis has descriptors of APIs of the real world for tests: those of
// etcd, Temporal, containerd, Kubernetes' CRI, Qdrant, Milvus, OpenFGA, SpiceDB,
// Spanner, Bigtable and Envoy, as their Go packages register them, and the
// messages that protovalidate's own conformance tests are about. It starts etcd, too.
package realapis

import (
	"bufio"
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mcp-bridge/mcp-bridge/internal/nodetools"
)

var linkedOnce struct {
	sync.Once
	set *descriptorpb.FileDescriptorSet
	err error
}

// Linked returns the files of the APIs that the module tools/apis links. They
// are those of a backend that answers reflection by what it has registered: some
// import others by paths that nobody has.
//
// The test is skipped where the packages cannot be had, and fails where nothing
// may be skipped.
func Linked(tb testing.TB) *descriptorpb.FileDescriptorSet {
	tb.Helper()
	linkedOnce.Do(func() {
		var stdout, stderr bytes.Buffer
		cmd := exec.Command("go", "run", ".")
		cmd.Dir = filepath.Join(nodetools.Root(tb), "tools", "apis")
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if linkedOnce.err = cmd.Run(); linkedOnce.err != nil {
			tb.Logf("%s", &stderr)
			return
		}
		set := new(descriptorpb.FileDescriptorSet)
		linkedOnce.err = proto.Unmarshal(stdout.Bytes(), set)
		linkedOnce.set = set
	})
	if linkedOnce.err != nil {
		nodetools.Missing(tb, "the packages of tools/apis cannot be built: "+linkedOnce.err.Error())
	}
	return linkedOnce.set
}

// Etcd starts the etcd of the module testdata/etcd, which offers server reflection,
// and returns its address. It ends with the test.
//
// The test is skipped where etcd cannot be built, and fails where nothing may be
// skipped.
func Etcd(tb testing.TB) (address string) {
	tb.Helper()
	binary := filepath.Join(tb.TempDir(), "etcd")
	build := exec.Command("go", "build", "-o", binary, ".") //nolint:gosec // it is a new file
	build.Dir = filepath.Join(nodetools.Root(tb), "internal", "realapis", "testdata", "etcd")
	if out, err := build.CombinedOutput(); err != nil {
		tb.Logf("%s", out)
		nodetools.Missing(tb, "testdata/etcd cannot be built: "+err.Error())
	}
	cmd := exec.Command(binary) //nolint:gosec // it was just built
	cmd.Stderr = &testWriter{tb}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = stdin.Close() // it ends then
		if err := cmd.Wait(); err != nil {
			tb.Errorf("etcd: %v", err)
		}
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		tb.Fatalf("etcd does not start: %v", err)
	}
	return strings.TrimSpace(line)
}

// testWriter writes to the log of a test.
type testWriter struct{ tb testing.TB }

func (w *testWriter) Write(p []byte) (int, error) {
	w.tb.Logf("%s", p)
	return len(p), nil
}

// Conformance returns the files of protovalidate's conformance cases, and those
// that they import.
func Conformance(tb testing.TB) *protoregistry.Files {
	tb.Helper()
	root := filepath.Join(nodetools.Root(tb), ".build")
	paths := []string{filepath.Join(root, "protovalidate"), filepath.Join(root, "protovalidate-testing")}
	pattern := filepath.Join(paths[1], "buf", "validate", "conformance", "cases")
	var names []string
	for _, dir := range []string{"", "*"} {
		found, err := filepath.Glob(filepath.Join(pattern, dir, "*.proto"))
		if err != nil {
			tb.Fatal(err)
		}
		for _, path := range found {
			name, err := filepath.Rel(paths[1], path)
			if err != nil {
				tb.Fatal(err)
			}
			names = append(names, filepath.ToSlash(name))
		}
	}
	if len(names) == 0 {
		nodetools.Missing(tb, "protovalidate's conformance cases are not there; run `make tools`")
	}
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: paths})}
	files, err := compiler.Compile(tb.Context(), names...)
	if err != nil {
		tb.Fatal(err)
	}
	all := new(protoregistry.Files)
	for _, file := range files {
		if err := register(all, file); err != nil {
			tb.Fatal(err)
		}
	}
	return all
}

// register registers a file and those that it imports.
func register(all *protoregistry.Files, file protoreflect.FileDescriptor) error {
	if _, err := all.FindFileByPath(file.Path()); err == nil {
		return nil
	}
	for i := range file.Imports().Len() {
		if err := register(all, file.Imports().Get(i).FileDescriptor); err != nil {
			return err
		}
	}
	return all.RegisterFile(file)
}
