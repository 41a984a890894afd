"""Demonstration files: recorded ones, our own read back, and damaged ones."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparring.errors import SpecError, WireError
from sparring.specs import ActionSpec, BehaviorSpec, ObservationSpec
from sparring.steps import ActionBatch, DecisionSteps, TerminalSteps
from sparring.wire.demonstrations import DemonstrationWriter, read_demonstration
from sparring.wire.messages import message_class
from tests.wire.golden_vectors import vectors

FILES = {entry["name"]: entry for entry in vectors("messages")["demo_files"]}
SPEC = BehaviorSpec((ObservationSpec.vector(2, name="VectorSensor_size2"),), ActionSpec(2, ()))


@pytest.mark.parametrize("name", FILES)
def test_recorded_files_give_what_the_peer_read(name: str, tmp_path: Path) -> None:
    entry, path = FILES[name], tmp_path / "a.demo"
    path.write_bytes(bytes.fromhex(entry["hex"]))
    if "raises" in entry:
        with pytest.raises(WireError, match="another version"):
            read_demonstration(path)
        return
    found = read_demonstration(path)
    assert len(found) == entry["loaded"]["experiences"]
    assert found.declared_steps == entry["loaded"]["total_expected"]
    assert [list(sensor.shape[1:]) for sensor in found.obs] == entry["loaded"]["obs_shapes"]
    assert found.spec.action_spec == ActionSpec(2, ())
    if "training_buffer" in entry:
        expected: dict[str, Any] = entry["training_buffer"]
        rows = found.samples()
        np.testing.assert_allclose(found.obs[0][rows], expected["obs"], rtol=1e-6)
        np.testing.assert_allclose(found.actions.continuous[rows], expected["continuous_action"])
        np.testing.assert_allclose(found.reward[rows + 1], expected["environment_rewards"])
        np.testing.assert_array_equal(found.done[rows + 1], expected["done"])


def decision(value: float, *, reward: float) -> DecisionSteps:
    one = np.ones(1, np.int32)
    return DecisionSteps(
        [np.array([[value, 0]], np.float32)],
        np.array([reward], np.float32),
        one,
        None,
        0 * one,
        np.zeros(1, np.float32),
    )


def end(value: float, *, reward: float) -> TerminalSteps:
    one = np.ones(1, np.int32)
    zero = np.zeros(1, np.float32)
    return TerminalSteps(
        [np.array([[value, 0]], np.float32)], np.array([reward], np.float32), np.ones(1, np.bool_), one, 0 * one, zero
    )


def written(path: Path, *, episodes: int = 2, name: str = "small") -> Path:
    with DemonstrationWriter(path, name=name, behavior_name="Ball?team=0", spec=SPEC) as writer:
        for episode in range(episodes):
            action = ActionBatch(np.array([[0.5, -0.5]], np.float32), np.zeros((1, 0), np.int32))
            writer.add(decision(episode, reward=0.0), 0, action)
            writer.add(decision(episode + 0.5, reward=0.25), 0, action)
            writer.add(end(episode + 0.75, reward=1.0), 0)
    return path


def test_what_is_written_is_read(tmp_path: Path) -> None:
    found = read_demonstration(written(tmp_path / "b.demo"))
    assert (found.name, found.behavior_name, found.spec) == ("small", "Ball?team=0", SPEC)
    assert found.obs[0][:, 0].tolist() == [0, 0.5, 0.75, 1, 1.5, 1.75]
    assert found.reward.tolist() == [0, 0.25, 1, 0, 0.25, 1]
    assert found.done.tolist() == found.interrupted.tolist() == [False, False, True] * 2
    assert found.samples().tolist() == [0, 1, 3, 4]
    assert found.actions.continuous[0].tolist() == [0.5, -0.5]
    assert (found.declared_steps, found.declared_episodes) == (6, 3)


def test_the_bytes_are_where_the_known_readers_look(tmp_path: Path) -> None:
    data = written(tmp_path / "c.demo").read_bytes()
    brain = message_class("BrainParametersProto").FromString(data[34 : 34 + data[33]])
    assert brain.brain_name == "Ball?team=0"
    assert not brain.is_training
    recorded = bytes.fromhex(FILES["small"]["hex"])
    theirs = message_class("BrainParametersProto").FromString(recorded[34 : 34 + recorded[33]])
    assert (brain.brain_name, brain.action_spec) == (theirs.brain_name, theirs.action_spec)


def test_a_recording_that_was_never_closed_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "d.demo"
    writer = DemonstrationWriter(path, name="open", behavior_name="Ball?team=0", spec=SPEC)
    writer.add(decision(1, reward=0), 0, ActionBatch.zeros(SPEC.action_spec, 1))
    writer._file.flush()
    assert len(read_demonstration(path)) == 1
    writer.close()


def test_a_long_name_makes_room_for_large_counts(tmp_path: Path) -> None:
    path = tmp_path / "e.demo"
    with DemonstrationWriter(path, name="sixteen letters!x", behavior_name="B", spec=SPEC) as writer:
        writer.add(decision(1, reward=0.3), 0)
        writer._steps, writer._episodes = 2**30, 2**30
    data = path.read_bytes()
    meta = message_class("DemonstrationMetaProto").FromString(data[1 : 1 + data[0]])
    assert data[0] <= 32
    assert "sixteen letters".startswith(meta.demonstration_name)
    assert message_class("BrainParametersProto").FromString(data[34 : 34 + data[33]]).brain_name == "B"


def test_a_file_that_exists_is_not_touched(tmp_path: Path) -> None:
    path = written(tmp_path / "f.demo")
    before = path.read_bytes()
    with pytest.raises(SpecError, match="exists already"):
        written(path)
    assert path.read_bytes() == before


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_damaged_file_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("demo")
    whole = bytearray(written(folder / "g.demo").read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    del whole[data.draw(st.integers(1, len(whole))) :]
    (folder / "h.demo").write_bytes(bytes(whole))
    try:
        found = read_demonstration(folder / "h.demo")
    except WireError:
        return
    assert len(found) == len(found.obs[0]) == len(found.actions) == len(found.done)
