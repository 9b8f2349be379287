#!/usr/bin/env bash
# Builds the stores that run in separate programs (bench/peers), and gets today's builds of other
# libraries, through the package managers alone and without root:
#   target/peers/programs/db_bench-NAME   found by db_bench
#   target/peers/builds/NAME/*.so         for --rocksdb_lib, --leveldb_lib, --sqlite3_lib
# Prints for each what it got (version, file, hash), or why not, in one line. PEERS="fjall mdbx"
# builds only those. Always exits with status 0, except under CI=true if a program does not build.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

peers=${PEERS:-fjall tidesdb mdbx bftree rocksdb leveldb sqlite3}
folder=$PWD/target/peers
work=$folder/work
log=$folder/build.log
status=0
mkdir -p "$folder/programs" "$folder/builds" "$work" && : >"$log" || exit 1

# Prints what was got: name, version, file.
got() {
    local hash
    hash=$(sha256sum "$3" | cut -c 1-16)
    printf '%-8s %-10s %s (%s bytes, sha256 %s...)\n' "$1" "$2" "${3#"$PWD"/}" "$(stat -c %s "$3")" \
        "$hash"
}

# Prints why something was not got.
missed() {
    printf '%-8s not built: %s; %s has the output\n' "$1" "$2" "${log#"$PWD"/}"
}

# Builds a program of bench/peers.
program() {
    local name=$1 version
    if ! (cd bench/peers && CARGO_TARGET_DIR=$folder/target cargo build --release --locked \
        --package "peer-$name") >>"$log" 2>&1; then
        missed "$name" "cargo failed"
        status=1
        return
    fi
    cp -f "$folder/target/release/db_bench-$name" "$folder/programs/" || return
    version=$("$folder/programs/db_bench-$name" --list | sed -n "s/^  $name  *version //p")
    got "$name" "$version" "$folder/programs/db_bench-$name"
}

# libclang, which finds the declarations of a C header, from PyPI if no package has installed it.
libclang() {
    local found
    found=$(find /usr/lib/llvm-*/lib /usr/lib/*-linux-gnu "$work/clang" -name 'libclang*.so*' \
        -not -name 'libclang-cpp*' 2>/dev/null | head -n 1)
    if [ -z "$found" ]; then
        pip install --quiet --target "$work/clang" libclang >>"$log" 2>&1 || return 1
        found=$(find "$work/clang" -name 'libclang*.so*' | head -n 1)
    fi
    [ -n "$found" ] && LIBCLANG_PATH=$(dirname "$found") && export LIBCLANG_PATH
    # Without clang itself, it does not find the compiler's headers.
    BINDGEN_EXTRA_CLANG_ARGS="-I$(cc -print-file-name=include)" && export BINDGEN_EXTRA_CLANG_ARGS
}

# RocksDB's own release build for Java, which exports the C functions: the newest that can be had.
rocksdb() {
    local version dir=$folder/builds/rocksdb
    mkdir -p "$dir"
    if ! command -v mvn >/dev/null; then
        missed rocksdb "mvn was not found"
        return
    fi
    for version in 11.8.1 11.1.2 11.1.1 11.0.4 10.10.1.1; do
        if mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.0:copy \
            -DoutputDirectory="$work/jar" -Dartifact="org.rocksdb:rocksdbjni:$version:jar:linux64" >>"$log" 2>&1 &&
            unzip -o -q -j "$work/jar/rocksdbjni-$version-linux64.jar" librocksdbjni-linux64.so -d "$dir" >>"$log" 2>&1; then
            got rocksdb "$version" "$dir/librocksdbjni-linux64.so"
            return
        fi
    done
    missed rocksdb "no version could be had"
}

# LevelDB from the sources that a crate bundles, for speed: -O3, no assertions, the processor's
# CRC-32C.
leveldb() {
    local dir=$folder/builds/leveldb sources
    mkdir -p "$dir"
    sources=$(crate_sources leveldb-sys) || {
        missed leveldb "the crate could not be had"
        return
    }
    if ! bench/build-leveldb.sh "$sources/deps" "$dir/libleveldb.so" >>"$log" 2>&1; then
        missed leveldb "the compiler failed"
        return
    fi
    got leveldb "$(sed -n 's/.*kMinorVersion = \([0-9]*\).*/1.\1/p' "$(find "$sources" -path '*leveldb/db.h' | head -n 1)")" \
        "$dir/libleveldb.so"
}

# SQLite from the amalgamation that a crate bundles, with the options that SQLite recommends for
# speed and Debian's shared library leaves out.
sqlite3() {
    local dir=$folder/builds/sqlite3 sources
    mkdir -p "$dir"
    sources=$(crate_sources libsqlite3-sys)/sqlite3 || {
        missed sqlite3 "the crate could not be had"
        return
    }
    if ! cc -O2 -DNDEBUG -fPIC -shared -DSQLITE_THREADSAFE=2 -DSQLITE_DQS=0 \
        -DSQLITE_DEFAULT_MEMSTATUS=0 -DSQLITE_LIKE_DOESNT_MATCH_BLOBS -DSQLITE_OMIT_DEPRECATED \
        -DSQLITE_USE_ALLOCA "$sources/sqlite3.c" -o "$dir/libsqlite3.so" -lm -lpthread -ldl >>"$log" 2>&1; then
        missed sqlite3 "the compiler failed"
        return
    fi
    got sqlite3 "$(sed -n 's/^#define SQLITE_VERSION  *"\(.*\)".*/\1/p' "$sources/sqlite3.h")" "$dir/libsqlite3.so"
}

# Prints the folder of a crate's sources, which are fetched if necessary.
crate_sources() {
    local crate=$1 dir=$work/crates
    mkdir -p "$dir/src" && : >"$dir/src/lib.rs"
    printf '[package]\nname = "sources"\nedition = "2024"\n[workspace]\n[dependencies]\n%s = "*"\n' "$crate" >"$dir/Cargo.toml"
    (cd "$dir" && cargo metadata --format-version 1) 2>>"$log" |
        python3 -c 'import json, os, sys
name = sys.argv[1]
found = [it for it in json.load(sys.stdin)["packages"] if it["name"] == name]
print(os.path.dirname(found[0]["manifest_path"]))' "$crate"
}

for peer in $peers; do
    case $peer in
    rocksdb | leveldb | sqlite3) "$peer" ;;
    mdbx)
        if libclang; then program mdbx; else missed mdbx "libclang could not be had"; fi
        ;;
    *) program "$peer" ;;
    esac
done
[ "${CI:-}" != true ] || exit $status
