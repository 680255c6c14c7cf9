"""SQL from people -> bytes of a result, and nothing else: one SELECT over our tables, bounded.

A statement is parsed by the engine itself (``formatQuerySingleLine``, ``EXPLAIN AST``) and refused
unless every node of its syntax tree is known to be harmless: no settings, no files, no network, no
tables but ours and a few descriptions in ``system``, no functions that look outside of values. The
engine then runs it with limits, read-only. Where the store has a user for people (``skeletonhunter
migrate reader``), that user's rights hold as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from store.client import Store, StoreError, StoreRefused
from store.statement_errors import ONLY_SELECT, for_author

#: Format of a result -> its media type.
FORMATS: Final = {
    "JSON": "application/json", "JSONCompact": "application/json",
    "JSONEachRow": "application/x-ndjson", "CSVWithNames": "text/csv",
    "TabSeparatedWithNames": "text/tab-separated-values",
    "TabSeparated": "text/tab-separated-values", "CSV": "text/csv",
    "Parquet": "application/vnd.apache.parquet",
    "ArrowStream": "application/vnd.apache.arrow.stream",
    "Arrow": "application/vnd.apache.arrow.file", "Native": "application/octet-stream",
}  # fmt: skip
#: Longest statement [characters].
LONGEST: Final = 32 * 1024
_SYSTEM: Final = frozenset({
    "system.columns", "system.databases", "system.functions", "system.numbers", "system.one",
    "system.parts", "system.settings", "system.tables",
})  # fmt: skip
_TABLE_FUNCTIONS: Final = frozenset({
    "numbers", "numbers_mt", "zeros", "values", "generateseries", "generate_series", "null",
})  # fmt: skip
#: Categories of functions that compute from their arguments only, as system.functions has them.
_CATEGORIES: Final = frozenset({
    "Aggregate Functions", "Arithmetic", "Arrays", "Bit", "Bitmap", "Comparison", "Conditional",
    "Dates and Times", "Distance", "Encoding", "Financial", "Hash", "IP Address", "JSON", "Logical",
    "Map", "Mathematical", "Null", "Random Number", "Rounding", "String", "String Replacement",
    "String Search", "String Splitting", "Time Window", "Tuple", "Type Conversion", "URL", "UUID",
    "Window Functions", "Set Membership", "Nullable",
})  # fmt: skip
#: Functions of other categories that do so too.
_FUNCTIONS: Final = frozenset({
    "_cast", "bar", "bytesize", "casewithexpression", "currentdatabase", "digits", "countdigits",
    "exists", "finalizeaggregation", "formatreadablequantity", "formatreadablesize",
    "formatreadabletimedelta", "formatreadabledecimalsize", "grouping", "identity", "ignore",
    "isconstant", "lambda", "materialize", "neighbor", "rownumberinallblocks", "runningdifference",
    "tocolumntypename", "totypename", "timezone", "transform", "untuple", "version",
    "visiblewidth",
})  # fmt: skip
_NODES: Final = frozenset({
    "ArrayJoin", "Asterisk", "CollateExpression", "ColumnsExceptTransformer", "ColumnsListMatcher",
    "ColumnsRegexpMatcher", "ColumnsReplaceTransformer", "ColumnsReplaceTransformer::Replacement",
    "ColumnsTransformerList", "DescribeQuery", "ExpressionList", "Function", "Identifier",
    "InterpolateElement", "Literal", "OrderByElement", "Pair", "QualifiedAsterisk",
    "QualifiedColumnsListMatcher", "QualifiedColumnsRegexpMatcher", "SampleRatio",
    "SelectIntersectExceptQuery", "SelectQuery", "SelectWithUnionQuery", "Subquery",
    "TableExpression", "TableIdentifier", "TableJoin", "TablesInSelectQuery",
    "TablesInSelectQueryElement", "WindowDefinition", "WindowListElement", "WithElement",
})  # fmt: skip
_COMBINATORS: Final = re.compile(
    r"(if|array|map|simplestate|state|merge|mergestate|foreach|distinct|ordefault|ornull|resample"
    r"|argmin|argmax)+"
)
_LINE: Final = re.compile(r"( *)([A-Za-z_][\w:]*)(?: (.*))?")
#: Errors that tell of a bound rather than of a database that is ill: time, memory, read-only.
_LIMIT: Final = re.compile(r"Code: (159|241|164)\b")
_FORMAT: Final = re.compile(r" FORMAT (\w+)$")


class SqlRefused(StoreError):
    """The statement may not run, or has an error; the text is for its author."""


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """What one statement may use.

    seconds       that it runs
    result_rows   of its result; more are an error, not a part
    result_bytes  of its result
    read_rows     that it reads
    memory_bytes  that it holds
    threads       that it uses
    """

    seconds: int = 10
    result_rows: int = 100_000
    result_bytes: int = 64 * 1024 * 1024
    read_rows: int = 2_000_000_000
    memory_bytes: int = 1024 * 1024 * 1024
    threads: int = 2

    def settings(self) -> dict[str, int | str]:
        """The engine's settings."""
        return {
            "max_execution_time": self.seconds, "max_result_rows": self.result_rows,
            "max_result_bytes": self.result_bytes, "max_rows_to_read": self.read_rows,
            "max_memory_usage": self.memory_bytes, "max_threads": self.threads,
            "result_overflow_mode": "throw", "read_overflow_mode": "throw",
            "timeout_overflow_mode": "throw",
        }  # fmt: skip


class ReadOnlySql:
    """Runs statements of people on a store, which nothing else should use at the same time."""

    def __init__(self, store: Store, limits: ReadLimits | None = None) -> None:
        self._store = store
        self._limits = limits or ReadLimits()
        self._functions: dict[str, str] | None = None
        self._database = ""
        self._is_read_only = False

    @property
    def longest_s(self) -> float:
        """After this time a statement has ended or will not be waited for [s]."""
        return self._limits.seconds + 5.0

    def query(
        self, sql: str, parameters: Mapping[str, str] | None = None, form: str = "JSON"
    ) -> tuple[bytes, str]:
        """Result of one SELECT or DESCRIBE, and its media type; raises SqlRefused, StoreError.

        sql         may end with FORMAT, which is used instead of ``form``
        parameters  values of ``{name:Type}``
        """
        statement, named = self.checked(sql, parameters)
        form = named or form
        if form not in FORMATS:
            raise SqlRefused(f"format {form[:40]} is not one of {', '.join(sorted(FORMATS))}")
        settings = self._limits.settings() | ({} if self._is_read_only else {"readonly": 1})
        listed = ", ".join(
            f"{name} = {value if isinstance(value, int) else repr(value)}"
            for name, value in settings.items()
        )
        if not statement.startswith("DESCRIBE"):
            statement += f" SETTINGS {listed}"
        try:
            return self._store.raw(statement, parameters, form), FORMATS[form]
        except StoreError as why:
            raise self._of_author(why) from why

    def checked(self, sql: str, parameters: Mapping[str, str] | None = None) -> tuple[str, str]:
        """The statement as the engine understands it, without FORMAT, and the format or "".

        Raises SqlRefused.
        """
        if len(sql) > LONGEST:
            raise SqlRefused(f"a statement may have {LONGEST} characters")
        self._learn()
        try:
            (row,) = self._store.rows(
                "SELECT formatQuerySingleLine({sql:String}) AS text", {"sql": sql.strip()}
            )
            text = str(row["text"])
            form = _FORMAT.search(text)
            statement = text if form is None else text[: form.start()]
            if not statement.startswith(("SELECT ", "WITH ", "DESCRIBE TABLE ", "(")):
                raise SqlRefused(ONLY_SELECT)
            tree = self._store.rows(f"EXPLAIN AST {statement}", parameters)
        except StoreRefused as why:
            raise self._of_author(why, sql) from why
        lines = "\n".join(str(next(iter(each.values()))) for each in tree).split("\n")
        self._check(lines)
        return statement, "" if form is None else form[1]

    def _learn(self) -> None:
        if self._functions is None:
            (row,) = self._store.rows(
                "SELECT currentDatabase() AS name, getSetting('readonly') AS readonly"
            )
            self._database, self._is_read_only = str(row["name"]), bool(int(row["readonly"]))
            rows = self._store.rows(
                "SELECT lower(name) AS name, lower(alias_to) AS alias, is_aggregate AS aggregate,"
                " toString(categories) AS category FROM system.functions"
            )
            category = {
                row["name"]: "Aggregate Functions" if row["aggregate"] else str(row["category"])
                for row in rows
            }
            self._functions = {
                row["name"]: category.get(row["alias"] or row["name"], "") for row in rows
            }

    def _check(self, lines: Iterable[str]) -> None:
        """Refuse a syntax tree with a node that is not known to be harmless."""
        above: list[str] = []
        for at, line in enumerate(lines):
            found = _LINE.fullmatch(line)
            if found is None or found[2] not in _NODES:
                what = line.split()[0] if line.split() else "an empty name"
                raise SqlRefused(_reason(what))
            depth, node = len(found[1]), found[2]
            value = (found[3] or "").partition(" (alias ")[0].partition(" (children ")[0]
            del above[depth:]
            parent = above[-1] if above else ""
            above.append(node)
            if depth == 1 and above[0] == "SelectWithUnionQuery" and at > 1:
                if node != "Identifier":  # the format, which the client sets
                    raise SqlRefused(_reason("INTO OUTFILE"))
            elif node == "TableIdentifier":
                self._check_table(value)
            elif node == "Identifier":
                self._check_identifier(value)
            elif node == "Function":
                self._check_function(value, is_table=parent == "TableExpression")

    def _check_table(self, name: str) -> None:
        database, dot, _ = name.rpartition(".")
        if dot and database != self._database and name.lower() not in _SYSTEM:
            raise SqlRefused(f"table {name[:100]} may not be read here")

    def _check_identifier(self, name: str) -> None:
        """A column, or a table on the right of IN."""
        first, dot, rest = name.partition(".")
        if dot and first.lower() in ("system", "information_schema"):
            table = f"{first}.{rest.partition('.')[0]}".lower()
            if table not in _SYSTEM:
                raise SqlRefused(f"table {table[:100]} may not be read here")
        elif dot and first != self._database:
            (row,) = self._store.rows(
                "SELECT count() AS n FROM system.databases WHERE name = {name:String}",
                {"name": first},
            )
            if row["n"]:
                raise SqlRefused(f"table {name[:100]} may not be read here")

    def _check_function(self, name: str, *, is_table: bool) -> None:
        known = self._functions or {}
        lower = name.lower()
        if is_table:
            allowed = lower in _TABLE_FUNCTIONS
        else:
            allowed = (
                lower in _FUNCTIONS or known.get(lower) in _CATEGORIES or _combined(lower, known)
            )
        if not allowed:
            raise SqlRefused(f"function {name[:100]} may not be used here")

    def _of_author(self, why: StoreError, unparsed: str = "") -> StoreError:
        """An error of the statement as its author sees it; other errors as they are.

        unparsed  the statement, where the engine may not have understood it
        """
        text = str(why).removeprefix(f"{self._store.name}: ")
        if not isinstance(why, StoreRefused) and not _LIMIT.search(text):
            return why
        return SqlRefused(for_author(text, unparsed))


def _combined(name: str, known: Mapping[str, str]) -> bool:
    """Whether a name is that of an aggregate function with combinators, as sumIf and uniqMerge."""
    return any(
        known.get(name[:end]) == "Aggregate Functions" and _COMBINATORS.fullmatch(name[end:])
        for end in range(2, len(name))
    )


def _reason(node: str) -> str:
    if node == "Set":
        return "SETTINGS may not be used here"
    return f"{node[:60]} may not be used here"
