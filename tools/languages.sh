#!/usr/bin/env bash
# Generates code in further languages of the services that tests export, with the
# protoc that is installed: its include folder has the well-known types. C++, Java
# and Python are compiled as well, where there are a compiler and the library.
set -euo pipefail
cd "$(dirname "$0")/.."

protoc=${PROTOC:-$(command -v protoc)} || { echo "protoc is not installed: apt-get install protobuf-compiler libprotobuf-dev" >&2; exit 1; }
include=$(dirname "$(dirname "$protoc")")/include
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/proto"
cp -r proto/mcp .build/protovalidate/buf "$work/proto/"
for file in bridge/internal/export/testdata/*.proto bridge/internal/typed/testdata/*.proto; do
  name=$(basename "$file" .proto)
  name=${name//-/}
  mkdir -p "$work/proto/exports/$name/v1"
  sed "s/^package .*;/package exports.$name.v1;/" "$file" >"$work/proto/exports/$name/v1/$name.proto"
done
files=$(cd "$work/proto" && find . -name '*.proto' -printf '%P\n')
for language in java python cpp csharp; do
  mkdir "$work/$language"
  options=()
  [[ $language == csharp ]] && options=(--csharp_opt=base_namespace=)
  # shellcheck disable=SC2086 # the names of files have no spaces
  "$protoc" -I "$work/proto" -I "$include" "--${language}_out=$work/$language" "${options[@]}" $files
  echo "$language: $(find "$work/$language" -type f | wc -l) files"
done
if command -v python3 >/dev/null; then
  python3 -m compileall -q "$work/python"
  echo "python compiles"
fi
if command -v g++ >/dev/null && [[ -d $include/google/protobuf ]]; then
  g++ -std=c++17 -fsyntax-only -I"$work/cpp" -I"$include" "$work"/cpp/exports/*/v1/*.pb.cc
  echo "C++ compiles"
fi
jar=${PROTOBUF_JAR:-/usr/share/java/protobuf.jar} # of libprotobuf-java
if command -v javac >/dev/null && [[ -f $jar ]]; then
  find "$work/java" -name '*.java' >"$work/sources"
  javac -proc:none -nowarn -d "$work/classes" -cp "$jar" "@$work/sources"
  echo "Java compiles"
fi
