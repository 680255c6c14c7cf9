"""skeleton as a user types it: text, JSON, a picture, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from builders.command_line import Command

from testbed.training.cases import LabelledTraffic, training, without_collectives


def table(made: LabelledTraffic) -> pd.DataFrame:
    """The samples of a case, gaps left out."""
    rnic, second = np.nonzero(~np.isnan(made.tx))
    return pd.DataFrame({
        "fabric": "f1",
        "node_sn": [f"host-{number:02d}" for number in made.host[rnic]],
        "real_ip": [f"10.0.{h}.{r + 1}"
                    for h, r in zip(made.host[rnic], made.rail[rnic], strict=True)],
        "time": 1_800_000_000_000_000_000 + second * 1_000_000_000,
        "tx_bytes": made.tx[rnic, second].astype(np.int64),
        "rx_bytes": made.rx[rnic, second].astype(np.int64),
    })  # fmt: skip


MADE = training(64, moe=False, impairment="missing", seed=311, duration_s=600)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("throughput") / "throughput.parquet"
    table(MADE).to_parquet(path)
    return path


def test_the_text_names_degrees_stages_confidence_and_fidelity(
    command: Command, file: Path
) -> None:
    said = command("skeleton", file)
    assert said.code == 0
    for part in ("DP ", "TP x PP ", "stage 0", "confidence", "fidelity", "targets an rnic"):
        assert part in said.out
    assert "rails of 64 rnics are guessed" in said.err


def test_json_has_every_rnic_and_pair_and_csv_gives_the_same(
    command: Command, file: Path, tmp_path: Path
) -> None:
    document = json.loads(command("skeleton", file, "--json").out)
    assert len(document["rnics"]) == 64
    assert document["dp"] * document["tp_pp"] == 64
    assert document["pairs"]
    table(MADE).to_csv(tmp_path / "t.csv", index=False)
    assert json.loads(command("skeleton", tmp_path / "t.csv", "--json").out) == document


def test_a_picture_is_drawn(command: Command, file: Path, tmp_path: Path) -> None:
    assert command("skeleton", file, "--plot", tmp_path / "s.svg").code == 0
    assert (tmp_path / "s.svg").read_text().startswith("<?xml")


def test_a_declined_job_gives_its_reason_and_exit_code_2(command: Command, tmp_path: Path) -> None:
    table(without_collectives("idle", 64, seed=1, duration_s=300)).to_parquet(
        tmp_path / "t.parquet"
    )
    said = command("skeleton", tmp_path / "t.parquet")
    assert said.code == 2
    assert "no skeleton: no common rhythm" in said.out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop(columns="time"), "no column time"),
        (lambda t: t.assign(tx_bytes=-1), "negative bytes"),
        (lambda t: t.assign(fabric=np.where(t.index % 2, "a", "b")), "throughput of 2 fabrics"),
        (lambda t: t.assign(time=np.where(t.index == 0, 0, t.time)), "times span"),
        (lambda t: t.assign(tx_bytes="many"), "tx_bytes holds what is no number"),
    ],
)
def test_an_unusable_file_gets_one_line(
    command: Command, tmp_path: Path, change: object, message: str
) -> None:
    change(table(MADE).head(200)).to_csv(tmp_path / "t.csv", index=False)  # type: ignore[operator]
    said = command("skeleton", tmp_path / "t.csv")
    assert said.code == 2
    assert message in said.err
    assert len(said.err.strip().splitlines()) == 1
