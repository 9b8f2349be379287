#!/usr/bin/env bash
# Builds and runs the programs of this folder with CMake over an installed C library; prints PASS.
#
#   run.sh CMAKE FOLDER    with that program, in that folder
#   run.sh                 with 3.16 and the newest of PyPI; without them exits with status 3
#
#   PREFIX   where the library is installed
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
prefix=${PREFIX:?names the folder with the library}
version=$(sed -n 's/^Version: //p' "$prefix/lib/pkgconfig/cairndb.pc")
classes=OFF
# Otherwise a link to the C library.
shim=$prefix/lib/cairndb/libleveldb.so.1d
if [ -e "$shim" ] && [ ! -L "$shim" ]; then
    classes=ON
fi

# Runs a program, which must print exactly this.
prints() {
    local expected=$1 found
    found=$("$2" "$work/databases/${2##*/}")
    if [ "$found" != "$expected" ]; then
        echo "$2 printed: $found" >&2
        exit 1
    fi
}

build() {
    local cmake=$1 work=$2
    "$cmake" --version | head -n 1
    mkdir -p "$work/databases"
    "$cmake" -S "$here" -B "$work/build" -DCLASSES=$classes -DCAIRNDB_VERSION="$version" \
        -DCMAKE_PREFIX_PATH="$prefix" -Dleveldb_DIR="$prefix/lib/cairndb/cmake/leveldb" \
        -DCMAKE_INSTALL_PREFIX="$work/installed" -DCMAKE_INSTALL_RPATH_USE_LINK_PATH=ON
    "$cmake" --build "$work/build"
    "$cmake" --build "$work/build" --target install
    local visits=$'about: 1\ncontact: 1\nindex: 3\nmemory below 64 MiB: yes'
    local stones=$'granite is grey\nslate is blue'
    prints "$visits" "$work/build/shared"
    prints "$visits" "$work/build/fixed"
    prints "$visits" "$work/installed/bin/shared"
    prints "$stones" "$work/build/leveldb_c"
    prints "$stones" "$work/build/leveldb_both"
    [ $classes = OFF ] || prints "$stones" "$work/build/classes"
}

if [ $# = 2 ]; then
    build "$1" "$2"
else
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    for wanted in '~=3.16.0' '>=4'; do
        environment=$folder/python-${wanted//[^0-9]/}
        if ! python3 -m venv "$environment" ||
            ! "$environment/bin/pip" install --quiet "cmake$wanted"; then
            echo "CMake $wanted: install python3-venv; needs PyPI" >&2
            exit 3
        fi
        build "$environment/bin/cmake" "$folder/work-${wanted//[^0-9]/}"
    done
fi
echo PASS
