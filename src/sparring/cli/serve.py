"""`sparring serve`: put a built-in world behind the wire, as if it were a Unity build."""

from __future__ import annotations

import click

__all__ = ["serve"]


@click.command(
    short_help="Serve a world to a trainer, as if it were a Unity build.",
    # Only the long option asks for help: trainers give `-batchmode`, in which click would find an `-h`.
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": ["--help"]},
)
@click.argument("world")
@click.option(
    "--mlagents-port", "port", type=click.IntRange(1, 65535), required=True, help="Where the trainer listens."
)
@click.option("--num-areas", type=click.IntRange(min=1), help="Copies of the game.  [default: what the trainer asks]")
@click.pass_context
def serve(context: click.Context, *, world: str, port: int, num_areas: int | None) -> None:
    """Serve WORLD to the trainer that listens on a port of this machine; trainers add the port themselves.

    Options that only a Unity build knows are ignored, so that every trainer can start this command.
    """
    del context
    from sparring.academy import serve as serve_game  # noqa: PLC0415 - keeps `--help` free of gRPC
    from sparring.cli.console import printable  # noqa: PLC0415
    from sparring.environments import Environment  # noqa: PLC0415
    from sparring.worlds.registry import create_world, find_world  # noqa: PLC0415

    find_world(world)

    def make(seed: int, areas: int) -> Environment:
        return create_world(world, num_arenas=num_areas or areas, seed=max(0, seed), threads=1)

    exchanges = serve_game(make, port=port)
    click.echo(printable(f"{world}: the trainer left after {exchanges} exchanges"))
