#!/usr/bin/env bash
# Finds the libraries of the other stores, or installs them:
#   1. installed already: nothing to do
#   2. as root, or with passwordless sudo: names the packages, then runs apt-get install
#   3. otherwise: downloads the packages and unpacks them below target/peers/, which needs no root
#   4. if that fails: reports what is missing; the benchmark then runs over what is installed
# INSTALL=0 stops after 1. TOOLS=1 also installs the programs of RocksDB, LMDB and Berkeley DB,
# LevelDB's headers and Python module, etcd, PostgreSQL, pgbouncer and protoc. Always exits with
# status 0.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 0

# soname -> Debian package
peers=(
    "libleveldb.so.1d libleveldb1d"
    "librocksdb.so.7.8 librocksdb7.8"
    "libsqlite3.so.0 libsqlite3-0"
    "libkyotocabinet.so.16 libkyotocabinet16v5"
    "libwiredtiger.so.0 libwiredtiger0"
    "libwiredtiger_snappy.so libwiredtiger0"
    "liblmdb.so.0 liblmdb0"
)
if [ "${TOOLS:-0}" = 1 ]; then
    # RocksDB's are detected by another program of the package, because db_bench may be ours.
    peers+=("sst_dump rocksdb-tools" "mdb_load lmdb-utils" "db5.3_load db5.3-util")
    peers+=("libmemenv.a libleveldb-dev" "plyvel python3-plyvel" "pytest python3-pytest" "pip python3-pip"
        "abidiff abigail-tools")
    # The servers for the tests of adapters/remote, and what compiles the protocol of one of them.
    peers+=("etcd etcd-server" "pg_ctlcluster postgresql" "pgbouncer pgbouncer" "protoc protobuf-compiler"
        "libprotobuf.a libprotobuf-dev")
fi
folder=$PWD/target/peers
lib=$folder/libraries

# Returns whether the loader or our own folder has a library, or a program is installed.
has() {
    local dir
    ldconfig -p 2>/dev/null | grep -F "$1 " >/dev/null && return 0
    for dir in /usr/lib /usr/local/lib /usr/lib/*-linux-gnu /lib/*-linux-gnu "$lib" /usr/{bin,sbin} \
        /usr/lib/python3/dist-packages "$folder"/usr/{bin,sbin,lib/*-linux-gnu,lib/python3/dist-packages}; do
        [ -e "$dir/$1" ] && return 0
    done
    return 1
}

# Sets `missing` to the packages whose library is missing, each once.
look() {
    local peer soname package
    missing=()
    for peer in "${peers[@]}"; do
        read -r soname package <<<"$peer"
        if ! has "$soname" && [[ " ${missing[*]:-} " != *" $package "* ]]; then
            missing+=("$package")
        fi
    done
}

look
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "${INSTALL:-1}" = 0 ]; then
    echo "peers: missing and not installed (INSTALL=0): ${missing[*]}" >&2
    exit 0
fi

if ! command -v apt-get >/dev/null; then
    echo "peers: apt-get not found; install these packages yourself: ${missing[*]}" >&2
    exit 0
fi

# Installs the missing packages; if that fails, updates the package lists and tries once more.
install() {
    local command=("$@" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y
        --no-install-recommends "${missing[@]}")
    "${command[@]}" >/dev/null 2>&1 && return 0
    "$@" apt-get update -qq >/dev/null 2>&1
    "${command[@]}" >/dev/null 2>&1
}

# Puts apt's package lists and downloads where the user may write.
own=(-o "Dir::State::Lists=$folder/lists" -o "Dir::Cache=$folder/cache" -o Debug::NoLocking=1)

# Options of apt.
options=()

# Prints the packages and their dependencies that are not installed (LevelDB needs Snappy).
needs() {
    {
        printf '%s\n' "$@"
        apt-cache "${options[@]}" depends --recurse --no-recommends --no-suggests --no-conflicts \
            --no-breaks --no-replaces --no-enhances "$@" 2>/dev/null | grep -E '^[a-z]' |
            while read -r package; do
                dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep '^install ok' >/dev/null ||
                    echo "$package"
            done
    } | sort -u
}

# Downloads packages and their dependencies into the folder `work`.
download() {
    local package
    # One by one, because a virtual dependency, or one that another package provides, must not stop
    # the others.
    for package in $(needs "$@"); do
        (cd "$work" && apt-get "${options[@]}" download -qq "$package" >/dev/null 2>&1)
    done
    for package in "$@"; do
        compgen -G "$work/${package}_*.deb" >/dev/null || return 1
    done
}

# Unpacks downloaded packages into our own folder and links their libraries where db_bench looks for
# them.
unpack() {
    local work file
    work=$(mktemp -d) || return 1
    mkdir -p "$lib" "$folder/lists/partial" "$folder/cache/archives/partial"
    if ! download "$@"; then
        options=("${own[@]}")
        apt-get "${options[@]}" update -qq >/dev/null 2>&1
        download "$@"
    fi
    for file in "$work"/*.deb; do
        [ -e "$file" ] && dpkg -x "$file" "$folder" 2>/dev/null
    done
    for file in "$folder"/usr/lib/*-linux-gnu "$folder"/lib/*-linux-gnu "$folder"/usr/lib; do
        [ -d "$file" ] && find "$file" -maxdepth 1 -name "*.so*" -exec ln -sf {} "$lib"/ \;
    done
    rm -rf "$work" "$folder/lists" "$folder/cache"
}

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    as_root=(sudo -n)
fi
if [ ${#as_root[@]} -eq 0 ] || sudo -n true 2>/dev/null; then
    echo "peers: installing ${missing[*]} (INSTALL=0 prevents it)" >&2
    install "${as_root[@]}"
    look
    [ ${#missing[@]} -eq 0 ] && exit 0
fi
echo "peers: unpacking ${missing[*]} below target/peers/" >&2
unpack "${missing[@]}"
look
if [ ${#missing[@]} -ne 0 ]; then
    echo "peers: still missing: ${missing[*]}; the benchmark runs without them" >&2
fi
exit 0
