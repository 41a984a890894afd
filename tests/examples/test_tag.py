"""The example game: trained in process from the command line, resumed, and played alone by what was learned."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sparring.academy import Academy, AcademyEnvironment
from sparring.errors import CheckpointError, RunError
from sparring.specs import ActionSpec, BehaviorSpec, ObservationSpec
from sparring.training import load_model
from sparring.user_code import load_function

TAG = Path(__file__).parents[2] / "examples" / "tag" / "tag.py"
SETTINGS = TAG.with_suffix(".yaml")
SPARRING = [sys.executable, "-m", "sparring.cli.main"]


def run(*command: str, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, check=False, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a short run of the example, which was stopped and resumed."""
    folder = tmp_path_factory.mktemp("tag")
    small = ["--set", "default_settings.hyperparameters.buffer_size=1024", "--matches", "4", "--threads", "1"]
    run(*SPARRING, "train", f"{TAG}:world", "--config", str(SETTINGS), "--max-steps", "1200", *small, cwd=folder)
    assert "Tag/Caught" in (folder / "results" / "tag" / "statistics.jsonl").read_text()
    run(*SPARRING, "train", f"{TAG}:world", "--resume", "--max-steps", "1500", "--matches", "0", cwd=folder)
    return folder / "results" / "tag"


def test_it_is_trained_in_process_and_resumed(trained: Path) -> None:
    assert {path.name for path in trained.glob("*.onnx")} == {"Chaser.onnx", "Runner.onnx"}


def test_it_plays_alone_by_the_model_that_was_trained(trained: Path) -> None:
    run(sys.executable, str(TAG), "--model", str(trained / "Chaser.onnx"), "--steps", "300", cwd=trained)


def test_the_chaser_catches_the_runner_by_its_own_rule() -> None:
    academy = Academy(seed=1, num_areas=4)
    update = load_function(f"{TAG}:make_game", where="test")(academy)
    for _ in range(600):
        academy.environment_step()
        update()
    assert sum(agent.completed_episodes for agent in academy.agents) >= 2 * 4 * 4


def test_policies_of_a_run_choose_for_agents(trained: Path) -> None:
    academy = Academy(seed=1)
    load_function(f"{TAG}:make_game", where="test")(academy)
    chaser = academy.agents[0]
    final = load_model(trained, "Chaser", chaser.spec, deterministic=True)
    first = load_model(trained, "Chaser", chaser.spec, snapshot=0, deterministic=True)
    assert final.policy.weights_hash() != first.policy.weights_hash()
    acted = []
    for model in (final, first, final):
        chaser.set_model(model)
        academy.reset()
        academy.environment_step()
        acted.append(chaser.stored_actions.continuous.tolist())
    assert all(-1.0 <= number <= 1.0 for numbers in acted for number in numbers)
    with pytest.raises(RunError, match="the run has no behavior 'Chasr'"):
        load_model(trained, "Chasr", chaser.spec)
    with pytest.raises(RunError, match="holds no policy of step 7, expected one of 0"):
        load_model(trained, "Chaser", chaser.spec, snapshot=7)
    other = BehaviorSpec((ObservationSpec.vector(3),), ActionSpec.create_continuous(2))
    with pytest.raises(CheckpointError):
        load_model(trained, "Chaser", other)


def test_a_match_of_the_example_ends_for_both_at_once() -> None:
    environment = AcademyEnvironment(load_function(f"{TAG}:make_game", where="test"), num_areas=3)
    environment.reset()
    ended = 0
    for _ in range(120):
        chasers, runners = (environment.get_steps(name)[1] for name in environment.behavior_specs)
        if len(chasers) or len(runners):
            np.testing.assert_array_equal(np.asarray(chasers.arena_id), np.asarray(runners.arena_id))
        assert (chasers.reward == -runners.reward).all()
        ended += len(chasers)
        environment.step()
    assert ended >= 3
