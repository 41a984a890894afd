# All there is to run, on Linux, macOS and Windows, with nothing but Python 3.10 to 3.14 and make. Everything is
# installed into .venv, from wheels only; paths are relative, so the checkout may lie in a folder with spaces.

ifeq ($(OS),Windows_NT)
PYTHON ?= python
BIN := .venv/Scripts
else
PYTHON ?= python3
BIN := .venv/bin
endif

WORLD ?= strikers_vs_goalie
ARGS ?=
JOBS ?= 2
PIP_INSTALL := $(BIN)/python -m pip install --only-binary :all: -c constraints.txt
# Stamps are written last: an install that was interrupted is done again.
INSTALLED := .venv/.installed
INSTALLED_DEV := .venv/.installed-dev

.PHONY: help train test check bench fuzz interop wheel clean-venv
.DEFAULT_GOAL := help

help: ## list these targets
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

train: $(INSTALLED) ## train a world: make train [WORLD=soccer_twos] [ARGS="--seed 7"]
	$(BIN)/sparring train $(WORLD) $(ARGS)

test: check ## check everything, then run all tests; stops at the first failing step
	$(BIN)/python -m pytest -n $(JOBS)

check: $(INSTALLED_DEV) ## format, lint, types, import floors; runs no tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(INSTALLED_DEV) ## run every benchmark, one after the other
	@for file in benchmarks/[a-z]*.py; do \
	  test -e "$$file" || { echo "there are no benchmarks yet"; exit 0; }; \
	  echo "== $$file"; $(BIN)/python "$$file" || exit 1; \
	done

fuzz: $(INSTALLED_DEV) ## read a million damaged messages: make fuzz [ARGS="--messages 10000000 --seed 1"]
	$(BIN)/python -m tests.wire.fuzz $(ARGS)

interop: $(INSTALLED_DEV) ## the known toolkit's own packages at the other end of the wire; installs them into .interop
	$(BIN)/python -m benchmarks.interop

wheel: $(INSTALLED_DEV) ## build the wheel and the source archive into dist/
	$(BIN)/python -m build

clean-venv: ## remove .venv, so that the next target installs anew
	rm -rf .venv

$(INSTALLED): pyproject.toml constraints.txt
	@command -v "$(PYTHON)" >/dev/null || { echo "there is no '$(PYTHON)'; name a Python with PYTHON=..."; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { "$(PYTHON)" --version; echo "Sparring needs Python 3.10 to 3.14; name one with PYTHON=..."; exit 1; }
	@echo "installing Sparring into .venv; the first time this takes some minutes, most of them for torch"
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || "$(PYTHON)" -m venv .venv
	$(BIN)/python -m pip install --quiet "pip>=24.1"
	$(PIP_INSTALL) -e .
	@touch $(INSTALLED)

$(INSTALLED_DEV): $(INSTALLED)
	$(PIP_INSTALL) -e ".[dev]"
	@touch $(INSTALLED_DEV)
