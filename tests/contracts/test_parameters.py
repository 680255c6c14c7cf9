"""Every tunable figure has a unit and a source, and is listed by ``skeletonhunter params``."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import controller
import localizer
import schemas
import streams
from localizer.options import Options
from schemas.parameters.parameter import declares_parameters, parameter
from schemas.parameters.window_timing import DEFAULT_TIMING
from skeletonhunter.embedded.runtime import RuntimeOptions
from skeletonhunter.parameters import groups, table
from skeletonhunter.settings import Settings

ROOT = Path(localizer.__file__).parent.parent
TABLE = table()

#: Numbers in module constants of localizer/, streams/ and controller/ that are no parameters, by
#: module and reason: changing one of them changes no verdict, no published message and no ping
#: list, or breaks the code.
STRUCTURAL = {
    "units": {
        "controller.feedback.feedback": ("_HOUR_MS",),
        "controller.feedback.suspects": ("_HOUR_MS",),
        "controller.slurm_drain.audit": ("_HOUR_MS",),
        "controller.skeleton.series": ("_NS",),
        "controller.traffic.documents": ("_NS",),
        "controller.traffic.job_series": ("_NS",),
        "controller.traffic.job_skeletons": ("_NS",),
        "localizer.detectors.alarm_budget": ("WEEK_S",),
        "localizer.fabric.incidence.fingerprints": ("_UNIT",),
        "localizer.fabric.incidence.shares": ("_UNIT",),
        "streams.admission.admission": ("_NS",),
        "streams.admission.replays": ("_NS",),
        "streams.admission.twins": ("_SECOND",),
        "streams.sink.throughput": ("_NS",),
        "streams.windowing.source_clocks": ("SECOND",),
    },
    "codes, columns and sentinels": {
        "controller.traffic.job_series": ("_NEVER",),
        "localizer.baselines.hosts": ("_NEVER",),
        "localizer.baselines.latency": ("_MAX",),
        "localizer.fabric.ecmp": ("_FAR",),
        "localizer.baselines.sparse_latency": ("_NEVER",),
        "localizer.fabric.incidence.rnic_tors": ("SRC_NAMED", "DST_NAMED"),
        "localizer.fabric.incidence.segments": (
            "REQUEST",
            "REPLY",
            "ROUND_TRIP",
            "FIRST_HOP",
            "_AT_SRC_TOR",
            "_AT_DST_TOR",
            "_INTERIOR",
            "_LINK",
        ),
        "localizer.fabric.routes.traced_routes": ("_WAITING", "_WAITED"),
        "localizer.strategies.hypothesis.candidates": ("BOTH", "ALONG", "AGAINST", "TUNNELLED"),
        "localizer.strategies.hypothesis.atoms": ("NEVER",),
        "localizer.strategies.hypothesis.loss": ("_SURVIVAL",),
        "localizer.verdicts.rules.loss.joint_fit": (
            "_AT_ONCE",
            "_BETWEEN",
            "_COARSE",
            "MOST",
            "_ENOUGH",
            "_FINER",
            "_LEAST",
            "_RIDGE",
            "_STEP",
            "_STEPS",
        ),
        "streams.ingest": ("_LOG_APPEND_TIME",),
        "streams.kafka.faust_client.membership": ("_FENCED_INSTANCE_ID",),
    },
    "facts of mathematics and of the fabric's shape": {
        "localizer.baselines.cadence": ("_SCRAMBLE",),
        "controller.skeleton.timing.shifts": ("_MAD_TO_SIGMA",),
        "localizer.baselines.robust": ("MAD_TO_SIGMA",),
        "localizer.detectors.drift": ("_MEDIAN_CHI2",),
        "localizer.fabric.incidence.built_segments": ("ECMP_SEGMENTS",),
        "localizer.fabric.switch_tiers": ("THREE_TIERS",),
        "localizer.verdicts.rules.loss.rise": ("PASTS",),
    },
    "numerical guards": {
        "controller.ping_lists.host_list": ("_MODULUS", "_SERVED", "_IN_JOB"),
        "controller.skeleton.timing.shifts": ("_STEP_S",),
        "controller.skeleton.spectra": ("_ITERATIONS",),
        "localizer.detectors.lof": ("_TINY",),
        "localizer.strategies.crossing": ("_SURE",),
        "localizer.strategies.netbouncer": ("_FLOOR",),
    },
    "formats of others, and lengths of messages": {
        "localizer.host_evidence.flow_match": ("_UDP",),
        "localizer.host_evidence.port_signs": ("_ACTIVE", "_RANGES"),
        "controller.blacklist.formats": ("_REASON_LENGTH",),
        "controller.inventory.assembly.selection": ("_SHOWN",),
        "controller.inventory.formats.ibnetdiscover": ("_LINK_LOCAL",),
        "controller.inventory.formats.sonic": ("_ROUTER_BITS",),
        "streams.sink.job_rows": ("_LAST_MS", "_MOST"),
        "streams.sink.site_rows": ("_LAST_S", "_MOST_RAIL", "_MOST"),
        "streams.sink.port_counters": ("_LAST_MS", "_MOST"),
        "streams.sink.throughput": ("_LAST_S",),
    },
    "sizes of blocks, caches and tables, which change the time and memory but no result": {
        "controller.skeleton.spectra": ("_BLOCK",),
        "controller.sources.kubernetes.api": ("_CHUNK_BYTES",),
        "localizer.baselines.robust": ("_BLOCK",),
        "localizer.baselines.seconds.sparse_lines": ("_MOST", "_SUMS"),
        "localizer.detectors.latency.sparse_deviation": ("_BLOCK",),
        "localizer.detectors.lof": ("_BLOCK",),
        "localizer.detectors.peer_groups": ("_ROUNDING",),
        "localizer.fabric.incidence.factored": ("_LARGE",),
        "localizer.fabric.incidence.incidence": ("_SPARE_ROWS", "_SPARE_PAIRS", "_SPARE_SWITCHES"),
        "localizer.fabric.incidence.segment_paths": (
            "_FEW",
            "_FEW_REALS",
            "_LEAST_PATHS",
            "_REMEMBERED",
        ),
        "localizer.fabric.incidence.written_out": ("_BLOCK",),
        "localizer.fabric.key_index": ("_LEAST_MERGED",),
        "localizer.fabric.path_index": ("_LEAST_CACHED",),
        "localizer.fabric.path_table": ("_SPARE_TEXTS",),
        "localizer.fabric.routes.traced_routes": ("_BLOCK", "_SHORT_ROUTE"),
        "localizer.strategies.deepview": ("_BATCH",),
        "localizer.strategies.hypothesis.atoms": ("_FEW", "_MANY"),
        "localizer.strategies.hypothesis.selection": ("_BLOCK",),
        "streams.windowing.path_table": ("_DESCRIBED",),
    },
    "no single source host may cause a verdict on the network": {
        "localizer.verdicts.rules.quorum": ("LEAST",),
    },
    "operating points of a published strategy that the scorecard tries": {
        "localizer.strategies.vote007": ("SWEEP",),
    },
    "formats of other programs, and how many names a message shows": {
        "controller.sources.kubernetes.api_objects": ("GONE",),
        "controller.sources.kubernetes.pod_endpoints": ("_LONGEST",),
        "controller.sources.slurm.hostlist": ("_SHOWN",),
        "controller.sources.slurm.slurm_jobs": ("_SHOWN",),
        "controller.blacklist.formats": ("_REASON_LENGTH",),
        "controller.inventory.assembly.selection": ("_SHOWN",),
        "controller.inventory.formats.ibnetdiscover": ("_LINK_LOCAL",),
        "controller.inventory.formats.sonic": ("_ROUTER_BITS",),
        "streams.sink.site_rows": ("_LAST_S", "_MOST_RAIL", "_MOST"),
    },
    "ports that agents and lists agree on": {
        "controller.ping_lists.parameters": ("FIRST_PORT", "RESPONDER_PORT"),
    },
    "time-outs and sizes of single calls of a broker's client": {
        "streams.kafka.admin": ("_TIMEOUT_S",),
        "streams.kafka.embedded_broker": ("_TIMEOUT_S",),
        "streams.kafka.fetch": ("PARTITION_BYTES",),
        "streams.kafka.leadership": ("_SESSION_MS", "_HEARTBEAT_MS", "_POLL_S"),
        "streams.kafka.offset_ranges": ("_TIMEOUT_S", "_PAUSE_S"),
        "streams.merge.end_offsets": ("_TIMEOUT_S",),
        "streams.readers.incidents": ("_TIMEOUT_S",),
        "streams.readers.operator_feed": ("_TIMEOUT_S", "_BATCH"),
        "streams.readers.request_feed": ("_TIMEOUT_S", "_BATCH", "_WAIT_S", "_TAIL"),
        "streams.readers.throughput_feed": ("_TIMEOUT_S", "_BATCH", "_WAIT_S"),
        "streams.readers.windows_reader": ("_TIMEOUT_S", "_BATCH", "_WAIT_S"),
        "streams.sink.kafka_io": ("_FLUSH_S",),
        "streams.sink.sink": ("_POLL_S", "_BATCH"),
    },
}

#: Nodes of an expression that only computes with numbers and other constants.
ARITHMETIC = (
    ast.Constant, ast.Name, ast.UnaryOp, ast.BinOp, ast.Tuple,
    ast.operator, ast.unaryop, ast.expr_context,
)  # fmt: skip


def numeric_constants() -> Iterator[str]:
    """Module constants of these packages whose value is a number or a tuple of some."""
    packages = ("localizer", "streams", "controller")
    for path in sorted(path for name in packages for path in (ROOT / name).rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for statement in ast.parse(path.read_text()).body:
            targets: list[ast.expr] = []
            if isinstance(statement, ast.Assign):
                targets = statement.targets
            elif isinstance(statement, ast.AnnAssign):
                targets = [statement.target]
            value = getattr(statement, "value", None)
            if targets and value is not None and is_number(value):
                names = (each for target in targets for each in ast.walk(target))
                yield from (f"{module}.{each.id}" for each in names if isinstance(each, ast.Name))


def is_number(value: ast.expr) -> bool:
    """Whether an expression only computes with numbers and other constants."""
    nodes = [*ast.walk(value)]
    return all(isinstance(each, ARITHMETIC) for each in nodes) and any(
        isinstance(each, ast.Constant) and type(each.value) in (int, float) for each in nodes
    )


def dataclasses_with_parameters() -> Iterator[type]:
    """All of the packages that are tuned."""
    for package in (localizer, streams, schemas, controller):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(found.name)
            for _, each in inspect.getmembers(module, declares_parameters):
                if each.__module__ == module.__name__:
                    yield each


def listed(group: object) -> set[type]:
    """The parameter dataclasses of a group, nested ones included."""
    values = [getattr(group, each.name) for each in dataclasses.fields(type(group))]  # type: ignore[arg-type]
    found = {type(group)}
    for value in values:
        if dataclasses.is_dataclass(value):
            found |= listed(value)
    return found


def test_every_dataclass_of_parameters_is_listed() -> None:
    known = set().union(*(listed(group) for group in groups().values()))
    missing = {f"{each.__module__}.{each.__name__}" for each in dataclasses_with_parameters()
               if each not in known}  # fmt: skip
    assert not missing


@pytest.mark.parametrize("declaring", [*dataclasses_with_parameters()], ids=lambda c: c.__name__)
def test_every_field_of_a_parameter_dataclass_has_unit_and_source(declaring: type) -> None:
    for each in dataclasses.fields(declaring):
        value = each.default
        nested = dataclasses.is_dataclass(value)
        if not nested and isinstance(value, bool | int | float | str | tuple):
            assert each.metadata.get("unit"), each.name
            assert each.metadata.get("source"), each.name


def test_a_number_in_a_module_constant_is_listed_as_structural() -> None:
    structural = {
        f"{module}.{name}"
        for modules in STRUCTURAL.values()
        for module, names in modules.items()
        for name in names
    }
    assert set(numeric_constants()) == structural, "declare it with parameter(), or list it above"


def test_names_of_parameters_are_unique() -> None:
    names = [row.name for row in TABLE]
    assert len(names) == len(set(names)) > 100


def test_sources_that_name_a_file_or_a_target_name_one_that_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for row in TABLE:
        for path in re.findall(r"\btests/[\w/]*\w(?:\.py)?", row.source):
            assert (ROOT / path).exists(), row
        for target in re.findall(r"\bmake ([a-z-]+)", row.source):
            assert target in targets, row


def test_a_parameter_without_unit_or_source_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a unit and a source"):
        parameter(1.0, unit="s", source="")


def test_defaults_of_the_settings_are_those_of_the_parameters() -> None:
    settings = Settings()
    assert settings.lateness_s == DEFAULT_TIMING.lateness_s == Options().timing.lateness_s
    options = Options()
    assert (settings.strategy, settings.false_per_week) == (
        options.strategy,
        options.false_per_week,
    )
    runtime = {each.name: each.default for each in dataclasses.fields(RuntimeOptions)}
    assert runtime["timing"] == DEFAULT_TIMING
    assert runtime["strategy"] == options.strategy
    assert runtime["false_per_week"] == options.false_per_week
