#!/bin/sh
# Every test. First those that need the machine for themselves (real packets, Kafka servers, timing),
# one after another; then all others on two cores. Arguments go to pytest.
set -u
cd "$(dirname "$0")/.."
PYTEST_GAPS_FILE=$(mktemp)
export PYTEST_GAPS_FILE
trap 'rm -f "$PYTEST_GAPS_FILE"' EXIT
alone="netns or rdma or kafka"
.venv/bin/pytest -m "$alone" "$@"
first=$?
[ "$first" = 5 ] && first=0 # none selected
# A process computes in one thread: with two, OpenBLAS's threads would compete for the cores.
OPENBLAS_NUM_THREADS=1 .venv/bin/pytest -n 2 -m "not ($alone)" "$@"
second=$?
[ "$second" = 5 ] && second=0
[ "$first" = 0 ] || exit "$first"
exit "$second"
