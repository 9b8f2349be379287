#!/usr/bin/env bash
# Runs one check of `make test`, `make lint`, `make nightly` or `make compat`; the cases below name
# them. A check that cannot run here is noted in $CAIRN_SKIPS; it never passes silently.
set -euo pipefail
cd "$(dirname "$0")/.."

skip() {
    echo "skipped: $*" >&2
    echo "$*" >>"${CAIRN_SKIPS:-/dev/null}"
}

# Skips this check, for the reason that comes first, unless a command succeeds.
need() {
    "${@:2}" >/dev/null 2>&1 || {
        skip "$1"
        exit 0
    }
}

# Prints a command and runs it.
run() {
    echo "$*"
    "$@"
}

# Runs a script; status 3 means that something is not installed, which its last line names.
scripted() {
    local status=0 log=$target/compat.log
    echo "$1"
    "$1" 2>&1 | tee "$log" || status=$?
    case $status in
    0) ;;
    3) skip "$(tail -n 1 "$log")" ;;
    *) exit 1 ;;
    esac
}

# Builds the tests of the packages that cargo's options select, and runs them with the commands of
# stdin.
test_programs() {
    local built=$target/tests.json programs name
    run cargo test "$@" --locked --no-run --message-format=json-render-diagnostics >"$built"
    programs=$(sed -n 's/.*"manifest_path":"\([^"]*\)\/Cargo.toml".*"test":true},"features".*"executable":"\([^"]*\)".*/\1 \2/p' "$built")
    # Those that take longest come first, so that none is left alone at the end.
    local long=(program crash suite behaviour damage servers cairn python)
    {
        cat
        for name in "${long[@]}"; do grep "/$name-[^/]*$" <<<"$programs" || true; done
        echo "$PWD cargo test $* --locked --doc"
        grep -vE "/($(IFS='|' && echo "${long[*]}"))-[^/]*$" <<<"$programs" || true
    } | xtask/side_by_side.sh "$target/tests"
}

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
# The options that select every package that can be built here. `cairndb-remote` is tested with the
# client of etcd, which needs protoc when it is built.
packages=(--workspace)
if ! command -v "${PROTOC:-protoc}" >/dev/null; then
    packages+=(--exclude cairndb-remote)
fi

case "$1" in
format)
    need "formatting: cargo fmt is not installed (rustup component add rustfmt)" cargo fmt --version
    run cargo fmt --all --check
    ;;
clippy)
    need "lints: cargo clippy is not installed (rustup component add clippy)" cargo clippy --version
    # A newer compiler has lints that this code has never been checked with. They only warn there;
    # they are errors only under the version the code was written for.
    wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
    deny=()
    case "$(rustc --version)" in "rustc $wanted".*) deny=(-- -D warnings) ;; esac
    # In the profile of the tests, which then need not run the build scripts again.
    run cargo clippy --profile test --locked "${packages[@]}" --all-targets "${deny[@]}"
    ;;
features)
    # The workspace joins the features of its members, which hides code that needs one.
    run cargo clippy --profile test --package cairndb --locked -- -D warnings
    ;;
deny)
    need "licences and duplicates: cargo install cargo-deny --locked" cargo deny --version
    run cargo deny check bans licenses sources
    ;;
advisories)
    # Needs network access for the list of advisories.
    cargo deny check || {
        echo "cargo deny failed; if it is missing: cargo install cargo-deny --locked" >&2
        exit 1
    }
    ;;
tests)
    if [ ${#packages[@]} -gt 1 ]; then
        skip "adapters/remote: install protobuf-compiler"
    fi
    printf '%s\n' "$PWD xtask/check.sh node" "$PWD xtask/check.sh loom" |
        test_programs "${packages[@]}"
    ;;
compat)
    # Other implementations of LevelDB's format, clients of LevelDB over the C library, and backups
    # in a server that behaves as S3 does.
    prefix=$(mktemp -d)
    trap 'rm -rf "$prefix"' EXIT
    # A user that is not root runs one of the programs.
    chmod 755 "$prefix"
    export PREFIX=$prefix CAIRN=$target/release/cairn
    DESTDIR='' clients/capi/install.sh
    cargo build --release --locked --package cairndb-tool
    if ! command -v go >/dev/null; then
        skip "goleveldb and levigo: install Go"
    else
        if (cd engine/leveldb/tests/goleveldb && go build -o "$target/goleveldb" .); then
            run env CAIRN_GOLEVELDB="$target/goleveldb" \
                cargo test --package cairndb-leveldb --test goleveldb --locked -- --ignored
        else
            skip "goleveldb: the program does not build; it needs the Go module proxy once"
        fi
        scripted clients/capi/tests/levigo.sh
    fi
    for script in rust_leveldb.sh cmake/run.sh debian/{plyvel,litecoin,minetest}.sh; do
        scripted "clients/capi/tests/$script"
    done
    scripted adapters/backup/tests/s3.sh
    ;;
house)
    # The packages of one folder at the root, alone: lints and tests.
    own=()
    for name in $(find "$2" -name Cargo.toml -exec sed -n '/^\[package\]/{n;s/^name = "\(.*\)"/\1/p}' {} +); do
        if [[ $name != cairndb-remote || ${#packages[@]} = 1 ]]; then own+=(--package "$name"); fi
    done
    run cargo clippy --profile test "${own[@]}" --all-targets --locked -- -D warnings
    test_programs "${own[@]}" </dev/null
    ;;
node)
    need "Node: install Node 18 or newer, with npm" type node npm
    run clients/node/check.mjs test
    ;;
loom)
    # Another configuration is another build, so it gets its own target folder.
    run env RUSTFLAGS="--cfg loom" \
        cargo test --package cairndb-mem --package cairndb-shared --lib --locked \
        --target-dir "$target/loom"
    ;;
miri)
    need "Miri: rustup toolchain install nightly --component miri,rust-src" \
        cargo +nightly miri --version
    miri=(cargo +nightly miri test --lib --locked --target-dir "$target/miri")
    run "${miri[@]}" --package cairndb-kernel --package cairndb-mem
    # Only the parts of the environments that hand out memory: the rest is system calls.
    export MIRIFLAGS="-Zmiri-disable-isolation ${MIRIFLAGS:-}"
    run "${miri[@]}" --package cairndb-env -- borrowing mirror
    ;;
tsan)
    # The standard library is built too, because uninstrumented code would look like races. No
    # suppressions are needed, so there is no suppression file.
    sources=$(rustc +nightly --print sysroot 2>/dev/null || true)/lib/rustlib/src/rust/library
    need "ThreadSanitizer: rustup toolchain install nightly --component rust-src" test -d "$sources"
    host=$(rustc +nightly -vV | sed -n 's/^host: //p')
    need "ThreadSanitizer: not supported on $host" \
        grep -E '^(x86_64|aarch64)-unknown-linux-gnu$' <<<"$host"
    export RUSTFLAGS="-Zsanitizer=thread" CAIRN_ROUNDS=${CAIRN_TSAN_ROUNDS:-100}
    export TSAN_OPTIONS="halt_on_error=1 second_deadlock_stack=1 ${TSAN_OPTIONS:-}"
    tsan=(cargo +nightly test -Zbuild-std --target "$host" --locked --target-dir "$target/tsan")
    run "${tsan[@]}" --package cairndb-env --package cairndb-sim --package cairndb-mem --lib
    run "${tsan[@]}" --package cairndb --lib --test behaviour --test threads
    run "${tsan[@]}" --package cairndb-capi --lib --test threads
    ;;
fuzz)
    cargo +nightly fuzz --version >/dev/null 2>&1 || {
        echo "cargo-fuzz not found: rustup toolchain install nightly, cargo install cargo-fuzz" >&2
        exit 1
    }
    for file in fuzz/fuzz_targets/*.rs; do
        run cargo +nightly fuzz run "$(basename "$file" .rs)" -- -max_total_time="${2:-60}" -max_len=16384
    done
    ;;
remote)
    # Compiled and tested apart, because these clients bring a second set of network crates.
    need "adapters/remote: install protobuf-compiler" test ${#packages[@]} = 1
    remote=(--package cairndb-remote --features tikv,tls --locked)
    run cargo clippy "${remote[@]}" --all-targets -- -D warnings
    run cargo test "${remote[@]}" --lib --test encrypted
    ;;
platforms)
    for platform in aarch64-unknown-linux-gnu i686-unknown-linux-gnu x86_64-apple-darwin \
        aarch64-apple-darwin; do
        if command -v rustup >/dev/null && rustup target list --installed | grep -qx "$platform"; then
            run cargo check --package cairndb --locked --target "$platform"
        else
            echo "not checked: $platform (rustup target add $platform)"
        fi
    done
    ;;
*)
    echo "usage: xtask/check.sh $(sed -n 's/^\([a-z]*\))$/\1/p' xtask/check.sh | paste -sd '|')" >&2
    exit 2
    ;;
esac
