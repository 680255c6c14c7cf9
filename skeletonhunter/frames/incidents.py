"""What was found, for notebooks: a sequence of incidents that is a frame, a picture, a page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, overload

import msgspec
import numpy as np
import pandas as pd

from schemas.documents.incident import Anomaly, Incident
from schemas.documents.times import seconds_of
from skeletonhunter.diagnosis.inputs import Inputs
from skeletonhunter.diagnosis.outcome import outcome_of
from skeletonhunter.diagnosis.report import as_table
from skeletonhunter.diagnosis.run import Diagnosis

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TIMES: Final = ("opened_at", "detected_at", "updated_at", "closed_at")
#: Columns of a frame of incidents; ``why`` is the evidence in one sentence.
COLUMNS: Final = (
    "incident_id", "severity", "component", "kind", "symptom", "issue_type", "state", "fabric",
    "layer", *TIMES, "confidence", "p_value", "tie_set", "parent", "paths_bad", "paths_total",
    "jobs", "tenants", "strategy", "version", "why", "evidence",
)  # fmt: skip


def frame_of(incidents: Sequence[Incident]) -> pd.DataFrame:
    """One row for each incident, times in UTC, by ``COLUMNS``."""
    rows = []
    for each in incidents:
        row = msgspec.structs.asdict(each)
        rows.append({**row, "why": each.evidence.get("text", "")})
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    for name in TIMES:
        frame[name] = pd.to_datetime(frame[name], utc=True, format="ISO8601")
    return frame


class Incidents(Sequence[Incident]):
    """The incidents of a run, by the time that they opened.

    coverage  what was judged, as a document: "no incidents" means little without it
    enough    whether it was enough for a verdict about loss
    missing   what each detector lacks, a text for each
    dead_letters  a text for each record that was not used: where it is, and why
    notes     what else was left out, and why
    nothing   why no second could be judged; None: some were
    """

    def __init__(self, inputs: Inputs, done: Diagnosis) -> None:
        self._inputs = inputs
        self._done = done
        self._outcome = outcome_of(inputs, done)
        self.coverage: dict[str, Any] = self._outcome.coverage
        self.enough: bool = self._outcome.enough
        self.missing: list[str] = self._outcome.missing
        self.dead_letters: list[str] = [str(letter) for letter in inputs.dead_letters]
        self.notes: list[str] = inputs.notes
        self.nothing: str | None = self._outcome.nothing

    @overload
    def __getitem__(self, index: int) -> Incident: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Incident]: ...
    def __getitem__(self, index: int | slice) -> Incident | Sequence[Incident]:
        return self._done.incidents[index]

    def __len__(self) -> int:
        return len(self._done.incidents)

    def __repr__(self) -> str:
        return "\n".join([*self._remarks(), as_table(self._done.incidents).rstrip("\n")])

    def _repr_html_(self) -> str:
        shown = ["severity", "component", "symptom", "issue_type", "opened_at", "closed_at", "why"]
        if not len(self):
            return f"<p>{escape(repr(self))}</p>"
        table: str = self.to_frame()[shown].to_html(index=False, escape=True)
        return "".join(f"<p>{escape(each)}</p>" for each in self._remarks()) + table

    def _remarks(self) -> list[str]:
        """What a reader has to know beside the incidents, a line for each."""
        lines = [] if self.enough else [f"not enough to judge: {each}" for each in self.missing]
        if self.dead_letters:
            count = len(self.dead_letters)
            letters = "dead letter" if count == 1 else "dead letters"
            lines.append(f"{count:,} {letters}; the first is {self.dead_letters[0]}")
        return [*lines, *self.notes]

    def to_frame(self) -> pd.DataFrame:
        """One row for each incident; times in UTC."""
        return frame_of(self._done.incidents)

    def bad_paths(self) -> pd.DataFrame:
        """One row for each path and window that was bad when something was decided."""
        names = [field.name for field in msgspec.structs.fields(Anomaly)]
        frame = pd.DataFrame(map(msgspec.structs.asdict, self._done.anomalies), columns=names)
        for name in ("window_start", "window_end"):
            frame[name] = pd.to_datetime(frame[name], utc=True, format="ISO8601")
        return frame

    def report(self, path: str | Path) -> Path:
        """Write the incidents as one HTML file; returns its path."""
        from skeletonhunter.diagnosis.page import page

        out = Path(path)
        out.write_text(page.html(self._inputs, self._done, self._outcome), encoding="utf-8")
        return out

    def plot(self, incident: str | Incident | None = None) -> Figure:
        """Loss and median round trip of an incident's bad paths beside all others, over time.

        incident  one of them, or its id; None: the most severe
        Raises ValueError where there is none, or no records.
        Needs matplotlib (``pip install 'skeletonhunter[plot]'``).
        """
        from matplotlib.figure import Figure

        from skeletonhunter.diagnosis.page.series import ProbeTable

        chosen = self._chosen(incident)
        if self._inputs.records is None:
            raise ValueError("there are no records to plot")
        table = ProbeTable(self._inputs.records)
        bad = np.array(
            [int(each.path_id, 16) for each in self._done.anomalies
             if each.incident_id == chosen.incident_id], np.uint64,
        )  # fmt: skip
        its = np.isin(table.path, bad)
        figure = Figure(figsize=(9, 5), layout="constrained")
        upper, lower = figure.subplots(2, 1, sharex=True)
        for name, mask, color in (("all other paths", ~its, "0.6"), ("bad paths", its, "tab:red")):
            series = table.series(mask)
            times = pd.to_datetime(series.times_s, unit="s", utc=True)
            upper.plot(times, 100 * series.loss, color=color, label=name)
            lower.plot(times, series.rtt_us, color=color)
        end_s = seconds_of(chosen.closed_at) if chosen.closed_at else float(series.times_s[-1])
        span = [pd.Timestamp(s, unit="s", tz="UTC") for s in (seconds_of(chosen.opened_at), end_s)]
        for axes in (upper, lower):
            axes.axvspan(span[0], span[1], color="tab:red", alpha=0.1)
        upper.set_title(f"{chosen.component}: {chosen.symptom}")
        upper.set_ylabel("loss [%]")
        upper.legend()
        lower.set_ylabel("median round trip [us]")
        return figure

    def _chosen(self, incident: str | Incident | None) -> Incident:
        if isinstance(incident, Incident):
            return incident
        if not len(self):
            raise ValueError("there are no incidents to plot")
        found = [each for each in self if each.incident_id.startswith(incident or "")]
        if not found:
            raise ValueError(f"no incident has an id that begins with {incident!r}")
        return min(found, key=lambda each: (each.parent is not None, each.severity))
