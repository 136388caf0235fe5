# make demo: record, learn and fly in the embedded arena. make test: everything that is checked.
# Both do their own set-up, into .venv; a second run uses what is there. PYTHON=python3.12 names another interpreter.

PYTHON ?= python3
BIN := .venv/bin
export PYTHON
export PYTHONSAFEPATH = 1

.DEFAULT_GOAL := help
.PHONY: help demo test lint setup clean

help: ## this list
	@echo "make TARGET, where TARGET is one of"
	@sed -n 's/^\([a-z]*\):[^#]*## /  \1\t/p' Makefile

demo: setup ## record play in the arena, train on it, fly, and say how well it flew (4 to 12 minutes)
	@$(BIN)/secondseat demo

test: setup ## lint, types, floors, then all tests
	@.ci/setup x11
	@.ci/setup browser
	@$(MAKE) --no-print-directory --silent lint
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist loadfile --max-worker-restart 0

lint: setup ## ruff, pyright and the import contracts
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet . || { echo "some files are not formatted; type: $(BIN)/ruff format ."; exit 1; }
	@$(BIN)/pyright
	@said=$$($(BIN)/lint-imports --no-cache) || { echo "$$said"; exit 1; }; echo "$$said" | tail -n 2

setup: ## only the set-up
	@.ci/setup python

clean: ## remove caches; .venv and your recordings stay
	@rm -rf .pytest_cache .ruff_cache .hypothesis .import_linter_cache build secondseat.egg-info
	@find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
