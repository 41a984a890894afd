"""A served world is the same game as in process, and can be trained from the command line."""

import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sparring.academy import serve
from sparring.environments.unity import UnityEnvironment
from sparring.errors import GameError
from sparring.steps import ActionBatch
from sparring.worlds.registry import create_world
from tests.academy.playing import play_side_by_side

SERVED = f"{shlex.quote(sys.executable)} -m sparring.cli.main serve"
SETTINGS = """
default_settings:
  hyperparameters: {batch_size: 64, buffer_size: 256}
  network_settings: {hidden_units: 16, num_layers: 1}
  max_steps: 300
  summary_freq: 200
  self_play: {save_steps: 100, swap_steps: 100, team_change: 150}
"""


@pytest.mark.parametrize("world", ["strikers_vs_goalie", "soccer_twos"])
def test_a_served_world_shows_what_the_world_in_process_shows(world: str) -> None:
    with (
        UnityEnvironment(f"{SERVED} {world}", seed=3, timeout_wait=60, num_areas=2, no_graphics=True) as served,
        create_world(world, num_arenas=2, seed=3) as local,
    ):
        play_side_by_side(local, served, steps=250)
        assert {name: spec.action_spec for name, spec in served.behavior_specs.items()} == {
            name: spec.action_spec for name, spec in local.behavior_specs.items()
        }


def test_actions_for_one_agent_and_parameters_reach_the_game() -> None:
    with UnityEnvironment(f"{SERVED} soccer_twos", timeout_wait=60) as game:
        game.set_parameters({"ball_scale": 0.7})
        game.reset()
        name = "SoccerTwos?team=0"
        decision, _ = game.get_steps(name)
        one = ActionBatch(np.zeros((1, 0), np.float32), np.array([[2, 0, 0]], np.int32))
        game.set_action_for_agent(name, int(decision.agent_id[1]), one)
        game.step()
        assert len(game.get_steps(name)[0]) == 2


def test_nobody_on_the_port_is_told(monkeypatch: pytest.MonkeyPatch, free_port: int) -> None:
    monkeypatch.setattr("sparring.academy.serving._CONNECT_S", 0.5)
    with pytest.raises(GameError, match=f"no trainer listens on port {free_port}"):
        serve(lambda seed, areas: create_world("soccer_twos"), port=free_port)


def test_a_served_game_is_trained_resumed_and_leaves_its_log(tmp_path: Path) -> None:
    (tmp_path / "settings.yaml").write_text(SETTINGS)

    def train(*options: str) -> str:
        command = [sys.executable, "-m", "sparring.cli.main", "train", *options, "--threads", "1", "--matches", "0"]
        done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True, timeout=200)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    game = f"{SERVED} strikers_vs_goalie"
    train("settings.yaml", "--env", game, "--num-envs", "2", "--run-id", "over the wire", "--seed", "1")
    run = tmp_path / "results" / "over the wire"
    assert (run / "Striker.onnx").is_file()
    assert (run / "run_logs" / "Player-1.output.log").is_file()
    said = train("--resume", "--run-id", "over the wire", "--max-steps", "350")
    assert "begin anew" in said


@pytest.mark.parametrize("before", [None, "results", "results/ppo"])
def test_a_game_whose_behaviors_the_settings_do_not_list_leaves_nothing(tmp_path: Path, before: str | None) -> None:
    (tmp_path / "settings.yaml").write_text("behaviors:\n  SoccerToos: {self_play: {}}\n")
    if before is not None:
        (tmp_path / before).mkdir(parents=True)
    command = [sys.executable, "-m", "sparring.cli.main", "train", "settings.yaml", "--env", f"{SERVED} soccer_twos"]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True, timeout=100)
    assert done.returncode == 2
    assert "did you mean 'SoccerToos'?" in done.stderr
    assert "Traceback" not in done.stderr
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")}
    assert left == {"settings.yaml", *({before, "results"} if before else ())}


def test_a_game_that_does_not_start_costs_nothing_but_its_log(tmp_path: Path) -> None:
    (tmp_path / "settings.yaml").write_text(SETTINGS)
    command = [
        sys.executable,
        "-m",
        "sparring.cli.main",
        "train",
        "settings.yaml",
        "--env",
        f"{shlex.quote(sys.executable)} -c pass",
    ]
    for _ in range(2):  # the second time nothing of the first stands in its way
        done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True, timeout=100)
        assert done.returncode == 2
        assert "stage: start" in done.stderr
        assert "Traceback" not in done.stderr
    left = {path.relative_to(tmp_path / "results").as_posix() for path in (tmp_path / "results").rglob("*")}
    assert left == {"ppo", "ppo/run.lock", "ppo/run_logs", "ppo/run_logs/Player-0.output.log"}
