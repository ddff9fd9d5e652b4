# Two commands do everything on a fresh machine with Python >= 3.11 and pip, cargo and a C compiler:
#   make demo    installs what is needed, builds, and diagnoses the bundled examples
#   make test    installs what is needed, builds, and runs lint, types and all tests
# `make` alone lists the targets.

# uv builds and runs everything. Where the machine has none, pip brings it into .tools.
UV := $(shell command -v uv 2>/dev/null || echo $(CURDIR)/.tools/bin/uv)
PYTHON ?= python3
WORKERS := $(shell getconf _NPROCESSORS_ONLN)

.PHONY: help demo test quick lint check-rust check-python bench wheel clean

help:
	@sed -n 's/^#   //p' Makefile; \
		echo "make quick   runs the Python tests that a busy machine does not disturb, in several workers"; \
		echo "make bench   runs the benchmarks (minutes)"; \
		echo "make wheel   builds an optimised wheel into dist/ (minutes)"

$(CURDIR)/.tools/bin/uv:
	$(PYTHON) -m pip install --quiet --target .tools "uv>=0.9"

.venv/.ready: $(filter $(CURDIR)/%,$(UV)) pyproject.toml uv.lock Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml)
	$(UV) sync --locked
	@touch .venv/.ready

demo: .venv/.ready
	$(UV) run --no-sync storscope demo

test: check-rust check-python

check-rust:
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	cargo test --locked --workspace

check-python: .venv/.ready
	$(UV) run --no-sync ruff check .
	$(UV) run --no-sync ruff format --check .
	$(UV) run --no-sync mypy
	$(MAKE) --no-print-directory quick
	$(UV) run --no-sync pytest -m alone

# All Python tests that do not need the machine to themselves, in as many workers as there are processors.
quick: .venv/.ready
	$(UV) run --no-sync pytest -n $(WORKERS) --no-loadscope-reorder -m "not alone"

lint:
	$(UV) run ruff check --fix .
	$(UV) run ruff format .

bench: .venv/.ready
	$(UV) run --no-sync python -m benches

# A wheel in dist/ whose core was compiled from a profile of its own work: a sixth faster. Needs LLVM's llvm-profdata
# (rustup component add llvm-tools) and takes some minutes.
wheel: .venv/.ready
	$(UV) run --no-sync maturin build --release --locked --pgo --out dist

clean:
	rm -rf .venv .tools target dist storscope-report.html
