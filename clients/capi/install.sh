#!/usr/bin/env bash
# Installs the C library: headers, shared and static library, pkg-config and CMake files.
# `make install-c` runs it, with the same variables.
#
#   PREFIX=/usr/local   where it will be used
#   DESTDIR=            what precedes that path now, for packages
#   LIBRARIES=          a folder with libcairndb_capi.so and .a; built if not set
#   CXX, LEVELDB_INCLUDE   see cpp/build.sh
#
# Files with LevelDB's names go to $PREFIX/lib/cairndb: in a folder that the loader or the compiler
# searches by itself, they would replace LevelDB for every program of the machine. They have
# LevelDB's C++ classes, too, if a C++ compiler and Debian's libleveldb-dev are installed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
# Absolute, because pkg-config files contain it.
prefix=$(realpath --canonicalize-missing --no-symlinks "${PREFIX:-/usr/local}")
to=${DESTDIR:-}$prefix
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"/\1/p' "$root/Cargo.toml")
major=${version%%.*}

libraries=${LIBRARIES:-}
if [ -z "$libraries" ]; then
    # Without the crate type that only Rust links, code is optimised across crates.
    (cd "$root" && cargo rustc --release --locked --package cairndb-capi --lib \
        --crate-type cdylib,staticlib)
    libraries=$(realpath -m "${CARGO_TARGET_DIR:-$root/target}")/release
fi

install -d "$to/include/cairndb/leveldb" "$to/lib/pkgconfig" "$to/lib/cmake/cairndb" \
    "$to/lib/cairndb/cmake/leveldb"
install -m 644 "$here/include/cairndb.h" "$to/include/cairndb.h"
install -m 644 "$here/include/leveldb/c.h" "$to/include/cairndb/leveldb/c.h"

install -m 755 "$libraries/libcairndb_capi.so" "$to/lib/libcairndb.so.$version"
ln -sf "libcairndb.so.$version" "$to/lib/libcairndb.so.$major"
ln -sf "libcairndb.so.$major" "$to/lib/libcairndb.so"
rm -f "$to/lib/cairndb"/libleveldb.so*
built=0
"$here/cpp/build.sh" "$to/lib/libcairndb.so.$version" "$to/lib/cairndb" || built=$?
case $built in
0)
    classes=ON
    ln -sf libleveldb.so.1d "$to/lib/cairndb/libleveldb.so.1"
    # For -lleveldb: the linker takes the C functions from one file and the classes from the other.
    echo 'GROUP ( AS_NEEDED ( libleveldb.so.1d ../libcairndb.so ) )' >"$to/lib/cairndb/libleveldb.so"
    ;;
3)
    classes=OFF
    for name in libleveldb.so libleveldb.so.1 libleveldb.so.1d; do
        ln -sf "../libcairndb.so.$version" "$to/lib/cairndb/$name"
    done
    ;;
*) exit 1 ;;
esac

# One object whose only global names are those of the headers, so that a program can link another
# Rust library, too.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ld -r --whole-archive "$libraries/libcairndb_capi.a" -o "$work/cairndb.o"
objcopy --wildcard --keep-global-symbol='leveldb_*' --keep-global-symbol='cairndb_*' \
    --strip-debug --remove-section='.llvm*' "$work/cairndb.o"
rm -f "$to/lib/libcairndb.a"
ar rcs "$to/lib/libcairndb.a" "$work/cairndb.o"
chmod 644 "$to/lib/libcairndb.a"

for template in "$here/install"/*.in; do
    file=$(basename "$template" .in)
    case $file in
    *.pc) folder=lib/pkgconfig ;;
    leveldb-*) folder=lib/cairndb/cmake/leveldb ;;
    *) folder=lib/cmake/cairndb ;;
    esac
    sed -e "s|@PREFIX@|$prefix|g" -e "s|@VERSION@|$version|g" -e "s|@MAJOR@|$major|g" \
        -e "s|@CLASSES@|$classes|g" -e "s|@LEVELDB_INCLUDE@|${LEVELDB_INCLUDE:-}|g" \
        "$template" >"$to/$folder/$file"
    chmod 644 "$to/$folder/$file"
done
echo "installed the C library $version in $to"
echo "for the loader: ldconfig, if it searches $prefix/lib, or link with -Wl,-rpath,$prefix/lib"
