"""Links from one page of the documentation to another lead to a file and a heading that exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md"),
     *(ROOT / "k8s").glob("*.md"), *(ROOT / "grafana").glob("*.md")]
)  # fmt: skip
LINK = re.compile(r"\]\((?!https?://|mailto:)([^)#\s]*)(?:#([^)\s]*))?\)")


def prose(page: Path) -> Iterator[tuple[int, str]]:
    """Lines outside of code blocks, with their numbers."""
    code = False
    for number, line in enumerate(page.read_text().split("\n"), 1):
        fence = line.lstrip().startswith("```")
        code ^= fence
        if not code and not fence:
            yield number, line


@cache
def anchors(page: Path) -> set[str]:
    """What GitHub makes of the headings; a heading that repeats gets a number."""
    found: set[str] = set()
    for _, line in prose(page):
        if heading := re.match(r"#{1,6} +(.*)", line):
            words = re.sub(r"[^\w\- ]", "", heading[1].strip().lower()).replace(" ", "-")
            repeats = sum(1 for each in found if re.fullmatch(rf"{re.escape(words)}(-\d+)?", each))
            found.add(f"{words}-{repeats}" if repeats else words)
        found |= set(re.findall(r'<a (?:id|name)="([^"]+)"', line))
    return found


def broken(page: Path) -> list[str]:
    """Links of a page that lead nowhere."""
    out = []
    for number, line in prose(page):
        for name, anchor in LINK.findall(line):
            target = page.parent / name if name else page
            if not target.exists():
                out.append(f"{page.name}:{number}: {name} does not exist")
            elif anchor and target.suffix == ".md" and anchor not in anchors(target):
                out.append(f"{page.name}:{number}: {name} has no heading #{anchor}")
    return out


def test_links_lead_to_files_and_headings_that_exist() -> None:
    assert [each for page in PAGES for each in broken(page)] == []


def test_a_link_to_a_heading_that_does_not_exist_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A (`b/c/`)\n[x](#a-bc) [y](#a)\n```\n[z](#z)\n```\n[f](absent.md)\n")
    assert broken(page) == ["page.md:2:  has no heading #a", "page.md:6: absent.md does not exist"]
