"""The options that set values of a run's settings, each declared once: its flag, the place it sets, its help.

What a value may be is known by the settings alone. Options keep the names users know from the toolkit whose files are
read; those only older versions had are hidden, work where they still mean something, and say so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from sparring.errors import SettingsError

__all__ = [
    "EVERY_BEHAVIOR",
    "ConfigFiles",
    "Given",
    "given_settings",
    "tell_older",
    "with_run_options",
    "world_and_file",
]

EVERY_BEHAVIOR = "*"
"""Stands in a place for every behavior, and for default_settings."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


class ConfigFiles(NamedTuple):
    """The files a person wrote; the second and third stood beside settings of 0.15 and 0.16."""

    settings: Path | None = None
    curriculum: Path | None = None
    sampler: Path | None = None


def world_and_file(world: str | None, config: Path | None) -> tuple[str | None, Path | None]:
    """A settings file may stand in the world's place.

    Raises:
        SettingsError: there are two settings files.
    """
    if world is None or not world.endswith((".yaml", ".yml")):
        return world, config
    if config is not None:
        raise SettingsError("two settings files", found=f"{world} and {config}", cure="give one of them")
    return None, Path(world)


class Given(NamedTuple):
    """One value an option set."""

    place: tuple[str, ...]
    value: Any
    flag: str


@dataclass(frozen=True, slots=True)
class _Option:
    """One option.

    Attributes:
        flag: as it is written.
        place: the dotted setting it sets; empty where it sets none.
        text: for `--help`.
        metavar: what stands for its value in `--help`; empty for a switch.
        value: what a switch sets.
        notice: what is told when it is given; older options have one and are hidden.
    """

    flag: str
    place: str
    text: str = ""
    metavar: str = ""
    value: str | bool = True
    notice: str = ""

    @property
    def key(self) -> str:
        """The name of the parameter."""
        return f"set_{self.flag.lstrip('-').replace('-', '_')}"

    def declared(self, function: _Function) -> _Function:
        """The function with this option."""
        return click.option(
            self.flag,
            self.key,
            is_flag=not self.metavar,
            default=None,
            metavar=self.metavar or None,
            help=self.text,
            hidden=bool(self.notice),
        )(function)


_OPTIONS = (
    _Option("--env", "env_settings.env_path", "Game to start: an executable, a build's folder or bundle.", "COMMAND"),
    _Option("--env-args", "env_settings.env_args", "Further arguments for the game, in one text.", "TEXT"),
    _Option("--num-envs", "env_settings.num_envs", "Processes of the game side by side.", "N"),
    _Option("--num-areas", "env_settings.num_areas", "Copies of the game stepped together.", "N"),
    _Option("--base-port", "env_settings.base_port", "Where games connect.  [default: free ports]", "PORT"),
    _Option("--timeout-wait", "env_settings.timeout_wait", "Wait so long for a game.", "SECONDS"),
    _Option("--max-lifetime-restarts", "env_settings.max_lifetime_restarts", "Restarts of a broken game.", "N"),
    _Option("--restarts-rate-limit-n", "env_settings.restarts_rate_limit_n", "Of them within a period; -1: all.", "N"),
    _Option("--restarts-rate-limit-period-s", "env_settings.restarts_rate_limit_period_s", "The period.", "SECONDS"),
    _Option("--seed", "env_settings.seed", "Seed of every random stream; -1 draws one.", "N"),
    _Option("--width", "engine_settings.width", "Width of the game's window.", "PIXELS"),
    _Option("--height", "engine_settings.height", "Height of the game's window.", "PIXELS"),
    _Option("--quality-level", "engine_settings.quality_level", "Quality of the game's graphics.", "N"),
    _Option("--time-scale", "engine_settings.time_scale", "How fast the game runs.", "FACTOR"),
    _Option("--target-frame-rate", "engine_settings.target_frame_rate", "Frames a second; -1: what it can.", "N"),
    _Option("--capture-frame-rate", "engine_settings.capture_frame_rate", "Frames a second of the game's time.", "N"),
    _Option("--no-graphics", "engine_settings.no_graphics", "Start the game without a window."),
    _Option("--no-graphics-monitor", "engine_settings.no_graphics_monitor", "The same but for the first process."),
    _Option("--run-id", "checkpoint_settings.run_id", "Name of the run.  [default: the world's]", "NAME"),
    _Option("--results-dir", "checkpoint_settings.results_dir", "Folder of all runs.  [default: results]", "FOLDER"),
    _Option("--resume", "checkpoint_settings.resume", "Go on from the newest complete checkpoint."),
    _Option("--force", "checkpoint_settings.force", "Move an existing run of this name aside and start anew."),
    _Option("--initialize-from", "checkpoint_settings.initialize_from", "Begin with another run's weights.", "NAME"),
    _Option("--max-steps", f"{EVERY_BEHAVIOR}.max_steps", "Steps every behavior learns.", "N"),
    _Option("--deterministic", f"{EVERY_BEHAVIOR}.network_settings.deterministic", "Take the likeliest actions."),
    _Option("--torch-device", "torch_settings.device", "auto, cpu, cuda, cuda:N, mps or xpu.", "DEVICE"),
    _Option("--threads", "torch_settings.threads", "Threads of the arithmetic; 0: what the machine has.", "N"),
    _Option("--matches", "evaluation.matches", "Matches a row of the final table; 0: no table.", "N"),
    _Option("--onnx-opset", "export_settings.opset", "Of the models; 9 loads in every Unity version.", "9-20"),
    _Option("--debug", "debug", "Also say when snapshots are saved and opponents drawn."),
    _Option("--inference", "checkpoint_settings.inference", notice="see `sparring evaluate`, which plays policies"),
    _Option("--save-freq", f"{EVERY_BEHAVIOR}.checkpoint_interval", "", "N", notice="now checkpoint_interval"),
    _Option("--keep-checkpoints", f"{EVERY_BEHAVIOR}.keep_checkpoints", "", "N", notice="now a key of each behavior"),
    _Option("--load", "checkpoint_settings.resume", notice="now called --resume"),
    _Option("--train", "", notice="not needed any more: a run trains"),
    _Option("--cpu", "torch_settings.device", value="cpu", notice="now called --torch-device cpu"),
    _Option("--torch", "", notice="not needed any more: there is torch only"),
    _Option("--tensorflow", "", notice="left away: there is torch only"),
    _Option("--lesson", "", "", "N", notice="left away: a resumed run goes on in its lesson"),
    _Option("--docker-target-name", "", "", "NAME", notice="left away: mount a folder and name it with --results-dir"),
)


_FILE = click.Path(path_type=Path)
_FILES = (
    click.option("--config", type=_FILE, help="Settings file, laid over the world's preset."),
    click.option("--curriculum", type=_FILE, help="Lessons beside a settings file of 0.15 or 0.16."),
    click.option("--sampler", type=_FILE, help="Samplers beside a settings file of 0.15 or 0.16."),
)
_SETS = click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Set one value of the settings, a.b=c.")


def with_run_options(function: _Function) -> _Function:
    """Adds the options to a command, which takes `config`, `curriculum`, `sampler`, `sets` and `**arguments`."""
    for declared in reversed([*_FILES, *(option.declared for option in _OPTIONS), _SETS]):
        function = declared(function)
    return function


def tell_older(arguments: Mapping[str, Any]) -> None:
    """Says what is to be told about older options that were given.

    Args:
        arguments: by parameter name, None where an option was not given.
    """
    for option in _OPTIONS:
        if option.notice and arguments.get(option.key) is not None:
            click.echo(f"{option.flag}: {option.notice}", err=True)


def given_settings(arguments: Mapping[str, Any]) -> list[Given]:
    """What the options set; arguments as for `tell_older`."""
    given = []
    for option in _OPTIONS:
        value = arguments.get(option.key)
        if option.place and value is not None:
            said = _words(value) if option.flag == "--env-args" else value if option.metavar else option.value
            given.append(Given(tuple(option.place.split(".")), said, option.flag))
    return given


def _words(text: str) -> list[str]:
    """The arguments of a game, which are given in one text and set as a list."""
    from sparring.environments.unity.commands import words_of  # noqa: PLC0415 - keeps `--help` fast

    return list(words_of(text))
