"""`sparring completion`: what a shell needs to complete commands and options."""

from __future__ import annotations

import click

__all__ = ["VARIABLE", "completion"]

VARIABLE = "_SPARRING_COMPLETE"
"""Set by the shell when it asks for completions."""


@click.command(short_help="Print a script that completes commands in a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, *, shell: str) -> None:
    """Print a script for SHELL; in bash: eval "$(sparring completion bash)"."""
    from click.shell_completion import get_completion_class  # noqa: PLC0415 - keeps `--help` fast

    kind = get_completion_class(shell)
    assert kind is not None, shell
    click.echo(kind(context.find_root().command, {}, "sparring", VARIABLE).source())
