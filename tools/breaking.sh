#!/usr/bin/env bash
# Looks for changes of the API that break its users, since the commit at which
# this branch left main or, on main itself, since the commit before. Without such
# a commit, as in a shallow clone, or without .proto files in it, there is nothing
# to compare with.
set -euo pipefail
cd "$(dirname "$0")/.."

base=
for main in origin/main main; do
  if base=$(git merge-base HEAD "$main" 2>/dev/null) && [[ $base != "$(git rev-parse HEAD)" ]]; then
    break
  fi
  base=
done
if [[ -z $base ]]; then
  base=$(git rev-parse --quiet --verify 'HEAD~1^{commit}') || true
fi
if [[ -z $base ]]; then
  echo "no earlier commit to compare with"
  exit 0
fi
if [[ -z $(git ls-tree -r --name-only "$base" -- proto) ]]; then
  echo "no .proto files at $(git rev-parse --short "$base") to compare with"
  exit 0
fi

before=$(mktemp -d)
trap 'rm -rf "$before"' EXIT
git archive "$base" proto | tar -x -C "$before"
cp -r .build "$before/"
cat >"$before/buf.yaml" <<'YAML'
version: v2
modules:
  - path: proto
  - path: .build/protovalidate
YAML
tools/node_modules/.bin/buf breaking proto --against "$before/proto"
echo "compatible with $(git rev-parse --short "$base")"
