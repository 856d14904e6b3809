# All tasks of this repository, for people and for CI. `make help` lists them.
#
# All targets share one virtual environment, .venv, and one Cargo target folder. The Python module
# is built into python/quipu: in the release profile for the demo and for benchmarks, in the
# development profile for tests. The latter shares much of the compiled code of the Rust tests, and
# has checks of overflow and debug assertions.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

VENV := .venv
PY := $(VENV)/bin/python
TARGET := $(or $(CARGO_TARGET_DIR),target)
# The Python crate has no Rust tests; it is included so that Arrow is built with the features that
# the module needs.
RUST_TESTED := --locked --workspace
# Engines with injected faults (mutants), which the tests must detect. The feature is only for tests:
# it does not compile in the release profile. The whole workspace, so that Arrow and Parquet are not
# built again.
MUTANTS := --workspace --test mutants --test found \
  --features quipu/fault-switches,quipu-kv/fault-switches,quipu-sim/fault-switches,quipu-corruption/fault-switches

SEED ?= 1
SECONDS_MAX ?= 60
CASES ?= 2000
COUNT ?= 200
# What the killed processes write.
WORK ?= graphs blobs counters rows
EDGES ?= 240000000
MEMORY ?= 512MB
# The limit plus memory outside of the database: the program's own data, and stacks of its threads.
MEMORY_DATA ?= 544MB
BENCH_ARGS ?=

.PHONY: help demo test lint bench bench-kv bench-counts bench-grow bench-steady bench-recursion bench-tables bench-analytics bench-search hot-regions differ differ-times differ-tables fuzz flips props sim sim-indexes sim-graphs isolation engines scale-test kill kill-fork kill-exit kill-python kill-networkx full-disk memory models miri tsan clean module module-release networkx-suite test-rust test-python test-spark

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1|/' | \
	  awk -F'|' '{ printf "  make %-12s %s\n", $$1, $$2 }'

demo: module-release ## build, import a real graph, query it, reopen it
	$(PY) examples/demo.py

test: lint test-rust test-python ## everything that must pass: lints, Rust tests, Python tests
	@echo
	@echo "== Rust =="
	@grep -E '^ *(Running|Doc-tests) |^test result' $(TARGET)/test-rust.log
	@echo "== Python =="
	@tail -n 1 $(TARGET)/test-python.log

lint: $(VENV)/dev ## formatting, clippy, rustdoc, ruff, strict pyright (warnings are errors), words and line widths
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	cargo clippy --locked -p quipu --no-default-features --tests -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --quiet
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/basedpyright
	$(PY) tools/lint/check.py

test-rust:
	mkdir -p $(TARGET)
	cargo test --no-fail-fast $(RUST_TESTED) 2>&1 | tee $(TARGET)/test-rust.log
	cargo test --no-fail-fast --locked $(MUTANTS) 2>&1 | tee -a $(TARGET)/test-rust.log
	cargo test --locked -p quipu --no-default-features --test without_arrow 2>&1 | tee -a $(TARGET)/test-rust.log

test-spark: module ## quipu.spark with Spark itself, which pip installs; needs Java 17
	$(VENV)/bin/pip install --quiet 'pyspark==4.3.0'
	$(PY) -m pytest python/tests/test_spark.py python/tests/test_guides.py

test-python: module
	mkdir -p $(TARGET)
	$(PY) -m pytest 2>&1 | tee $(TARGET)/test-python.log

bench: module-release ## the graph workload against other databases; BENCH_ARGS such as "--repeat 5"
	$(VENV)/bin/pip install --quiet -r bench/requirements.txt
	$(PY) bench/graph/run.py $(BENCH_ARGS)

# A separate workspace, because building RocksDB takes long and needs a C++ compiler and libclang. To
# link an installed library: ROCKSDB_LIB_DIR=/usr/lib/x86_64-linux-gnu make bench-kv
RECORDS ?= 1000000
ITEMS ?= 4194304
KEYS ?= 10000000
CAP_S ?= 30
define native
	cargo build --locked --release --manifest-path bench/native/Cargo.toml --target-dir $(TARGET)
	python3 bench/native/$(1) --binary $(TARGET)/release/quipu-bench $(BENCH_ARGS)
endef

bench-kv: ## keys with blobs (UCSB), native, against other databases; RECORDS, CAP_S seconds per operation, BENCH_ARGS
	$(call native,run.py kv --records $(RECORDS) --cap-s $(CAP_S))

bench-counts: ## counters (count-db), native, against other databases and a hash map; ITEMS, CAP_S, BENCH_ARGS
	$(call native,run.py counts --items $(ITEMS) --cap-s $(CAP_S))

bench-grow: ## cost of operations from a million keys to KEYS, native, as a plot; BENCH_ARGS
	$(call native,long.py grow --keys $(KEYS))

bench-steady: ## upserts and reads for SECONDS_MAX seconds per engine, native, as a plot; RECORDS, BENCH_ARGS
	$(call native,long.py steady --records $(RECORDS) --seconds $(SECONDS_MAX))

# Runs the property tests with one seed after the other until the time is up.
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

flips: ## flip every byte of a small database, truncate every file at every length; open, follow, repair, query
	QUIPU_FLIPS=all cargo test --locked -p quipu-corruption --test flips -- --nocapture

# Needs the nightly toolchain and cargo-fuzz (cargo install cargo-fuzz). Seeds are files that the
# engine writes.
FUZZ_TARGETS ?= table log manifest codecs edit text parquet archive script
fuzz: ## fuzz every decoder, each for an equal share of SECONDS_MAX; only one: FUZZ_TARGETS=table
	cargo run --locked -p quipu-corruption --features fault-switches --example seeds -- fuzz/seeds
	cargo +$(NIGHTLY) fuzz build
	for target in $(FUZZ_TARGETS); do \
	  mkdir -p fuzz/corpus/$$target; \
	  cargo +$(NIGHTLY) fuzz run $$target fuzz/corpus/$$target fuzz/seeds/$$target -- -timeout=20 -rss_limit_mb=2048 \
	    -malloc_limit_mb=512 -max_total_time=$$(($(SECONDS_MAX) / $(words $(FUZZ_TARGETS)))) -print_final_stats=1 || exit 1; \
	done

differ: module-release ## random programs of the query language against a naive evaluator; SEED, SECONDS_MAX
	$(PY) fuzz/datalog/meaning.py --seed $(SEED) --seconds $(SECONDS_MAX)

# PEERS is an interpreter with fuzz/datalog/requirements.txt. TIMES is continued: queries in it are
# not run again.
PEERS ?= $(PY)
TIMES ?= target/times.jsonl
differ-times: ## times and results against Cozo and DuckDB, on random graphs; SEED, SECONDS_MAX, PEERS, TIMES
	cargo build --locked --release -p quipu-session --example times
	$(PEERS) fuzz/datalog/times.py --quipu target/release/examples/times --cozo $(PEERS) --duckdb $(PEERS) --out $(TIMES) --seeds $(SEED):1000000 --seconds $(SECONDS_MAX)
	$(PEERS) fuzz/datalog/times.py --out $(TIMES) --report $(TIMES:.jsonl=.md)

TABLES ?= tables.jsonl
differ-tables: ## results and times against DuckDB and SQLite, on random questions to random tables; SEED, SECONDS_MAX, TABLES
	$(MAKE) module-release
	$(VENV)/bin/pip install --quiet -r fuzz/tables/requirements.txt
	$(PY) fuzz/tables/differ.py --out $(TABLES) --seeds $(SEED):1000000 --seconds-max $(SECONDS_MAX)
	$(PY) fuzz/tables/differ.py --out $(TABLES) --report $(TABLES:.jsonl=.md)

bench-recursion: ## recursive programs against ascent and DuckDB; BENCH_ARGS such as "--scale 0.3 --repeat 1"
	cargo build --locked --release -p quipu-session --example recursion
	cargo build --locked --release --manifest-path bench/recursion/ascent/Cargo.toml --target-dir $(TARGET)
	$(VENV)/bin/pip install --quiet -r bench/recursion/requirements.txt
	$(PY) bench/recursion/run.py --quipu $(TARGET)/release/examples/recursion --ascent $(TARGET)/release/recursion-ascent $(BENCH_ARGS)

POSTS ?= 200000
bench-tables: ## everyday questions to tables, against DuckDB and SQLite; POSTS, BENCH_ARGS such as "--on disk"
	$(MAKE) module-release
	$(VENV)/bin/pip install --quiet -r bench/tables/requirements.txt
	$(PY) bench/tables/run.py --posts $(POSTS) $(BENCH_ARGS)

bench-analytics: ## whole graphs against SciPy, NetworKit, igraph and others; BENCH_ARGS such as "--graphs cnr-2000"
	$(MAKE) module-release
	$(VENV)/bin/pip install --quiet -r bench/analytics/requirements.txt
	$(PY) bench/analytics/run.py $(BENCH_ARGS)

TEXTS ?= ../shared/data/gutenberg-en-42m.txt.zst
bench-search: ## searches and documents against tantivy, usearch, SQLite and others; TEXTS (a text in each line)
	$(MAKE) module-release
	$(VENV)/bin/pip install --quiet -r bench/search/requirements.txt
	$(PY) bench/search/text.py --texts $(TEXTS) $(BENCH_ARGS)
	$(PY) bench/search/vectors.py $(BENCH_ARGS)
	$(PY) bench/search/vectors.py --data-set random $(BENCH_ARGS)
	$(PY) bench/search/vectors.py --data-set lsa --texts $(TEXTS) $(BENCH_ARGS)
	$(PY) bench/search/documents.py $(BENCH_ARGS)

# Only NumPy: nothing of Quipu is run. See docs/scale.md.
hot-regions: $(VENV)/run ## simulate hot regions of a store that splits by key, for each layout of keys; SEED, BENCH_ARGS
	$(PY) bench/cluster/hot_regions.py --seed $(SEED) $(BENCH_ARGS)

props: ## property tests of encodings, parsers, engine and graph with many seeds; SEED, SECONDS_MAX, CASES
	$(call by_seed,-p quipu-base -p quipu-model -p quipu-ingest -p quipu-lsm -p quipu-kv -p quipu-views)

# bash counts SECONDS by itself, so only a value of the command line is used:
# make sim SEED=7 SECONDS=600
SIM_SECONDS = $(if $(filter command line,$(origin SECONDS)),$(SECONDS),$(SECONDS_MAX))
JOBS ?= 2

sim: ## crashes and faults on a simulated machine, checked against a model; SEED, SECONDS_MAX (or SECONDS), JOBS
	cargo run --locked --release -p quipu-sim --features marks --bin quipu-sim -- \
	  --seed $(SEED) --seconds $(SIM_SECONDS) --jobs $(JOBS)

sim-indexes: ## rows and indexes of each kind after COUNT crashes of each sort; COUNT, SEED
	QUIPU_SIM_SEED=$(SEED) QUIPU_SIM_CRASHES=$(COUNT) \
	  cargo test --locked -p quipu-sim --test scripts search_indexes -- --nocapture

sim-graphs: ## graphs with properties after COUNT crashes of each sort; COUNT, SEED
	QUIPU_SIM_SEED=$(SEED) QUIPU_SIM_CRASHES=$(COUNT) \
	  cargo test --locked -p quipu-sim --test scripts property_graphs -- --nocapture

kill: ## kill -9 writing processes COUNT times and verify the database; COUNT, SEED, WORK="graphs blobs counters rows"
	cargo build --locked --release -p quipu-kill
	for work in $(WORK); do \
	  $(TARGET)/release/quipu-kill run --work $$work --count $(COUNT) --seed $(SEED) \
	    --json $(TARGET)/kill-$$work.json || exit 1; \
	done

kill-fork: ## as kill, with writers that fork children, which misuse what they inherit; COUNT, SEED, WORK
	cargo build --locked --release -p quipu-kill
	for work in $(WORK); do \
	  $(TARGET)/release/quipu-kill run --work $$work --forking 1 --count $(COUNT) --seed $(SEED) \
	    --json $(TARGET)/kill-fork-$$work.json || exit 1; \
	done

kill-exit: module-release ## end interpreters at random times with threads in rules, callbacks, iterables, streams and imports; COUNT, SEED
	$(PY) tests/kill/exits.py --count $(COUNT) --seed $(SEED)

kill-python: module-release ## as kill, through the Python package, slower; COUNT, SEED
	$(PY) tests/kill/run.py --count $(COUNT) --seed $(SEED)

kill-networkx: module ## kill -9 processes that change graphs of quipu.nx COUNT times, compare with NetworkX; COUNT, SEED
	$(PY) tests/kill/networkx_graphs.py --count $(COUNT) --seed $(SEED)

full-disk: ## writers on a file system of 8 MiB that becomes full, and under a limit on file length; COUNT rounds, SEED
	cargo build --locked --release -p quipu-kill
	$(TARGET)/release/quipu-kill full --rounds $(COUNT) --seed $(SEED)
	$(TARGET)/release/quipu-kill full --rounds $(COUNT) --seed $(SEED) --variant file-limit

memory: ## import, scan and update EDGES edges (5 GB of text) within MEMORY, by the kernel's accounting
	cargo build --locked --release -p quipu-kill
	$(TARGET)/release/quipu-kill memory --edges $(EDGES) --limit $(MEMORY) --json $(TARGET)/memory.json
	$(TARGET)/release/quipu-kill memory --edges $(EDGES) --limit $(MEMORY) --data-limit $(MEMORY_DATA)

# Not in `make test`: the engine's crates are built again with other locks, and the checker, too.
MODEL_SECONDS ?= $(SECONDS_MAX)
models: ## concurrency: the engine's code under a model checker, each property for SECONDS_MAX seconds; MODEL_SEED
	MODEL_SECONDS=$(MODEL_SECONDS) cargo test --locked -p quipu-lsm --features shuttle --lib models -- --nocapture
	MODEL_SECONDS=$(MODEL_SECONDS) cargo test --locked -p quipu-kv --features shuttle --test models -- --nocapture
	MODEL_SECONDS=$(MODEL_SECONDS) cargo test --locked -p quipu-views --features shuttle --lib models -- --nocapture

# Miri's threads read stale values where the memory model allows it, differently for each seed, which
# reveals orderings that are too weak.
NIGHTLY ?= nightly
MIRI_SEEDS ?= 0..8
miri: ## memtable, cache and codecs in Miri: undefined behavior, weak memory; MIRI_SEEDS=0..64, NIGHTLY
	rustup component add --toolchain $(NIGHTLY) miri rust-src
	MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-many-seeds=$(MIRI_SEEDS)" cargo +$(NIGHTLY) miri test --locked \
	  --target-dir $(TARGET)/miri -p quipu-lsm --lib memtable::tests::three_readers
	MIRIFLAGS=-Zmiri-disable-isolation PROPTEST_CASES=2 cargo +$(NIGHTLY) miri test --locked --target-dir $(TARGET)/miri \
	  -p quipu-lsm --lib memtable:: -- --skip a_filter_holds
	MIRIFLAGS=-Zmiri-disable-isolation cargo +$(NIGHTLY) miri test --locked --target-dir $(TARGET)/miri \
	  -p quipu-env --lib -- sync:: jobs::

# The standard library is instrumented, too, so that its locks and channels are checked.
tsan: ## ThreadSanitizer over env, the memtable and the engine with real threads; NIGHTLY
	rustup component add --toolchain $(NIGHTLY) rust-src
	RUSTFLAGS=-Zsanitizer=thread PROPTEST_CASES=4 cargo +$(NIGHTLY) test --locked -Zbuild-std --target-dir $(TARGET)/tsan \
	  --target $$(rustc +$(NIGHTLY) -vV | sed -n 's/^host: //p') -p quipu-env -p quipu-lsm -p quipu-kv --lib --test concurrency

isolation: ## histories of 8 threads verified by a checker, and mutants that the checks must catch; SEED, SECONDS_MAX
	QUIPU_ISOLATION_SEED=$(SEED) QUIPU_ISOLATION_SECONDS=$(SECONDS_MAX) \
	  cargo test --locked -p quipu --test suite -- hermitage:: ldbc_acid:: list_append::
	cargo test --locked $(MUTANTS)

# A plain build compiles no engine but kv, so these have features of their own.
engines: ## the conformance suite on each engine, and a database on it
	cargo test --locked -p quipu-kv -p quipu-ordered --test conformance
	cargo test --locked -p quipu-engine-sqlite --features sqlite
	cargo test --locked -p quipu --features sqlite --test engines
	tools/with-postgres.sh cargo test --locked -p quipu-engine-postgres --features postgres
	tools/with-postgres.sh cargo test --locked -p quipu --features sqlite,postgres --test postgres

# TIKV_PD names a cluster that runs; otherwise tools/with-tikv.sh starts servers, if it finds them.
scale-test: ## as `engines` on SQLite, PostgreSQL and TiKV, and says which of them it left out; TIKV_PD, TIKV_TEST_SERVERS
	cargo test --locked -p quipu-engine-sqlite --features sqlite
	tools/with-postgres.sh --if-there cargo test --locked -p quipu-engine-postgres --features postgres
	tools/with-postgres.sh --if-there cargo test --locked -p quipu --features postgres --test postgres
	tools/with-tikv.sh --if-there cargo test --locked -p quipu-engine-tikv --features tikv
	tools/with-tikv.sh --if-there cargo test --locked -p quipu --features tikv --test tikv

# NETWORKX_ARGS: "--stored", "--classes", "--plain", "--kernels" or "--part algorithms/components"
NETWORKX_ARGS ?=
networkx-suite: module ## NetworkX's own tests through the backend, with the packages that they use; NETWORKX_ARGS
	$(VENV)/bin/pip install --quiet matplotlib==3.10.7 scipy==1.17.1
	$(PY) tests/networkx/suite.py $(NETWORKX_ARGS)

clean: ## remove what was built, but not your databases and benchmark data
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

# maturin finds the virtual environment by this variable.
module: $(VENV)/dev
	VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(VENV)/bin/maturin develop --locked --quiet

module-release: $(VENV)/run
	VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(VENV)/bin/maturin develop --locked --release
