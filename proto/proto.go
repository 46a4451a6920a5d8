// Package proto holds the .proto files that others import, as text.
package proto

import "embed"

// Files are the files of packages mcp.v1, mcp.json.v1 and mcp.options.v1, by the
// paths by which they are imported.
//
//go:embed mcp
var Files embed.FS
