"""Agents' lists read by compiled code and by the protobuf runtime: recorded bytes, and both against each other."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparring.errors import WireError
from sparring.specs import ActionSpec, BehaviorSpec, ObservationSpec
from sparring.wire import WireBehavior, behavior_of, decoded_agents, read_request
from sparring.wire.agents import _by_protobuf
from sparring.wire.images import decoded_image, encoded_image
from sparring.wire.messages import message_class
from tests.wire import fuzz
from tests.wire.both_readers import BEHAVIOR, assert_equal, assert_read_alike, listed
from tests.wire.golden_vectors import messages, vectors

GOLDEN = messages()
numbers = st.floats(width=32, allow_nan=False)


@st.composite
def infos(draw: st.DrawFn) -> Any:
    """An info as a game writes it, or a little beside."""
    info = message_class("AgentInfoProto")(
        reward=draw(numbers),
        group_reward=draw(numbers),
        done=draw(st.booleans()),
        max_step_reached=draw(st.booleans()),
        id=draw(st.integers(-3, 2**31 - 1)),
        group_id=draw(st.integers(0, 400)),
        action_mask=draw(st.lists(st.booleans(), min_size=5, max_size=5) | st.lists(st.booleans(), max_size=7)),
    )
    for shape in ((3,), (2, 2)):
        observation = info.observations.add(
            shape=shape,
            name=draw(st.sampled_from(["", "rays", "ä"])),
            dimension_properties=draw(st.sampled_from([[], [1], [4, 1]])),
        )
        observation.float_data.data.extend(
            draw(st.lists(numbers, min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
        )
    return info


@settings(max_examples=150, deadline=None)
@given(st.lists(infos(), max_size=5))
def test_the_compiled_reader_gives_what_protobuf_gives(agents: list[Any]) -> None:
    data = listed(agents)
    decision, terminal = decoded_agents(data, BEHAVIOR, name="B?team=0")
    assert_equal((decision, terminal), _by_protobuf(data, BEHAVIOR, name="B?team=0"))
    assert len(decision) + len(terminal) == len(agents)
    assert decision.agent_id.tolist() == [info.id for info in agents if not info.done]


@settings(max_examples=400, deadline=None)
@given(st.lists(infos(), min_size=1, max_size=3), st.data())
def test_damaged_bytes_are_refused_or_read_as_protobuf_reads_them(agents: list[Any], data: st.DataObject) -> None:
    damaged = bytearray(listed(agents))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(damaged) - 1))
        match data.draw(st.sampled_from(["set", "cut", "insert", "double"])):
            case "set":
                damaged[place] = data.draw(st.integers(0, 255))
            case "cut":
                del damaged[place:]
                if not damaged:
                    damaged = bytearray(b"\x0a")
            case "insert":
                damaged.insert(place, data.draw(st.integers(0, 255)))
            case _:
                damaged[place:place] = damaged[place : place + 6]
    assert_read_alike(bytes(damaged))


def test_recorded_steps_are_split_in_message_order() -> None:
    entry = GOLDEN["step_request_first"]
    request = read_request(bytes.fromhex(entry["hex"]))
    (name, data), *_ = request.agents.items()
    first = message_class("UnityRLOutputProto.ListAgentInfoProto").FromString(data).value[0]
    behavior = behavior_of(request.brain_parameters[0], first)
    decision, terminal = decoded_agents(data, behavior, name=name)
    expected = entry["decoded_steps"]
    assert decision.agent_id.tolist() == expected["decision"]["agent_id"]
    assert decision.reward.tolist() == expected["decision"]["reward"]
    assert [sensor.tolist() for sensor in decision.obs] == expected["decision"]["obs"]
    assert terminal.agent_id.tolist() == expected["terminal"]["agent_id"]
    assert terminal.interrupted.tolist() == expected["terminal"]["interrupted"]
    assert [sensor.tolist() for sensor in terminal.obs] == expected["terminal"]["obs"]


def test_masks_are_read_as_recorded() -> None:
    expected = vectors("messages")["action_mask_decoding"]
    spec = BehaviorSpec((ObservationSpec.vector(1),), ActionSpec(0, (3, 2)))
    behavior = WireBehavior(spec, ((1,),), (False,))
    agents = []
    for agent, mask in ((1, [False, True, False, True, False]), (9, []), (10, [True, True])):
        info = message_class("AgentInfoProto")(id=agent, action_mask=mask)
        info.observations.add(shape=[1]).float_data.data.append(0.0)
        agents.append(info)
    decision, _ = decoded_agents(listed(agents), behavior, name="B")
    assert decision.action_mask is not None
    assert decision.agent_id.tolist() == expected["agent_id"]
    assert [branch.tolist() for branch in decision.action_mask] == expected["per_branch_forbidden"]


IMAGES = [
    (name, peer)
    for name, entry in GOLDEN.items()
    for peer in entry.get("decoded_by_peer", [])
    # The oldest reader of mappings took the first channel instead of the mean; the ones after it don't.
    if "values" in peer and not ("mapping" in name and peer["peer_versions"] == ["0.20.0"])
]


@pytest.mark.parametrize(("name", "peer"), IMAGES, ids=[name for name, _ in IMAGES])
def test_images_of_both_layouts_are_what_the_peer_of_that_layout_reads(name: str, peer: dict[str, Any]) -> None:
    proto = message_class("ObservationProto").FromString(bytes.fromhex(GOLDEN[name]["hex"]))
    info = message_class("AgentInfoProto")(id=4, observations=[proto])
    parameters = message_class("BrainParametersProto")(vector_action_size_deprecated=[2])
    # Packages from 3 on send channels first; older ones have no properties to tell it.
    behavior = behavior_of(parameters, info, package_major=3 if name.endswith("chw") else 1)
    decision, _ = decoded_agents(listed([info, info]), behavior, name="B")
    expected = np.array(peer["values"], np.float32).reshape(peer["shape"])
    if name.endswith("hwc"):
        expected = expected.transpose(2, 0, 1)
    assert behavior.spec.observation_specs[0].shape == expected.shape
    for row in decision.obs[0]:
        np.testing.assert_allclose(row, expected, atol=1e-6)


@given(st.integers(1, 7), st.integers(1, 5), st.integers(1, 5), st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_an_encoded_image_comes_back(channels: int, height: int, width: int, seed: int) -> None:
    image = np.float32(1 / 255) * np.random.default_rng(seed).integers(0, 256, (channels, height, width)).astype(
        np.float32
    )
    mapping = [0, 0, 0] if channels == 1 else [*range(channels), *[-1] * (-channels % 3)]
    np.testing.assert_allclose(decoded_image(encoded_image(image), channels, height, width, mapping), image, atol=1e-6)
    if channels in (1, 3):  # trainers that know no mapping read these as well
        np.testing.assert_allclose(decoded_image(encoded_image(image), channels, height, width), image, atol=1e-6)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"no png", "is no PNG"),
        (encoded_image(np.zeros((3, 2, 2), np.float32))[:40], "damaged"),
        (encoded_image(np.zeros((3, 9, 9), np.float32)), "another size"),
    ],
)
def test_an_image_that_is_none_is_refused_with_behavior_agent_and_sensor(data: bytes, message: str) -> None:
    info = message_class("AgentInfoProto")(id=7)
    info.observations.add(shape=[2, 2, 3], compression_type=1, compressed_data=data, name="camera")
    behavior = behavior_of(message_class("BrainParametersProto")(vector_action_size_deprecated=[2]), info)
    with pytest.raises(WireError, match=message) as caught:
        decoded_agents(listed([info]), behavior, name="B?team=1")
    assert caught.value.findings[0].where == "B?team=1, agent 7, sensor camera"


def test_an_observation_of_another_shape_names_agent_and_sensor() -> None:
    info = message_class("AgentInfoProto")(id=3)
    for shape in ((4,), (2, 2)):
        info.observations.add(shape=shape).float_data.data.extend([0.0] * 4)
    with pytest.raises(WireError, match="another shape than announced") as caught:
        decoded_agents(listed([info]), BEHAVIOR, name="B")
    assert caught.value.findings[0].where == "B, agent 3, sensor 0"


def test_the_fuzzer_reads_many_damaged_messages_and_tells_how_many(capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz.main(["--messages", "2000", "--seed", "5"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("2000 messages, ")
    assert 0 < int(told.split()[2]) < 2000
