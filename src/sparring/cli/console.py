"""How the command line speaks: results on stdout, everything else on stderr, and no control characters in a pipe."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

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
    color = False if "NO_COLOR" in os.environ else None  # None: as the terminal can
    for finding in error.findings:
        head, _, cure = printable(str(finding)).partition("\n")
        click.secho(head, err=True, bold=True, fg="red", color=color)
        if cure:
            click.echo(cure, err=True)
    if len(error.findings) > 1:
        has_begun = not isinstance(error, (SettingsError, RunError))
        click.echo(f"{len(error.findings)} mistakes{'.' if has_begun else '; nothing was started.'}", err=True)


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
