"""A ``scontrol`` and a ``sinfo`` for PATH that record their arguments, and a cluster of nodes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[2] / "data/slurm"

#: Reads nodes.json, records its arguments as a JSON line, and changes a node as scontrol does.
_STUB = """\
#!{python}
import json, os, sys
folder, arguments = {folder!r}, sys.argv[1:]
with open(os.path.join(folder, "asked"), "a") as asked:
    asked.write(json.dumps([os.path.basename(sys.argv[0]), *arguments]) + "\\n")
path = os.path.join(folder, "nodes.json")
with open(path) as file:
    output = json.load(file)
if arguments[0] == "update":
    said = dict(word.split("=", 1) for word in arguments[1:])
    if os.path.exists(os.path.join(folder, "refuses")):
        sys.exit("slurm_update error: Access/permission denied")
    names = said["NodeName"].split(",")
    nodes = [each for each in output["nodes"] if each["name"] in names]
    assert len(nodes) == len(names)
    for node in nodes:
        if "State" not in said:
            node["features"] = said["AvailableFeatures"].split(",")
            node["active_features"] = said["ActiveFeatures"].split(",")
            continue
        flags = [each for each in node["state"] if each != "DRAIN"]
        node["state"] = [*flags, "DRAIN"] if said["State"] == "DRAIN" else flags
        node["reason"] = said.get("Reason", "")
    with open(path, "w") as file:
        json.dump(output, file)
else:
    print(json.dumps(output))
    if os.path.exists(path + ".next"):
        os.replace(path + ".next", path)
"""


class SlurmStub:
    """Executables in a folder for PATH, and what they were asked.

    output    what they print of the nodes, a file of tests/data/slurm
    """

    def __init__(self, folder: Path, output: str = "scontrol-25.11.json") -> None:
        self._folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir(parents=True)
        self.write(json.loads((DATA / output).read_text()))
        text = _STUB.replace("{python}", sys.executable).replace("{folder!r}", repr(str(folder)))
        for name in ("scontrol", "sinfo"):
            (self.bin / name).write_text(text)
            (self.bin / name).chmod(0o755)

    def write(self, output: dict[str, Any]) -> None:
        """Have the commands print this."""
        (self._folder / "nodes.json").write_text(json.dumps(output))

    def drain_after_next_look(self, name: str, reason: str) -> None:
        """Have somebody drain a node between two looks at it."""
        output = json.loads((self._folder / "nodes.json").read_text())
        (found,) = [each for each in output["nodes"] if each["name"] == name]
        found["state"], found["reason"] = [*found["state"], "DRAIN"], reason
        (self._folder / "nodes.json.next").write_text(json.dumps(output))

    def refuse(self) -> None:
        """Have scontrol refuse every update, as to a user without the right."""
        (self._folder / "refuses").touch()

    def without_scontrol_json(self) -> None:
        """Have scontrol know no ``--json``, as before Slurm 23.02."""
        (self.bin / "scontrol").write_text("#!/bin/sh\necho 'unrecognized option' >&2\nexit 1\n")

    def node(self, name: str) -> dict[str, Any]:
        """A node as it is now."""
        output = json.loads((self._folder / "nodes.json").read_text())
        (found,) = [each for each in output["nodes"] if each["name"] == name]
        return dict(found)

    def updates(self) -> list[list[str]]:
        """Arguments of each scontrol that changed, or was to change, something."""
        return [words for words in self.asked() if words[1] == "update"]

    def asked(self) -> list[list[str]]:
        """Arguments of every command, its name first."""
        path = self._folder / "asked"
        lines = path.read_text().splitlines() if path.exists() else []
        return [json.loads(line) for line in lines]
