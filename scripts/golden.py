"""Compare what the pipeline says of fixed simulated clusters with what it said when last recorded.

    python scripts/golden.py                  # exit code 1 where anything but wording differs
    python scripts/golden.py --write          # record what is said now
    python scripts/golden.py --documents DIR  # also write the documents, one JSON line each

Every version of every incident counts. ``verdict`` is a digest over the fields that say what is
broken, where and when; ``document`` over everything but wording, with numbers to six digits.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path
from typing import Any, Final

import msgspec

from schemas.documents.incident import Incident
from streams.replay import Replay
from testbed.scenarios import scenario

HERE: Final = Path(__file__).parent.parent
RECORDED: Final = HERE / "tests" / "data" / "golden.json"
START_NS: Final = 1_780_000_000 * 10**9
#: Scenario and seed; seeds are of those that parameters may be tuned on.
CASES: Final = (
    ("small", 1), ("demo", 7), ("three_at_once", 1), ("one_way", 1), ("issue_types", 1),
    ("routes_unknown", 1), ("detector-mix", 1), ("churn", 1), ("clean", 1), ("vote-007", 1),
    ("lingjun", 1), ("flock-silent-drop", 1), ("clean-2048", 7),
)  # fmt: skip
VERDICT: Final = (
    "incident_id", "component", "kind", "symptom", "opened_at", "detected_at", "closed_at",
    "severity", "parent", "tie_set", "direction",
)  # fmt: skip
WORDING: Final = ("text", "warning")  # of evidence


def documents(name: str, seed: int) -> list[Incident]:
    """All versions of all incidents of a simulated cluster, in the order in which they came."""
    plan = scenario.load(name)
    simulation = plan.simulation(seed=seed, start_ns=START_NS)
    offline = Replay(topology=simulation.topology)
    found = []
    for second in simulation.seconds(plan.duration_s):
        placed = simulation.placements(second.index)
        arrival_ns = second.start_ns + 10**9
        found += offline.feed(second.pings, second.heartbeats, arrival_ns, placed).incidents
    return found + offline.finish().incidents


def digests(found: list[Incident]) -> dict[str, str | int]:
    """Digest of what is said, and how many documents there are."""
    whole = [msgspec.to_builtins(each) for each in found]
    for each in whole:
        for name in WORDING:
            each["evidence"].pop(name, None)
    verdicts = [{name: each[name] for name in VERDICT} for each in whole]
    last = list({each["incident_id"]: each for each in verdicts}.values())
    return {
        "documents": len(found), "incidents": len(last),
        "verdict": _digest(last), "document": _digest(_rounded(whole)),
    }  # fmt: skip


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return value


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def main() -> int:
    """Run the cases that were asked for; 1 if one differs from the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--write", action="store_true", help="record what is said now")
    parser.add_argument("--documents", type=Path, help="directory for the documents")
    parser.add_argument("--only", nargs="*", help="scenarios; all without it")
    parser.add_argument("--recorded", type=Path, default=RECORDED)
    asked = parser.parse_args()
    known = json.loads(asked.recorded.read_text()) if asked.recorded.exists() else {}
    differs = 0
    for name, seed in CASES:
        if asked.only and name not in asked.only:
            continue
        key = f"{name} {seed}"
        found = documents(name, seed)
        if asked.documents:
            asked.documents.mkdir(parents=True, exist_ok=True)
            lines = [msgspec.json.encode(each) + b"\n" for each in found]
            (asked.documents / f"{name}-{seed}.jsonl").write_bytes(b"".join(lines))
        said = digests(found)
        before = known.get(key)
        parts = [part for part in said if before is None or before[part] != said[part]]
        word = "same" if not parts else "new" if before is None else f"differs: {', '.join(parts)}"
        sys.stdout.write(f"{key:<24} {said['incidents']:>3} incidents  {word}\n")
        sys.stdout.flush()
        differs += bool(parts)
        if asked.write:
            known[key] = said
            asked.recorded.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
    return int(differs > 0 and not asked.write)


if __name__ == "__main__":
    raise SystemExit(main())
