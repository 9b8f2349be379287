#!/usr/bin/env bash
# Finds the libraries of the other stores, or brings them:
#   1. installed already: nothing to do
#   2. as root, or with a sudo that asks no password: apt-get install, after naming the packages
#   3. else: the packages are downloaded and unpacked below target/peers/, which needs no rights
#   4. else: says what is missing and goes on; the benchmark then runs over what is there
# INSTALL=0 stops after 1. Always ends with status 0.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 0

# soname -> Debian package
peers=(
    "libleveldb.so.1d libleveldb1d"
    "librocksdb.so.7.8 librocksdb7.8"
    "libsqlite3.so.0 libsqlite3-0"
    "liblmdb.so.0 liblmdb0"
)
folder=$PWD/target/peers
lib=$folder/libraries

# Whether the loader, or our own folder, has a library.
has() {
    ldconfig -p 2>/dev/null | grep -qF "$1 " && return 0
    local dir
    for dir in /usr/lib /usr/local/lib /usr/lib/*-linux-gnu /lib/*-linux-gnu "$lib"; do
        [ -e "$dir/$1" ] && return 0
    done
    return 1
}

# The packages whose library is missing, into `missing`.
look() {
    missing=()
    local peer soname package
    for peer in "${peers[@]}"; do
        read -r soname package <<<"$peer"
        has "$soname" || missing+=("$package")
    done
}

look
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "${INSTALL:-1}" = 0 ]; then
    echo "peers: missing and not installed (INSTALL=0): ${missing[*]}" >&2
    exit 0
fi

# Unpacks downloaded packages into our own folder and links their libraries where db_bench looks.
unpack() {
    local work file
    work=$(mktemp -d) || return 1
    if (cd "$work" && apt-get download -qq "$@" $(needs "$@") >/dev/null 2>&1); then
        mkdir -p "$lib"
        for file in "$work"/*.deb; do
            dpkg -x "$file" "$folder" 2>/dev/null || true
        done
        find "$folder/usr" "$folder/lib" -name "*.so*" -exec ln -sf {} "$lib"/ \; 2>/dev/null
    fi
    rm -rf "$work"
}

# What the packages depend on and is not installed (LevelDB needs Snappy).
needs() {
    apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks \
        --no-replaces --no-enhances "$@" 2>/dev/null |
        grep -E '^[a-z]' | sort -u |
        while read -r package; do
            dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok' || echo "$package"
        done
}

if ! command -v apt-get >/dev/null; then
    echo "peers: no apt-get here; install by hand: ${missing[*]}" >&2
    exit 0
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    as_root=(sudo -n)
fi
if [ ${#as_root[@]} -eq 0 ] || sudo -n true 2>/dev/null; then
    echo "peers: installing ${missing[*]} (INSTALL=0 prevents it)" >&2
    install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}")
    "${install[@]}" >/dev/null 2>&1 || { "${as_root[@]}" apt-get update -qq >/dev/null 2>&1; "${install[@]}" >/dev/null 2>&1; }
    look
    [ ${#missing[@]} -eq 0 ] && exit 0
fi
echo "peers: unpacking ${missing[*]} below target/peers/" >&2
unpack "${missing[@]}"
look
if [ ${#missing[@]} -ne 0 ]; then
    echo "peers: still missing: ${missing[*]}; the benchmark goes on without" >&2
fi
exit 0
