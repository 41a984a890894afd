"""How the command line speaks: results on stdout, everything else on stderr, and no control characters in a pipe."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from sparring.errors import RunError, SettingsError, SparringError

if TYPE_CHECKING:  # rich takes as long to import as all of `sparring --help`
    from rich.console import Console

__all__ = ["console", "print_error", "printable", "survive_any_encoding"]


def console(*, stderr: bool = False) -> Console:
    """A console that leaves texts as they are: no markup, no guessing of colors, no breaking of long lines."""
    from rich.console import Console  # noqa: PLC0415

    return Console(stderr=stderr, markup=False, highlight=False, emoji=False, soft_wrap=True)


def print_error(error: SparringError) -> None:
    """Prints every finding of a mistake, and how many there are if there are several."""
    from rich.text import Text  # noqa: PLC0415

    out = console(stderr=True)
    for finding in error.findings:
        head, _, cure = printable(str(finding)).partition("\n")
        out.print(Text(head, style="bold red"))
        if cure:
            out.print(Text(cure))
    if len(error.findings) > 1:
        has_begun = not isinstance(error, (SettingsError, RunError))
        out.print(Text(f"{len(error.findings)} mistakes{'.' if has_begun else '; nothing was started.'}"))


def printable(text: str) -> str:
    """The text with its control characters spelled out: a name from a file must not steer the terminal."""
    return "".join(
        character if character.isprintable() or character in "\n\t" else character.encode("unicode_escape").decode()
        for character in text
    )


def survive_any_encoding() -> None:
    """Lets a terminal or file that cannot show a character show its number instead of ending the program."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
