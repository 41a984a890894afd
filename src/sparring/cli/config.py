"""`sparring config`: settings shown with where each came from, every key there is, and a schema for editors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparring.cli.console import printable
from sparring.cli.run_options import ConfigFiles, given_settings, tell_older, with_run_options, world_and_file

if TYPE_CHECKING:
    from sparring.cli.settings_options import Origins
    from sparring.settings import RunSettings

__all__ = ["config", "print_effective"]

_WIDTH = 72


@click.group()
def config() -> None:
    """Look into settings."""


@config.command()
@click.argument("world", metavar="WORLD|CONFIG")
@with_run_options
def show(
    *,
    world: str,
    config: Path | None,
    curriculum: Path | None,
    sampler: Path | None,
    sets: tuple[str, ...],
    **arguments: Any,  # noqa: ANN401 - the options of `run_options`, by name
) -> None:
    """Print every value `sparring train` would use with the same arguments, and where it comes from."""
    tell_older(arguments)
    name, config = world_and_file(world, config)
    if name is not None:
        from sparring.worlds.registry import find_world  # noqa: PLC0415

        find_world(name)
    from sparring.cli.settings_options import new_run_settings  # noqa: PLC0415 - brings in pydantic

    files = ConfigFiles(config, curriculum, sampler)
    settings, origins = new_run_settings(name, config=files, given=given_settings(arguments), sets=sets)
    for path, value in _leaves(settings):
        line = f"{'.'.join(map(str, path))} = {json.dumps(value, ensure_ascii=False)}"
        click.echo(printable(f"{line:<{_WIDTH}}  {origins.get(path, 'default')}"))


@config.command()
def schema() -> None:
    """Print the JSON Schema of settings files, with which editors complete keys and mark mistakes."""
    from sparring.settings.reference import json_schema  # noqa: PLC0415

    click.echo(json.dumps(json_schema(), indent=2))


@config.command()
def keys() -> None:
    """Print every key of settings files with its default and meaning, as Markdown."""
    from sparring.settings.reference import key_tables  # noqa: PLC0415

    click.echo(key_tables(), nl=False)


def print_effective(settings: RunSettings, origins: Origins) -> None:
    """Prints settings as a settings file, each value that is no default with where it came from."""
    from sparring.runs.configuration import configuration_text  # noqa: PLC0415

    click.echo(printable(configuration_text(settings, origins)), nl=False)


def _leaves(settings: RunSettings) -> list[tuple[tuple[str | int, ...], Any]]:
    """Every value by its path, in the order of the model."""

    def below(node: Any, path: tuple[str | int, ...]) -> list[tuple[tuple[str | int, ...], Any]]:  # noqa: ANN401
        if isinstance(node, dict) and node:
            return [leaf for key, value in node.items() for leaf in below(value, (*path, key))]
        return [(path, node)]

    return below(settings.model_dump(mode="json"), ())
