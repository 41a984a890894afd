"""A group of commands that are imported when they are run, so that `sparring --help` answers at once."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import click

from sparring.errors import nearest

__all__ = ["LazyCommand", "LazyGroup"]


@dataclass(frozen=True, slots=True)
class LazyCommand:
    """Where a command is, and its line in the list of commands."""

    target: str
    """`module:attribute` of the click command."""
    summary: str


class LazyGroup(click.Group):
    """Knows its commands by name and summary only; an unknown name is answered with those most like it."""

    def __init__(self, *args: Any, lazy: Mapping[str, LazyCommand], **options: Any) -> None:  # noqa: ANN401 - click's
        super().__init__(*args, **options)
        self._lazy = dict(lazy)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order they were given."""
        del ctx
        return list(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports the command; None if there is none of this name."""
        del ctx
        if cmd_name not in self._lazy:
            return None
        module, _, attribute = self._lazy[cmd_name].target.partition(":")
        command = getattr(importlib.import_module(module), attribute)
        if not isinstance(command, click.Command):
            raise AssertionError(f"{self._lazy[cmd_name].target} is a {type(command).__name__}, not a click command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click's, with the nearest names."""
        name = args[0]
        if name not in self._lazy and not name.startswith("-"):
            like = nearest(name, self._lazy)
            hint = f"did you mean {' or '.join(like)}?" if like else f"commands: {', '.join(self._lazy)}"
            raise click.UsageError(f"there is no command {name!r}\n  {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.summary) for name, command in self._lazy.items()])
