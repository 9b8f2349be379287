#!/usr/bin/env bash
# Runs what `make compat` checks: other implementations of LevelDB's format, and clients of LevelDB
# over the C library. A check that cannot run here is noted in $CAIRN_SKIPS.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
scripts=clients/capi/tests

skip() {
    echo "skipped: $*" >&2
    echo "$*" >>"${CAIRN_SKIPS:-/dev/null}"
}

# Runs a script; status 3 means that something is not installed, which its last line names.
run() {
    local status=0 log=$target/compat.log
    echo "$*"
    "$@" 2>&1 | tee "$log" || status=$?
    case $status in
    0) ;;
    3) skip "$(tail -n 1 "$log")" ;;
    *) exit 1 ;;
    esac
}

goleveldb() {
    if ! (cd engine/leveldb/tests/goleveldb && go build -o "$target/goleveldb" .); then
        skip "goleveldb: the program does not build; it needs the Go module proxy once"
        return 0
    fi
    echo "cargo test --package cairndb-leveldb --test goleveldb"
    CAIRN_GOLEVELDB=$target/goleveldb \
        cargo test --package cairndb-leveldb --test goleveldb --locked -- --ignored
}

prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
# A user that is not root runs one of the programs.
chmod 755 "$prefix"
export PREFIX=$prefix CAIRN=$target/release/cairn
DESTDIR='' clients/capi/install.sh
cargo build --release --locked --package cairndb-tool

if command -v go >/dev/null; then
    goleveldb
    run "$scripts/levigo.sh"
else
    skip "goleveldb and levigo: install Go"
fi
run "$scripts/rust_leveldb.sh"
run "$scripts/cmake/run.sh"
for program in plyvel litecoin minetest; do
    run "$scripts/debian/$program.sh"
done
