"""Rows of a scorecard as tests need them: one run, two settings, a faulty and a clean trial."""

from __future__ import annotations

from evaluation.scorecard import plan
from evaluation.scorecard.records import FalseRow, FaultRow, PathRow, PipelineRow, Row, Run

RUN = Run(
    commit="abc123", sources="d1g35t", machine="a machine", started="2026-01-02T03:04:05Z",
    command="skeletonhunter check scorecard", quick=False, final=True, jobs=2,
    seeds={"path": (5000, 5001), "pipeline": (6000, 6000)},
    parameters={"localizer.verdicts.loss": {"SURPRISE": "0.01"}}, wall_s=60.0,
)  # fmt: skip


def path_row(strategy: str, seed: int, f1: float, setting: str = "detector") -> PathRow:
    return PathRow(
        setting=setting, seed=seed, strategy=strategy, paths=2048, components=384, bad=4, blamed=4,
        precision=f1, recall=f1, f1=f1, seconds=0.5,
    )  # fmt: skip


def fault(
    label: str, seconds: float | None, named: str | None = "tor:a", **more: object
) -> FaultRow:
    found = seconds is not None
    known: dict[str, object] = {
        "label": label, "effect": "loss", "component": "tor:a", "issue_type": label,
        "symptom": "loss", "layer": "underlay", "direction": "both", "magnitude": 0.1,
        "start_s": 60.0, "end_s": 90.0, "class_size": 1, "found": found, "top1": found,
        "noticed": named is not None, "seconds": seconds, "named": named, "said_type": label,
    }  # fmt: skip
    return FaultRow(**(known | more))  # type: ignore[arg-type]  # values fit by name


def pipeline_row(
    faults: list[FaultRow], false: list[FalseRow] | None = None, **more: object
) -> PipelineRow:
    known: dict[str, object] = {
        "scenario": "rail-512", "seed": 6000, "strategy": plan.DEFAULT, "clean": not faults,
        "simulated_s": 300,
        "records": 1000, "paths": 100, "seconds": 9.0, "judging_ms": (20.0, 80.0),
        "faults": faults, "false": false or [],
    }  # fmt: skip
    return PipelineRow(**(known | more))  # type: ignore[arg-type]  # values fit by name


ROWS: list[Row] = [
    *(path_row(plan.DEFAULT, seed, 1.0) for seed in (5000, 5001)),
    *(path_row("vote007", seed, f1) for seed, f1 in ((5000, 0.5), (5001, 0.7))),
    pipeline_row(
        [
            fault("crc_error", 4.0),
            fault("rnic_port_down", None, "tor:b", symptom="unconnectivity"),
            fault("gpu_direct_rdma_error", None, None, effect="none", symptom="high_latency"),
        ],
        [
            FalseRow(component="tor:b", symptom="loss", at_s=66.0, misnamed=True),
            FalseRow(component="spine:x", symptom="loss", at_s=200.0),
        ],
    ),
    pipeline_row(
        [], [], scenario="clean", seed=7000, simulated_s=604_800, p_values={"loss 5 s": [90, 9, 1]}
    ),
]
