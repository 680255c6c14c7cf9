"""Parameters of the skeleton inference."""

from __future__ import annotations

from dataclasses import dataclass

from schemas.parameters.parameter import parameter


@dataclass(frozen=True, slots=True)
class SkeletonParameters:
    """What the inference of the traffic skeleton is tuned with."""

    window_s: int = parameter(
        64,
        unit="s",
        source="chosen: at least one round of 10-60 s; skeletonhunter check skeleton",
    )
    hop_s: int = parameter(16, unit="s", source="a Hann window with 3/4 overlap")
    least_s: int = parameter(
        240, unit="s", source="chosen: held-out bursts and two folds, a window each; "
        "skeletonhunter check skeleton"
    )  # fmt: skip
    highest_hz: float = parameter(
        0.25, unit="Hz", source="half of the Nyquist frequency of 1 s samples; aliased pulses above"
    )
    coverage: float = parameter(
        0.5, unit="1", source="chosen: an rnic with fewer of its samples is left out"
    )
    held_out: float = parameter(
        1 / 3, unit="1", source="chosen: share of the time that inference does not see; "
        "skeletonhunter check skeleton"
    )  # fmt: skip
    coherence: float = parameter(
        0.5, unit="1", source="more than half of an rnic's variation is explained by the common one"
    )
    repetition: float = parameter(
        0.25, unit="1", source="chosen: least autocorrelation at the period of the rounds, five "
        "times its standard error in 400 s of white noise; skeletonhunter check skeleton"
    )  # fmt: skip
    shortest_round_s: int = parameter(8, unit="s", source="chosen: rounds last 10 s or more")
    longest_round_s: int = parameter(120, unit="s", source="chosen: four rounds of ~30 s")
    nearly: float = parameter(
        0.85, unit="1", source="chosen: of the best repetition; micro-batches repeat less well "
        "than rounds; skeletonhunter check skeleton"
    )  # fmt: skip
    unbalance: float = parameter(
        0.5,
        unit="1",
        source="rnics receive what they send each other; storage is no rnic",
    )
    separation: float = parameter(
        4.5, unit="standard deviations", source="more than 2 sqrt(3) = 3.46, which the halves of "
        "one uniform cluster have; skeletonhunter check skeleton"
    )  # fmt: skip
    sample_s: float = parameter(
        1.0, unit="s", source="SkeletonHunter, SIGCOMM 2025: throughput at 1 s"
    )
    clock_s: float = parameter(
        0.2, unit="s", source="chosen: clocks of hosts differ by up to so much (NTP)"
    )
    apart: float = parameter(
        1.5, unit="1", source="chosen: stages differ by so many times what clocks do, since shifts "
        "have errors too; skeletonhunter check skeleton"
    )  # fmt: skip
    apart_by_ends: float = parameter(
        1.25, unit="1", source="chosen: the same where shifts are those of the ends of rounds, "
        "whose errors are smaller; skeletonhunter check skeleton"
    )  # fmt: skip
    busy: float = parameter(
        0.97, unit="quantile", source="chosen: of a host's rate, its rate in collectives, which "
        "take 3 % of a round or more; skeletonhunter check skeleton"
    )  # fmt: skip
    quiet: float = parameter(
        0.1, unit="1", source="chosen: of that rate, below which a host is quiet: probes, control"
    )
    long_quiet: float = parameter(
        0.5, unit="1", source="chosen: a round ends where as much of a host's longest quiet in a "
        "round follows; pauses between micro-batches are shorter; skeletonhunter check skeleton"
    )  # fmt: skip
    chance: float = parameter(
        0.005, unit="1", source="chosen: of the 1 % of runs that may miss a pair; the probability "
        "that hosts of one stage are spread in time like several"
    )  # fmt: skip
    doubt: float = parameter(
        0.1, unit="1", source="chosen: the scatter in a cluster is taken at this quantile of its "
        "chi-squared distribution; skeletonhunter check skeleton"
    )  # fmt: skip
    exceptions: float = parameter(
        0.25, unit="1", source="chosen: stragglers and other outliers, e.g. one replica of four"
    )
    least_hosts: int = parameter(
        4, unit="hosts", source="chosen: a stage of fewer has too few others to compare a pair with"
    )
    together: float = parameter(
        0.85, unit="1", source="chosen: correlation of loads of an expert group over rounds; five "
        "standard errors of 20 rounds (Fisher); skeletonhunter check skeleton"
    )  # fmt: skip
    least_rounds: int = parameter(
        12, unit="rounds", source="chosen: with fewer, chance correlations reach those of a group"
    )
    doubtless: float = parameter(
        6.0, unit="standard deviations", source="chosen: a match of replicas is used only where "
        "none of thousands is expected by chance; skeletonhunter check skeleton"
    )  # fmt: skip
    fidelity: float = parameter(
        0.9, unit="1", source="chosen: share of rnics that burst with their cluster, held out; "
        "skeletonhunter check skeleton"
    )  # fmt: skip


DEFAULT = SkeletonParameters()
