#!/usr/bin/env bash
# Copies buf/validate/validate.proto, which our .proto files import, from its Go
# module into the folder given, and the messages of protovalidate's conformance
# tests into one of that name with -testing behind it. The module holds no Go packages, so no go.mod
# can keep it: its version and checksum are pinned here.
set -euo pipefail

to=${1:?usage: protovalidate.sh FOLDER}
version=v1.2.2
sum=h1:2H/9/Kr97etSRqW3IJjTTb09z+zutkK2GDhDRbOnqr4=

info=$(go mod download -json "github.com/bufbuild/protovalidate@$version")
field() { sed -nE 's/^[[:space:]]*"'"$1"'": "(.*)",?$/\1/p' <<<"$info"; }
if [[ $(field Sum) != "$sum" ]]; then
  echo "protovalidate $version has the checksum $(field Sum), want $sum" >&2
  exit 1
fi
mkdir -p "$to/buf/validate"
install -m 644 "$(field Dir)/proto/protovalidate/buf/validate/validate.proto" "$to/buf/validate/validate.proto"
rm -rf "$to-testing"
cp -R "$(field Dir)/proto/protovalidate-testing" "$to-testing"
chmod -R u+w "$to-testing"
