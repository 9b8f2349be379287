#!/usr/bin/env bash
# Runs the tests of the folder `s3` against moto, a server in Python that behaves as S3 does. Needs
# Python 3 with venv and, once, the Python package index. Status 3 means that something is not
# installed, which the last line names. Arguments go to the test program.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
moto=5.2.5
target=$(realpath -m "${CARGO_TARGET_DIR:-$here/../../../target}")
venv=$target/moto-$moto

missing() {
    echo "S3: $*" >&2
    exit 3
}

if [ ! -e "$venv/complete" ]; then
    python3 -c 'import ensurepip, venv' 2>/dev/null ||
        missing "install Python 3 with venv (python3-venv)"
    python3 -m venv --clear "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check "moto[server]==$moto" ||
        missing "pip cannot install moto $moto"
    touch "$venv/complete"
fi

# The server ends when its input does, even if this script is killed.
coproc server { "$venv/bin/python" "$here/s3/server.py" 2>"$target/moto.log"; }
process=$server_PID
read -r endpoint key secret <&"${server[0]}" || {
    cat "$target/moto.log" >&2
    echo "moto does not start" >&2
    exit 1
}
trap 'kill "$process" 2>/dev/null || true' EXIT

cd "$here/../../.."
CAIRN_S3=$endpoint AWS_ACCESS_KEY_ID=$key AWS_SECRET_ACCESS_KEY=$secret \
    cargo test --package cairndb-backup --features s3 --test s3 --locked -- "$@"
