"""`sparring train`: train the agents of a world."""

from __future__ import annotations

import shlex
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from sparring.cli.run_options import (
    ConfigFiles,
    Given,
    given_settings,
    tell_older,
    with_run_options,
    world_and_file,
)
from sparring.errors import Finding, SettingsError
from sparring.user_code import run_name_of

if TYPE_CHECKING:
    from rich.console import Console

    from sparring.cli.settings_options import Origins
    from sparring.runs import CheckpointChoice
    from sparring.settings import RunSettings

__all__ = ["checkpoint_choice", "interrupts", "train"]

_RESUME = ("checkpoint_settings", "resume")
_GAME = ("env_settings", "env_path")


@click.command(short_help="Train the agents of a world.")
@click.argument("world", metavar="[WORLD|CONFIG]", required=False)
@with_run_options
@click.option(
    "--from",
    "resume_from",
    metavar="STEP|best",
    help="With --resume: go on from this checkpoint; steps of all behaviors together.",
)
@click.option("--dry-run", is_flag=True, help="Print the settings as they would be used, and stop.")
@click.option("--verbose", is_flag=True, help="As --debug.")
def train(
    *,
    world: str | None,
    config: Path | None,
    curriculum: Path | None,
    sampler: Path | None,
    resume_from: str | None,
    sets: tuple[str, ...],
    dry_run: bool,
    verbose: bool,
    **arguments: Any,  # noqa: ANN401 - the options of `run_options`, by name
) -> None:
    """Train the agents of WORLD by self-play, and write a run folder, a rating and models.

    With a settings file in WORLD's place the game is the one of --env, and without that the Unity editor.

    Ctrl-C once finishes the step, saves, exports and leaves; twice leaves at once, with the last checkpoint intact.
    """
    tell_older(arguments)
    world, config = world_and_file(world, config)
    given = given_settings(arguments)
    files = ConfigFiles(config, curriculum, sampler)
    which = checkpoint_choice(resume_from)
    settings, origins = _settings(world, files, given, sets, resume_from=resume_from, is_tried=dry_run)
    if dry_run:
        from sparring.cli.config import print_effective  # noqa: PLC0415

        print_effective(settings, origins)
        return
    from rich.console import Console  # noqa: PLC0415 - a refusal is told without
    from rich.text import Text  # noqa: PLC0415

    console = Console()
    console.print(Text("starting (loading torch takes a moment) …", style="dim"))
    # Only now: a refusal does not wait for torch, and the first line is on the screen.
    from sparring.cli.display import TrainingDisplay, print_report  # noqa: PLC0415
    from sparring.training.session import run_training  # noqa: PLC0415

    with interrupts(console) as stop, TrainingDisplay(console, is_verbose=verbose or settings.debug) as display:
        report = run_training(settings, observer=display, should_stop=stop.is_asked, resume_from=which, origins=origins)
    if report.was_interrupted:
        console.print(Text(f"stopped; go on with: {_going_on(settings)}", style="yellow"))
    print_report(console, report)


def _settings(
    world: str | None,
    files: ConfigFiles,
    given: list[Given],
    sets: tuple[str, ...],
    *,
    resume_from: str | None,
    is_tried: bool,
) -> tuple[RunSettings, Origins]:
    """The settings of the run that was asked for, new or gone on with.

    What can be refused is, the cheapest first: neither NumPy nor pydantic is waited for without need, torch never.

    Args:
        world, files, given, sets, resume_from: what the person said.
        is_tried: nothing is to be started, so that a run may be there already.
    """
    said = {option.place: option.value for option in given}
    _check_switches(world, files, said, resume_from=resume_from)
    if world is not None:
        from sparring.worlds.registry import find_world  # noqa: PLC0415

        find_world(world)
        if _RESUME not in said and files.settings is None and not is_tried:
            _check_folder(world, said)
    if _RESUME in said:
        return _resumed(world, said, given=given, sets=sets)
    from sparring.cli.settings_options import new_run_settings  # noqa: PLC0415 - brings in pydantic
    from sparring.training.refusals import check_plan, check_start  # noqa: PLC0415

    settings, origins = new_run_settings(world, config=files, given=given, sets=sets)
    check_plan(settings)
    if not is_tried:
        check_start(settings)
    return settings, origins


def _check_folder(world: str, said: Mapping[tuple[str, ...], Any]) -> None:
    """Refuses what exists already, where nothing but the command line says what the run is called."""
    from sparring.runs import RunFolder  # noqa: PLC0415

    run_id = said.get(("checkpoint_settings", "run_id"), run_name_of(world))
    results_dir = said.get(("checkpoint_settings", "results_dir"), "results")
    RunFolder.planned(results_dir, run_id, "force" if ("checkpoint_settings", "force") in said else "new")


def _check_switches(
    world: str | None, files: ConfigFiles, said: Mapping[tuple[str, ...], Any], *, resume_from: str | None
) -> None:
    """Refuses options that contradict each other.

    Raises:
        SettingsError: all contradictions at once.
    """
    resume, has_game = _RESUME in said, _GAME in said
    one = "give one of them"
    findings = [
        Finding(what, cure=cure)
        for is_wrong, what, cure in (
            (world is not None and has_game, "a world and --env contradict each other", one),
            (
                world is None and files.settings is None and not has_game and not resume,
                "no game is named",
                "name a world (see `sparring worlds`), a settings file or --env",
            ),
            (
                files.settings is None and (files.curriculum or files.sampler) is not None,
                "--curriculum and --sampler stand beside a settings file of 0.15 or 0.16",
                "name it, too",
            ),
            (resume and ("checkpoint_settings", "force") in said, "--resume and --force contradict each other", one),
            (
                resume and ("checkpoint_settings", "initialize_from") in said,
                "--resume and --initialize-from contradict each other",
                one,
            ),
            (
                resume and files.settings is not None,
                "--resume goes on with the settings the run was started with, and takes no settings file",
                "leave the file away, and change single values with --set KEY=VALUE",
            ),
            (resume_from is not None and not resume, "--from needs --resume", ""),
        )
        if is_wrong
    ]
    if findings:
        raise SettingsError(findings)


def _resumed(
    world: str | None, said: Mapping[tuple[str, ...], Any], *, given: list[Given], sets: tuple[str, ...]
) -> tuple[RunSettings, Origins]:
    """The settings of the run that goes on; the name of a world is also the default name of its run."""
    from sparring.runs import RunFolder  # noqa: PLC0415

    run_id = said.get(("checkpoint_settings", "run_id"))
    name = run_id or (None if world is None else run_name_of(world))
    if name is None:
        raise SettingsError("no run is named", where="--resume", cure="name it with --run-id")
    results_dir = said.get(("checkpoint_settings", "results_dir"), "results")
    RunFolder.planned(results_dir, name, "resume")
    from sparring.cli.settings_options import stored_settings  # noqa: PLC0415 - brings in pydantic
    from sparring.training.refusals import check_plan  # noqa: PLC0415

    settings, origins = stored_settings(results_dir, name, given=given, sets=sets)
    if world is not None and run_id is not None and settings.env_settings.world != world:
        raise SettingsError(
            f"the run {run_id!r} is not of the world {world!r}",
            where="--resume",
            found=settings.env_settings.world or settings.env_settings.env_path or "the editor",
            cure="leave the world away, or name another run",
        )
    check_plan(settings)
    return settings, origins


def _going_on(settings: RunSettings) -> str:
    """The command that goes on with a run."""
    start, world = settings.checkpoint_settings, settings.env_settings.world
    words = ["sparring", "train", *([] if world is None else [world]), "--resume"]
    if world is None or start.run_id != run_name_of(world):
        words += ["--run-id", start.run_id]
    if start.results_dir != "results":
        words += ["--results-dir", start.results_dir]
    return shlex.join(words)


def checkpoint_choice(text: str | None) -> CheckpointChoice:
    """Which checkpoint an option names: a step, `best`, or the newest."""
    if text is None or text == "newest":
        return "newest"
    if text == "best":
        return "best"
    digits = text.replace("_", "").replace(",", "")
    if not digits.isdigit():
        raise SettingsError("this is no checkpoint", where="--from", found=text, expected="a step, best or newest")
    return int(digits)


class Stop:
    """Whether somebody asked to stop; says once that it was heard, outside the signal handler."""

    def __init__(self, console: Console) -> None:
        self.asked = False
        self._is_said = False
        self._console = console

    def is_asked(self) -> bool:
        """Whether to stop at the next opportunity."""
        if self.asked and not self._is_said:
            self._is_said = True
            self._console.print("stopping: finishing what is under way …", style="yellow")
        return self.asked


@contextmanager
def interrupts(console: Console) -> Iterator[Stop]:
    """Makes the first interrupt ask politely and the second leave at once."""
    stop = Stop(console)

    def ask(number: int, frame: FrameType | None) -> None:
        del number, frame
        if stop.asked:
            raise KeyboardInterrupt
        stop.asked = True

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
