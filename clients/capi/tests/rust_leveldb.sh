#!/usr/bin/env bash
# Runs the tests of the Rust crate `leveldb` over our library. The crate and its bindings come from
# the registry, unchanged; only the build script that compiles LevelDB is overridden. PREFIX names an
# installation of the library; without it, one is made.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
version=0.8.6
target=$(realpath -m "${CARGO_TARGET_DIR:-$here/../../../target}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

prefix=${PREFIX:-}
if [ -z "$prefix" ]; then
    prefix=$work/prefix
    PREFIX=$prefix DESTDIR='' "$here/../install.sh"
fi
mkdir -p "$work/probe/src"
touch "$work/probe/src/lib.rs"
printf '[package]\nname = "probe"\nedition = "2021"\n[workspace]\n[dependencies]\nleveldb = "=%s"\n' \
    "$version" >"$work/probe/Cargo.toml"
source=$(cd "$work/probe" && cargo metadata --quiet --format-version 1 |
    grep -o '"manifest_path":"[^"]*/leveldb-'"$version"'/Cargo.toml"' | head -n 1 | cut -d '"' -f 4)
[ -n "$source" ] || {
    echo "the crate leveldb $version: cargo cannot fetch it" >&2
    exit 3
}
cp -r "$(dirname "$source")" "$work/leveldb"
cd "$work/leveldb"
printf '\n[workspace]\n' >>Cargo.toml
host=$(rustc -vV | sed -n 's/^host: //p')
mkdir .cargo
cat >.cargo/config.toml <<CONFIG
[target.$host.leveldb]
rustc-link-lib = ["leveldb"]
rustc-link-search = ["$prefix/lib/cairndb"]
CONFIG
# Warnings about an older edition of Rust are not ours.
LD_LIBRARY_PATH="$prefix/lib/cairndb:$prefix/lib" RUSTFLAGS=-Awarnings \
    CARGO_TARGET_DIR="$target/rust-leveldb" cargo test --quiet --tests
