# Two commands do everything on a machine with Python >= 3.11, make, git and a C++ compiler:
#   make demo   install with the demo pair, then two short answers with their measured numbers
#   make test   the same environment plus the developer tools, then the whole test suite

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q

.PHONY: demo test lint clean

demo: .venv/.demo
	$(BIN)/python -m localspec.demo

test: .venv/.dev
	$(BIN)/python -m pytest

lint: .venv/.dev
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "localspec needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -m venv .venv

.venv/.demo: .venv/bin/python pyproject.toml
	@command -v c++ >/dev/null || { echo "a C++ compiler is needed (g++ or clang)"; exit 1; }
	@echo "Installing. The first time this compiles the engine (llama.cpp): about 4 minutes on 2 cores."
	@$(PIP) install -e '.[demo]'
	@touch $@

.venv/.dev: .venv/.demo
	@$(PIP) install -e '.[demo,dev]'
	@touch $@

clean:
	rm -rf .venv dist build
