"""Models choose as the policies they were exported from, and can be switched for ever."""

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import psutil
import pytest
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper

from sparring.academy import Academy, AcademyEnvironment, BehaviorType, Chosen, OnnxModel, VectorSensor
from sparring.academy.seats import asking_columns
from sparring.errors import SpecError
from sparring.networks.export import export_policy
from sparring.networks.policy import Policy
from sparring.specs import ActionSpec, BehaviorSpec, ObservationSpec
from sparring.steps import ActionBatch, DecisionSteps
from sparring.training import PolicyModel
from tests.academy.games import GOAL, Painter, StrollingWalker, Walker, painters
from tests.networks.builders import actor

WALKER = BehaviorSpec((ObservationSpec.vector(1, name="VectorSensor_size1"),), ActionSpec.create_discrete((3,)))


def exported(path: Path, spec: BehaviorSpec = WALKER, **settings: Any) -> Policy:
    """Writes the model of a policy and gives the policy."""
    policy = Policy(spec, actor(spec, **settings), device=torch.device("cpu"))
    export_policy(policy.actor, path)
    return policy


def always(path: Path, choice: int) -> None:
    """Writes the model of a policy that chooses the same whatever it sees."""
    network = actor(WALKER)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
        biases = [parameter for parameter in network.heads.parameters() if parameter.shape == (3,)]
        biases[-1][choice] = 50.0
    export_policy(network, path)


def test_a_model_moves_an_agent_where_no_trainer_does(tmp_path: Path) -> None:
    always(tmp_path / "right.onnx", 2)
    always(tmp_path / "left.onnx", 0)
    academy = Academy()
    agent, other = Walker(academy, max_step=0), StrollingWalker(academy)
    agent.set_model(tmp_path / "right.onnx")
    for _ in range(GOAL):
        academy.environment_step()
    assert (agent.completed_episodes, other.completed_episodes) == (1, 1)
    agent.set_model(str(tmp_path / "left.onnx"))
    academy.environment_step()
    assert agent.place == -1
    agent.set_model(None)
    academy.environment_step()
    assert agent.place == -2  # its heuristic gives zeros: the first choice


def test_with_a_trainer_the_trainer_chooses_unless_the_agent_is_of_only_inference(tmp_path: Path) -> None:
    always(tmp_path / "right.onnx", 2)
    made: list[Walker] = []

    def make_game(academy: Academy) -> Any:
        made.append(Walker(academy, max_step=0))
        made.append(Walker(academy, "Bot", max_step=0, behavior_type=BehaviorType.INFERENCE_ONLY))
        for agent in made:
            agent.set_model(tmp_path / "right.onnx")
        return lambda: None

    environment = AcademyEnvironment(make_game)
    environment.reset()
    environment.step()
    environment.step()
    assert [agent.place for agent in made] == [-2, 2]


@pytest.mark.parametrize("memory_size", [None, 8])
@pytest.mark.parametrize("deterministic", [True, False])
def test_a_model_chooses_as_its_policy(tmp_path: Path, memory_size: int | None, deterministic: bool) -> None:
    academy = Academy(seed=2, num_areas=2)
    painters(academy)
    agents = [agent for agent in academy.agents if isinstance(agent, Painter) and agent.behavior_name.endswith("=1")]
    spec = agents[0].spec
    policy = exported(tmp_path / "painter.onnx", spec, memory_size=memory_size, vis_encode_type="fully_connected")
    model, reference = (
        OnnxModel(tmp_path / "painter.onnx", deterministic=deterministic),
        PolicyModel(policy, deterministic=True),
    )
    model.check(spec, where="Painter")
    reference.check(spec, where="Painter")
    assert model.memory_size == reference.memory_size == (memory_size or 0)
    memory = np.zeros((2, model.memory_size), np.float32)
    for _ in range(3):
        steps = asking_columns(spec, [agent.seat for agent in agents])
        ours, theirs = model.choose(spec, steps, memory), reference.choose(spec, steps, memory)
        np.testing.assert_allclose(ours.memory, theirs.memory, atol=1e-5)
        assert steps.action_mask is not None
        assert not any(
            mask[row, ours.actions.discrete[row, branch]]
            for branch, mask in enumerate(steps.action_mask)
            for row in range(2)
        )
        if deterministic:
            np.testing.assert_allclose(ours.actions.continuous, theirs.actions.continuous, atol=1e-5)
            np.testing.assert_array_equal(ours.actions.discrete, theirs.actions.discrete)
        else:
            assert (ours.actions.continuous != theirs.actions.continuous).all()
        memory = ours.memory
    assert memory.any() or memory_size is None


def test_memory_lasts_for_an_episode_and_ends_with_the_model(tmp_path: Path) -> None:
    exported(tmp_path / "one.onnx", memory_size=8)
    exported(tmp_path / "two.onnx", memory_size=4, seed=1)
    academy = Academy()
    agent = Walker(academy, max_step=0)
    agent.set_model(tmp_path / "one.onnx")
    academy.environment_step()
    remembered = []
    for _ in range(2):
        agent.place = 1
        academy.environment_step()
        remembered.append(np.array(agent.seat.memory))
    assert remembered[0].shape == (8,)
    assert not np.array_equal(remembered[0], remembered[1])
    agent.end_episode()
    assert agent.seat.memory is None
    academy.environment_step()
    agent.set_model(tmp_path / "two.onnx")
    academy.environment_step()
    assert np.array(agent.seat.memory).shape == (4,)


def test_agents_share_a_model_and_the_last_one_lets_it_go(tmp_path: Path) -> None:
    exported(tmp_path / "one.onnx")
    academy = Academy()
    agents = [Walker(academy) for _ in range(3)]
    for agent in agents:
        agent.set_model(tmp_path / "one.onnx")
    held = {id(agent.seat.model) for agent in agents}
    assert len(held) == 1
    model = agents[0].seat.model
    assert model is not None
    watched = weakref.ref(model)
    del model
    for agent in agents:
        assert watched() is not None
        agent.set_model(None)
    gc.collect()
    assert watched() is None


def test_a_file_that_was_written_anew_is_loaded_anew(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    always(path, 2)
    academy = Academy()
    old, new = Walker(academy), Walker(academy)
    old.set_model(path)
    path.unlink()
    always(path, 0)
    new.set_model(path)
    academy.environment_step()
    assert (old.place, new.place) == (1, -1)


def test_switching_models_for_ever_does_not_grow(tmp_path: Path) -> None:
    """By resident memory: what onnxruntime holds is not Python's."""
    spec = BehaviorSpec((ObservationSpec.vector(512, name="VectorSensor_size512"),), ActionSpec.create_discrete((3,)))
    for name in ("one", "two"):
        exported(tmp_path / f"{name}.onnx", spec, hidden_units=512)

    class Seer(Walker):
        def collect_observations(self, sensor: VectorSensor) -> None:
            sensor.add(np.zeros(512, np.float32))

    academy = Academy()
    agent = Seer(academy, vector_size=512, max_step=0)

    def switch(times: int) -> int:
        for number in range(times):
            agent.set_model(tmp_path / f"{('one', 'two')[number % 2]}.onnx")
            academy.environment_step()
        gc.collect()
        resident: int = psutil.Process().memory_info().rss
        return resident

    switch(40)
    before = switch(1)
    size = (tmp_path / "one.onnx").stat().st_size
    assert switch(100) - before < 10 * size  # a leak would hold a hundred models


def test_all_that_differs_between_model_and_agent_is_told(tmp_path: Path) -> None:
    other = BehaviorSpec(
        (ObservationSpec.vector(2, name="a"), ObservationSpec.vector(3, name="b")), ActionSpec.create_hybrid(1, (3, 2))
    )
    exported(tmp_path / "other.onnx", other)
    with pytest.raises(SpecError) as told:
        Walker(Academy()).set_model(tmp_path / "other.onnx")
    assert [finding.what for finding in told.value.findings] == [
        "sensor 'VectorSensor_size1' does not fit the model's input obs_0",
        "the model has an input obs_1 for which there is no sensor",
        "the agent's number of continuous actions is not the model's",
        "the agent's sizes of discrete branches are not the model's",
    ]


def not_a_model(path: Path) -> None:
    path.write_bytes(b"\x08\x09 nothing")


def without_names(path: Path) -> None:
    graph = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 1])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 1])],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 9)], ir_version=4), path)


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda path: None, "a model can't be read; found No such file"),
        (not_a_model, "onnxruntime can't load a model"),
        (without_names, "no model of the format that agents run; found outputs y, expected version 3"),
    ],
)
def test_a_file_that_is_no_such_model_is_refused(tmp_path: Path, write: Any, message: str) -> None:
    path = tmp_path / "model.onnx"
    write(path)
    with pytest.raises(SpecError, match=message):
        Walker(Academy()).set_model(path)


def test_a_policy_of_another_spec_is_refused() -> None:
    spec = BehaviorSpec((ObservationSpec.vector(2),), ActionSpec.create_discrete((3,)))
    model = PolicyModel(Policy(spec, actor(spec), device=torch.device("cpu")))
    with pytest.raises(SpecError, match=r"Walker\?team=0: the policy sees or does something else"):
        Walker(Academy()).set_model(model)


def test_a_sensor_the_model_has_no_input_for_is_told(tmp_path: Path) -> None:
    exported(tmp_path / "one.onnx")
    with pytest.raises(SpecError, match="the model has no input for sensor 'Zeta'; found no obs_1"):
        Walker(Academy(), sensors=[VectorSensor(1, name="Zeta")]).set_model(tmp_path / "one.onnx")


class Wrong:
    """A model that gives what it should not."""

    memory_size = 2

    def __init__(self, actions: ActionBatch, memory: int) -> None:
        self.chosen = Chosen(actions, np.zeros((1, memory), np.float32))

    def check(self, spec: BehaviorSpec, *, where: str) -> None:
        """Fits everybody."""

    def choose(self, spec: BehaviorSpec, steps: DecisionSteps, memory: NDArray[np.float32]) -> Chosen:
        return self.chosen


@pytest.mark.parametrize(
    ("choice", "rows", "memory", "message"),
    [(3, 1, 2, "choice out of range"), (1, 7, 2, "wrong shape"), (1, 1, 3, "another number of numbers")],
)
def test_what_a_model_chooses_is_checked(choice: int, rows: int, memory: int, message: str) -> None:
    academy = Academy()
    actions = ActionBatch(np.zeros((rows, 0), np.float32), np.full((rows, 1), choice, np.int32))
    Walker(academy).set_model(Wrong(actions, memory))
    with pytest.raises(SpecError, match=message):
        academy.environment_step()
