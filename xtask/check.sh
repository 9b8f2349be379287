#!/usr/bin/env bash
# Runs one check of `make test`, `make lint` or `make nightly`; the cases below name them. A check
# that cannot run here is noted in $CAIRN_SKIPS; it never passes silently.
set -euo pipefail
cd "$(dirname "$0")/.."

skip() {
    echo "skipped: $*" >&2
    echo "$*" >>"${CAIRN_SKIPS:-/dev/null}"
}

# The options that select every package that can be built here. `cairndb-remote` is tested with the
# client of etcd, which needs protoc when it is built.
packages=(--workspace)
if ! command -v "${PROTOC:-protoc}" >/dev/null; then
    packages+=(--exclude cairndb-remote)
fi

case "$1" in
format)
    if cargo fmt --version >/dev/null 2>&1; then
        echo "cargo fmt --all --check"
        cargo fmt --all --check
    else
        skip "formatting: cargo fmt is not installed (rustup component add rustfmt)"
    fi
    ;;
clippy)
    if ! cargo clippy --version >/dev/null 2>&1; then
        skip "lints: cargo clippy is not installed (rustup component add clippy)"
        exit 0
    fi
    # A newer compiler has lints that this code has never been checked with. They only warn there;
    # they are errors only under the version the code was written for.
    wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
    deny=()
    case "$(rustc --version)" in "rustc $wanted".*) deny=(-- -D warnings) ;; esac
    # In the profile of the tests, which then need not run the build scripts again.
    clippy=(cargo clippy --profile test --locked)
    echo "${clippy[*]} ${packages[*]} --all-targets ${deny[*]}"
    "${clippy[@]}" "${packages[@]}" --all-targets "${deny[@]}"
    ;;
features)
    # The workspace joins the features of its members, which hides code that needs one.
    echo "cargo clippy --package cairndb"
    cargo clippy --profile test --package cairndb --locked -- -D warnings
    ;;
deny)
    if cargo deny --version >/dev/null 2>&1; then
        cargo deny check bans licenses sources
    else
        skip "licences and duplicates: cargo install cargo-deny --locked"
    fi
    ;;
advisories)
    # Needs network access for the list of advisories.
    cargo deny check || {
        echo "cargo deny failed; if it is missing: cargo install cargo-deny --locked" >&2
        exit 1
    }
    ;;
tests)
    # Failures are repeated at the end, because a full run prints thousands of lines.
    if [ ${#packages[@]} -gt 1 ]; then
        skip "adapters/remote: install protobuf-compiler"
    fi
    echo "cargo test ${packages[*]} --locked --no-fail-fast"
    log=${CARGO_TARGET_DIR:-target}/tests.log
    cargo test "${packages[@]}" --locked --no-fail-fast 2>&1 | tee "$log" || {
        echo "failures in $log:" >&2
        grep -E '^test .*FAILED$|^error' "$log" >&2 || true
        exit 1
    }
    ;;
compat)
    xtask/compat.sh
    ;;
house)
    # The packages of one folder at the root, alone: lints and tests.
    own=()
    for name in $(find "$2" -name Cargo.toml -exec sed -n '/^\[package\]/{n;s/^name = "\(.*\)"/\1/p}' {} +); do
        if [[ $name != cairndb-remote || ${#packages[@]} = 1 ]]; then own+=(--package "$name"); fi
    done
    echo "cargo clippy --profile test ${own[*]} --all-targets"
    cargo clippy --profile test "${own[@]}" --all-targets --locked -- -D warnings
    echo "cargo test ${own[*]} --locked"
    cargo test "${own[@]}" --locked
    ;;
node)
    if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
        skip "Node: install Node 18 or newer, with npm"
        exit 0
    fi
    echo "clients/node/check.mjs test"
    clients/node/check.mjs test
    ;;
loom)
    # Another configuration is another build, so it gets its own target folder.
    target=${CARGO_TARGET_DIR:-target}/loom
    echo "RUSTFLAGS='--cfg loom' cargo test --package cairndb-mem --lib"
    RUSTFLAGS="--cfg loom" cargo test --package cairndb-mem --lib --locked --target-dir "$target"
    ;;
miri)
    if cargo +nightly miri --version >/dev/null 2>&1; then
        target=${CARGO_TARGET_DIR:-target}/miri
        cargo +nightly miri test --package cairndb-kernel --package cairndb-mem --lib --locked \
            --target-dir "$target"
        # Only the parts of the environments that hand out memory: the rest is system calls.
        MIRIFLAGS="-Zmiri-disable-isolation ${MIRIFLAGS:-}" cargo +nightly miri test \
            --package cairndb-env --lib --locked --target-dir "$target" -- borrowing mirror
    else
        skip "Miri: rustup toolchain install nightly --component miri,rust-src"
    fi
    ;;
tsan)
    # The standard library is built too, because uninstrumented code would look like races. No
    # suppressions are needed, so there is no suppression file.
    if ! sources=$(rustc +nightly --print sysroot 2>/dev/null)/lib/rustlib/src/rust/library ||
        [ ! -d "$sources" ]; then
        skip "ThreadSanitizer: rustup toolchain install nightly --component rust-src"
        exit 0
    fi
    host=$(rustc +nightly -vV | sed -n 's/^host: //p')
    case "$host" in
    x86_64-unknown-linux-gnu | aarch64-unknown-linux-gnu) ;;
    *)
        skip "ThreadSanitizer: not supported on $host"
        exit 0
        ;;
    esac
    export RUSTFLAGS="-Zsanitizer=thread" CAIRN_ROUNDS=${CAIRN_TSAN_ROUNDS:-100}
    export TSAN_OPTIONS="halt_on_error=1 second_deadlock_stack=1 ${TSAN_OPTIONS:-}"
    tsan=(cargo +nightly test -Zbuild-std --target "$host" --locked
        --target-dir "${CARGO_TARGET_DIR:-target}/tsan")
    echo "RUSTFLAGS='$RUSTFLAGS' ${tsan[*]}"
    "${tsan[@]}" --package cairndb-env --package cairndb-sim --package cairndb-mem --lib
    "${tsan[@]}" --package cairndb --lib --test behaviour --test threads
    "${tsan[@]}" --package cairndb-capi --lib --test threads
    ;;
fuzz)
    cargo +nightly fuzz --version >/dev/null 2>&1 || {
        echo "cargo-fuzz not found: rustup toolchain install nightly, cargo install cargo-fuzz" >&2
        exit 1
    }
    for file in fuzz/fuzz_targets/*.rs; do
        target=$(basename "$file" .rs)
        echo "cargo +nightly fuzz run $target"
        cargo +nightly fuzz run "$target" -- -max_total_time="${2:-60}" -max_len=16384
    done
    ;;
remote)
    # Compiled and tested apart, because these clients bring a second set of network crates.
    if [ ${#packages[@]} -gt 1 ]; then
        skip "adapters/remote: install protobuf-compiler"
        exit 0
    fi
    remote=(--package cairndb-remote --features tikv,tls --locked)
    echo "cargo clippy ${remote[*]}"
    cargo clippy "${remote[@]}" --all-targets -- -D warnings
    cargo test "${remote[@]}" --lib --test encrypted
    ;;
platforms)
    for target in aarch64-unknown-linux-gnu i686-unknown-linux-gnu x86_64-apple-darwin \
        aarch64-apple-darwin; do
        if command -v rustup >/dev/null && rustup target list --installed | grep -qx "$target"; then
            echo "cargo check --target $target"
            cargo check --package cairndb --locked --target "$target"
        else
            echo "not checked: $target (rustup target add $target)"
        fi
    done
    ;;
*)
    echo "usage: xtask/check.sh format|clippy|features|tests|house FOLDER|node|loom|miri|tsan|deny|advisories|fuzz|remote|platforms" >&2
    exit 2
    ;;
esac
