"""`sparring demo`: what is in demonstrations."""

from __future__ import annotations

import click

from sparring.cli.console import printable

__all__ = ["demo"]

_WIDEST_BAR = 30


@click.group()
def demo() -> None:
    """Look into demonstrations."""


@demo.command()
@click.argument("paths", nargs=-1, required=True, metavar="FILE...")
def info(paths: tuple[str, ...]) -> None:
    """Tell episodes, steps, returns, actions and ends of demonstrations; a FILE may be a folder of them."""
    from sparring.algorithms.demonstrations import demonstration_files  # noqa: PLC0415 - imports torch
    from sparring.wire.demonstrations import read_demonstration  # noqa: PLC0415 - imports protobuf

    files = [file for path in paths for file in demonstration_files(path, where="FILE")]
    for file in files:
        recording = read_demonstration(file, keeps_whole_episodes=True)
        click.echo(printable(f"{file}"))
        for line in _lines(recording):
            click.echo(printable(f"  {line}"))


def _lines(recording: object) -> list[str]:
    from sparring.algorithms.demonstrations import summary_of  # noqa: PLC0415 - imports torch
    from sparring.wire.demonstrations import Demonstration  # noqa: PLC0415 - imports protobuf

    assert isinstance(recording, Demonstration), type(recording)
    found = summary_of(recording)
    lines = [
        f"behavior  {recording.behavior_name}, recorded as {recording.name!r}",
        f"sensors   {', '.join(f'{name} {shape}' for name, shape in found.sensors)}",
        f"actions   {found.actions}",
        f"steps     {found.steps} decisions in {len(recording)} records",
        (
            f"episodes  {len(found.returns)}: {found.ended} ended by the rules, {found.interrupted} interrupted, "
            f"{found.unfinished} unfinished"
        ),
    ]
    if found.ended + found.interrupted == 0:
        lines.append("          no end of an episode was recorded; it is taken as one unfinished episode")
    lines.append(f"returns   {', '.join(f'{value:g}' for value in found.returns)}")
    for title, counts in found.histograms:
        lines.append(f"{title}")
        most = max(*(count for _, count in counts), 1)
        lines += [f"  {label:>14}  {count:>7}  {'#' * round(_WIDEST_BAR * count / most)}" for label, count in counts]
    return lines
