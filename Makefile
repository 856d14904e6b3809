# Everything a person or a machine does with this repository. `make help` lists it.
#
# All targets share one virtual environment, .venv, and one Cargo target folder. The Python module is built into
# python/quipu, by the release profile for the demo and benchmarks and by the development profile for tests, which shares
# much of what the Rust tests have compiled and keeps the checks of overflow and of our own assertions.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

VENV := .venv
PY := $(VENV)/bin/python
TARGET := $(or $(CARGO_TARGET_DIR),target)
# The Python crate has no Rust tests; it takes part so that Arrow is built with the features that the module needs.
RUST_TESTED := --locked --workspace
# Engines broken on purpose, which the checks must notice. A feature of the tests alone: it does not compile for release.
SABOTAGED := -p quipu -p quipu-kv --features quipu/sabotage,quipu-kv/sabotage --test sabotage

SEED ?= 1
SECONDS_MAX ?= 60
CASES ?= 2000
COUNT ?= 200
BENCH_ARGS ?=

.PHONY: help demo test lint bench fuzz sim isolation kill clean module module-release test-rust test-python

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1|/' | \
	  awk -F'|' '{ printf "  make %-9s %s\n", $$1, $$2 }'

demo: module-release ## build, import a real graph, ask it, reopen it
	$(PY) examples/demo.py

test: lint test-rust test-python ## everything that must pass: lints, Rust tests, Python tests
	@echo
	@echo "== Rust =="
	@grep -E '^ *(Running|Doc-tests) |^test result' $(TARGET)/test-rust.log
	@echo "== Python =="
	@tail -n 1 $(TARGET)/test-python.log

lint: $(VENV)/dev ## formats, clippy, rustdoc, ruff and strict pyright, all with warnings as errors
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --quiet
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/basedpyright

test-rust:
	mkdir -p $(TARGET)
	cargo test $(RUST_TESTED) 2>&1 | tee $(TARGET)/test-rust.log
	cargo test --locked $(SABOTAGED) 2>&1 | tee -a $(TARGET)/test-rust.log

test-python: module
	mkdir -p $(TARGET)
	$(PY) -m pytest 2>&1 | tee $(TARGET)/test-python.log

bench: module-release ## the graph workload against its peers; BENCH_ARGS="--repeat 5" and so on
	$(VENV)/bin/pip install --quiet -r bench/requirements.txt
	$(PY) bench/graph/run.py $(BENCH_ARGS)

# One seed is one run of all the property tests named; the next seed follows until the time is up.
define by_seed
	cargo test --locked $(1) --no-run
	end=$$((SECONDS + $(SECONDS_MAX))); seed=$(SEED); \
	while :; do \
	  echo "seed $$seed, $(CASES) cases"; \
	  PROPTEST_RNG_SEED=$$seed PROPTEST_CASES=$(CASES) cargo test --locked $(1) --quiet || \
	    { echo "failed; again: make $@ SEED=$$seed CASES=$(CASES) SECONDS_MAX=0"; exit 1; }; \
	  seed=$$((seed + 1)); (( SECONDS < end )) || break; \
	done; \
	echo "seeds $(SEED) to $$((seed - 1)) passed"
endef

fuzz: ## today: property tests of encodings and parsers, seed after seed; SEED, SECONDS_MAX, CASES
	$(call by_seed,-p quipu-base -p quipu-model -p quipu-ingest -p quipu-lsm)

sim: ## today: property tests of engine and graph against models; SEED, SECONDS_MAX, CASES. No simulated disk yet
	$(call by_seed,-p quipu-kv -p quipu-views)

kill: module-release ## kill -9 a writing process COUNT times and check what is left; COUNT, SEED
	$(PY) tests/kill/run.py --count $(COUNT) --seed $(SEED)

isolation: ## histories of 8 threads judged by a checker, and broken engines that the checks catch; SEED, SECONDS_MAX
	QUIPU_ISOLATION_SEED=$(SEED) QUIPU_ISOLATION_SECONDS=$(SECONDS_MAX) \
	  cargo test --locked -p quipu --test hermitage --test ldbc_acid --test list_append
	cargo test --locked $(SABOTAGED)

clean: ## remove what was built; databases and benchmark data of yours stay
	rm -rf $(TARGET) $(VENV) demo.quipu .pytest_cache .ruff_cache
	rm -f python/quipu/*.so
	find python examples -name __pycache__ -prune -exec rm -rf {} +

# --- the Python environment ---

$(VENV)/made:
	@found=; for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	  if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found="$$python"; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
	  echo "error: Python 3.11 or later is needed, and none is on the PATH" >&2; \
	  echo "hint: on Debian 12 or later: apt install python3 python3-venv" >&2; exit 1; \
	fi; \
	"$$found" -m venv $(VENV) || { \
	  echo "error: $$found cannot make a virtual environment" >&2; \
	  echo "hint: on Debian: apt install python3-venv" >&2; rm -rf $(VENV); exit 1; }
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@touch $@

$(VENV)/run: pyproject.toml | $(VENV)/made
	$(VENV)/bin/pip install --quiet 'maturin>=1.9.4,<2' 'numpy>=1.26'
	@touch $@

$(VENV)/dev: pyproject.toml | $(VENV)/made
	$(VENV)/bin/pip install --quiet --group check 'numpy>=1.26'
	@touch $@ $(VENV)/run

# maturin finds the environment by this variable, whatever shell called.
module: $(VENV)/dev
	VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(VENV)/bin/maturin develop --locked --quiet

module-release: $(VENV)/run
	VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(VENV)/bin/maturin develop --locked --release
