"""`sparring worlds`: which worlds there are."""

from __future__ import annotations

import click

from sparring.cli.console import printable

__all__ = ["worlds"]


@click.command()
def worlds() -> None:
    """List the worlds that can be trained at once, one a line."""
    from sparring.worlds.registry import available_worlds  # noqa: PLC0415 - imports NumPy

    offered = available_worlds()
    width = max((len(world.name) for world in offered), default=0)
    for world in offered:
        click.echo(printable(f"{world.name:<{width}}  {world.summary}").replace("\n", " "))
