#!/bin/sh
# Passes all tests on a machine that has Go: installs what the tests start as real processes, then runs them.
set -eu
cd "$(dirname "$0")/.."

export PATH="$PATH:/usr/sbin" # where Debian has rabbitmq-server
missing=""
need() { # need COMMAND PACKAGE
	command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
need redis-server redis-server
need rabbitmq-server rabbitmq-server
need python3 python3
need cc gcc
need curl curl
need mkfs.ext4 e2fsprogs
as_root=""
[ "$(id -u)" = 0 ] || as_root="sudo"
install() { # install OPTIONS AND PACKAGES
	command -v apt-get >/dev/null 2>&1 && $as_root apt-get update -qq &&
		$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >/dev/null
}
if [ -n "$missing" ]; then
	# shellcheck disable=SC2086 # each is a word
	install $missing || { echo "the tests need$missing: install that first" >&2; exit 1; }
fi
command -v podman >/dev/null 2>&1 || install --no-install-recommends podman runc netavark iptables busybox-static ||
	echo "Podman cannot be installed: the tests that run containers by it are skipped" >&2

# Memory is cheaper than time here: a garbage collector that rests.
export GOGC="${GOGC:-400}"
sh scripts/lint.sh vet
# Many tests wait for processes: two packages more than there are cores.
packages=$(($(getconf _NPROCESSORS_ONLN) + 2))
# The whole of vet has just passed, and no debugger reads the binaries.
flags="-vet=off -ldflags=-w -timeout 30m"
# The search for planted bugs only calculates. It takes the time in which the other tests wait for processes, and leaves them the processors otherwise.
# On a busy machine that is long: hence its own limit.
turn=$(sh scripts/turn.sh 4)
said=$(mktemp)
found=$(mktemp)
nice -n 10 sh scripts/lint.sh staticcheck >"$found" 2>&1 &
linted=$!
# shellcheck disable=SC2086 # each is a word
nice -n 10 go test $flags -timeout 2h -tags planted -run Planted "$@" ./simulation ${turn:+-turn "$turn"} >"$said" 2>&1 &
planted=$!
trap 'kill "$planted" "$linted" 2>/dev/null || true; rm -f "$said" "$found"' EXIT
trap 'exit 130' INT TERM
failed=0
# shellcheck disable=SC2086 # each is a word
go test $flags -p "$packages" "$@" ./... || failed=1
wait "$planted" || failed=1
wait "$linted" || { failed=1; echo "FAIL: staticcheck"; }
cat "$said" "$found"
exit "$failed"
