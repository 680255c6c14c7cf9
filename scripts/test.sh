#!/bin/sh
# Every test, in four stages. First real packets, one test after another, and beside them Kafka
# servers and an API server (tests/conftest.py, FirstStage). Then all others, three at a time on two
# cores, since many wait for something. Then those that take all cores for minutes, and at last the
# emulated machine, alone: it computes without KVM, and its packets are real. Arguments go to pytest.
set -u
cd "$(dirname "$0")/.."
PYTEST_GAPS_FILE=$(mktemp)
export PYTEST_GAPS_FILE
trap 'rm -f "$PYTEST_GAPS_FILE"' EXIT
first_stage="netns or kafka or kubernetes"
runs=$first_stage
if [ ! -x "$(scripts/kubernetes-tools.sh --where)" ]; then
  echo "tests marked kubernetes are left out: make kubernetes-tools builds what they need"
  runs="($first_stage) and not kubernetes"
fi
.venv/bin/pytest -n 2 --dist loadgroup -m "($runs) and not (heavy or rdma)" "$@"
first=$?
[ "$first" = 5 ] && first=0 # none selected
# A process computes in one thread: with two, OpenBLAS's threads would compete for the cores.
OPENBLAS_NUM_THREADS=1 .venv/bin/pytest -n 3 --dist worksteal -m "not ($first_stage or heavy or rdma)" "$@"
second=$?
[ "$second" = 5 ] && second=0
.venv/bin/pytest -n 2 -m "heavy and not rdma" "$@"
third=$?
[ "$third" = 5 ] && third=0
.venv/bin/pytest -m rdma "$@"
fourth=$?
[ "$fourth" = 5 ] && fourth=0
[ "$first" = 0 ] || exit "$first"
[ "$second" = 0 ] || exit "$second"
[ "$third" = 0 ] || exit "$third"
exit "$fourth"
