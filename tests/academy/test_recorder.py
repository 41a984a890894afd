"""Demonstrations of an agent hold what it saw and did, whoever chose."""

from pathlib import Path

import numpy as np
import pytest

from sparring.academy import Academy, AcademyEnvironment, DemonstrationRecorder
from sparring.errors import SpecError
from sparring.steps import ActionBatch
from sparring.wire.demonstrations import read_demonstration
from tests.academy.games import GOAL, StrollingWalker, walkers


def test_a_heuristic_is_recorded_with_the_ends_of_its_episodes(tmp_path: Path) -> None:
    academy = Academy()
    agent, _ = StrollingWalker(academy), StrollingWalker(academy)
    with DemonstrationRecorder(agent, tmp_path / "stroll.demo"):
        for _ in range(2 * GOAL):
            academy.environment_step()
    academy.environment_step()
    demo = read_demonstration(tmp_path / "stroll.demo")
    assert demo.behavior_name == "Walker?team=0"
    assert demo.name == "stroll"
    assert demo.obs[0].reshape(-1).tolist() == [*range(GOAL + 1)] * 2
    assert demo.actions.discrete.reshape(-1).tolist() == [2, 2, 2, 0] * 2
    assert demo.done.tolist() == [False, False, False, True] * 2
    assert demo.reward.tolist() == [0.0, 0.0, 0.0, 1.0] * 2
    assert demo.declared_steps == 8


def test_what_a_trainer_chooses_is_recorded(tmp_path: Path) -> None:
    environment = AcademyEnvironment(walkers(max_step=0), num_areas=2)
    environment.reset()
    name = "Walker?team=0"
    recorder = DemonstrationRecorder(environment.academy.agents[1], tmp_path / "played.demo", name="Played")
    for choices in ([2, 0], [1, 1], [0, 2]):
        actions = ActionBatch(np.zeros((2, 0), np.float32), np.array(choices, np.int32)[:, None])
        environment.set_actions(name, actions)
        environment.step()
    recorder.close()
    recorder.close()
    demo = read_demonstration(tmp_path / "played.demo")
    assert demo.name == "Played"
    assert demo.actions.discrete.reshape(-1).tolist() == [0, 1, 2]
    assert demo.obs[0].reshape(-1).tolist() == [0.0, -1.0, -1.0]


def test_an_episode_whose_beginning_was_missed_leaves_no_end(tmp_path: Path) -> None:
    academy = Academy()
    agent = StrollingWalker(academy)
    academy.environment_step()
    with DemonstrationRecorder(agent, tmp_path / "late.demo"):
        agent.end_episode()
        academy.environment_step()
    demo = read_demonstration(tmp_path / "late.demo")
    assert demo.done.tolist() == [False]


def test_a_reset_closes_the_episode_of_a_recording(tmp_path: Path) -> None:
    academy = Academy()
    agent = StrollingWalker(academy)
    with DemonstrationRecorder(agent, tmp_path / "reset.demo"):
        academy.environment_step()
        academy.environment_step()
        academy.reset()
        academy.environment_step()
    demo = read_demonstration(tmp_path / "reset.demo")
    assert demo.done.tolist() == [False, False, True, False]
    assert demo.interrupted.tolist() == [False, False, True, False]
    assert demo.obs[0].reshape(-1).tolist() == [0.0, 1.0, 2.0, 0.0]


def test_a_file_that_exists_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "a.demo").write_text("mine")
    agent = StrollingWalker(Academy())
    with pytest.raises(SpecError, match="exists already"):
        DemonstrationRecorder(agent, tmp_path / "a.demo")
    assert (tmp_path / "a.demo").read_text() == "mine"
    assert agent.seat.recorders == []


def test_a_recording_is_whole_when_the_game_is_over(tmp_path: Path) -> None:
    environment = AcademyEnvironment(walkers(StrollingWalker))
    environment.reset()
    DemonstrationRecorder(environment.academy.agents[0], tmp_path / "left.demo")
    environment.set_actions("Walker?team=0", ActionBatch(np.zeros((1, 0), np.float32), np.array([[2]], np.int32)))
    environment.step()
    environment.close()
    assert read_demonstration(tmp_path / "left.demo").declared_steps == 1
