#!/usr/bin/env bash
# Fails if the generated files are not what `make generate` writes.
set -euo pipefail
cd "$(dirname "$0")/.."

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
tools/generate.sh "$fresh"
files=(internal/demo/library.binpb bridge/config/config.binpb bridge/internal/descriptor/imports.binpb docs/configuration.md)
stale=
diff -ru gen "$fresh/gen" || stale=yes
for file in "${files[@]}"; do
  cmp "$file" "$fresh/$file" || stale=yes
done
if [[ -n $stale ]]; then
  echo "generated files are out of date; run: make generate" >&2
  exit 1
fi
# What a clone does not have is out of date, too.
if untracked=$(git ls-files --others -- gen "${files[@]}") && [[ -n $untracked ]]; then
  if [[ -n ${MCP_BRIDGE_CI:-} ]]; then
    printf 'generated files that are not committed:\n%s\n' "$untracked" >&2
    exit 1
  fi
  printf 'not committed yet:\n%s\n' "$untracked"
fi
