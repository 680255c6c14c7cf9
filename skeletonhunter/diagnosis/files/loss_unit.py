"""Loss rates in percent -> one line that says so.

A record of a lost probe has a loss_rate of 100 in percent, and would be a dead letter; those of
answered probes have 0 and would be judged. The losses alone would be left out, and the result would
be "no incidents". So one such record makes the whole input unusable.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from schemas.wire.record_checks import NOT_A_SHARE
from skeletonhunter.diagnosis.files.column_map import UNMAPPED, ColumnMap
from skeletonhunter.errors import BadInput

_REASON: Final = re.compile(rf"\bloss_rate: (\S+) {re.escape(NOT_A_SHARE)}")


def check(name: str, reasons: Iterable[str], columns: ColumnMap | None) -> None:
    """Refuse a loss_rate above 1; raises BadInput, which names the value and what to do.

    name     of the file
    reasons  of its dead letters, as ``schemas.wire`` gives them
    columns  how the file names the columns, where it does not as ping records do
    """
    for reason in reasons:
        found = _REASON.search(reason)
        if found and float(found[1]) > 1:
            raise BadInput(
                f"{name}: loss_rate {found[1]} is no share of 0 to 1; if it is percent, write "
                f"{(columns or UNMAPPED).scaled('loss_rate', '0.01')} into a file for --columns, "
                "or divide the column by 100"
            )
