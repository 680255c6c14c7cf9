"""Text of a file, YAML or JSON -> declared jobs. Pure.

One job, an array of jobs, or several YAML documents. JSON is read as YAML, which contains it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import yaml

from controller.sources.declared import DeclaredJob
from schemas.documents.decoding import DocumentError, decode


class JobFileError(ValueError):
    """The file cannot be used; one line: where, what, what to do."""


def parse(text: str, where: str) -> list[DeclaredJob]:
    """The jobs of the text, at least one; raises JobFileError. where: for its message."""
    try:
        documents = list(yaml.safe_load_all(text))
    except yaml.YAMLError as why:
        raise JobFileError(f"{where}: neither YAML nor JSON: {_one_line(why)}") from why
    jobs = [_job(each, f"{where}, job {n}") for n, each in enumerate(_each(documents), 1)]
    if not jobs:
        raise JobFileError(f"{where}: no job; write one with job, fabric and containers or hosts")
    names: set[str] = set()
    for job in jobs:
        if job.job in names:
            raise JobFileError(f"{where}: job {job.job!r} appears twice; merge the entries")
        names.add(job.job)
    return jobs


def _each(documents: list[Any]) -> Iterator[Any]:
    for document in documents:
        if isinstance(document, list):
            yield from document
        elif document is not None:  # an empty document, as after a last ---
            yield document


def _job(found: Any, where: str) -> DeclaredJob:
    try:
        return decode(msgspec.json.encode(found), DeclaredJob)
    except (DocumentError, TypeError, RecursionError) as why:
        raise JobFileError(f"{where}: {why}") from why


def _one_line(why: yaml.YAMLError) -> str:
    """What and where, without the excerpt."""
    mark = getattr(why, "problem_mark", None)
    at = f"line {mark.line + 1}, column {mark.column + 1}: " if mark is not None else ""
    return at + (getattr(why, "problem", None) or str(why).splitlines()[0])
