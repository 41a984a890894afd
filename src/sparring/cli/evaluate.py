"""`sparring evaluate` and `sparring export`: what can be done with a run that exists."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:  # the policy brings in torch
    from sparring.networks.policy import Policy
    from sparring.settings import RunSettings

__all__ = ["evaluate", "export", "stored_policies"]


@click.command(short_help="Repeat the table of results of a run.")
@click.argument("run")
@click.option("--results-dir", default="results", show_default=True, help="Folder of all runs.")
@click.option("--from", "checkpoint", metavar="STEP|best", help="Evaluate this checkpoint.  [default: the newest]")
@click.option("--matches", type=click.IntRange(min=1), help="Matches a row.")
def evaluate(*, run: str, results_dir: str, checkpoint: str | None, matches: int | None) -> None:
    """Play the policies of RUN, a run's name or folder, against random play and against their earlier selves."""
    from sparring.cli.train import checkpoint_choice, interrupts  # noqa: PLC0415

    which = checkpoint_choice(checkpoint)
    settings = _settings_of(run, results_dir, () if matches is None else (f"evaluation.matches={matches}",))
    from rich.console import Console  # noqa: PLC0415

    from sparring.cli.display import TrainingDisplay, print_report  # noqa: PLC0415 - a refusal is free of torch
    from sparring.training.session import evaluate_run  # noqa: PLC0415

    console = Console()
    with interrupts(console) as stop, TrainingDisplay(console) as display:
        report = evaluate_run(settings, observer=display, checkpoint=which, should_stop=stop.is_asked)
    print_report(console, report)


@click.command(short_help="Write the models of a run.")
@click.argument("run")
@click.option("--results-dir", default="results", show_default=True, help="Folder of all runs.")
@click.option("--from", "checkpoint", metavar="STEP|best", help="Export this checkpoint.  [default: the newest]")
@click.option(
    "--onnx-opset",
    type=click.IntRange(9, 20),
    help="Operator set; 9 loads in every Unity version.  [default: the run's]",
)
def export(*, run: str, results_dir: str, checkpoint: str | None, onnx_opset: int | None) -> None:
    """Write the models of RUN, a run's name or folder, from a checkpoint, and prove them against the policies."""
    from sparring.cli.train import checkpoint_choice  # noqa: PLC0415

    which = checkpoint_choice(checkpoint)
    settings = _settings_of(run, results_dir, () if onnx_opset is None else (f"export_settings.opset={onnx_opset}",))
    from rich.console import Console  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    from sparring.cli.display import TrainingDisplay  # noqa: PLC0415 - a refusal is free of torch
    from sparring.training.session import export_run  # noqa: PLC0415

    console = Console()
    with TrainingDisplay(console) as display:
        report = export_run(settings, observer=display, checkpoint=which)
    for model in report.models:
        console.print(Text(f"model: {model}"), soft_wrap=True)


def stored_policies(run: str, results_dir: str, checkpoint: str | None) -> dict[str, Policy | None]:
    """The policies of a run's checkpoint by behavior name, on the CPU."""
    from sparring.cli.train import checkpoint_choice  # noqa: PLC0415

    which = checkpoint_choice(checkpoint)
    settings = _settings_of(run, results_dir, ())
    from sparring.training.session import policies_of_run  # noqa: PLC0415 - a refusal is free of torch

    return policies_of_run(settings, checkpoint=which)


def _settings_of(run: str, results_dir: str, sets: tuple[str, ...]) -> RunSettings:
    """The settings of a run that is there; whether it is is asked before anything is loaded that takes long."""
    from sparring.runs import RunFolder  # noqa: PLC0415

    results_dir, run = _place(run, results_dir)
    RunFolder.existing(results_dir, run)
    from sparring.cli.settings_options import stored_settings  # noqa: PLC0415 - brings in pydantic

    settings, _ = stored_settings(results_dir, run, sets=sets)
    return settings


def _place(run: str, results_dir: str) -> tuple[str, str]:
    """Results folder and run id; RUN may also be the path of a run's folder."""
    path = Path(run)
    if path.is_dir() and (len(path.parts) > 1 or not (Path(results_dir) / run).is_dir()):
        return str(path.resolve().parent), path.resolve().name
    return results_dir, run
