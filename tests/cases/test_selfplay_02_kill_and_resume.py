"""Case selfplay-02: a run of self-play is interrupted, killed while it saves, and another is started from it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import numpy_helper
from rich.console import Console

from sparring.cli.train import interrupts
from sparring.runs import CheckpointStore, read_checkpoint
from sparring.specs import ActionSpec, BehaviorSpec, ObservationSpec
from tests import games
from tests.cases.killed_while_saving import MOMENTS
from tests.training.run_comparison import differences, final_state
from tests.training.runs_in_process import Watcher, small_settings, train_small

ROOT = Path(__file__).parents[2]
STOP_AFTER = 90
"""Environment steps to about learner step 165, in the second turn."""

State = dict[str, Any]


def steps_on_disk(folder: Path) -> list[int]:
    return CheckpointStore(folder / "run" / "checkpoints").steps()


def state_at(folder: Path, step: int, *, run: str = "run") -> State:
    return read_checkpoint(folder / run / "checkpoints" / f"checkpoint-{step:012d}.safetensors")[1]


def lineup(state: State) -> State:
    found: State = state["collector"]["lineup"]
    return found


def pool(state: State) -> State:
    found: State = lineup(state)["pools"]["Duel"]
    return found


def hashes(state: State) -> dict[str, str]:
    return {number: snapshot["weights_hash"] for number, snapshot in pool(state)["snapshots"].items()}


def networks(state: State, behavior: str = "Duel") -> dict[str, NDArray[Any]]:
    """Every array of the learner's networks, by network and name."""
    own = state["collector"]["behaviors"][behavior]["learner"]["networks"]
    return {f"{index} {name}": array for index, arrays in own.items() for name, array in arrays.items()}


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run to 400 that nothing ever stops."""
    folder = tmp_path_factory.mktemp("straight")
    train_small(small_settings(folder), games.duel)
    return folder


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was interrupted politely in its second turn."""
    folder = tmp_path_factory.mktemp("interrupted")
    assert train_small(small_settings(folder), games.duel, stop_after=STOP_AFTER).was_interrupted
    return folder


@pytest.fixture
def resumed(interrupted: Path, tmp_path: Path) -> State:
    """What a resumed run holds before its first step: it is stopped at once, and saves."""
    shutil.copytree(interrupted, tmp_path, dirs_exist_ok=True)
    train_small(small_settings(tmp_path), games.duel, resume=True, stop_after=0)
    return final_state(tmp_path)


# -- a polite interrupt ----------------------------------------------------------------------------------------


def test_interrupt_falls_where_the_case_says(interrupted: Path) -> None:
    state = final_state(interrupted)
    clock = lineup(state)["schedule"]["clocks"]["Duel"]
    assert lineup(state)["schedule"]["learning_team"] == 1
    assert 150 < clock["learner_steps"] < 200
    assert clock["last_swap"] > 0
    assert len(pool(state)["window"]) == 3
    assert lineup(state)["ratings"]["ratings"][0][0] != 1200.0


FIELDS: dict[str, Callable[[State], Any]] = {
    "ratings": lambda state: lineup(state)["ratings"],
    "snapshot ids": lambda state: pool(state)["window"],
    "snapshot hashes": hashes,
    "learning team": lambda state: lineup(state)["schedule"]["learning_team"],
    "steps into the turn, to the next swap and save": lambda state: lineup(state)["schedule"]["clocks"],
    "who sits where": lambda state: lineup(state)["book"]["columns"]["player"].tolist(),
    "next opponents": lambda state: lineup(state)["opponents"],
    "next summary": lambda state: state["marks"]["summary"],
}


@pytest.mark.parametrize("name", FIELDS)
def test_resumed_run_holds_what_was_stored(name: str, interrupted: Path, resumed: State) -> None:
    field = FIELDS[name]
    assert field(resumed) == field(final_state(interrupted)) != field(state_at(interrupted, 0))


def test_resumed_run_holds_everything_that_was_stored(interrupted: Path, resumed: State) -> None:
    assert differences(final_state(interrupted), resumed) == []


def test_hashes_are_those_of_the_stored_weights(interrupted: Path) -> None:
    snapshots = pool(final_state(interrupted))["snapshots"].values()
    weights = [snapshot["weights"]["body.layers.0.weight"].tobytes() for snapshot in snapshots]
    assert len(set(weights)) == len({snapshot["weights_hash"] for snapshot in snapshots}) > 1


def test_exported_weights_are_the_learners_and_not_the_opponents(interrupted: Path) -> None:
    model = onnx.load(interrupted / "run" / "Duel.onnx")
    exported = {array.name: numpy_helper.to_array(array) for array in model.graph.initializer}
    state = final_state(interrupted)
    name = "body.layers.0.weight"
    assert np.array_equal(exported[name], networks(state)[f"0 {name}"])
    opponents = {seat: number for seat, number, _ in lineup(state)["opponents"]}
    met = pool(state)["snapshots"][str(opponents["Duel?team=0"])]["weights"]
    assert not np.array_equal(exported[name], met[name])


def test_interrupted_run_ends_as_the_straight_one(straight: Path, interrupted: Path, tmp_path: Path) -> None:
    shutil.copytree(interrupted, tmp_path, dirs_exist_ok=True)
    train_small(small_settings(tmp_path), games.duel, resume=True)
    assert differences(final_state(straight), final_state(tmp_path)) == []


# -- two interrupts, and a kill --------------------------------------------------------------------------------


def test_second_interrupt_while_saving_loses_nothing_that_was_saved(
    straight: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync, steps = os.fsync, 0
    with interrupts(Console(quiet=True)) as stop:

        def interrupt_once() -> bool:
            nonlocal steps
            steps += 1
            if steps == STOP_AFTER:
                signal.raise_signal(signal.SIGINT)
            return stop.is_asked()

        def interrupted_sync(descriptor: int) -> None:
            if stop.is_asked():
                signal.raise_signal(signal.SIGINT)
            sync(descriptor)

        monkeypatch.setattr(os, "fsync", interrupted_sync)
        with pytest.raises(KeyboardInterrupt):
            train_small(small_settings(tmp_path), games.duel, should_stop=interrupt_once)
    monkeypatch.undo()
    before = steps_on_disk(tmp_path)
    assert before == steps_on_disk(straight)[: len(before)]
    watcher = Watcher()
    train_small(small_settings(tmp_path), games.duel, resume=True, observer=watcher)
    assert any(message.endswith(f"at step {before[-1]:,}") for message in watcher.messages)
    assert differences(final_state(straight), final_state(tmp_path)) == []


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL on Windows")
@pytest.mark.parametrize("moment", MOMENTS)
def test_run_killed_while_it_saves_goes_on_from_the_newest_whole_checkpoint(
    straight: Path, moment: str, tmp_path: Path
) -> None:
    child = subprocess.run(
        [sys.executable, "-m", "tests.cases.killed_while_saving", str(tmp_path), moment],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == -signal.SIGKILL, child.stderr
    whole = steps_on_disk(straight)[: 3 if moment == "renamed" else 2]
    assert steps_on_disk(tmp_path) == whole
    assert (len(list(tmp_path.rglob("*.part"))) == 0) == (moment == "renamed")
    watcher = Watcher()
    train_small(small_settings(tmp_path), games.duel, resume=True, observer=watcher)
    assert any(message.endswith(f"at step {whole[-1]:,}") for message in watcher.messages)
    assert list(tmp_path.rglob("*.part")) == []
    assert differences(final_state(straight), final_state(tmp_path)) == []


# -- another run that starts from this one ---------------------------------------------------------------------


class WideGame(games.WalkGame):
    """The duel with two numbers more to see, and a behavior more."""

    def __init__(self, *, num_arenas: int, seed: int, threads: int) -> None:
        del threads
        roles = (games.Role("Duel?team=0", 1), games.Role("Duel?team=1", 1), games.Role("Coach?team=0", -1))
        super().__init__(roles, num_arenas=num_arenas, seed=seed)
        self._spec = BehaviorSpec((ObservationSpec.vector(5, name="Line"),), ActionSpec.create_discrete((3,)))

    def _observations(self, index: int, arenas: NDArray[Any]) -> NDArray[Any]:
        seen = super()._observations(index, arenas)
        return np.concatenate([seen, seen[:, :2]], axis=1)


def begun(folder: Path, *, initialize_from: str | None) -> tuple[State, list[str]]:
    """A run of the wide game that is stopped before its first step: its state, and what it said."""
    watcher = Watcher()
    start = {"run_id": "second", "initialize_from": initialize_from}
    settings = small_settings(folder, checkpoint_settings=start)
    train_small(settings, WideGame, stop_after=0, observer=watcher)
    return state_at(folder, 0, run="second"), watcher.messages


@pytest.fixture(scope="module")
def initialized(straight: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[State, list[str]]:
    folder = tmp_path_factory.mktemp("initialized")
    shutil.copytree(straight, folder, dirs_exist_ok=True)
    return begun(folder, initialize_from="run")


def is_of_the_first_layer(name: str) -> bool:
    return "layers.0.weight" in name or "normalizer" in name


def test_initialized_run_counts_from_nothing(initialized: tuple[State, list[str]]) -> None:
    state, _ = initialized
    counters = [own["counters"] for own in state["collector"]["behaviors"].values()]
    assert [(c["steps"], c["opponent_steps"], c["episodes"], c["updates"]) for c in counters] == [(0, 0, 0, 0)] * 2
    assert all(set(clock.values()) == {0} for clock in lineup(state)["schedule"]["clocks"].values())
    assert state["collector"]["environment_steps"] == 0
    assert all(entry == [1200.0, 0, 0.0] for entry in lineup(state)["ratings"]["ratings"])


def test_initialized_run_has_no_snapshot_but_the_one_it_starts_from(initialized: tuple[State, list[str]]) -> None:
    state, _ = initialized
    assert list(hashes(state)) == ["0"]
    first = pool(state)["snapshots"]["0"]["weights"]
    assert all(np.array_equal(array, networks(state)[f"0 {name}"]) for name, array in first.items())


def test_initialized_run_says_that_its_first_layers_are_new_because_of_their_shape(
    initialized: tuple[State, list[str]],
) -> None:
    _, messages = initialized
    for network in ("Actor", "Critic"):
        line = f"Duel: {network}: body.layers.0.weight is new because of its shape: (16, 3) there, (16, 5) here"
        assert line in messages


def test_initialized_run_takes_over_every_layer_that_fits(straight: Path, initialized: tuple[State, list[str]]) -> None:
    theirs, ours = networks(final_state(straight)), networks(initialized[0])
    assert theirs.keys() == ours.keys()
    fitting = [name for name in ours if not is_of_the_first_layer(name)]
    assert len(fitting) == 6
    assert all(np.array_equal(theirs[name], ours[name]) for name in fitting)


def test_behavior_the_other_run_does_not_have_starts_fresh(
    initialized: tuple[State, list[str]], tmp_path: Path
) -> None:
    state, messages = initialized
    plain, _ = begun(tmp_path, initialize_from=None)
    assert "Coach: starts fresh; the other run does not have it" in messages
    assert differences(networks(plain, "Coach"), networks(state, "Coach")) == []
    assert differences(networks(plain, "Duel"), networks(state, "Duel")) != []
