# What a person does with this repository; each target makes the environment that it needs.
.DEFAULT_GOAL := help
.PHONY: help env demo test check bench clean

ARGS ?=

help:  ## Show this
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1|/' | \
	  awk -F'|' '{ printf "%-14s %s\n", $$1, $$2 }'

env:  ## Make .venv with everything that uv.lock pins
	@PYTHON='$(PYTHON)' scripts/environment.sh

demo: env  ## Break a simulated cluster and watch who is blamed; ARGS="--duration 60 --headless"
	@.venv/bin/skeletonhunter demo $(ARGS)

test: env  ## Run every test, installing what they need where this machine allows it
	@scripts/test-tools.sh
	@scripts/test.sh $(ARGS)

check: env  ## Lint, format, types and the arrows between packages
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports

bench: env  ## Measure speed and memory, with this machine's name
	@.venv/bin/skeletonhunter bench $(ARGS)

clean:  ## Remove what was made: .venv, caches, var
	rm -rf .venv .cache .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis var
