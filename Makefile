# The development tasks of CairnDB, one target each. `make` without a target lists them.
#
#   INSTALL=0   install no packages, even if something is missing
#   CI=true     a skipped test is a failure
#   FEATURES=remote,s3  for `make install-cairn`: cairn with the clients of etcd, PostgreSQL and S3
#   ROUNDS=1    for `make bench-full`: number of rounds, instead of the suites' three and five
#   VERBOSE=1   for `make bench` and `make bench-full`: print every command, row, bar and table

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory

# A non-login shell may not have rustup's cargo in its PATH.
export PATH := $(PATH):$(HOME)/.cargo/bin

INSTALL ?= 1
CI ?= false
VERBOSE ?= 0
PREFIX ?= /usr/local
HOURS ?= 8
FUZZ_SECONDS ?= 60
# The first seed of a nightly run; any number works.
SEED ?= $(shell date +%s)
# What a nightly run increases: crash states (in percent of a push), length of the short workloads,
# model operations, kills, rounds of the thread tests, damaged directories to read and to repair,
# databases to export and import, operations compared with RocksDB, on stores and on servers,
# seconds of the bank, seconds and kills of readers in other processes, operations to kill them at,
# kills of replicas, machines that are backed up.
NIGHTLY := CAIRN_STATES=2000 CAIRN_SHORT_LENGTH=4 CAIRN_MODEL_OPS=300000000 CAIRN_KILLS=5000 \
	CAIRN_ROUNDS=500 CAIRN_SPACE_SEEDS=0..50000 CAIRN_DAMAGE=1200000 CAIRN_REPAIRS=30000 \
	CAIRN_TRANSFERS=1000 CAIRN_ROCKSDB_OPS=200000 CAIRN_STORE_OPS=1000000 \
	CAIRN_REMOTE_OPS=1000000 CAIRN_BANK_SECONDS=300 CAIRN_FOLLOW_SECONDS=600 \
	CAIRN_FOLLOW_KILLS=200 CAIRN_FOLLOW_POINTS=2000 CAIRN_REPLICA_KILLS=300 CAIRN_BACKUPS=1000
TARGET := $(abspath $(or $(CARGO_TARGET_DIR),target))
# The libraries that install-peers.sh unpacked without root, for tests that load them in process.
with_peers := LD_LIBRARY_PATH="$${LD_LIBRARY_PATH:+$$LD_LIBRARY_PATH:}$(CURDIR)/target/peers/libraries" \
	PATH="$$PATH:$(CURDIR)/target/peers/usr/bin:$(CURDIR)/target/peers/usr/sbin" \
	CPLUS_INCLUDE_PATH="$${CPLUS_INCLUDE_PATH:+$$CPLUS_INCLUDE_PATH:}$(CURDIR)/target/peers/usr/include" \
	PYTHONPATH="$${PYTHONPATH:+$$PYTHONPATH:}$(CURDIR)/target/peers/usr/lib/python3/dist-packages"
# Tests append one line here for each check that they could not run.
export CAIRN_SKIPS := $(TARGET)/skips.txt
export INSTALL CI VERBOSE

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-13s %s\n", $$1, $$2}' Makefile

.PHONY: toolchain
toolchain:
	@xtask/toolchain.sh

.PHONY: tools
tools:
	@if [ -x bench/install-peers.sh ]; then TOOLS=1 bench/install-peers.sh; fi

.PHONY: build
build: toolchain ## build db_bench and cache_bench into the root of the repository
	cargo build --release --locked --package db_bench --package cache_bench
	@cp -f $(TARGET)/release/db_bench $(TARGET)/release/cache_bench .

# A failed row affects only itself: if this run wrote a report, the target has succeeded. A run that
# is stopped leaves the previous report in place.
begun = report/.begun

# Runs before anything is installed or built: the time limits of `make bench` count from here.
.PHONY: begun
begun:
	@mkdir -p report && touch $(begun)

report_failures = { test $(1)/index.html -nt $(begun) && echo "some rows failed: $(1)/index.html has the reasons"; }
verbose = $(if $(filter 1,$(VERBOSE)),--verbose)

# Prepares toolchain, libraries and programs, with one line per step; the log is
# target/bench-build.log.
.PHONY: prepare
prepare: begun
	@bench/prepare.sh

.PHONY: bench
bench: prepare ## run the benchmark over every engine found; a second run adds its rounds
	@./db_bench --suite=quick --started=$(begun) --report=report --add_rounds $(verbose) || $(call report_failures,report)

rounds = $(if $(ROUNDS),--rounds=$(ROUNDS))
# A run with another number of rounds is a separate run with its own files.
full = report/$(1)$(if $(ROUNDS),-$(ROUNDS))

.PHONY: bench-full
bench-full: prepare ## run the suites of the 2011 page and the WiredTiger page at full size; resumes a stopped run, shows complete results again
	@./db_bench --suite=leveldb-2011 $(rounds) --json=$(call full,leveldb-2011).json --resume $(verbose) \
		--report=$(call full,leveldb-2011) || $(call report_failures,$(call full,leveldb-2011))
	@./db_bench --suite=wiredtiger $(rounds) --json=$(call full,wiredtiger).json --resume $(verbose) \
		--report=$(call full,wiredtiger) || $(call report_failures,$(call full,wiredtiger))

.PHONY: peers
peers: toolchain ## build the stores of bench/peers, and get newer libraries of others (needs crates, PyPI, Maven)
	bench/build-peers.sh

.PHONY: calibrate
calibrate: toolchain tools build ## compare RocksDB's own db_bench, and LevelDB's with LEVELDB_DB_BENCH=PATH, with our rows for them
	bench/calibrate.sh

.PHONY: test
test: toolchain tools ## run every check of a push: format, lints, documentation, tidy, all tests, code in documents
	@rm -f $(CAIRN_SKIPS); mkdir -p $(TARGET)
	@xtask/check.sh format
	@xtask/check.sh clippy
	RUSTDOCFLAGS="-D warnings" cargo doc --profile test --workspace --exclude '*bench*' \
		--exclude 'engine-*' --exclude xtask --no-deps --locked --quiet
	cargo xtask tidy
	@$(with_peers) xtask/check.sh tests || { CI=false xtask/skips.sh; exit 1; }
	@xtask/skips.sh

# One house alone; the first lines of its README say what it holds.
houses := test-engine test-clients test-adapters test-bench
.PHONY: $(houses)
test-engine: ## run the lints and tests of the engine alone
test-clients: ## run those of the clients
test-adapters: ## run those of the adapters
test-bench: ## run those of the benchmark
$(houses): test-%: toolchain tools
	@rm -f $(CAIRN_SKIPS); mkdir -p $(TARGET)
	@xtask/check.sh format
	@$(with_peers) xtask/check.sh house $*
	@xtask/skips.sh

.PHONY: nightly
nightly: toolchain tools ## run the tests at twenty times the size with new seeds, Miri, ThreadSanitizer, TiKV, TLS, advisories
	@rm -f $(CAIRN_SKIPS); mkdir -p $(TARGET)
	@echo "seed $(SEED): CAIRN_SEED=$(SEED) replays"
	$(with_peers) CAIRN_SEED=$(SEED) $(NIGHTLY) cargo test --workspace --locked || \
		{ CI=false xtask/skips.sh; exit 1; }
	cargo test --locked --package cairndb --test behaviour -- --ignored the_largest
	@xtask/check.sh loom
	@xtask/check.sh miri
	@CAIRN_SEED=$(SEED) xtask/check.sh tsan
	@xtask/check.sh compat
	@xtask/check.sh remote
	@xtask/check.sh advisories
	@xtask/skips.sh

.PHONY: soak
soak: toolchain ## run model and crash tests with new seeds for HOURS=8 hours
	@end=$$((SECONDS + $(HOURS) * 3600)); seed=$(SEED); \
	while [ $$SECONDS -lt $$end ]; do \
	    echo "seed $$seed: CAIRN_SEED=$$seed replays"; \
	    CAIRN_SEED=$$seed $(NIGHTLY) cargo test --locked \
	        --package cairndb --package cairndb-testkit --tests; \
	    seed=$$((seed + 1000003)); \
	done

.PHONY: drill
drill: toolchain ## check that the crash tests detect disks that lie about syncs
	cargo test --locked --package cairndb-testkit --test drill -- --nocapture

.PHONY: compat
compat: toolchain ## check LevelDB's format with goleveldb, the C library with levigo, programs of Debian
	@rm -f $(CAIRN_SKIPS); mkdir -p $(TARGET)
	@xtask/check.sh compat
	@xtask/skips.sh

.PHONY: python
python: toolchain ## build the Python packages, and test them under every Python found (needs PyPI)
	@rm -f $(CAIRN_SKIPS); mkdir -p $(TARGET)
	@clients/python/check.py all
	@xtask/skips.sh

.PHONY: node
node: toolchain ## build the npm packages, and test them in an empty project (needs npm and PyPI)
	@rm -f $(CAIRN_SKIPS); mkdir -p $(TARGET)
	@clients/node/check.mjs all
	@xtask/skips.sh

.PHONY: fuzz
fuzz: toolchain ## run every fuzz target for FUZZ_SECONDS=60 (needs nightly Rust and cargo-fuzz)
	@xtask/check.sh fuzz $(FUZZ_SECONDS)

.PHONY: lint
lint: toolchain ## check formatting, clippy, documentation, tidy, licences, other platforms, TiKV, TLS
	@rm -f $(CAIRN_SKIPS); mkdir -p $(TARGET)
	@xtask/check.sh format
	@xtask/check.sh clippy
	@xtask/check.sh features
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked
	cargo xtask tidy
	@xtask/check.sh deny
	@xtask/check.sh remote
	@xtask/check.sh platforms
	@xtask/skips.sh

.PHONY: hooks
hooks: ## install the commit-msg hook, which checks the subject of a commit
	@xtask/hooks.sh

# The C++ classes of LevelDB over the C library, beside which the loader finds the latter.
classes = $(TARGET)/cpp/lib
.PHONY: cpp
cpp: toolchain ## build libleveldb.so.1d, LevelDB's C++ classes over CairnDB (needs g++ and libleveldb-dev)
	cargo rustc --release --locked --package cairndb-capi --lib --crate-type cdylib,staticlib
	install -D $(TARGET)/release/libcairndb_capi.so $(classes)/libcairndb.so.0
	clients/capi/cpp/build.sh $(classes)/libcairndb.so.0 $(classes)/cairndb
	@echo "LD_LIBRARY_PATH=$(classes)/cairndb runs programs that are linked with LevelDB"

.PHONY: docs
docs: toolchain ## build the documentation of the interface
	cargo doc --package cairndb --package cairndb-env --package cairndb-sim --no-deps --locked \
		--features cairndb-env/testing
	@echo "open $(TARGET)/doc/cairndb/index.html"

.PHONY: build-cairn
build-cairn: toolchain
	cargo build --release --locked --package cairndb-tool $(if $(FEATURES),--features $(FEATURES))

# Where the manual and the shells look for files of packages.
share = $(DESTDIR)$(PREFIX)/share
man = $(share)/man/man1
bash = $(share)/bash-completion/completions
zsh = $(share)/zsh/site-functions
fish = $(share)/fish/vendor_completions.d
bin = $(DESTDIR)$(PREFIX)/bin

# Fails before anything is built.
.PHONY: prefix
prefix:
	@mkdir -p "$(bin)" && test -w "$(bin)" || \
		{ echo "cannot write to $(bin): set PREFIX=$$HOME/.local, or DESTDIR and copy as root" >&2; exit 1; }

.PHONY: install-cairn
install-cairn: prefix build-cairn ## install cairn alone, with manual pages and completions (PREFIX=/usr/local, DESTDIR=)
	install -d "$(man)" "$(bash)" "$(zsh)" "$(fish)"
	install -m 755 "$(TARGET)/release/cairn" "$(bin)"
	"$(TARGET)/release/cairn" man "$(man)"
	"$(TARGET)/release/cairn" completions bash > "$(bash)/cairn"
	"$(TARGET)/release/cairn" completions zsh > "$(zsh)/_cairn"
	"$(TARGET)/release/cairn" completions fish > "$(fish)/cairn.fish"
	@echo "installed cairn in $(bin)"
	@case ":$$PATH:" in *":$(PREFIX)/bin:"*) ;; \
		*) echo "for the shell: export PATH=\"$(PREFIX)/bin:\$$PATH\"" ;; esac

.PHONY: install-c
install-c: prefix toolchain ## install the C library and LevelDB's C++ classes alone (PREFIX=/usr/local, DESTDIR=)
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" clients/capi/install.sh

.PHONY: install
install: install-cairn install-c build ## install both, db_bench and cache_bench (PREFIX=/usr/local, DESTDIR=)
	install -m 755 "$(TARGET)/release/db_bench" "$(TARGET)/release/cache_bench" "$(bin)"
