"""``skeletonhunter params`` lists every parameter with value, unit and source."""

from __future__ import annotations

import json

from builders.command_line import Command

from skeletonhunter.parameters import table


def test_params_prints_a_line_for_each_parameter(command: Command) -> None:
    done = command("params")
    head, *lines = done.out.splitlines()
    assert done.code == 0
    assert head.split() == ["parameter", "value", "unit", "source"]
    assert [line.split()[0] for line in lines] == [row.name for row in table()]
    assert all(row.source in line for line, row in zip(lines, table(), strict=True))


def test_params_prints_json_with_value_unit_and_source(command: Command) -> None:
    found = json.loads(command("params", "--format", "json").out)
    assert len(found) == len(table())
    (lateness,) = [each for each in found if each["name"] == "localizer.timing.lateness_s"]
    assert (lateness["value"], lateness["unit"]) == (2.0, "s")
    assert lateness["source"]
