"""Every error Sparring raises on purpose, as one tree.

A `SparringError` is a mistake that the person at the keyboard can mend: the command line prints it without a
traceback and exits with 2. Anything else that escapes is a bug of ours and keeps its traceback.

    SparringError
    ├── SpecError           shapes, dtypes or sizes that do not fit the declared specs
    ├── SettingsError       a value or name in a file or on the command line
    ├── RunError            a run folder that exists, is missing or is in use
    │   └── CheckpointError a checkpoint that is damaged, non-finite or of another shape
    ├── NonFiniteError      a NaN or infinity in an observation, a reward or a weight
    ├── GameError           a game that ended, answered wrongly or broke its contract
    │   └── WireError       bytes that are no message, or none that may come there
    └── ExportError         a model that could not be written or does not match its policy
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = [
    "CheckpointError",
    "ExportError",
    "Finding",
    "GameError",
    "NonFiniteError",
    "RunError",
    "SettingsError",
    "SparringError",
    "SpecError",
    "WireError",
    "nearest",
]


@dataclass(frozen=True, slots=True)
class Finding:
    """One mistake: what happened, where, what was found, what is allowed and how to mend it.

    Only `what` is required; empty parts are left out of the message.
    """

    what: str
    where: str = ""
    found: str = ""
    expected: str = ""
    cure: str = ""

    def __str__(self) -> str:
        head = f"{self.where}: {self.what}" if self.where else self.what
        if self.found:
            head += f"; found {self.found}"
        if self.expected:
            head += f", expected {self.expected}"
        return f"{head}\n  {self.cure}" if self.cure else head


class SparringError(Exception):
    """A mistake a person can mend; carries one finding or several known at once."""

    def __init__(
        self,
        what: str | Sequence[Finding],
        *,
        where: str = "",
        found: str = "",
        expected: str = "",
        cure: str = "",
    ) -> None:
        if isinstance(what, str):
            self.findings: tuple[Finding, ...] = (Finding(what, where, found, expected, cure),)
        else:
            self.findings = tuple(what)
        super().__init__("\n".join(str(finding) for finding in self.findings))


class SpecError(SparringError):
    """Data does not have the shape, dtype or size its spec declares."""


class SettingsError(SparringError):
    """A value or name in a settings file or on the command line is not valid."""


class RunError(SparringError):
    """A run folder exists already, is missing, or is in use."""


class CheckpointError(RunError):
    """A checkpoint is damaged, non-finite or does not fit the run."""


class NonFiniteError(SparringError):
    """A NaN or an infinity was found in an observation, a reward or a weight."""


class GameError(SparringError):
    """A game ended, answered wrongly or broke the contract of `Environment`."""


class WireError(GameError):
    """Bytes from the other side are malformed, or are no message that may come there."""


class ExportError(SparringError):
    """A model could not be written, or what was written does not match its policy."""


def nearest(name: str, known: Iterable[str], *, limit: int = 3) -> list[str]:
    """The known names most like `name`, best first; compares without case."""
    by_folded = {candidate.casefold(): candidate for candidate in known}
    close = difflib.get_close_matches(name.casefold(), by_folded, n=limit, cutoff=0.5)
    return [by_folded[folded] for folded in close]
