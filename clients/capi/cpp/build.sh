#!/usr/bin/env bash
# Builds libleveldb.so.1d with LevelDB's C++ classes over the C library. Needs a C++ compiler and the
# headers of Debian's libleveldb-dev; without them says why, and exits with status 3.
#
#   build.sh LIBRARY FOLDER [FLAG...]
#
#   LIBRARY   the shared library, libcairndb.so.0
#   FOLDER    where libleveldb.so.1d is written
#   FLAG      more flags of the compiler
#
#   CXX=c++            the compiler
#   LEVELDB_INCLUDE=   the folder with leveldb/db.h, if the compiler does not search it
#   RUNPATH=           where the loader finds the C library; by default beside the private folder
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
library=$(realpath "$1")
folder=$2
shift 2

compiler=${CXX:-c++}
flags=(-std=c++17 -O2 -g -fPIC -fvisibility=hidden
    -Wall -Wextra -Wpedantic -Werror -DLEVELDB_SHARED_LIBRARY -DLEVELDB_COMPILE_LIBRARY
    "-I$here" "-I$here/../include")
if [ -n "${LEVELDB_INCLUDE:-}" ]; then
    flags+=(-isystem "$LEVELDB_INCLUDE")
fi

if ! command -v "$compiler" >/dev/null; then
    echo "the C++ classes are not built: no C++ compiler (install g++)" >&2
    exit 3
fi
if ! echo '#include "leveldb/db.h"' | "$compiler" "${flags[@]}" -x c++ -E - >/dev/null 2>&1; then
    echo "the C++ classes are not built: no leveldb/db.h (install libleveldb-dev)" >&2
    exit 3
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The linker reads the name for the loader from the library.
find "$here" -name '*.cc' -print0 | xargs -0 -P 2 -I '{}' bash -c '
    source=$1 work=$2
    shift 2
    object=$work/$(echo "${source#"$0"/}" | tr / -).o
    exec "$@" -c "$source" -o "$object"' "$here" '{}' "$work" "$compiler" "${flags[@]}" "$@"
mkdir -p "$folder"
# Programs may also name functions of the C interface that they find in LevelDB's library, so the C
# library must be needed by its name, even by a linker that drops what seems unused.
"$compiler" -shared -Wl,-soname,libleveldb.so.1d -Wl,--no-as-needed "$@" \
    -o "$folder/libleveldb.so.1d" "$work"/*.o "$library" \
    -Wl,-rpath,"${RUNPATH:-\$ORIGIN/..}" -Wl,-z,defs -lpthread
