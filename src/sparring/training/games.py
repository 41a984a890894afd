"""The game of a run: a built-in world, or a game over the wire."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sparring.channels import EngineConfigurationChannel
from sparring.environments import Environment
from sparring.environments.unity import GamePool, RestartLimits, UnityEnvironment
from sparring.settings import EngineSettings, RunSettings
from sparring.training.seeds import SeedStreams
from sparring.worlds.registry import CreateWorld, find_world

__all__ = ["is_editor", "is_started", "open_game"]

_WORLD_AREAS = 8


def is_editor(settings: RunSettings, make_game: CreateWorld | None) -> bool:
    """Whether the game is the Unity editor, which can't be started a second time."""
    plan = settings.env_settings
    return make_game is None and plan.world is None and plan.env_path is None


def is_started(settings: RunSettings, make_game: CreateWorld | None) -> bool:
    """Whether the game is a program of its own that is started for the run, and logs."""
    plan = settings.env_settings
    return make_game is None and plan.world is None and plan.env_path is not None


def open_game(
    settings: RunSettings,
    make_game: CreateWorld | None,
    *,
    num_areas: int | None,
    on_wait: Callable[[str], None],
    should_stop: Callable[[], bool] = lambda: False,
    log_folder: Path | None = None,
    is_evaluation: bool = False,
) -> Environment:
    """Starts the game the settings name: a world, a game to start, or else the Unity editor.

    Args:
        settings: of the run.
        make_game: makes a game of one's own in its place.
        num_areas: copies of a world, or of the area in each process of a game; None for 8 and 1.
        on_wait: is told what is waited for.
        should_stop: asked while it waits; True gives up.
        log_folder: where games log; a temporary file without it.
        is_evaluation: the matches of the table, played beside the training: with a seed and ports of their own, and
            in one process.

    Raises:
        SettingsError: no such world.
        GameError: the game does not start or connect.
    """
    plan = settings.env_settings
    if make_game is None and plan.world is not None:
        make_game = find_world(plan.world).create
    if make_game is not None:
        seed = SeedStreams(plan.seed).number("evaluation world" if is_evaluation else "environment")
        return make_game(num_arenas=num_areas or _WORLD_AREAS, seed=seed, threads=plan.num_threads)
    engine_plan = settings.engine_settings
    first = plan.num_envs if is_evaluation else 0

    def start(worker: int, is_given_up: Callable[[], bool]) -> UnityEnvironment:
        engine = EngineConfigurationChannel()
        _configure(engine, engine_plan)
        return UnityEnvironment(
            plan.env_path,
            worker_id=0 if plan.env_path is None else first + worker,
            base_port=plan.base_port,
            seed=plan.seed + first + worker,
            no_graphics=engine_plan.no_graphics,
            no_graphics_monitor=engine_plan.no_graphics_monitor,
            timeout_wait=plan.timeout_wait,
            additional_args=plan.env_args or (),
            side_channels=[engine],
            log_folder=log_folder,
            # Nothing on the wire tells areas apart, so the matches of the table are played in one.
            num_areas=1 if is_evaluation else num_areas or 1,
            on_wait=on_wait,
            should_stop=is_given_up,
        )

    limits = RestartLimits(plan.max_lifetime_restarts, plan.restarts_rate_limit_n, plan.restarts_rate_limit_period_s)
    return GamePool(start, 1 if is_evaluation else plan.num_envs, limits=limits, should_stop=should_stop)


def _configure(channel: EngineConfigurationChannel, engine: EngineSettings) -> None:
    channel.set_configuration_parameters(
        width=engine.width,
        height=engine.height,
        quality_level=engine.quality_level,
        time_scale=engine.time_scale,
        target_frame_rate=engine.target_frame_rate,
        capture_frame_rate=engine.capture_frame_rate,
    )
