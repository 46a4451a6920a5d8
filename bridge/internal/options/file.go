package options

import (
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/document"
	optionsv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/options/v1"
)

// Parse reads a file of options: mcp.options.v1.File as YAML, of which JSON is
// a part. The error says everything that is wrong, with the places. The name
// stands before them.
func Parse(name string, data []byte) (*Set, error) {
	root, faults := document.Parse(name, data)
	if root == nil {
		return nil, faults
	}
	file := &optionsv1.File{}
	_, more := document.Decode(name, root, file, "")
	if faults = append(faults, more...); len(faults) > 0 {
		return nil, faults.Sort()
	}
	return newSet(file), nil
}
