# Targets for people; each one makes the environment that it needs.
.DEFAULT_GOAL := help
.PHONY: help env demo test check golden bench scorecard scorecard-full \
	fabric-test rdma-test kubernetes-tools chaos-test soak screenshots page-bench stream-soak \
	peers-bench image-sizes sbom clean

ARGS ?=

help:  ## Show this
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1|/' | \
	  awk -F'|' '{ printf "%-20s %s\n", $$1, $$2 }'

env:  ## Make .venv with everything that uv.lock pins
	@PYTHON='$(PYTHON)' scripts/environment.sh

demo: env  ## Break a simulated cluster and name the culprits; ARGS="--duration 60 --headless"
	@.venv/bin/skeletonhunter demo $(ARGS)

test: env  ## Run every test, installing what they need where this machine allows it
	@scripts/test-tools.sh
	@scripts/test.sh $(ARGS)

check: env  ## Lint, format, types, dependencies between packages, folder sizes, banned words
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports
	.venv/bin/python scripts/conventions.py

golden: env  ## Compare incidents of fixed clusters with the recorded ones; ARGS=--write records them anew
	@.venv/bin/python scripts/golden.py $(ARGS)

bench: env  ## Measure speed and memory of this machine
	@scripts/fetch-kafka.sh
	@.venv/bin/skeletonhunter bench $(ARGS)

peers-bench: env  ## Windows of the same records by ClickHouse, DuckDB, Polars, Bytewax, Flink; ARGS="--runs 1 --out FILE"
	@scripts/peers-environment.sh
	@var/peers-venv/bin/python -m evaluation.bench.peers $(ARGS)

scorecard: env  ## Score every strategy on every scenario -> docs/scorecard.md; QUICK=1: a few, to var/
	@.venv/bin/skeletonhunter check scorecard $(if $(QUICK),--quick --out var/scorecard.md) $(ARGS)

scorecard-full: env  ## The same with all seeds: many hours; called again, it goes on where it was
	@.venv/bin/skeletonhunter check scorecard --full $(ARGS)

fabric-test: env  ## As root: real packets; break a fabric of namespaces in 20 ways, score the incidents
	@scripts/packages.sh iproute2 nftables util-linux
	@.venv/bin/skeletonhunter fabric play $(ARGS)

rdma-test: env  ## As root: probe between RDMA devices of an emulated machine, also across the fabric
	@scripts/guest-tools.sh
	@.venv/bin/pytest -m rdma tests/system $(ARGS)

kubernetes-tools: env  ## Build Kubernetes' API server, controllers, scheduler, kwok, kustomize and helm for the tests marked kubernetes (once, minutes)
	@scripts/kubernetes-tools.sh

chaos-test: env  ## Break the pipeline itself (Kafka, worker, sink, store) in all ways; ARGS="--list", names, --write
	@scripts/fetch-kafka.sh
	@.venv/bin/python -m evaluation.chaos $(ARGS)

soak: env  ## An hour of load with jobs that come and go: memory, files, lag; ARGS="--minutes 10 --rate 2000"
	@scripts/fetch-kafka.sh
	@.venv/bin/python -m evaluation.chaos.soak $(ARGS)

screenshots: env  ## Play a demo and take pictures of all views of the page -> docs/screenshots/
	@scripts/packages.sh chromium
	@.venv/bin/python scripts/screenshots.py $(ARGS)

page-bench: env  ## Measure the topology view with 2,048 rnics in Chromium
	@scripts/packages.sh chromium
	@PYTHONPATH=. .venv/bin/python scripts/page_bench.py $(ARGS)

stream-soak: env  ## Clients come and go on the stream of incidents for an hour; nothing may stay behind
	@PYTHONPATH=. .venv/bin/python scripts/stream_soak.py $(ARGS)

image-sizes: env  ## Measure the images of the Dockerfile without an engine (minutes; Debian)
	@rm -rf var/images
	@.venv/bin/python scripts/image_sizes.py var/images $(ARGS)

sbom: env  ## Write what the images hold, in CycloneDX -> var/sbom-*.json
	@scripts/sbom.sh

clean:  ## Remove what was made: .venv, caches, var
	rm -rf .venv .cache .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis var
