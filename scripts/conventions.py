"""Checks the conventions that no linter knows: rooms, import circles, retired words, paths in docs.

    python scripts/conventions.py [FOLDER ...]

A room is a folder of Python files; it holds at most ``ROOM`` of them. No file may import itself
through others, also not inside a function. A retired word is one of ours for which the field has
its own; docs/glossary.md explains the few that stay. Prints a line per finding; exit code 1 when
there is one.
"""

from __future__ import annotations

import ast
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent.parent
PACKAGES: Final = (
    "schemas", "store", "controller", "probers", "streams", "localizer", "api", "notifier",
    "testbed", "evaluation", "skeletonhunter",
)  # fmt: skip
ROOM: Final = 12

#: Identifiers that are retired, and what the field says.
IDENTIFIERS: Final = {
    "Account": "SuppressionLog", "Aligner": "OutputMerger", "Asker": "ReplyHandler",
    "Background": "LossBaseline", "Blame": "Attribution", "Calendar": "MaintenanceWindows",
    "Case": "TrackedIncident", "Chosen": "Attribution", "Closed": "ClosedBatch",
    "Confluence": "OutputMerger", "Dead": "ScopeOutage", "Door": "UdpSocket", "Doors": "SocketPool",
    "Extent": "OffsetRange", "Findings": "LocalizerOutput", "Fleet": "SyntheticCluster",
    "Growing": "GrowableArray", "Hit": "Attribution", "House": "EmbeddedRuntime",
    "IncidentBook": "IncidentTracker", "Lane": "PartitionState", "Life": "LastSeen",
    "Outbox": "Batcher", "PartMaker": "SegmentBuilder", "Patience": "StallDetector",
    "PlaceCodes": "EndpointCodes", "Said": "CommandResult", "Shift": "LatencyDeviation",
    "Show": "DemoState", "Standing": "PartitionProgress", "Tally": "RecordCounts",
    "Told": "PValueRecord", "Wish": "PlanRequest", "Woven": "FactoredIncidence",
    "surer": "should_replace", "told": "reported", "untold": "suppressed",
}  # fmt: skip

#: Words that are retired everywhere: parts of identifiers, comments, docs, messages.
WORDS: Final = {
    "crowd": "peer group", "crowds": "peer groups", "surety": "issue-type update",
    "deadman": "scope outage", "localise": "localize", "localised": "localized",
    "localiser": "localizer", "localisers": "localizers", "localising": "localizing",
    "confluence": "output merger", "woven": "factored incidence", "blueprints": "fabric sources",
    "untold": "suppressed", "outbox": "producer, batcher",
    "nobody": "no sender, no component: name the subject",
}  # fmt: skip

_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PATH: Final = re.compile(
    rf"(?<![\w./-])(?:{'|'.join(PACKAGES)}|tests|scripts|docs)/[\w/]+\.(?:py|md|toml)"
)
_TEST: Final = re.compile(r"\btest_\w+\.py")
_TEXTS: Final = (".md", ".toml", ".yml", ".yaml", ".sh", ".html", ".js", ".css", ".sql")
#: Figures of past runs, names of other projects, and the list of the words themselves.
_LEFT_OUT: Final = (
    "docs/scorecard", "docs/glossary.md", "scripts/conventions.py", "api/page/vendor",
)  # fmt: skip


def main(folders: list[str]) -> int:
    """Checks the repository, or some folders of it; returns the exit code."""
    wanted = [HERE / folder for folder in folders] or [HERE]
    found = [*rooms(wanted), *circles(wanted), *words(wanted), *paths(wanted)]
    print("\n".join(found) or "conventions: nothing found")
    return 1 if found else 0


def files(wanted: list[Path], *suffixes: str) -> list[Path]:
    """Files of the repository with such a suffix, caches and environments left out."""
    return sorted(
        path
        for folder in wanted
        for path in folder.rglob("*")
        if path.suffix in suffixes
        and not any(part.startswith(".") or part == "var" for part in path.relative_to(HERE).parts)
        and not str(path.relative_to(HERE)).startswith(_LEFT_OUT)
    )


def rooms(wanted: list[Path]) -> Iterator[str]:
    """Folders with more Python files than a reader keeps in mind."""
    count = Counter(path.parent for path in files(wanted, ".py"))
    for folder, number in sorted(count.items()):
        if number > ROOM:
            yield f"{folder.relative_to(HERE)}/: {number} Python files, at most {ROOM}: split it"


def circles(wanted: list[Path]) -> Iterator[str]:
    """Groups of modules that import each other."""
    paths = [path for path in files([HERE], ".py") if path.relative_to(HERE).parts[0] in PACKAGES]
    modules = {_module(path): path for path in paths}
    edges = {name: _imports(path, modules) - {name} for name, path in modules.items()}
    for group in _cycles(edges):
        if any(modules[name].is_relative_to(folder) for name in group for folder in wanted):
            yield f"import circle: {', '.join(sorted(group))}"


def _module(path: Path) -> str:
    return ".".join(path.relative_to(HERE).with_suffix("").parts).removesuffix(".__init__")


def _imports(path: Path, modules: dict[str, Path]) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= inner & modules.keys() or {node.module}
    return found & modules.keys()


def _cycles(edges: dict[str, set[str]]) -> Iterator[set[str]]:
    """Strongly connected components of more than one node, by reachability."""
    reach = {name: _reachable(name, edges) for name in edges}
    seen: set[str] = set()
    for name in edges:
        group = {other for other in reach[name] if name in reach[other]}
        if len(group) > 1 and name not in seen:
            seen |= group
            yield group


def _reachable(start: str, edges: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    open_nodes = [start]
    while open_nodes:
        new = edges[open_nodes.pop()] - found
        found |= new
        open_nodes += new
    return found


def words(wanted: list[Path]) -> Iterator[str]:
    """Retired words, with file and line."""
    for path in files(wanted, ".py"):
        with path.open("rb") as source:
            for token in tokenize.tokenize(source.readline):
                yield from _of_token(path.relative_to(HERE), token)
    for path in files(wanted, *_TEXTS):
        for number, line in enumerate(path.read_text().split("\n"), 1):
            yield from _of_text(path.relative_to(HERE), number, line)


def paths(wanted: list[Path]) -> Iterator[str]:
    """Files of ours that a page or a comment names and that do not exist."""
    tests = {path.name for path in files([HERE / "tests"], ".py")}
    for source in files(wanted, ".py", *_TEXTS):
        for number, line in enumerate(source.read_text().split("\n"), 1):
            for named in _PATH.findall(line):
                if not (HERE / named).exists():
                    yield f"{source.relative_to(HERE)}:{number}: {named} does not exist"
            for named in _TEST.findall(line) if source.suffix == ".md" else ():
                if named not in tests:
                    yield f"{source.relative_to(HERE)}:{number}: no test file is named {named}"


def _of_token(path: Path, token: tokenize.TokenInfo) -> Iterator[str]:
    line = token.start[0]
    if token.type == tokenize.NAME and token.string in IDENTIFIERS:
        yield f"{path}:{line}: {token.string}: {IDENTIFIERS[token.string]}"
    if token.type in (tokenize.NAME, tokenize.COMMENT, tokenize.STRING):
        for more, text in enumerate(token.string.split("\n")):
            yield from _of_text(path, line + more, text)


def _of_text(path: Path, number: int, text: str) -> Iterator[str]:
    for word in {each.lower() for each in _WORD.findall(text)} & WORDS.keys():
        yield f"{path}:{number}: {word}: {WORDS[word]}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
