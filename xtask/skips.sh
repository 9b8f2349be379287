#!/usr/bin/env bash
# Lists the checks that a run skipped. Under CI=true, a skip is a failure.
set -euo pipefail

list=${CAIRN_SKIPS:?must name the file that tests append to}
if [ ! -s "$list" ]; then
    echo "Nothing was skipped."
    exit 0
fi
echo "Skipped because something is missing on this machine:"
sort -u "$list" | sed 's/^/  /'
# Lines that start with "machine:" depend on the kind of machine, which no package can change.
if [ "${CI:-false}" = true ] && grep -qv '^machine:' "$list"; then
    echo "CI=true: a skip is a failure" >&2
    exit 1
fi
