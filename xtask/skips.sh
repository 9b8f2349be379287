#!/usr/bin/env bash
# Lists what a run could not do; under CI=true that is a failure.
set -euo pipefail

list=${CAIRN_SKIPS:?names the file that tests append to}
if [ ! -s "$list" ]; then
    echo "Nothing was skipped."
    exit 0
fi
echo "Skipped for want of something on this machine:"
sort -u "$list" | sed 's/^/  /'
# Lines that begin with "machine:" tell of its kind, which no package changes.
if [ "${CI:-false}" = true ] && grep -qv '^machine:' "$list"; then
    echo "CI=true: a skip is a failure" >&2
    exit 1
fi
