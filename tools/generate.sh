#!/usr/bin/env bash
# Writes the generated files below the folder given: gen/, from what buf.gen.yaml
# says, and descriptor sets with comments, which generated code leaves out.
set -euo pipefail

to=$(realpath "${1:?usage: generate.sh FOLDER}")
cd "$(dirname "$0")/.."
buf=tools/node_modules/.bin/buf

"$buf" generate --output "$to"
mkdir -p "$to/internal/demo"
"$buf" build proto --path proto/library --as-file-descriptor-set --exclude-imports --output "$to/internal/demo/library.binpb"
