# Parts of the scripts that run programs of Debian over our library. To be sourced.
#
#   PREFIX   an installation of the C library with the C++ classes
#   CAIRN    the program cairn
set -euo pipefail

# Ends the script with status 3: something is not installed.
missing() {
    echo "$*" >&2
    exit 3
}

[ -f "$PREFIX/lib/cairndb/libleveldb.so.1d" ] || missing "no C++ classes in $PREFIX/lib/cairndb"

work=$(mktemp -d)
server=
finish() {
    [ -z "$server" ] || kill -9 "$server" 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT

fail() {
    echo "failed: $*" >&2
    [ ! -f "$work/log" ] || tail -n 40 "$work/log" >&2
    exit 1
}

# Before a program, runs it over our library. An array, because a function in the background would
# be another process than the program.
with_ours=(env LD_LIBRARY_PATH="$PREFIX/lib/cairndb")

# Requires that a process has loaded our library, and no other LevelDB.
check_loaded() {
    local loaded
    loaded=$(awk '/lib(leveldb|cairndb)/ {print $6}' "/proc/$1/maps" | sort -u)
    [ "$loaded" = "$(realpath "$PREFIX/lib/cairndb/libleveldb.so.1d" \
        "$PREFIX/lib/libcairndb.so.0" | sort -u)" ] || fail "process $1 has loaded: $loaded"
}

# Waits until a command succeeds, at most a minute.
wait_for() {
    local tries
    for tries in $(seq 600); do
        "$@" >/dev/null 2>&1 && return 0
        [ -z "$server" ] || kill -0 "$server" 2>/dev/null || fail "the server has ended"
        sleep 0.1
    done
    fail "waited a minute for: $*"
}

# Kills the server as a crash would.
kill_server() {
    kill -9 "$server"
    wait "$server" 2>/dev/null || true
    server=
}
