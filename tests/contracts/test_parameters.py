"""Every tunable figure has a unit and a source, and is listed by ``skeletonhunter params``."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import localizer
import schemas.parameters
import streams.windowing
from localizer.options import Options
from schemas.parameters.parameter import declares_parameters, parameter
from schemas.parameters.window_timing import DEFAULT_TIMING
from skeletonhunter.embedded.runtime import RuntimeOptions
from skeletonhunter.settings import Settings
from streams.parameters import groups, table

ROOT = Path(localizer.__file__).parent.parent
TABLE = table()


def dataclasses_with_parameters() -> Iterator[type]:
    """All of the packages that are tuned."""
    for package in (localizer, streams.windowing, schemas.parameters):
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
