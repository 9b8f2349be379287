#!/usr/bin/env bash
# Runs the commands of stdin, one a line, its folder first, as many at a time as there are
# processors: most tests wait, or use one thread for minutes. Prints how long each took, and the
# output of those that fail. One that takes longer than CAIRN_LIMIT (15 minutes) is ended and has
# failed: its output names the tests that hang. $1 is the folder for the outputs.
set -euo pipefail

# One command; xargs, unlike a shell, starts it with the usual signals.
if [ "${2:-}" ]; then
    read -r folder command <<<"$2"
    # As cargo sets it.
    export CARGO_MANIFEST_DIR=$folder
    log=$(mktemp --tmpdir="$1" --suffix=.log)
    # In the foreground, so that Ctrl-C still ends everything.
    limit=(timeout --foreground --kill-after=5 "${CAIRN_LIMIT:-900}")
    if (cd "$folder" && exec "${limit[@]}" $command) >"$log" 2>&1 </dev/null; then
        echo "ok     $SECONDS s  ${command##*/}"
    else
        echo "FAILED $SECONDS s  ${command##*/}"
        cat "$log"
        grep -E '^test .*FAILED$|^error|^not ok' "$log" >>"$1/failures" || echo "$command" >>"$1/failures"
    fi
    exit
fi

rm -rf "$1"
mkdir -p "$1"
xargs -d '\n' -n 1 -P "$(nproc)" "$0" "$1"
if [ -s "$1/failures" ]; then
    echo "failures, with their output in $1:" >&2
    cat "$1/failures" >&2
    exit 1
fi
