"""`sparring record`: demonstrations from a world, played by chance, by the policies of a run or by a script."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparring.cli.console import printable
from sparring.errors import SettingsError, nearest

if TYPE_CHECKING:  # imports torch
    from sparring.training.recording import Script

__all__ = ["record"]


@click.command(short_help="Record a demonstration in a world.")
@click.argument("world")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--behavior", help="Whose play is recorded.  [default: the world's first]")
@click.option("--episodes", type=click.IntRange(min=1), default=10, show_default=True, help="Whole episodes.")
@click.option("--run", "run_name", help="Run whose policies play, by name or folder.  [default: chance]")
@click.option(
    "--script",
    metavar="FILE.py:FUNCTION",
    help="Plays the recorded behavior: FUNCTION(decision_steps, behavior_spec) gives an ActionBatch.",
)
@click.option("--results-dir", default="results", show_default=True, help="Folder of all runs.")
@click.option("--from", "checkpoint", metavar="STEP|best", help="Checkpoint of the run.  [default: the newest]")
@click.option("--deterministic", is_flag=True, help="Policies take their most likely action.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the world and of chance.")
def record(
    *,
    world: str,
    file: Path,
    behavior: str | None,
    episodes: int,
    run_name: str | None,
    script: str | None,
    results_dir: str,
    checkpoint: str | None,
    deterministic: bool,
    seed: int,
) -> None:
    """Record agents of WORLD in FILE, one after the other, for behavioral cloning or GAIL."""
    import numpy as np  # noqa: PLC0415 - keeps `--help` fast
    import torch  # noqa: PLC0415

    from sparring.cli.evaluate import stored_policies  # noqa: PLC0415
    from sparring.specs import BehaviorId  # noqa: PLC0415
    from sparring.training.recording import Player, record_demonstration  # noqa: PLC0415
    from sparring.worlds.registry import create_world  # noqa: PLC0415

    players: dict[str, Player] = {}
    if run_name is not None:
        players.update(stored_policies(run_name, results_dir, checkpoint))
    play = None if script is None else _function(script)
    with create_world(world, num_arenas=1, seed=seed) as game:
        recorded = behavior or next(iter(game.behavior_specs))
        if play is not None:
            players[BehaviorId.parse(recorded).name] = play
        decisions = record_demonstration(
            game,
            players,
            file,
            behavior=recorded,
            episodes=episodes,
            generator=torch.Generator().manual_seed(seed),
            rng=np.random.default_rng(seed),
            deterministic=deterministic,
        )
    click.echo(
        printable(f"{file}: {decisions} decisions in {episodes} episodes; look into it with: sparring demo info")
    )


def _function(place: str) -> Script:
    """The function a person names as FILE.py:FUNCTION.

    Raises:
        SettingsError: there is no such file or function, or the file can't be run.
    """
    path, _, name = place.rpartition(":")
    spec = importlib.util.spec_from_file_location("sparring_script", path) if path else None
    if spec is None or spec.loader is None or not Path(path).is_file():
        raise SettingsError("there is no such script", where="--script", found=place, expected="FILE.py:FUNCTION")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # a person's script may raise anything
        raise SettingsError(
            "the script can't be run", where=f"--script {path}", found=f"{type(error).__name__}: {error}"
        ) from error
    function: Script | None = getattr(module, name, None)
    if not callable(function):
        known = [each for each, value in vars(module).items() if callable(value)]
        like = nearest(name, known)
        raise SettingsError(
            f"the script has no function {name!r}",
            where=f"--script {path}",
            cure=f"did you mean {like[0]!r}?" if like else "",
        )
    return function
