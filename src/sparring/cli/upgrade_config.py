"""`sparring upgrade-config`: settings files of older generations, written in the current one."""

from __future__ import annotations

from pathlib import Path

import click

from sparring.cli.console import printable

__all__ = ["upgrade_config"]


@click.command(name="upgrade-config", short_help="Convert a settings file of an older generation.")
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--curriculum", type=click.Path(path_type=Path), help="Its curriculum file.")
@click.option("--sampler", type=click.Path(path_type=Path), help="Its sampler file.")
@click.option("--force", is_flag=True, help="Write over NEW if it exists.")
def upgrade_config(*, old: Path, new: Path, curriculum: Path | None, sampler: Path | None, force: bool) -> None:
    """Write the settings of OLD to NEW in the current form; comments stay where their keys stay.

    A file that is current already comes out as it is. What had to be left away is listed.
    """
    from sparring.errors import SettingsError  # noqa: PLC0415 - keeps `--help` fast
    from sparring.settings.converting import converted  # noqa: PLC0415

    if new.exists() and not force:
        raise SettingsError("the file exists already", where=str(new), cure="name another one, or give --force")
    content, notes = converted(old, curriculum=curriculum, sampler=sampler)
    new.write_bytes(content)
    for note in notes:
        click.echo(printable(note))
    click.echo(printable(f"{new}: written"))
