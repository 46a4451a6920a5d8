#!/usr/bin/env bash
# Runs every fuzz target for the time given, such as 5s.
set -euo pipefail
cd "$(dirname "$0")/.."

duration=${1:?usage: fuzz.sh DURATION}
# What a target gets that spent all its time on its corpus: go test calls that a
# success, although nothing was fuzzed.
longer=60s
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# go test prints the targets of a package before it names the package.
targets=$(go test -list '^Fuzz' ./... | awk '
  /^Fuzz/ { names = names " " $1; next }
  $1 == "ok" { n = split(names, name, " "); for (i = 1; i <= n; i++) print $2, name[i]; names = "" }')
[[ -n $targets ]] || { echo "there are no fuzz targets" >&2; exit 1; }

# fuzz PACKAGE TARGET DURATION
fuzz() { go test -run '^$' -fuzz "^$2\$" -fuzztime "$3" "$1" >"$log" 2>&1; }

# execs prints how many inputs were tried beyond the corpus.
execs() { { grep -oE 'execs: [0-9]+' "$log" || true; } | tail -n 1 | grep -oE '[0-9]+' || echo 0; }

# unlucky tells whether the engine reported the end of its own time as a failure,
# without an input that fails.
unlucky() { grep -q 'context deadline exceeded' "$log" && ! grep -q 'Failing input' "$log"; }

failed=0
while read -r pkg target; do
  result=ok
  fuzz "$pkg" "$target" "$duration" || result=FAIL
  if { [[ $result == ok ]] && (($(execs) == 0)); } || { [[ $result == FAIL ]] && unlucky; }; then
    result=ok
    fuzz "$pkg" "$target" "$longer" || result=FAIL
  fi
  if [[ $result == ok ]] && (($(execs) == 0)); then
    result=FAIL
    echo "$longer are not enough to try anything beyond the corpus" >>"$log"
  fi
  printf '%-4s  %s %s  %s inputs\n' "$result" "${pkg#*/*/*/}" "$target" "$(execs)"
  if [[ $result == FAIL ]]; then
    cat "$log"
    failed=1
  fi
done <<<"$targets"
exit "$failed"
