"""`sparring doctor`: what is installed, what works, and a one-line cure for what does not."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from sparring.cli._checks import Check, all_checks
from sparring.cli.console import console, printable

__all__ = ["doctor"]

_STYLES = {"ok": "green", "note": "yellow", "broken": "bold red"}
_WIDTH = 20


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of lines.")
@click.option(
    "--results-dir",
    type=click.Path(path_type=Path),
    default=Path("results"),
    show_default=True,
    help="Folder whose disk and permissions are checked.",
)
@click.pass_context
def doctor(context: click.Context, *, as_json: bool, results_dir: Path) -> None:
    """Check the installation piece by piece; exits with 1 if something does not work."""
    checks = []
    for check in all_checks(results_dir):
        checks.append(check)
        if not as_json:
            _print_line(check)
    broken = sum(check.state == "broken" for check in checks)
    if as_json:
        click.echo(json.dumps({"ok": not broken, "checks": [asdict(check) for check in checks]}, indent=2))
    else:
        console().print(f"{broken} of {len(checks)} do not work." if broken else "Everything works.")
    context.exit(1 if broken else 0)


def _print_line(check: Check) -> None:
    from rich.text import Text  # noqa: PLC0415

    line = Text.assemble((f"{check.state:<7}", _STYLES[check.state]), f"{check.name:<{_WIDTH}}", printable(check.value))
    console().print(line)
    if check.cure:
        console().print(Text(f"       {'':<{_WIDTH}}{printable(check.cure)}"))
