#!/bin/sh
# turn.sh N: prints a number from 0 to N-1 that follows from the commit. Tests that take very long try one of N shares for each commit, so that a few
# commits together try all of them. With LONG=1 in the environment it prints nothing: then all shares are tried.
set -eu
[ -z "${LONG:-}" ] || exit 0
commit=$(git rev-parse HEAD 2>/dev/null || date +%F)
echo $(($(printf %s "$commit" | cksum | cut -d ' ' -f 1) % $1))
