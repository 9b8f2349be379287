#!/usr/bin/env bash
# Runs the tests of levigo, a Go package over LevelDB's C interface, over our library. Needs Go, a C
# compiler and, once, the Go module proxy. PREFIX names an installation of the library; without it,
# one is made.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
module=github.com/jmhodges/levigo@v1.0.0
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT

prefix=${PREFIX:-}
if [ -z "$prefix" ]; then
    prefix=$work/prefix
    PREFIX=$prefix DESTDIR='' "$here/../install.sh"
fi
mkdir "$work/download" && cd "$work/download"
printf 'module probe\n' >go.mod
source=$(GOFLAGS=-mod=mod go mod download -json "$module" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
cp -r "$source" "$work/levigo"
chmod -R u+w "$work/levigo"
cd "$work/levigo"
CGO_CFLAGS="-I$prefix/include/cairndb" CGO_LDFLAGS="-L$prefix/lib/cairndb" \
    LD_LIBRARY_PATH="$prefix/lib/cairndb:$prefix/lib" go test -count=1 ./...
