"""`sparring record` writes demonstrations that can be read, looked into and learned from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from sparring.cli.main import main
from sparring.networks import Actor
from sparring.networks.policy import Policy
from sparring.settings import NetworkSettings
from sparring.training.recording import record_demonstration
from sparring.wire.demonstrations import read_demonstration
from tests.games import duel, two_roles


def called(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    return int(left.value.code or 0)


def test_chance_is_recorded_in_whole_episodes_of_one_agent_after_the_other(tmp_path: Path) -> None:
    path = tmp_path / "chance.demo"
    recorded = record_demonstration(
        duel(num_arenas=2),
        {},
        path,
        behavior="Duel",
        episodes=4,
        generator=torch.Generator(),
        rng=np.random.default_rng(0),
    )
    found = read_demonstration(path)
    assert found.behavior_name == "Duel?team=0"
    assert int(found.done.sum()) == 4
    assert bool(found.done[-1])
    assert recorded == (len(found.samples()), 4)
    left = found.obs[0][:, 2]  # what is left of the time falls within an episode and is whole where one begins
    begins = np.concatenate(([0], np.flatnonzero(found.done)[:-1] + 1))
    assert (left[begins] == 1).all()
    assert all((np.diff(part) < 0).all() for part in np.split(left, begins[1:]))
    # The moves that were recorded are those that were made.
    place, move = found.obs[0][:, 0] * 3, found.actions.discrete[:, 0] - 1
    for row in found.samples():
        assert place[row + 1] == pytest.approx(np.clip(place[row] + move[row], -3, 3), abs=1e-4)


def test_a_policy_with_memory_is_recorded_too(tmp_path: Path) -> None:
    game = two_roles(num_arenas=1)
    spec = game.behavior_specs["Right?team=1"]
    settings = NetworkSettings.model_validate({"hidden_units": 4, "memory": {"memory_size": 4}})
    actor = Actor(spec, settings, generator=torch.Generator().manual_seed(0))
    policy = Policy(spec, actor, device=torch.device("cpu"))
    path = tmp_path / "policy.demo"
    record_demonstration(
        game,
        {"Right": policy},
        path,
        behavior="Right?team=1",
        episodes=2,
        generator=torch.Generator().manual_seed(0),
        rng=np.random.default_rng(0),
        deterministic=True,
    )
    found = read_demonstration(path)
    memory: NDArray[Any] = np.zeros((1, 4), np.float32)
    for row in range(len(found)):
        if found.done[row]:
            memory[:] = 0
            continue
        output = policy.act([found.obs[0][row : row + 1]], None, torch.Generator(), memory=memory, deterministic=True)
        assert output.memory is not None
        memory = output.memory.copy()
        assert output.discrete[0, 0] == found.actions.discrete[row, 0]


def test_a_world_is_recorded_from_the_command_line_and_the_file_is_not_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / "soccer.demo")
    options = ["record", "soccer_twos", file, "--episodes", "1", "--seed", "3"]
    assert called(*options) == 0
    assert "decisions in 1 whole episodes" in capsys.readouterr().out
    assert called("demo", "info", file) == 0
    assert "episodes  1:" in capsys.readouterr().out
    assert called(*options) == 2
    assert "exists already" in capsys.readouterr().err
    assert called("record", "soccer_twos", str(tmp_path / "x.demo"), "--behavior", "Socer") == 2
    assert "has no behavior 'Socer'" in capsys.readouterr().err


FORWARD = """
import numpy as np
from sparring.steps import ActionBatch

def forward(decision, spec):
    actions = ActionBatch.zeros(spec.action_spec, len(decision))
    actions.discrete[:, 0] = 1
    return actions

def outside(decision, spec):
    return ActionBatch.zeros(spec.action_spec, len(decision) + 1)
"""


def test_a_script_plays_the_recorded_behavior(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script, file = tmp_path / "play.py", tmp_path / "forward.demo"
    script.write_text(FORWARD)
    options = ["record", "strikers_vs_goalie", str(file), "--behavior", "Striker", "--episodes", "1"]
    assert called(*options, "--script", f"{script}:forward") == 0
    found = read_demonstration(file)
    assert len(found.samples()) > 1
    assert (found.actions.discrete[found.samples()] == [1, 0, 0]).all()
    capsys.readouterr()
    file.unlink()
    for place, message in (
        (f"{script}:foward", "did you mean 'forward'?"),
        (f"{tmp_path / 'other.py'}:forward", "there is no such script"),
        ("forward", "there is no such script"),
        (f"{script}:outside", "wrong shape"),
    ):
        assert called(*options, "--script", place) == 2
        assert message in capsys.readouterr().err
        assert not file.exists()
