"""The command `sparring`: which commands there are, and how mistakes leave the program.

Exit codes: 0 done, 1 something does not work (`doctor`), 2 a mistake that the person can mend, 130 interrupted.
A traceback is a bug of ours.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence

import click

from sparring._version import __version__
from sparring.cli._lazy import LazyCommand, LazyGroup
from sparring.cli.completion import VARIABLE
from sparring.cli.console import print_error, survive_any_encoding
from sparring.errors import SparringError

__all__ = ["main"]

_MISTAKE = 2
_INTERRUPTED = 130


@click.group(
    cls=LazyGroup,
    lazy={
        "train": LazyCommand("sparring.cli.train:train", "Train the agents of a world or a game."),
        "evaluate": LazyCommand("sparring.cli.evaluate:evaluate", "Play matches with trained policies."),
        "export": LazyCommand("sparring.cli.evaluate:export", "Write the models of a run."),
        "serve": LazyCommand("sparring.cli.serve:serve", "Serve a world to a trainer, as if it were a Unity build."),
        "worlds": LazyCommand("sparring.cli.worlds:worlds", "List the worlds that can be trained at once."),
        "record": LazyCommand("sparring.cli.record:record", "Record a demonstration in a world."),
        "demo": LazyCommand("sparring.cli.demo:demo", "Look into demonstrations."),
        "config": LazyCommand("sparring.cli.config:config", "Look into settings, and print their schema."),
        "upgrade-config": LazyCommand(
            "sparring.cli.upgrade_config:upgrade_config", "Convert a settings file of an older generation."
        ),
        "completion": LazyCommand("sparring.cli.completion:completion", "Print a script that completes in a shell."),
        "doctor": LazyCommand("sparring.cli.doctor:doctor", "Check the installation, piece by piece."),
    },
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="sparring", message="%(prog)s %(version)s")
@click.pass_context
def sparring(context: click.Context) -> None:
    """Trains game agents by playing them against themselves.

    Begin with: sparring train strikers_vs_goalie
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs one command and ends the process with its exit code."""
    survive_any_encoding()
    asked = os.environ.get(VARIABLE)
    if asked:
        sys.exit(_complete(asked))
    sys.exit(_run(arguments))


def _complete(instruction: str) -> int:
    """Answers a shell that asks what could follow."""
    from click.shell_completion import shell_complete  # noqa: PLC0415 - only a shell needs it

    return shell_complete(sparring, {}, "sparring", VARIABLE, instruction)


def _run(arguments: Sequence[str] | None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        # Not click's own `main`: it answers a closed pipe with exit code 1.
        with sparring.make_context("sparring", words) as context:
            sparring.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as left:
        return left.exit_code
    except SparringError as error:
        print_error(error)
        return _MISTAKE
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _INTERRUPTED
    except ImportError as error:
        return _broken_installation(error)
    except OSError as error:
        if error.errno != errno.EPIPE:
            raise
        # Whoever read our output has had enough (`sparring worlds | head -1`); Python would complain at exit too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _broken_installation(error: ImportError) -> int:
    """Names the package that cannot be loaded; one of our own modules that is missing is a bug."""
    missing = error.name or ""
    if missing.partition(".")[0] in {"", "sparring"}:
        raise error
    click.echo(
        f"the package {missing!r} cannot be loaded: {error}\n  see what is wrong with: sparring doctor", err=True
    )
    return _MISTAKE


if __name__ == "__main__":
    main()
