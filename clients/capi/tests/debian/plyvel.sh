#!/usr/bin/env bash
# Runs plyvel's own tests: Debian's python3-plyvel, which is linked with LevelDB's C++ classes, over
# our library. The test file comes from the package index of Python, once.
#
# Exits with status 3 if something is not installed, with 4 if the index cannot be reached.
. "$(dirname "$0")/common.sh"
version=1.5.0
python=/usr/bin/python3
cache=$(realpath -m "${CARGO_TARGET_DIR:-target}")/plyvel
archive=$cache/plyvel-$version.tar.gz

"$python" -c 'import plyvel' 2>/dev/null || missing "plyvel: install python3-plyvel"
"$python" -c 'import pytest' 2>/dev/null || missing "plyvel's tests: install python3-pytest"
if [ ! -f "$archive" ]; then
    python3 -m pip download --quiet --no-deps --no-binary plyvel --dest "$cache" \
        "plyvel==$version" >"$work/log" 2>&1 || {
        echo "plyvel's tests: python3 -m pip download plyvel==$version failed" >&2
        exit 4
    }
fi
tar -xzf "$archive" -C "$work" --strip-components=2 "plyvel-$version/test/test_plyvel.py"

# One of the tests needs a directory that its user cannot write, which root always can.
other=()
if [ "$(id -u)" -eq 0 ]; then
    other=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
    # The other user may not be able to read the installation.
    cp -rL "$PREFIX" "$work/prefix"
    PREFIX=$work/prefix
    with_ours=(env LD_LIBRARY_PATH="$PREFIX/lib/cairndb")
fi

cat >"$work/loaded.py" <<'PYTHON'
import plyvel
libraries = {line.split()[-1] for line in open("/proc/self/maps")
             if "libleveldb" in line or "libcairndb" in line}
print("\n".join(sorted(libraries)))
PYTHON
loaded=$("${with_ours[@]}" "$python" "$work/loaded.py")
expected=$(realpath "$PREFIX/lib/cairndb/libleveldb.so.1d" "$PREFIX/lib/libcairndb.so.0" | sort)
[ "$loaded" = "$expected" ] || fail "Python has loaded: $loaded"

[ ${#other[@]} -eq 0 ] || chown -R nobody "$work"
cd "$work"
"${with_ours[@]}" "${other[@]}" env HOME="$work" TMPDIR="$work" \
    "$python" -m pytest -q -p no:cacheprovider test_plyvel.py
