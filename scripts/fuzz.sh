#!/bin/sh
# fuzz.sh TIME: runs each fuzz target for TIME (default 1m), one after the other. An input that fails stays in testdata/fuzz of its package: commit it with
# the mend.
set -eu
cd "$(dirname "$0")/.."
for file in $(grep -rl --include='*_test.go' '^func Fuzz' .); do
	for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9]*\).*/\1/p' "$file"); do
		go test -run '^$' -fuzz "^$target\$" -fuzztime "${1:-1m}" "$(dirname "$file")"
	done
done
