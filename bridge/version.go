package bridge

import "runtime/debug"

const modulePath = "github.com/mcp-bridge/mcp-bridge"

// Version returns the version of this module in the running program, or
// "devel" where it was not built from a release.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	v := ""
	if info.Main.Path == modulePath {
		v = info.Main.Version
	}
	for _, dep := range info.Deps {
		if dep.Path == modulePath {
			v = dep.Version
		}
	}
	if v == "" || v == "(devel)" {
		return "devel"
	}
	return v
}
