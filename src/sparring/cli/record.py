"""`sparring record`: demonstrations from a world, played by chance, by policies, by a script or by a person."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparring.cli.console import console, printable
from sparring.errors import Finding, SettingsError
from sparring.user_code import load_function

if TYPE_CHECKING:  # imports NumPy
    from sparring.cli.keyboard import KeyboardPlayer
    from sparring.environments import Environment

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
@click.option("--keyboard", is_flag=True, help="You play the recorded agent in this terminal.")
@click.option(
    "--keys",
    metavar="KEY=BRANCH:CHOICE,…",
    help="Keys of --keyboard; KEY=cACTION:VALUE for continuous actions.  [default: w s, d a, arrows]",
)
@click.option(
    "--rate",
    type=click.FloatRange(min=0.1),
    default=10.0,
    show_default=True,
    help="Decisions a second with --keyboard.",
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
    keyboard: bool,
    keys: str | None,
    rate: float,
    results_dir: str,
    checkpoint: str | None,
    deterministic: bool,
    seed: int,
) -> None:
    """Record agents of WORLD in FILE, one after the other, for behavioral cloning or GAIL.

    Who plays: chance, the policies of --run, and for the recorded behavior a --script. With --keyboard you play the
    recorded agent yourself, in real time and with a picture of the arena; everybody else is played as without it.
    """
    from sparring.worlds.registry import create_world, find_world  # noqa: PLC0415 - keeps `--help` fast

    _check_switches(script, keys, is_by_keyboard=keyboard)
    find_world(world)
    import numpy as np  # noqa: PLC0415 - a refusal waits for none of these
    import torch  # noqa: PLC0415

    from sparring.cli.evaluate import stored_policies  # noqa: PLC0415
    from sparring.cli.train import interrupts  # noqa: PLC0415
    from sparring.specs import BehaviorId  # noqa: PLC0415
    from sparring.training.recording import Player, full_name_of, record_demonstration  # noqa: PLC0415

    players: dict[str, Player] = {}
    if run_name is not None:
        players.update(stored_policies(run_name, results_dir, checkpoint))
    play = None if script is None else load_function(script, where="--script")
    out = console(stderr=True)
    with create_world(world, num_arenas=1, seed=seed) as game, ExitStack() as stack:
        recorded = full_name_of(game, behavior or next(iter(game.behavior_specs)))
        if play is not None:
            players[BehaviorId.parse(recorded).name] = play
        person = stack.enter_context(_person(game, recorded, keys, rate)) if keyboard else None
        stop = stack.enter_context(interrupts(out))
        done = record_demonstration(
            game,
            players,
            file,
            behavior=recorded,
            episodes=episodes,
            generator=torch.Generator().manual_seed(seed),
            rng=np.random.default_rng(seed),
            deterministic=deterministic,
            person=person,
            should_stop=lambda: stop.asked or (person is not None and person.has_left),
        )
    told = f"{file}: {done.decisions} decisions in {done.episodes} whole episodes"
    click.echo(printable(f"{told}; look into it with: sparring demo info"))


def _check_switches(script: str | None, keys: str | None, *, is_by_keyboard: bool) -> None:
    findings = []
    if is_by_keyboard and script is not None:
        findings.append(Finding("--keyboard and --script contradict each other", cure="give one of them"))
    if keys is not None and not is_by_keyboard:
        findings.append(Finding("--keys are those of --keyboard", cure="add --keyboard"))
    if findings:
        raise SettingsError(findings)


def _person(game: Environment, behavior: str, keys: str | None, rate: float) -> KeyboardPlayer:
    """Whoever sits at this terminal."""
    from sparring.cli.keyboard import KeyboardPlayer, bindings_of, default_bindings  # noqa: PLC0415

    actions = game.behavior_specs[behavior].action_spec
    bindings = default_bindings(actions) if keys is None else bindings_of(keys, actions)
    return KeyboardPlayer(game, actions, bindings, rate=rate)
