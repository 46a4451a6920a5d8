#!/usr/bin/env bash
# Writes the generated files below the folder given: gen/, from what buf.gen.yaml
# says, descriptor sets with comments, which generated code leaves out, and one of
# the files that APIs commonly import.
set -euo pipefail

to=$(realpath "${1:?usage: generate.sh FOLDER}")
cd "$(dirname "$0")/.."
buf=tools/node_modules/.bin/buf

"$buf" generate --output "$to"
mkdir -p "$to/internal/demo"
"$buf" build proto --path proto/library --as-file-descriptor-set --exclude-imports --output "$to/internal/demo/library.binpb"
mkdir -p "$to/bridge/config"
"$buf" build proto --path proto/mcpbridge/config --path proto/mcp/options --as-file-descriptor-set --exclude-imports --output "$to/bridge/config/config.binpb"
mkdir -p "$to/bridge/internal/descriptor"
go run -C bridge/internal/descriptor/testdata/imports . >"$to/bridge/internal/descriptor/imports.binpb"
# The reference is made of what has just been written.
mkdir -p "$to/docs"
go run ./internal/configdoc <examples/config/mcp-bridge.yaml >"$to/docs/configuration.md"
