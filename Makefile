# Every chore of CairnDB, one target each. `make` alone lists them.
#
#   INSTALL=0   install no package, whatever is missing
#   CI=true     a skipped test is a failure
#   ROUNDS=1    of `make bench-full`, instead of the three and five of its suites
#   VERBOSE=1   of `make bench` and `make bench-full`: print every command, row, bar and table

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory

# A shell that is not a login shell may not know where rustup has put cargo.
export PATH := $(PATH):$(HOME)/.cargo/bin

INSTALL ?= 1
CI ?= false
VERBOSE ?= 0
PREFIX ?= /usr/local
HOURS ?= 8
FUZZ_SECONDS ?= 60
# Where a nightly run begins; any number does.
SEED ?= $(shell date +%s)
# What a nightly run makes larger: crash states in percent of a push, length of the short workloads,
# operations of the model, kills, rounds of threads.
NIGHTLY := CAIRN_STATES=2000 CAIRN_SHORT_LENGTH=4 CAIRN_MODEL_OPS=300000000 CAIRN_KILLS=5000 \
	CAIRN_ROUNDS=500
TARGET := $(abspath $(or $(CARGO_TARGET_DIR),target))
# The libraries that install-peers.sh unpacked without root, for tests that load them in-process.
with_peers := LD_LIBRARY_PATH="$${LD_LIBRARY_PATH:+$$LD_LIBRARY_PATH:}$(CURDIR)/target/peers/libraries" \
	PATH="$$PATH:$(CURDIR)/target/peers/usr/bin"
# Tests append a line here for everything they could not run.
export CAIRN_SKIPS := $(TARGET)/skips.txt
export INSTALL CI VERBOSE

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-12s %s\n", $$1, $$2}' Makefile

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

# A failed row costs that row alone: if this run wrote a report, the target has succeeded. A run that
# is stopped leaves the report of the run before.
begun = report/.begun

# Before anything is installed or built: the time limits of `make bench` count from here.
.PHONY: begun
begun:
	@mkdir -p report && touch $(begun)

report_failures = { test $(1)/index.html -nt $(begun) && echo "some rows failed: $(1)/index.html has the reasons"; }
verbose = $(if $(filter 1,$(VERBOSE)),--verbose)

# Toolchain, libraries and programs, with one line for each step; the log is target/bench-build.log.
.PHONY: prepare
prepare: begun
	@bench/prepare.sh

.PHONY: bench
bench: prepare ## the benchmark over every engine found, at a tenth of the count
	@./db_bench --suite=quick --started=$(begun) --report=report $(verbose) || $(call report_failures,report)

rounds = $(if $(ROUNDS),--rounds=$(ROUNDS))
# Another number of rounds is another run, with files of its own.
full = report/$(1)$(if $(ROUNDS),-$(ROUNDS))

.PHONY: bench-full
bench-full: prepare ## the pages of 2011 and of WiredTiger at full size; resumes where it was stopped, shows complete results again
	@./db_bench --suite=leveldb-2011 $(rounds) --json=$(call full,leveldb-2011).json --resume $(verbose) \
		--report=$(call full,leveldb-2011) || $(call report_failures,$(call full,leveldb-2011))
	@./db_bench --suite=wiredtiger $(rounds) --json=$(call full,wiredtiger).json --resume $(verbose) \
		--report=$(call full,wiredtiger) || $(call report_failures,$(call full,wiredtiger))

.PHONY: calibrate
calibrate: toolchain tools build ## RocksDB's own db_bench, and LevelDB's with LEVELDB_DB_BENCH=PATH, next to our rows for them
	bench/calibrate.sh

.PHONY: test
test: toolchain tools ## every test of a push: format, lints, documentation, tidy, all tests, documents' code
	@rm -f $(CAIRN_SKIPS); mkdir -p $(TARGET)
	@xtask/check.sh format
	@xtask/check.sh clippy
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet
	cargo xtask tidy
	@xtask/check.sh loom
	@$(with_peers) xtask/check.sh tests || { CI=false xtask/skips.sh; exit 1; }
	@xtask/skips.sh

.PHONY: nightly
nightly: toolchain tools ## the tests at twenty times the size, new seeds, Miri, ThreadSanitizer, advisories
	@rm -f $(CAIRN_SKIPS); mkdir -p $(TARGET)
	@echo "seed $(SEED): CAIRN_SEED=$(SEED) replays"
	$(with_peers) CAIRN_SEED=$(SEED) $(NIGHTLY) cargo test --workspace --locked || \
		{ CI=false xtask/skips.sh; exit 1; }
	cargo test --locked --package cairndb --test behaviour -- --ignored the_largest
	@xtask/check.sh loom
	@xtask/check.sh miri
	@CAIRN_SEED=$(SEED) xtask/check.sh tsan
	@xtask/check.sh advisories
	@xtask/skips.sh

.PHONY: soak
soak: toolchain ## model and crash tests with new seeds until HOURS=8 are over
	@end=$$((SECONDS + $(HOURS) * 3600)); seed=$(SEED); \
	while [ $$SECONDS -lt $$end ]; do \
	    echo "seed $$seed: CAIRN_SEED=$$seed replays"; \
	    CAIRN_SEED=$$seed $(NIGHTLY) cargo test --locked \
	        --package cairndb --package cairndb-testkit --tests; \
	    seed=$$((seed + 1000003)); \
	done

.PHONY: drill
drill: toolchain ## disks that lie about syncs, one at a time: do the crash tests notice?
	cargo test --locked --package cairndb-testkit --test drill -- --nocapture

.PHONY: fuzz
fuzz: toolchain ## every fuzz target for FUZZ_SECONDS=60 (needs nightly Rust and cargo-fuzz)
	@xtask/check.sh fuzz $(FUZZ_SECONDS)

.PHONY: lint
lint: toolchain ## formatting, clippy, documentation, tidy, licences, other platforms
	@rm -f $(CAIRN_SKIPS); mkdir -p $(TARGET)
	@xtask/check.sh format
	@xtask/check.sh clippy
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked
	cargo xtask tidy
	@xtask/check.sh deny
	@xtask/check.sh platforms
	@xtask/skips.sh

.PHONY: hooks
hooks: ## install the commit-msg hook, which checks the subject of a commit
	@xtask/hooks.sh

.PHONY: docs
docs: toolchain ## build the documentation of the interface
	cargo doc --package cairndb --package cairndb-env --package cairndb-sim --no-deps --locked \
		--features cairndb-env/testing
	@echo "open $(TARGET)/doc/cairndb/index.html"

.PHONY: install
install: build ## copy db_bench and cache_bench to $(PREFIX)/bin (PREFIX=/usr/local)
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(TARGET)/release/db_bench $(TARGET)/release/cache_bench $(DESTDIR)$(PREFIX)/bin
