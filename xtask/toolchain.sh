#!/usr/bin/env bash
# Checks for the tools that every build needs, and reports a missing one in one clear line. Tools
# that a package or rustup provides are installed unless INSTALL=0.
set -euo pipefail
cd "$(dirname "$0")/.."

wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
if ! command -v cargo >/dev/null || ! command -v rustc >/dev/null; then
    echo "cargo not found: install Rust $wanted or newer from https://rustup.rs, then run this again" >&2
    exit 1
fi
if ! found=$(rustc --version) || ! cargo --version >/dev/null; then
    echo "rustc or cargo is installed but does not run: see its output above" >&2
    exit 1
fi
found=$(cut -d ' ' -f 2 <<<"$found")
oldest=$(printf '%s\n%s\n' "$wanted" "$found" | sort -V | head -n 1)
if [ "$oldest" != "$wanted" ]; then
    echo "rustc is $found, CairnDB needs $wanted or newer: run 'rustup update stable'" >&2
    exit 1
fi

if ! command -v cc >/dev/null; then
    as_root=()
    [ "$(id -u)" = 0 ] || as_root=(sudo -n)
    if [ "${INSTALL:-1}" != 0 ] && command -v apt-get >/dev/null &&
        { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }; then
        echo "installing gcc and libc6-dev: rustc links through cc" >&2
        "${as_root[@]}" apt-get update -qq
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
            apt-get install -y -qq --no-install-recommends gcc libc6-dev
    else
        echo "cc not found: rustc links through it; install gcc and libc6-dev, then run this again" >&2
        exit 1
    fi
fi

if [ "${INSTALL:-1}" != 0 ] && command -v rustup >/dev/null; then
    for component in rustfmt clippy; do
        tool=${component#rust}
        cargo "$tool" --version >/dev/null 2>&1 || rustup component add "$component" >&2 || true
    done
fi
