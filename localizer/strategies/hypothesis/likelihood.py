"""How likely what was measured of some paths is, given what the culprits do to them. No I/O."""

from __future__ import annotations

from abc import ABC, abstractmethod

from localizer.evidence import F64, I64

#: Of ``split_atoms`` and ``mix_atoms``: 0 (loss) or 1 (latency), what was measured (R,) (R,),
#: three parameters.
Described = tuple[int, F64, F64, float, float, float]


class Likelihood(ABC):
    """Of R paths. Damage is what all culprits together do to a path."""

    @abstractmethod
    def log_f(self, rows: I64, damage: F64) -> F64:
        """(n, m) ln likelihood of some paths, were their damage so (n, m)."""

    def log_more(self, rows: I64, damage: F64, more: F64) -> F64:
        """(n, m, G) the same with ``more`` (G,) damage added to each."""
        atoms = damage[:, :, None] + more
        return self.log_f(rows, atoms.reshape(len(rows), -1)).reshape(atoms.shape)

    @abstractmethod
    def described(self) -> Described:
        """For the compiled helper, which computes the same (native/src/atoms.c)."""
