"""`sparring record`: demonstrations from a world, played by chance or by the policies of a run."""

from __future__ import annotations

from pathlib import Path

import click

from sparring.cli.console import printable

__all__ = ["record"]


@click.command(short_help="Record a demonstration in a world.")
@click.argument("world")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--behavior", help="Whose play is recorded.  [default: the world's first]")
@click.option("--episodes", type=click.IntRange(min=1), default=10, show_default=True, help="Whole episodes.")
@click.option("--run", "run_name", help="Run whose policies play, by name or folder.  [default: chance]")
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
    results_dir: str,
    checkpoint: str | None,
    deterministic: bool,
    seed: int,
) -> None:
    """Record agents of WORLD in FILE, one after the other, for behavioral cloning or GAIL."""
    import numpy as np  # noqa: PLC0415 - keeps `--help` fast
    import torch  # noqa: PLC0415

    from sparring.cli.evaluate import stored_policies  # noqa: PLC0415
    from sparring.training.recording import record_demonstration  # noqa: PLC0415
    from sparring.worlds.registry import create_world  # noqa: PLC0415

    policies = {} if run_name is None else stored_policies(run_name, results_dir, checkpoint)
    with create_world(world, num_arenas=1, seed=seed) as game:
        decisions = record_demonstration(
            game,
            policies,
            file,
            behavior=behavior or next(iter(game.behavior_specs)),
            episodes=episodes,
            generator=torch.Generator().manual_seed(seed),
            rng=np.random.default_rng(seed),
            deterministic=deterministic,
        )
    click.echo(
        printable(f"{file}: {decisions} decisions in {episodes} episodes; look into it with: sparring demo info")
    )
