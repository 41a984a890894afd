"""A run that is refused leaves everything as it was, and going back keeps what it gives up."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from sparring.environments import Environment
from sparring.errors import CheckpointError, SettingsError, SparringError
from sparring.runs import CheckpointStore, LoadedCheckpoint
from sparring.training.session import run_training
from tests.games import WalkGame, two_roles
from tests.training.runs_in_process import Watcher, small_settings, train_small


def contents(folder: Path) -> dict[str, bytes]:
    """Every file with what it holds, but for the lock."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "run.lock"
    }


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    train_small(small_settings(folder), two_roles)
    return folder


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    return tmp_path


def start(folder: Path, game: Any = two_roles, *, resume_from: Any = "newest", **changes: Any) -> Watcher:
    watcher = Watcher()
    run_training(small_settings(folder, **changes), observer=watcher, make_game=game, resume_from=resume_from)
    return watcher


@pytest.mark.parametrize("mode", ["resume", "force"])
@pytest.mark.parametrize(
    ("changes", "resume_only"),
    [
        ({"network_settings": {"hidden_units": 8, "num_layers": 1, "normalize": True}}, True),
        ({"run": {"writers": ["tensorbord"]}}, False),
        ({"run": {"torch_settings": {"device": "cuda:99"}}}, False),
    ],
    ids=["another network", "an unknown writer", "a device that is not there"],
)
def test_a_refused_start_changes_nothing(run: Path, mode: str, changes: dict[str, Any], resume_only: bool) -> None:
    if resume_only and mode == "force":
        pytest.skip("a new run may have another network")
    before = contents(run)
    with pytest.raises(SparringError):
        start(run, checkpoint_settings={mode: True}, **changes)
    assert contents(run) == before


def test_a_refused_new_run_leaves_no_folder(tmp_path: Path) -> None:
    def broken(*, num_arenas: int, seed: int, threads: int) -> Environment:
        raise SettingsError("there is no such game")

    with pytest.raises(SettingsError):
        start(tmp_path, broken)
    with pytest.raises(SparringError):
        start(tmp_path, run={"writers": ["tensorbord"]})
    assert list(tmp_path.iterdir()) == []


def test_going_back_copies_the_curves_and_sets_the_later_checkpoints_aside(run: Path) -> None:
    folder = run / "run"
    steps = sorted(int(path.stem.partition("-")[2]) for path in (folder / "checkpoints").glob("checkpoint-*"))
    curves = (folder / "statistics.jsonl").read_bytes()
    early = steps[len(steps) // 3]
    watcher = start(run, resume_from=early, checkpoint_settings={"resume": True})
    copied = folder / "checkpoints" / "set-aside-curves-1"
    assert (copied / "statistics.jsonl").read_bytes() == curves
    assert any(path.name.startswith("events.out") for path in copied.rglob("*"))
    assert any(str(copied) in message for message in watcher.messages)
    aside = {path.name for path in (folder / "checkpoints" / "set-aside-1").iterdir()}
    assert {f"checkpoint-{step:012d}.safetensors" for step in steps if step > early} <= aside


def test_going_on_from_the_newest_copies_nothing(run: Path) -> None:
    start(run, checkpoint_settings={"resume": True}, max_steps=440)
    assert not list((run / "run" / "checkpoints").glob("set-aside*"))


def test_the_status_remembers_models_of_before_a_resume(run: Path) -> None:
    def listed() -> list[str]:
        status = json.loads((run / "run" / "run_logs" / "training_status.json").read_text())
        name = next(iter(name for name in status if name != "metadata"))
        return [record["file_path"] for record in status[name]["checkpoints"]]

    each: dict[str, Any] = {"run": {"export_settings": {"each_checkpoint": True}}}
    start(run, checkpoint_settings={"resume": True}, max_steps=500, **each)
    first = listed()
    assert first
    start(run, checkpoint_settings={"resume": True}, max_steps=600, **each)
    assert listed()[: len(first)] == first
    assert len(listed()) > len(first)


class Latecomer(WalkGame):
    """Its second behavior appears after some steps; the whole game, that included, can be saved."""

    @property
    def behavior_specs(self) -> Any:
        specs = dict(super().behavior_specs)
        if self.shown < 3:
            specs.popitem()
        return specs

    shown = 0

    def step(self) -> None:
        self.shown += 1
        super().step()

    def save_state(self) -> dict[str, Any]:
        return {**super().save_state(), "shown": self.shown}

    def restore_state(self, state: dict[str, Any]) -> None:
        self.shown = int(state["shown"])
        super().restore_state({name: value for name, value in state.items() if name != "shown"})


def test_a_behavior_that_appeared_late_is_resumed(tmp_path: Path) -> None:
    def late(*, num_arenas: int, seed: int, threads: int) -> Environment:
        game = two_roles(num_arenas=num_arenas, seed=seed, threads=threads)
        game.__class__ = Latecomer
        return game

    start(tmp_path, late)
    watcher = start(tmp_path, late, checkpoint_settings={"resume": True}, max_steps=440)
    assert any("resumed from" in message for message in watcher.messages)


def test_a_checkpoint_that_lacks_a_part_is_named(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = CheckpointStore.load

    def without(self: CheckpointStore, which: Any) -> LoadedCheckpoint:
        loaded = whole(self, which)
        return LoadedCheckpoint(loaded.path, loaded.step, {k: v for k, v in loaded.state.items() if k != "marks"})

    monkeypatch.setattr(CheckpointStore, "load", without)
    with pytest.raises(CheckpointError, match="lacks a part"):
        start(run, checkpoint_settings={"resume": True})


def test_a_run_without_matches_says_why_there_is_no_table(tmp_path: Path) -> None:
    watcher = start(tmp_path, run={"evaluation": {"matches": 0}})
    assert "no table of results: evaluation.matches is 0" in watcher.messages
