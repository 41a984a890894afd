"""`sparring train`: train the agents of a world."""

from __future__ import annotations

import shlex
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
    from sparring.cli.settings_options import Origins
    from sparring.runs import CheckpointChoice
    from sparring.settings import RunSettings

__all__ = ["checkpoint_choice", "interrupts", "train"]


@click.command(short_help="Train the agents of a world.")
@click.argument("world", metavar="[WORLD|CONFIG]", required=False)
@click.option("--config", type=click.Path(path_type=Path), help="Settings file, laid over the world's preset.")
@click.option(
    "--env", "env_path", metavar="COMMAND", help="A game to start: an executable, a build's folder or bundle."
)
@click.option("--env-args", metavar="TEXT", help="Further arguments for the game, in one text.")
@click.option("--num-envs", type=click.IntRange(min=1), help="Processes of the game side by side.")
@click.option("--base-port", type=click.IntRange(1, 65535), help="Where games connect.  [default: free ports]")
@click.option("--timeout-wait", type=click.FloatRange(min=0, min_open=True), help="Seconds to wait for a game.")
@click.option("--time-scale", type=click.FloatRange(min=0, min_open=True), help="How fast the game runs.")
@click.option("--no-graphics", is_flag=True, default=None, help="Start the game without a window.")
@click.option("--run-id", help="Name of the run and its folder.  [default: the world's name]")
@click.option("--results-dir", help="Folder of all runs.  [default: results]")
@click.option("--resume", is_flag=True, help="Go on from the newest complete checkpoint.")
@click.option(
    "--from",
    "resume_from",
    metavar="STEP|best",
    help="With --resume: go on from this checkpoint; steps of all behaviors together.",
)
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
    world: str | None,
    config: Path | None,
    env_path: str | None,
    env_args: str | None,
    num_envs: int | None,
    base_port: int | None,
    timeout_wait: float | None,
    time_scale: float | None,
    no_graphics: bool | None,
    run_id: str | None,
    results_dir: str | None,
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

    With a settings file in WORLD's place the game is the one of --env, and without that the Unity editor.

    Ctrl-C once finishes the step, saves, exports and leaves; twice leaves at once, with the last checkpoint intact.
    """
    from sparring.cli.display import TrainingDisplay, print_report  # noqa: PLC0415 - keeps `--help` free of torch
    from sparring.cli.settings_options import new_run_settings  # noqa: PLC0415
    from sparring.environments.unity.commands import words_of  # noqa: PLC0415

    world, config = _world_and_file(world, config)
    _check_switches(
        world=world,
        config=config,
        env_path=env_path,
        resume=resume,
        force=force,
        initialize_from=initialize_from,
        resume_from=resume_from,
    )
    overrides = _overrides(
        checkpoint_settings={
            "run_id": run_id,
            "results_dir": results_dir,
            "resume": resume or None,  # left out, so that a settings file may say it
            "force": force or None,
            "initialize_from": initialize_from,
        },
        env_settings={
            "seed": seed,
            "num_areas": num_areas,
            "env_path": env_path,
            "env_args": None if env_args is None else words_of(env_args),
            "num_envs": num_envs,
            "base_port": base_port,
            "timeout_wait": timeout_wait,
        },
        engine_settings={"time_scale": time_scale, "no_graphics": no_graphics},
        torch_settings={"device": torch_device, "threads": threads},
        evaluation={"matches": matches},
        export_settings={"opset": onnx_opset},
    )
    if resume:
        settings, origins = _resumed(world, run_id, results_dir, overrides=overrides, sets=sets, max_steps=max_steps)
    else:
        settings, origins = new_run_settings(world, config=config, overrides=overrides, sets=sets, max_steps=max_steps)
    which = checkpoint_choice(resume_from)
    console = Console()
    console.print(Text("starting (loading torch takes a moment) …", style="dim"))
    from sparring.training.session import run_training  # noqa: PLC0415 - after the first line is on the screen

    with interrupts(console) as stop, TrainingDisplay(console, is_verbose=verbose or settings.debug) as display:
        report = run_training(settings, observer=display, should_stop=stop.is_asked, resume_from=which, origins=origins)
    if report.was_interrupted:
        console.print(Text(f"stopped; go on with: {_going_on(settings)}", style="yellow"))
    print_report(console, report)


def _world_and_file(world: str | None, config: Path | None) -> tuple[str | None, Path | None]:
    """A settings file may stand in the world's place."""
    from sparring.errors import SettingsError  # noqa: PLC0415

    if world is None or not world.endswith((".yaml", ".yml")):
        return world, config
    if config is not None:
        raise SettingsError("two settings files", found=f"{world} and {config}", cure="give one of them")
    return None, Path(world)


def _check_switches(
    *,
    world: str | None,
    config: Path | None,
    env_path: str | None,
    resume: bool,
    force: bool,
    initialize_from: str | None,
    resume_from: str | None,
) -> None:
    """Refuses options that contradict each other.

    Raises:
        SettingsError: all contradictions at once.
    """
    from sparring.errors import Finding, SettingsError  # noqa: PLC0415

    one = "give one of them"
    findings = [
        Finding(what, cure=cure)
        for is_wrong, what, cure in (
            (world is not None and env_path is not None, "a world and --env contradict each other", one),
            (
                world is None and config is None and env_path is None and not resume,
                "no game is named",
                "name a world (see `sparring worlds`), a settings file or --env",
            ),
            (resume and force, "--resume and --force contradict each other", one),
            (resume and initialize_from is not None, "--resume and --initialize-from contradict each other", one),
            (
                resume and config is not None,
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
    world: str | None,
    run_id: str | None,
    results_dir: str | None,
    *,
    overrides: dict[str, Any],
    sets: tuple[str, ...],
    max_steps: str | None,
) -> tuple[RunSettings, Origins]:
    """The settings of the run that goes on; the name of a world is also the default name of its run."""
    from sparring.cli.settings_options import stored_settings  # noqa: PLC0415
    from sparring.errors import SettingsError  # noqa: PLC0415

    name = run_id or world
    if name is None:
        raise SettingsError("no run is named", where="--resume", cure="name it with --run-id")
    settings, origins = stored_settings(
        results_dir or "results", name, overrides=overrides, sets=sets, max_steps=max_steps
    )
    if world is not None and run_id is not None and settings.env_settings.world != world:
        raise SettingsError(
            f"the run {run_id!r} is not of the world {world!r}",
            where="--resume",
            found=settings.env_settings.world or settings.env_settings.env_path or "the editor",
            cure="leave the world away, or name another run",
        )
    return settings, origins


def _going_on(settings: RunSettings) -> str:
    """The command that goes on with a run."""
    start, world = settings.checkpoint_settings, settings.env_settings.world
    words = ["sparring", "train", *([] if world is None else [world]), "--resume"]
    if start.run_id != world:
        words += ["--run-id", start.run_id]
    if start.results_dir != "results":
        words += ["--results-dir", start.results_dir]
    return shlex.join(words)


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
            self._console.print(Text("stopping: finishing what is under way …", style="yellow"))
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
