# Every chore of CairnDB, one target each. `make` alone lists them.
#
#   INSTALL=0   install no package, whatever is missing
#   CI=true     a skipped test is a failure
#   ROUNDS=1    of `make bench-full`, instead of the three and five of its suites

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory

# A shell that is not a login shell may not know where rustup has put cargo.
export PATH := $(PATH):$(HOME)/.cargo/bin

INSTALL ?= 1
CI ?= false
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
# What install-peers.sh has unpacked without rights, for tests that load peers into their own process.
with_peers := LD_LIBRARY_PATH="$${LD_LIBRARY_PATH:+$$LD_LIBRARY_PATH:}$(CURDIR)/target/peers/libraries" \
	PATH="$$PATH:$(CURDIR)/target/peers/usr/bin"
# Tests append a line here for everything they could not run.
export CAIRN_SKIPS := $(TARGET)/skips.txt
export INSTALL CI

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-12s %s\n", $$1, $$2}' Makefile

.PHONY: toolchain
toolchain:
	@xtask/toolchain.sh

.PHONY: peers
peers:
	@if [ -x bench/install-peers.sh ]; then bench/install-peers.sh; fi

.PHONY: tools
tools:
	@if [ -x bench/install-peers.sh ]; then TOOLS=1 bench/install-peers.sh; fi

.PHONY: build
build: toolchain ## build db_bench and cache_bench and put them at the repository's root
	cargo build --release --locked --package db_bench --package cache_bench
	@cp -f $(TARGET)/release/db_bench $(TARGET)/release/cache_bench .

# A row that failed costs that row alone: where there is a report of this run, the chore is done. One that is
# stopped leaves the page of the run before.
begun = report/.begun

# Before anything is installed or built: the limits of `make bench` count from there.
.PHONY: begun
begun:
	@mkdir -p report && touch $(begun)

told = { test $(1)/index.html -nt $(begun) && echo "rows failed: $(1)/index.html names them and says why"; }

.PHONY: bench
bench: begun toolchain peers build ## the benchmark over every engine found, at a tenth of the count
	@./db_bench --suite=quick --started=$(begun) --report=report || $(call told,report)

rounds = $(if $(ROUNDS),--rounds=$(ROUNDS))
# Another number of rounds is another run, with files of its own.
full = report/$(1)$(if $(ROUNDS),-$(ROUNDS))

.PHONY: bench-full
bench-full: begun toolchain peers build ## the pages of 2011 and of WiredTiger at full size; goes on where it was stopped, shows again what is complete
	@./db_bench --suite=leveldb-2011 $(rounds) --json=$(call full,leveldb-2011).json --resume \
		--report=$(call full,leveldb-2011) || $(call told,$(call full,leveldb-2011))
	@./db_bench --suite=wiredtiger $(rounds) --json=$(call full,wiredtiger).json --resume \
		--report=$(call full,wiredtiger) || $(call told,$(call full,wiredtiger))

.PHONY: calibrate
calibrate: toolchain tools build ## RocksDB's own db_bench, and LevelDB's with LEVELDB_DB_BENCH=PATH, beside our rows for them
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
	cargo doc --package cairndb --package cairndb-env --no-deps --locked
	@echo "open $(TARGET)/doc/cairndb/index.html"

.PHONY: install
install: build ## copy db_bench and cache_bench to $(PREFIX)/bin (PREFIX=/usr/local)
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(TARGET)/release/db_bench $(TARGET)/release/cache_bench $(DESTDIR)$(PREFIX)/bin
