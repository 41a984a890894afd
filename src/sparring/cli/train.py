"""`sparring train`: train the agents of a world."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from sparring.runs import CheckpointChoice

__all__ = ["checkpoint_choice", "train"]


@click.command(short_help="Train the agents of a world.")
@click.argument("world")
@click.option("--config", type=click.Path(path_type=Path), help="Settings file, laid over the world's preset.")
@click.option("--run-id", help="Name of the run and its folder.  [default: the world's name]")
@click.option("--results-dir", default="results", show_default=True, help="Folder of all runs.")
@click.option("--resume", is_flag=True, help="Go on from the newest complete checkpoint.")
@click.option("--from", "resume_from", metavar="STEP|best", help="With --resume: go on from this checkpoint.")
@click.option("--force", is_flag=True, help="Move an existing run of this name aside and start anew.")
@click.option("--initialize-from", metavar="RUN_ID", help="Take over the weights of another run; counters start at 0.")
@click.option("--seed", type=click.IntRange(min=-1), help="Seed of every random stream; -1 draws one.")
@click.option("--max-steps", help="Steps every behavior learns.")
@click.option("--num-areas", type=click.IntRange(min=1), help="Copies of the game stepped together.")
@click.option("--torch-device", help="auto, cpu, cuda, cuda:N, mps or xpu.")
@click.option("--threads", type=click.IntRange(min=0), help="Threads of the arithmetic; 0: what the machine has.")
@click.option("--matches", type=click.IntRange(min=0), help="Matches a row of the final table; 0: no table.")
@click.option("--onnx-opset", type=click.IntRange(9, 20), help="Of the models; 9 loads in every Unity version.")
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Set one value of the settings, a.b=c.")
@click.option("--verbose", is_flag=True, help="Also say when snapshots are saved and opponents drawn.")
def train(
    *,
    world: str,
    config: Path | None,
    run_id: str | None,
    results_dir: str,
    resume: bool,
    resume_from: str | None,
    force: bool,
    initialize_from: str | None,
    seed: int | None,
    max_steps: str | None,
    num_areas: int | None,
    torch_device: str | None,
    threads: int | None,
    matches: int | None,
    onnx_opset: int | None,
    sets: tuple[str, ...],
    verbose: bool,
) -> None:
    """Train the agents of WORLD by self-play, and write a run folder, a rating and models.

    Ctrl-C once finishes the step, saves, exports and leaves; twice leaves at once, with the last checkpoint intact.
    """
    from sparring.cli.display import TrainingDisplay, print_report  # noqa: PLC0415 - keeps `--help` free of torch
    from sparring.cli.settings_options import new_run_settings, stored_settings  # noqa: PLC0415
    from sparring.errors import SettingsError  # noqa: PLC0415

    if resume and force:
        raise SettingsError("--resume and --force contradict each other", cure="give one of them")
    if resume and initialize_from:
        raise SettingsError("--resume and --initialize-from contradict each other", cure="give one of them")
    if resume_from and not resume:
        raise SettingsError("--from needs --resume")
    overrides = _overrides(
        checkpoint_settings={
            "run_id": run_id,
            "results_dir": results_dir,
            "resume": resume,
            "force": force,
            "initialize_from": initialize_from,
        },
        env_settings={"seed": seed, "num_areas": num_areas},
        torch_settings={"device": torch_device, "threads": threads},
        evaluation={"matches": matches},
        export_settings={"opset": onnx_opset},
    )
    if resume:
        name = run_id or world
        settings, origins = stored_settings(results_dir, name, overrides=overrides, sets=sets, max_steps=max_steps)
    else:
        settings, origins = new_run_settings(world, config=config, overrides=overrides, sets=sets, max_steps=max_steps)
    which = checkpoint_choice(resume_from)
    console = Console()
    console.print(Text("starting (loading torch takes a moment) …", style="dim"))
    from sparring.training.session import run_training  # noqa: PLC0415 - after the first line is on the screen

    with _interrupts(console) as stop, TrainingDisplay(console, is_verbose=verbose) as display:
        report = run_training(settings, observer=display, should_stop=stop.is_asked, resume_from=which, origins=origins)
    if report.was_interrupted:
        console.print(Text(f"stopped; go on with: sparring train {world} --resume", style="yellow"))
    print_report(console, report)


def checkpoint_choice(text: str | None) -> CheckpointChoice:
    """Which checkpoint an option names: a step, `best`, or the newest."""
    from sparring.errors import SettingsError  # noqa: PLC0415

    if text is None or text == "newest":
        return "newest"
    if text == "best":
        return "best"
    digits = text.replace("_", "").replace(",", "")
    if not digits.isdigit():
        raise SettingsError("this is no checkpoint", where="--from", found=text, expected="a step, best or newest")
    return int(digits)


def _overrides(**sections: dict[str, Any]) -> dict[str, Any]:
    """The options that were given, as a tree of settings."""
    given = {name: {key: value for key, value in keys.items() if value is not None} for name, keys in sections.items()}
    return {name: keys for name, keys in given.items() if keys}


class _Stop:
    """Whether somebody asked the run to stop."""

    def __init__(self) -> None:
        self.asked = False

    def is_asked(self) -> bool:
        return self.asked


@contextmanager
def _interrupts(console: Console) -> Iterator[_Stop]:
    """Makes the first interrupt ask politely and the second leave at once."""
    stop = _Stop()

    def ask(number: int, frame: FrameType | None) -> None:
        del number, frame
        if stop.asked:
            raise KeyboardInterrupt
        stop.asked = True
        console.print(Text("stopping: finishing the step, saving, exporting …", style="yellow"))

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
