"""Patterns of texts in parameters and bodies; ``api.answers.problems`` has them in words."""

from __future__ import annotations

from typing import Final

PATH_ID: Final = "^[0-9a-f]{16}$"
PRINTABLE: Final = r"^[^\x00-\x1f\x7f]+$"
