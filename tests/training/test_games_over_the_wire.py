"""Whole runs with games in processes of their own: broken ones, ones that leave, and two runs at once."""

import itertools
import json
import logging
import shlex
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from sparring.errors import GameError
from sparring.settings import RunSettings
from sparring.training.session import RunReport, run_training
from tests.statistics.builders import points
from tests.training.runs_in_process import Watcher, small_settings

FAKE = f"{shlex.quote(sys.executable)} -m tests.environments.unity.fake_game"


def settings_for(folder: Path, way: str | None, **changes: Any) -> RunSettings:
    game: dict[str, Any] = {"seed": 3, "timeout_wait": 20, **changes}
    if way is not None:
        game["env_path"] = f"{FAKE} {way}"
    plan = {"self_play": None, "max_steps": 200, "summary_freq": 50, "checkpoint_interval": 1000}
    return small_settings(folder, **plan, run={"env_settings": game})


def checkpoints(folder: Path) -> set[str]:
    return {path.name for path in (folder / "run" / "checkpoints").glob("*.safetensors")}


def test_a_game_that_is_killed_is_started_again_and_the_run_completes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        report = run_training(
            settings_for(tmp_path, f"is-killed {shlex.quote(str(tmp_path / 'mark'))}"), observer=Watcher()
        )
    assert report.steps >= 200
    again = [record.getMessage() for record in caplog.records if "started again" in record.getMessage()]
    assert len(again) == 1
    assert "SIGKILL" in again[0]
    # One of the start, one of the moment it broke, one of the end.
    steps = sorted(int(name.partition(".")[0].rpartition("-")[2]) for name in checkpoints(tmp_path))
    assert len(steps) == 3
    assert steps[0] == 0 < steps[1] < 60
    assert steps[2] >= 200
    events = (tmp_path / "run" / "statistics.jsonl").read_text()
    assert '"Environment/Restarts"' in events


def test_a_game_that_breaks_too_often_ends_the_run_with_what_was_learned_on_disk(tmp_path: Path) -> None:
    plan = settings_for(tmp_path, "dies-always", max_lifetime_restarts=0)
    with pytest.raises(GameError, match=r"exit code 3; it was started again 0 times"):
        run_training(plan, observer=Watcher())
    assert len(checkpoints(tmp_path)) == 2


def test_an_editor_that_leaves_and_comes_back_five_times_is_a_pause(tmp_path: Path, free_port: int) -> None:
    watcher = Watcher()
    plan = settings_for(tmp_path, None, base_port=free_port, max_lifetime_restarts=0)
    plan = plan.model_copy(update={"default_settings": plan.default_settings.model_copy(update={"max_steps": 285})})  # type: ignore[union-attr]
    editor = subprocess.Popen([*shlex.split(FAKE), "comes-back", "--mlagents-port", str(free_port)])
    try:
        report = run_training(plan, observer=watcher)
    finally:
        editor.kill()
        editor.wait()
    assert report.steps >= 285
    said = "\n".join(watcher.messages)
    assert f"Listening on port {free_port}. Start training by pressing the Play button" in said
    assert said.count("The editor stopped. Press Play to go on") == 5


def test_a_run_that_waits_for_the_editor_can_be_stopped(tmp_path: Path, free_port: int) -> None:
    is_waiting = threading.Event()

    class Impatient(Watcher):
        def on_message(self, text: str) -> None:
            if "Listening on port" in text:
                is_waiting.set()

    with pytest.raises(GameError, match="nobody waits"):
        run_training(
            settings_for(tmp_path, None, base_port=free_port), observer=Impatient(), should_stop=is_waiting.is_set
        )
    assert not (tmp_path / "run").exists()


def test_a_run_whose_editor_left_for_good_can_be_stopped_and_is_saved(tmp_path: Path, free_port: int) -> None:
    has_left = threading.Event()

    class Watching(Watcher):
        def on_message(self, text: str) -> None:
            if "The editor stopped" in text:
                has_left.set()

    editor = subprocess.Popen([*shlex.split(FAKE), "leaves", "--mlagents-port", str(free_port)])
    try:
        report = run_training(
            settings_for(tmp_path, None, base_port=free_port), observer=Watching(), should_stop=has_left.is_set
        )
    finally:
        editor.kill()
        editor.wait()
    assert report.was_interrupted
    assert len(checkpoints(tmp_path)) == 2
    assert [path.name for path in report.models] == ["Walker.onnx"]


def test_games_are_told_of_lessons_and_after_a_resume_before_their_first_reset(tmp_path: Path) -> None:
    criteria = {"behavior": "Walker", "measure": "progress", "threshold": 0.3}
    uniform = {"sampler_type": "uniform", "sampler_parameters": {"max_value": 2.0}}
    lessons = [{"name": "a", "value": 1.5, "completion_criteria": criteria}, {"name": "b", "value": uniform}]

    def told(name: str, **start: bool) -> list[Any]:
        notes = tmp_path / name
        notes.mkdir()
        plan = settings_for(tmp_path, f"notes {shlex.quote(str(notes))}", num_envs=2)
        plan = RunSettings.model_validate(
            {
                **plan.model_dump(),
                "environment_parameters": {"size": {"curriculum": lessons}},
                "checkpoint_settings": {**plan.checkpoint_settings.model_dump(), **start},
            }
        )
        steps = itertools.count()
        run_training(plan, observer=Watcher(), should_stop=lambda: next(steps) > 120)
        told = [[json.loads(line) for line in path.read_text().splitlines()] for path in sorted(notes.iterdir())]
        return [[note for note in lines if note[0] != "time scale"] for lines in told]

    first = told("first")
    assert [lines[:2] for lines in first] == [[["size", 1.5], "reset"]] * 2
    samplers = [lines[2] for lines in first]
    assert all((name, kind, ends) == ("size", 0, [0.0, 2.0]) for name, (kind, _, ends) in samplers)
    assert len({seed for _, (_, seed, _) in samplers}) == 2
    second = told("second", resume=True)
    assert sorted(lines[:2] for lines in second) == sorted([sampler, "reset"] for sampler in samplers)
    curve = points(tmp_path / "run", "Walker")
    assert [value for _, value in curve["Environment/Lesson Number/size"]][:1] == [0.0]
    assert [value for _, value in curve["Environment/Lesson Number/size"]][-1:] == [1.0]


def test_two_runs_of_two_games_started_together_both_finish(tmp_path: Path) -> None:
    reports: dict[str, RunReport] = {}

    def run(name: str) -> None:
        folder = tmp_path / name
        reports[name] = run_training(settings_for(folder, "plays", num_envs=2), observer=Watcher())

    other = threading.Thread(target=run, args=("one",))
    other.start()
    run("two")
    other.join()
    assert all(reports[name].steps >= 200 for name in ("one", "two"))
    for name in ("one", "two"):
        assert (tmp_path / name / "run" / "run_logs" / "Player-1.output.log").is_file()
