"""Inference of one very large job: CPU time and memory, and what it finds.

``python -m evaluation.skeleton.large --rnics 16384``: a job on all rnics, 900 s, clocks
200 ms apart, as the service infers it.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time

from controller.skeleton.inference import infer
from controller.skeleton.series import Throughput
from evaluation.skeleton.trials import adjusted_rand
from testbed.training.cases import training


def main(arguments: list[str] | None = None) -> int:
    """Measure, and print a row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rnics", type=int, default=16_384)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    made = training(options.rnics, moe=False, impairment="clocks", seed=options.seed)
    given = Throughput(made.tx, made.rx, made.host, made.rail)
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began_s, cpu_s = time.perf_counter(), time.process_time()
    found = infer(given)
    cpu_s, took_s = time.process_time() - cpu_s, time.perf_counter() - began_s
    peak_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rand = adjusted_rand(made.position, found.cluster)
    print(
        f"{options.rnics:,} rnics: {cpu_s:.1f} s of CPU, {took_s:.1f} s, {peak_kb / 1e6:.2f} GB, "
        f"{before_kb / 1e6:.2f} GB before; {found.declined or 'inferred'}, {found.stages} stages, "
        f"DP {found.dp}, adjusted Rand index {rand:.3f}, {len(found.pairs):,} pairs"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
