"""Settings of the command, from SKH_* variables: typed, frozen, read once by each command."""

from skeletonhunter.settings.declared import PREFIX
from skeletonhunter.settings.environment import (
    AGENT_VARIABLES,
    Examined,
    examine,
    is_secret,
    known,
    note_injected,
    read,
)
from skeletonhunter.settings.model import Settings

__all__ = [
    "AGENT_VARIABLES",
    "PREFIX",
    "Examined",
    "Settings",
    "examine",
    "is_secret",
    "known",
    "note_injected",
    "read",
]
