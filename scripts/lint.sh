#!/bin/sh
# lint.sh [vet|staticcheck]: checks the form and the code of all packages without running them, by both tools or by one. It prints the findings and ends
# with an error code.
set -eu
cd "$(dirname "$0")/.."
if [ "${1:-vet}" = vet ]; then
	unformatted=$(gofmt -l .)
	[ -z "$unformatted" ] || { echo "gofmt would change: $unformatted" >&2; exit 1; }
	# The tag only adds tests of the package simulation. A second vet of that package alone would calculate again what vet knows of all that it imports.
	go vet -tags planted ./...
fi
if [ "${1:-staticcheck}" = staticcheck ]; then
	# staticcheck.conf lists the checks. The module of the tools pins the version.
	go tool -modfile=tools/go.mod staticcheck -tags planted ./...
fi
