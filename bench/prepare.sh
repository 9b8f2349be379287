#!/usr/bin/env bash
# Prepares `make bench`: the toolchain, the libraries of the other stores, the programs. Prints one
# line per step, on a terminal with the elapsed seconds, and writes everything else to a log.
# VERBOSE=1 prints everything instead.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

target=${CARGO_TARGET_DIR:-target}
log=$target/bench-build.log
ticker=
trap '[ -z "$ticker" ] || kill "$ticker" 2>/dev/null' EXIT

# Rewrites one line every second.
tick() {
    local begun=$SECONDS
    while sleep 1; do
        printf '\r%s: %d s ' "$1" $((SECONDS - begun)) >&3
    done
}

# Runs COMMAND... as the step NAME.
step() {
    local name=$1 status=0
    shift
    if [ "${VERBOSE:-0}" = 1 ]; then
        "$@" || exit
        return
    fi
    if [ -t 2 ]; then
        printf '%s' "$name" >&2
        tick "$name" 3>&2 2>/dev/null &
        ticker=$!
    else
        echo "$name" >&2
    fi
    echo "== $*" >>"$log"
    "$@" >>"$log" 2>&1 || status=$?
    if [ -n "$ticker" ]; then
        kill "$ticker" 2>/dev/null
        wait "$ticker" 2>/dev/null
        ticker=
        printf '\r%79s\r' '' >&2
    fi
    if [ "$status" -ne 0 ]; then
        tail -n 20 "$log" >&2
        echo "$name: failed; the full log is $log" >&2
        exit "$status"
    fi
}

build() {
    cargo build --release --locked --package db_bench && cp -f "$target/release/db_bench" .
}

mkdir -p "$target" && : >"$log" || exit 1
step "looking for the toolchain" xtask/toolchain.sh
if [ -x bench/install-peers.sh ]; then
    step "installing the other stores' libraries" bench/install-peers.sh
fi
step "building db_bench (three to four minutes the first time)" build
