"""Case learning-01: a NaN seen, an infinite reward, weights that blow up, and a checkpoint full of NaN."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sparring.cli import main as cli
from sparring.environments import Environment
from sparring.errors import CheckpointError, NonFiniteError
from sparring.runs import CheckpointStore, checkpoint_file, read_checkpoint, write_checkpoint
from sparring.specs import ActionSpec, BehaviorSpec, ObservationSpec
from sparring.steps import DecisionSteps, TerminalSteps
from sparring.worlds import registry
from tests.cases.scans import non_finite_in
from tests.games import Role, WalkGame
from tests.training.runs_in_process import Watcher, small_settings, train_small

Spoil = Callable[[str, int, DecisionSteps], None]
"""Told the behavior, the exchange and the columns of those who ask; may change them."""

ROLES = (Role("Duel?team=0", 1), Role("Duel?team=1", 1))
SEEN_AT, PAID_AT = 50, 60
EXPORTED = {"export_settings": {"each_checkpoint": True}}


class RayGame(WalkGame):
    """The walk, seen through a second sensor `Ray` of 8 numbers too, with a continuous action that does nothing.

    Agents 0 and 1 are on team 0, 2 and 3 on team 1. Columns are handed out after `spoil` has seen them.
    """

    def __init__(self, *, num_arenas: int, seed: int, threads: int, spoil: Spoil = lambda *_: None) -> None:
        del threads
        super().__init__(ROLES, num_arenas=num_arenas, seed=seed, states_result=True)
        self._spoil = spoil
        self._exchange = 0
        self._spec = BehaviorSpec(
            (*self._spec.observation_specs, ObservationSpec.vector(8, name="Ray")), ActionSpec.create_hybrid(1, (3,))
        )

    def step(self) -> None:
        super().step()
        self._exchange += 1

    def get_steps(self, behavior_name: str) -> tuple[DecisionSteps, TerminalSteps]:
        decision, terminal = (_with_ray(steps) for steps in super().get_steps(behavior_name))
        assert isinstance(decision, DecisionSteps)
        assert isinstance(terminal, TerminalSteps)
        self._spoil(behavior_name, self._exchange, decision)
        return decision, terminal

    def save_state(self) -> dict[str, Any]:
        return {**super().save_state(), "exchange": self._exchange}

    def restore_state(self, state: dict[str, Any]) -> None:
        super().restore_state(state)
        self._exchange = state["exchange"]


def _with_ray(steps: Any) -> Any:
    columns = {name: getattr(steps, name) for name in steps.__dataclass_fields__ if name != "_rows"}
    columns["obs"] = [steps.obs[0], np.tanh(steps.obs[0][:, :1] + np.arange(8, dtype=np.float32))]
    columns["reward"] = steps.reward.copy()
    return type(steps)(**columns)


def nan_seen(behavior: str, exchange: int, decision: DecisionSteps) -> None:
    """(a) Agent 3, sensor `Ray`, index 7 at exchange 50."""
    if exchange == SEEN_AT and 3 in decision:
        decision.obs[1][decision.agent_id_to_index[3], 7] = np.nan


def infinite_reward(behavior: str, exchange: int, decision: DecisionSteps) -> None:
    """(b) Agent 1 at exchange 60."""
    if exchange == PAID_AT and 1 in decision:
        decision.reward[decision.agent_id_to_index[1]] = np.inf


def game_with(spoil: Spoil = lambda *_: None) -> Callable[..., Environment]:
    def make(*, num_arenas: int, seed: int, threads: int) -> Environment:
        return RayGame(num_arenas=num_arenas, seed=seed, threads=threads, spoil=spoil)

    return make


def newest(folder: Path) -> tuple[int, dict[str, Any]]:
    loaded = CheckpointStore(folder / "run" / "checkpoints").newest()
    return loaded.step, loaded.state


def weights(state: dict[str, Any]) -> dict[str, NDArray[Any]]:
    networks = state["collector"]["behaviors"]["Duel"]["learner"]["networks"]
    return {f"{module}/{name}": array for module, arrays in networks.items() for name, array in arrays.items()}


def assert_same(first: Any, second: Any) -> None:
    """Equal to the bit, but for clocks and places on disk."""
    for state in (first, second):
        for key in ("wall_time_s", "timers", "statistics"):
            state.pop(key)
    np.testing.assert_equal(first, second)


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that meets nothing bad."""
    folder = tmp_path_factory.mktemp("straight")
    train_small(small_settings(folder), game_with())
    return folder


STOPPED = pytest.mark.parametrize(
    ("spoil", "said", "exchange"),
    [
        pytest.param(nan_seen, ["Duel?team=1", "agent 3", "sensor Ray", "index 7", "step 50", "nan"], SEEN_AT, id="a"),
        pytest.param(infinite_reward, ["Duel?team=0", "agent 1", "a reward", "step 60", "inf"], PAID_AT, id="b"),
    ],
)


@STOPPED
def test_a_bad_number_stops_the_run_and_the_state_before_it_is_whole(
    spoil: Spoil, said: list[str], exchange: int, straight: Path, tmp_path: Path
) -> None:
    settings = small_settings(tmp_path)
    with pytest.raises(NonFiniteError) as caught:
        train_small(settings, game_with(spoil))
    assert [part for part in said if part not in str(caught.value)] == []
    _, state = newest(tmp_path)
    assert state["collector"]["environment_steps"] == exchange
    # Mended, the game is trained on as if nothing had ever been wrong.
    train_small(settings, game_with(), resume=True)
    assert_same(newest(tmp_path)[1], newest(straight)[1])
    assert non_finite_in(tmp_path) == []


class RememberingGame(RayGame):
    """Its saved state holds what it handed out, the bad number too."""

    def save_state(self) -> dict[str, Any]:
        handed_out = {role.full_name: self.get_steps(role.full_name)[0].reward.copy() for role in ROLES}
        return {**super().save_state(), "handed_out": handed_out}


def test_a_game_whose_own_state_is_bad_does_not_hide_what_was_wrong(tmp_path: Path) -> None:
    settings = small_settings(tmp_path, checkpoint_interval=20, run=EXPORTED)
    with pytest.raises(NonFiniteError, match=r"Duel\?team=0, agent 1, environment step 60"):
        train_small(settings, lambda **options: RememberingGame(**options, spoil=infinite_reward))
    assert newest(tmp_path)[0] > 0
    assert non_finite_in(tmp_path) == []


@STOPPED
def test_with_the_policy_drop_the_episode_is_lost_counted_and_the_run_goes_on(
    spoil: Spoil, said: list[str], exchange: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # Both teams learn, so that it is an episode that is learned from.
    settings = small_settings(tmp_path, self_play=None, run={"non_finite": "drop"})
    with caplog.at_level(logging.WARNING):
        report = train_small(settings, game_with(spoil))
    assert report.steps >= 400
    assert not report.was_interrupted
    _, state = newest(tmp_path)
    assert state["collector"]["dropped_episodes"] == 1
    dropped = [record.message for record in caplog.records if "dropped 1 episode" in record.message]
    assert [message.endswith("1 so far") for message in dropped] == [True]
    assert dropped[0].startswith(said[0])
    assert non_finite_in(tmp_path) == []


def test_weights_that_blow_up_are_noticed_at_the_update_and_the_finite_ones_kept(tmp_path: Path) -> None:
    """(c)."""
    hyper = {"batch_size": 32, "buffer_size": 128, "learning_rate": 1e6, "num_epoch": 2}
    settings = small_settings(tmp_path, hyperparameters=hyper)
    with pytest.raises(NonFiniteError, match="Duel: the update made") as caught:
        train_small(settings, game_with())
    assert "the weights before it were put back" in str(caught.value)
    assert "lower learning_rate" in str(caught.value)
    step, state = newest(tmp_path)
    _, start = read_checkpoint(min((tmp_path / "run" / "checkpoints").glob("checkpoint-*.safetensors")))
    assert step >= 128
    assert state["collector"]["behaviors"]["Duel"]["counters"]["updates"] == 0
    np.testing.assert_equal(weights(state), weights(start))
    milder = small_settings(tmp_path, hyperparameters={**hyper, "learning_rate": 1e-3})
    report = train_small(milder, game_with(), resume=True)
    assert report.steps >= 400
    assert non_finite_in(tmp_path) == []


def test_rewards_too_large_to_be_squared_undo_only_the_update_they_broke(tmp_path: Path) -> None:
    def grown(behavior: str, exchange: int, decision: DecisionSteps) -> None:
        if exchange >= 100:
            decision.reward[:] *= np.float32(1e30)

    settings = small_settings(tmp_path, max_steps=2000, run=EXPORTED)
    with pytest.raises(NonFiniteError, match="Duel: the update made the value loss non-finite"):
        train_small(settings, game_with(grown))
    _, state = newest(tmp_path)
    _, start = read_checkpoint(min((tmp_path / "run" / "checkpoints").glob("checkpoint-*.safetensors")))
    assert state["collector"]["behaviors"]["Duel"]["counters"]["updates"] >= 1
    assert any((array != weights(start)[name]).any() for name, array in weights(state).items())
    assert non_finite_in(tmp_path) == []


def poison(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fills the weights in a checkpoint with NaN; all else about the file is right."""
    step, state = read_checkpoint(path)
    for array in weights(state).values():
        if array.dtype.kind == "f":
            array[...] = np.nan
    with monkeypatch.context() as unguarded:
        unguarded.setattr(checkpoint_file, "_is_finite", lambda array: True)
        write_checkpoint(path, state, step=step)
        read_checkpoint(path)  # only the guard refuses it


@pytest.fixture
def poisoned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path, Path]:
    """(d) A run that was stopped, whose newest checkpoint is full of NaN: folder, good and bad checkpoint."""
    train_small(small_settings(tmp_path), game_with(), stop_after=120)
    *_, good, bad = sorted((tmp_path / "run" / "checkpoints").glob("checkpoint-*.safetensors"))
    poison(bad, monkeypatch)
    return tmp_path, good, bad


def test_resuming_skips_a_checkpoint_full_of_nan_and_names_it_and_the_good_one(
    poisoned: tuple[Path, Path, Path], straight: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder, good, bad = poisoned
    watcher = Watcher()
    with caplog.at_level(logging.WARNING):
        train_small(small_settings(folder), game_with(), resume=True, observer=watcher)
    skipped = [record.message for record in caplog.records if record.message.startswith("skipped ")]
    assert len(skipped) == 1
    assert str(bad) in skipped[0]
    assert "not finite" in skipped[0]
    assert any(str(good) in message for message in watcher.messages)
    assert_same(newest(folder)[1], newest(straight)[1])
    bad.unlink(missing_ok=True)
    assert [place for place in non_finite_in(folder) if "set-aside" not in place] == []


def test_asking_for_a_checkpoint_full_of_nan_is_refused_with_the_newest_good_one(
    poisoned: tuple[Path, Path, Path],
) -> None:
    folder, good, bad = poisoned
    step = int(bad.stem.removeprefix("checkpoint-"))
    with pytest.raises(CheckpointError, match="not finite") as caught:
        CheckpointStore(folder / "run" / "checkpoints").load(step)
    assert str(bad) in str(caught.value)
    assert f"the newest complete checkpoint is of step {int(good.stem.removeprefix('checkpoint-'))}" in str(
        caught.value
    )


# -- at the keyboard -----------------------------------------------------------------------------------------------


def command(monkeypatch: pytest.MonkeyPatch, spoil: Spoil, *arguments: str) -> int:
    """The exit code of the command, with a world `rays` that is spoiled."""
    world = registry.WorldInfo("rays", "The walk.", "", game_with(spoil))
    monkeypatch.setattr(registry, "_BUILT_IN", (*registry._BUILT_IN, world))
    with pytest.raises(SystemExit) as caught:
        cli.main(list(arguments))
    assert isinstance(caught.value.code, int)
    return caught.value.code


def test_the_command_ends_with_2_and_says_what_was_wrong_without_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "rays.yaml"
    config.write_text(
        "behaviors: {Duel: {trainer_type: ppo, network_settings: {hidden_units: 4, num_layers: 1}, max_steps: 400}}\n"
    )
    arguments = ["train", "rays", "--config", str(config), "--results-dir", str(tmp_path), "--num-areas", "2"]
    assert command(monkeypatch, nan_seen, *arguments, "--matches", "0", "--threads", "1") == 2
    error = capsys.readouterr().err
    assert "Duel?team=1, agent 3, index 7, environment step 50" in error
    assert "Traceback" not in error
