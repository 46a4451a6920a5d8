package export

import (
	"fmt"
	"strings"
)

// BufYAML returns the buf.yaml of a workspace in which .proto files are in a
// directory, relative to it. The files of mcp packages are there for their
// importers, who do not lint them.
func (e *Export) BufYAML(dir string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "version: v2\nmodules:\n  - path: %s\n    lint:\n      use:\n        - STANDARD\n      ignore:\n", dir)
	for _, path := range e.importDirs() {
		fmt.Fprintf(&b, "        - %s\n", join(dir, path))
	}
	b.WriteString("    breaking:\n      use:\n        - FILE\n      ignore:\n")
	for _, path := range e.importDirs() {
		fmt.Fprintf(&b, "        - %s\n", join(dir, path))
	}
	return []byte(b.String())
}

// BufGenYAML returns a buf.gen.yaml that generates Go.
func (e *Export) BufGenYAML(dir string) []byte {
	var b strings.Builder
	b.WriteString(`version: v2
managed:
  enabled: true
  override:
    # The path of your Go module, and "gen".
    - file_option: go_package_prefix
      value: example.com/gen
`)
	fmt.Fprintf(&b, `  disable:
    # There is a package for it: go get buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go
    - file_option: go_package
      path: buf/validate
inputs:
  - directory: %s
    exclude_paths:
      - %s
plugins:
  # go install google.golang.org/protobuf/cmd/protoc-gen-go@latest
  - local: protoc-gen-go
    out: gen
    opt: paths=source_relative
  # go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@latest
  - local: protoc-gen-go-grpc
    out: gen
    opt: paths=source_relative
  # npm install @bufbuild/protoc-gen-es
  # - local: protoc-gen-es
  #   out: gen
  #   opt: target=ts
  # With protoc installed:
  # - protoc_builtin: java
  #   out: gen
  # - protoc_builtin: python
  #   out: gen
`, dir, join(dir, "buf"))
	return []byte(b.String())
}

// importDirs are the directories of what is imported.
func (e *Export) importDirs() []string {
	var all []string
	for _, dir := range []string{"buf/validate", "mcp/json", "mcp/options", "mcp/v1"} {
		for path := range e.Files {
			if strings.HasPrefix(path, dir+"/") {
				all = append(all, dir)
				break
			}
		}
	}
	return all
}

func join(dir, path string) string {
	if dir == "." {
		return path
	}
	return dir + "/" + path
}
