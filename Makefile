# What one does with this checkout; `make help` lists it. Needs only git, make and a Python >= 3.12.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory --no-builtin-rules

VENV   := .venv
BIN    := $(VENV)/bin
STAMPS := $(VENV)/.stamps
LOCKS  := requirements

# Candidates in order. Each is run, not only looked up: a pyenv shim exists for versions it then refuses to start.
# PYTHON=... overrides them all.
CANDIDATES = $(if $(PYTHON),$(PYTHON),python3.14 python3.13 python3.12 python3 \
	$(wildcard $(HOME)/.pyenv/versions/3.14*/bin/python3) \
	$(wildcard $(HOME)/.pyenv/versions/3.13*/bin/python3) \
	$(wildcard $(HOME)/.pyenv/versions/3.12*/bin/python3))
FITS = import sys, venv, ensurepip, ssl, sqlite3; sys.exit(sys.version_info < (3, 12))

# A lock is installed with its hashes checked: by uv (seconds), or by pip where uv reaches no registry (pip may be
# configured for one that uv does not know).
INSTALL = install() { $(BIN)/uv pip install --quiet --python $(BIN)/python "$$@" \
	|| { echo "uv could not install; trying pip" >&2; $(BIN)/pip install -qq --disable-pip-version-check "$$@"; }; }; install

# Certificates as the system trusts them, where a network has an authority of its own.
export UV_SYSTEM_CERTS := 1

# The commands that tests start are compiled once, as they are where they are installed, and not at each start.
export PYTHONDONTWRITEBYTECODE :=

# A worker a processor; a file's tests stay together, since they share what is slow to make.
WORKERS := auto
PYTEST = $(BIN)/python -m pytest $(ARGS)

.PHONY: help setup test again lint format demo soak bench lock clean

help: ## list the targets
	@sed -nE 's/^([a-z]+):.*## (.*)/  make \1\t\2/p' Makefile | expand -t 16

setup: $(STAMPS)/project ## make .venv with everything that tests and checks need

# An environment that runs and fits is kept; one whose interpreter is gone or too old is made anew.
$(STAMPS)/venv:
	@if $(BIN)/python -c '$(FITS)' >/dev/null 2>&1; then mkdir -p $(STAMPS); touch $@; exit; fi; \
	for candidate in $(CANDIDATES); do \
	    if "$$candidate" -c '$(FITS)' >/dev/null 2>&1; then found="$$candidate"; break; fi; \
	done; \
	if [ -z "$${found:-}" ]; then \
	    echo "edgetape needs Python 3.12 or newer (with venv): install one, or name it: make PYTHON=/path/to/python3.12" >&2; \
	    exit 1; \
	fi; \
	echo "setting up $(VENV) with $$("$$found" --version)"; \
	"$$found" -m venv --clear $(VENV); \
	mkdir -p $(STAMPS); touch $@

$(STAMPS)/installer: $(LOCKS)/installer.lock | $(STAMPS)/venv
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r $<; touch $@

$(STAMPS)/dev: $(LOCKS)/dev.lock | $(STAMPS)/installer
	@$(INSTALL) --require-hashes -r $<; touch $@

$(STAMPS)/project: pyproject.toml proxy/launcher.py proxy/plugin.py $(STAMPS)/dev
	@$(INSTALL) --no-deps --no-build-isolation -e .; touch $@

test: lint ## run the checks and the tests (ARGS="-k name" narrows the tests)
	@$(PYTEST) -n $(WORKERS) --dist loadfile

again: setup ## run what failed in the last `make test` once more, alone
	@$(PYTEST) --last-failed --last-failed-no-failures none --exitfirst

lint: setup ## run ruff, mypy and the floors' contracts
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

format: setup ## let ruff rewrite what it can
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

$(STAMPS)/demo: $(LOCKS)/demo.lock $(STAMPS)/dev
	@$(INSTALL) --require-hashes -r $<; touch $@

demo: setup ## record, prove and replay a real agent (fetches a small model, about 260 MB)
	@$(MAKE) $(STAMPS)/demo 2>$(VENV)/demo.log \
	|| echo "the demo's own packages cannot be had here ($(VENV)/demo.log says why); it runs with what is there" >&2
	@$(BIN)/python -m examples.demo $(ARGS)

soak: setup ## run the tests with their full counts and write docs/soak.md (hours)
	@$(PYTEST) --soak -m "not bench" --timeout=14400 -o faulthandler_timeout=0

bench: setup ## print measured figures, and write docs/benchmarks.md
	@$(PYTEST) -m bench -s
	@$(BIN)/python -m bench.verify --write
	@$(BIN)/python -m bench.record --write
	@$(BIN)/python -m bench.replay --write

COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.12 --generate-hashes --no-emit-index-url \
	--no-emit-find-links --no-annotate --custom-compile-command "make lock"

lock: $(STAMPS)/installer ## resolve pyproject.toml into hashed locks (UPGRADE=1 takes the newest that fit)
	@upgrade="$(if $(UPGRADE),--upgrade)"; \
	$(COMPILE) $$upgrade pyproject.toml --extra dev -o $(LOCKS)/dev.lock; \
	$(COMPILE) $$upgrade pyproject.toml -c $(LOCKS)/dev.lock -o $(LOCKS)/runtime.lock; \
	$(COMPILE) $$upgrade pyproject.toml -c $(LOCKS)/dev.lock --extra demo -o $(LOCKS)/demo.lock; \
	echo uv | $(COMPILE) - -c $(LOCKS)/dev.lock -o $(LOCKS)/installer.lock

clean: ## remove the environment, builds and caches
	@rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
