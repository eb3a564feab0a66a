#!/bin/sh
# Checks frozen corpora, this project's or your own: corpus/check.sh DIR...
#
# VERIFY   the program to check with (default: verify on the PATH, or else one
#          that Go builds from the module at VERSION)
# VERSION  of github.com/obstat/obstat to build (default: latest)
# DIGEST   pins the digest of the one DIR that is given
#
# Exit status: 1 a case or a file does not hold, 2 something could not be asked,
# 3 there is no manifest that this verify knows; of several the worst, in that
# order.
set -u
[ $# -gt 0 ] || { sed -n '2,11s/^# \{0,1\}//p' "$0" >&2; exit 2; }
[ -z "${DIGEST:-}" ] || [ $# -eq 1 ] || { echo "check.sh: DIGEST pins one DIR, and $# are given" >&2; exit 2; }
if [ -z "${VERIFY:-}" ]; then
  if command -v verify >/dev/null 2>&1; then
    VERIFY=verify
  else
    bin=$(mktemp -d) || exit 2
    trap 'rm -rf "$bin"' EXIT
    GOBIN=$bin CGO_ENABLED=0 go install "github.com/obstat/obstat/cmd/verify@${VERSION:-latest}" || exit 2
    VERIFY=$bin/verify
  fi
fi
worst=0
for dir in "$@"; do
  echo "== $dir"
  "$VERIFY" corpus ${DIGEST:+--digest "$DIGEST"} "$dir"
  status=$?
  case $status in
    0) ;;
    1) worst=1 ;;
    3) [ $worst -ne 0 ] || worst=3 ;;
    *) [ $worst -eq 1 ] || worst=2 ;;
  esac
done
exit $worst
