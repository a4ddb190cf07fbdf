# The one entry: `make demo` and `make test` set up all they need on a fresh machine; `make help` lists the rest.
# A step's stamp lies in .venv/.stamps and is redone only when what it was made from has changed.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
RUST := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml)
VENV_WORKS := $(shell [[ -x $(BIN)/python && "$$(cat $(STAMPS)/python)" == "$(CURDIR)" ]] 2>/dev/null && echo yes)
SUBMAKE = @$(MAKE) --no-print-directory
BEGAN := $(shell date +%s)

# rustup's own folder last: a shell that never read its profile finds cargo all the same.
export PATH := $(CURDIR)/$(BIN):$(PATH):$(HOME)/.cargo/bin
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
# Rust's own tests call no Python, so they need no libpython to link with, which Debian keeps in a package of its own.
export PYO3_BUILD_EXTENSION_MODULE := 1
# Tests start pgassay hundreds of times: where the environment forbids to keep what Python compiled, each start would
# compile all that it imports once more, which is half of what it takes.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test test-fast test-full slow-share slow-seconds fuzz lint types format
.PHONY: clean locks wheel wheel-aarch64 deb site
.PHONY: FORCE
.PHONY: lint-quick mypy clippy rust-tests rust fast-tests tests-without-server system-tests slow-tests checks

help:  ## this list
	@awk -F ':.*  ## ' '/^[a-z0-9-]+:.*  ## / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The programs are compiled while packages are fetched.
setup:  ## everything that the targets below need: PostgreSQL, .venv, the Rust programs and core
	$(SUBMAKE) --jobs=2 $(STAMPS)/core

# The servers take turns, so other programs slow all of them equally, and no trial is discarded for that.
demo: setup  ## which FILLFACTOR is fastest here, and what do lower ones save and cost? Five minutes after the set-up
	@ready=$$(date +%s); status=0; \
	$(BIN)/pgassay run fillfactor --quick --budget 5min --allow-busy --allow-volatile \
	  --out runs/demo-$$(date -u +%Y%m%dT%H%M%SZ) || status=$$?; \
	took=$$(( $$(date +%s) - $(BEGAN) )); \
	echo "make demo took $$(( took / 60 )) min $$(( took % 60 )) s, $$(( ready - $(BEGAN) )) s of it for the set-up"; \
	exit $$status

test: setup  ## lint, types and all tests but the slow ones
	$(SUBMAKE) checks
	$(SUBMAKE) tests-without-server
	$(SUBMAKE) system-tests

test-fast: setup  ## the tests that start no PostgreSQL and simulate no whole run
	$(SUBMAKE) rust-tests
	$(SUBMAKE) fast-tests

test-full: test  ## make test, then the slow tests (JOBS=3 files at a time), and Rust's properties on more examples
	$(SUBMAKE) rust-tests CASES=1024
	$(SUBMAKE) slow-tests

slow-share: setup  ## the slow tests that fit in BUDGET_S (1500) seconds, others at each commit; SEED= repeats an order
	@scripts/build-tools
	@scripts/load-programs
	@scripts/slow-tools $(VENV)
	@$(BIN)/pgassay doctor --repair >/dev/null
	PGASSAY_TEST_DEB_SRC=1 $(BIN)/python -m tests.slow_share --budget-s $(or $(BUDGET_S),1500) --seed '$(SEED)'

slow-seconds: setup  ## run all slow tests, and keep in tests/slow_seconds.json how long each takes
	PGASSAY_TEST_DEB_SRC=1 $(BIN)/python -m tests.slow_suite --jobs $(or $(JOBS),3) --again --keep-seconds

fuzz: setup  ## fuzz the flash model and its traces with CASES (100000) random strings of bytes
	PROPTEST_CASES=$(or $(CASES),100000) cargo test --quiet --locked --package pgassay-flash --test fuzz

wheel: setup  ## a wheel for others (abi3, manylinux, the programs inside) and an sdist, into dist/
	@scripts/wheel $(VENV) dist

wheel-aarch64: setup  ## the same wheel for 64-bit ARM, by a cross compiler: gcc-aarch64-linux-gnu, and Rust's library
	@scripts/wheel $(VENV) dist aarch64-unknown-linux-gnu

deb: wheel  ## a Debian package for this release of Debian, from the wheel, into dist/: needs debhelper and dh-python
	@scripts/deb dist

site: setup  ## the documentation as pages, into target/site; RUNS=DIR shows runs of yours in the gallery
	@scripts/site $(VENV) target/site $(RUNS)

lint: setup  ## ruff, rustfmt, import rules, clippy
	$(SUBMAKE) lint-quick
	$(SUBMAKE) clippy

types: setup  ## mypy, strict
	$(SUBMAKE) mypy

format: setup  ## rewrite the sources in the house's format
	$(BIN)/ruff check --fix-only --quiet
	$(BIN)/ruff format
	cargo fmt --all

clean:  ## remove all that was built; runs/ stays
	rm -rf $(VENV) target dist src/pgassay/_core*.so src/pgassay/_bin
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -prune -exec rm -rf {} +

# --- the parts of `make test`, quickest first, each without set-up of its own ---

lint-quick:
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	cargo fmt --all --check
	$(BIN)/lint-imports --no-logo --no-cache

mypy:
	$(BIN)/mypy

clippy:
	cargo clippy --quiet --workspace --all-targets --locked -- -D warnings -D clippy::too_many_lines

# In cargo's debug profile, with clippy's files: overflow checks are on, and maturin's release build stays as it is
# (in one folder the two would rebuild pyo3 at every turn, each with its own features). Without `--tests` it would build
# examples, which clippy has looked at, and _core once more to look for tests in comments, where there are none.
rust-tests:
	PROPTEST_CASES=$(or $(CASES),64) cargo test --quiet --workspace --tests --locked

rust:
	$(SUBMAKE) clippy
	$(SUBMAKE) rust-tests

# mypy keeps one core busy, and the compiler the other until mypy has ended.
checks: lint-quick
	$(SUBMAKE) --jobs=2 --output-sync=target mypy rust

fast-tests:
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not system and not slow and not thorough"

# The fast ones and the simulations of whole runs, in one go: importing everything twice takes ten seconds. Some of them
# ask shells and linters. Three at a time: a third of their seconds are spent waiting for programs and connections.
tests-without-server:
	@scripts/load-programs
	$(BIN)/python -m pytest -q -n 3 --dist worksteal -m "not system and not slow"

# Three files at a time: most of their seconds are spent waiting for a load to end. Each of the three imports the files
# that it is given, so only those with such tests are, from the last letter: whole runs (tests/system) take longest.
# A drive that a killed run left is removed first: while there is one, no btrfs can be made on this machine.
# One of them builds a PostgreSQL of another page size, kept in the user's cache ($$PGASSAY_CACHE) for the next run.
system-tests:
	@scripts/build-tools
	@scripts/load-programs
	@$(BIN)/pgassay doctor --repair >/dev/null
	PGASSAY_TEST_DEB_SRC=1 $(BIN)/python -m pytest -q -n 3 --dist loadfile --no-loadscope-reorder \
	  -m "system and not slow" $$(grep -rlE --include='test_*.py' 'mark\.system|(Probe|Drive)Contract' tests | sort -r)

# Three files at a time, as above, the longest first. What passed on this very tree before does not run again, unless
# AGAIN=1: an interrupted `make test-full` goes on where it was.
slow-tests:
	@scripts/build-tools
	@scripts/load-programs
	@scripts/slow-tools $(VENV)
	@$(BIN)/pgassay doctor --repair >/dev/null
	PGASSAY_TEST_DEB_SRC=1 $(BIN)/python -m tests.slow_suite --jobs $(or $(JOBS),3) $(if $(AGAIN),--again)

# --- set-up: which PostgreSQL, then .venv, its packages, the Rust core ---

FORCE:

# Remade also when the Python below it is gone, or the checkout was moved (its scripts name their full path).
$(STAMPS)/python: requirements-uv.lock scripts/python $(if $(VENV_WORKS),,FORCE)
	@scripts/python $(VENV)
	@mkdir -p $(STAMPS) && pwd >$@

$(STAMPS)/postgresql: FORCE | $(STAMPS)/python
	@scripts/postgresql $@

$(STAMPS)/packages: $(STAMPS)/python $(STAMPS)/postgresql requirements.lock requirements-embedded.lock scripts/packages
	@scripts/packages $(VENV) $(STAMPS)/postgresql
	@touch $@

$(STAMPS)/programs: $(STAMPS)/python scripts/programs $(RUST)
	@scripts/programs
	@touch $@

$(STAMPS)/core: $(STAMPS)/packages $(STAMPS)/programs pyproject.toml scripts/core $(RUST)
	@scripts/core $(VENV)
	@touch $@

# No index and no path of the machine that wrote them may get into the locks.
COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
  --no-emit-index-url --no-emit-find-links --custom-compile-command "make locks" $(UPGRADE)

locks: $(STAMPS)/python  ## write the lock files anew from pyproject.toml; UPGRADE=--upgrade takes newer versions
	$(COMPILE) pyproject.toml --group dev --output-file requirements.lock
	$(COMPILE) pyproject.toml --group dev --extra embedded --constraint requirements.lock \
	  --output-file requirements-embedded.lock
	$(COMPILE) --group site --constraint requirements.lock --output-file requirements-docs.lock
	echo uv | $(COMPILE) - --output-file requirements-uv.lock
