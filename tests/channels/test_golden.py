"""Every recorded side channel case, both directions."""

import contextlib
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparring.channels import (
    EngineConfig,
    EngineConfigurationChannel,
    EnvironmentParametersChannel,
    FloatPropertiesChannel,
    IncomingMessage,
    LegacyEngineConfigurationChannel,
    OutgoingMessage,
    RawBytesChannel,
    SideChannel,
    SideChannels,
    StatsAggregationMethod,
    StatsSideChannel,
    TrainingAnalyticsChannel,
)
from sparring.channels.registry import framed, unframed
from sparring.errors import SparringError, SpecError, WireError
from tests.wire.golden_vectors import vectors

CASES = {f"{case['section']}/{case['name']}": case for case in vectors("side_channels")["cases"]}
RAW = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")


def of(*sections: str) -> pytest.MarkDecorator:
    names = [name for name in CASES if name.partition("/")[0] in sections]
    return pytest.mark.parametrize("case", [CASES[name] for name in names], ids=names)


def write(message: OutgoingMessage, kind: str, value: Any) -> None:
    if kind == "sequence":
        for inner_kind, inner in value:
            write(message, inner_kind, inner)
        return
    if value in ("inf", "minus_inf"):
        value = float(value.replace("minus_", "-"))
    getattr(message, f"write_{kind}")(value)


@of("primitive")
def test_values_are_written_and_read(case: dict[str, Any]) -> None:
    kind, value = case["call"]["write"], case["call"]["value"]
    message = OutgoingMessage()
    write(message, kind, value)
    assert bytes(message.buffer).hex() == case["messages_hex"][0]
    reader = IncomingMessage(bytes(message.buffer))
    parts = value if kind == "sequence" else [[kind, value]]
    for inner_kind, inner in parts:
        again = OutgoingMessage()
        write(again, inner_kind, getattr(reader, f"read_{inner_kind}")())
        expected = OutgoingMessage()
        write(expected, inner_kind, inner)
        assert again.buffer == expected.buffer


@of("read_default")
def test_reading_at_and_over_the_end(case: dict[str, Any]) -> None:
    call = case["call"]
    if "message_hex" not in call:
        empty, expected = IncomingMessage(b""), case["result"]
        assert empty.read_bool() is expected["bool"]
        assert empty.read_bool(True) is expected["bool_default_true"]
        assert empty.read_int32() == expected["int32"]
        assert empty.read_int32(5) == expected["int32_default_5"]
        assert empty.read_float32() == expected["float32"]
        assert empty.read_float32_list() == expected["float32_list"]
        assert empty.read_string() == expected["string"]
        assert empty.read_string("x") == expected["string_default_x"]
        return
    reader = IncomingMessage(bytes.fromhex(call["message_hex"]))
    if "raises" in case:
        with pytest.raises(WireError):
            getattr(reader, f"read_{call['read']}")()
    else:
        assert getattr(reader, f"read_{call['read']}")() == case["result"]


@of("uuid_layout")
def test_ids_are_in_the_order_of_dot_net(case: dict[str, Any]) -> None:
    channel = uuid.UUID(case["call"]["uuid"])
    assert framed(channel, b"\xab").hex() == case["frame_hex"]
    assert list(unframed(bytes.fromhex(case["frame_hex"]))) == [(channel, b"\xab")]


def sent(channel: SideChannel, case: dict[str, Any]) -> None:
    """What was queued is what was recorded, and the frame too."""
    assert [message.hex() for message in channel.message_queue] == case["messages_hex"]
    channels = SideChannels([channel])
    assert channels.take_outgoing().hex() == case["frame_hex"]
    assert channels.take_outgoing() == b""


@of("raw_bytes")
def test_raw_bytes(case: dict[str, Any]) -> None:
    channel = RawBytesChannel(RAW)
    for data in case["call"]["send"]:
        channel.send_raw_data(bytes.fromhex(data))
    sent(channel, case)


@of("float_properties")
def test_float_properties(case: dict[str, Any]) -> None:
    channel = FloatPropertiesChannel()
    if "set" in case["call"]:
        for key, value in case["call"]["set"]:
            channel.set_property(key, value)
        assert channel.get_property_dict_copy() == dict(case["call"]["set"])
        sent(channel, case)
    else:
        SideChannels([channel]).deliver(bytes.fromhex(case["frame_hex"]))
        assert channel.get_property_dict_copy() == case["result"]
        assert channel.get_property("unknown") is None


@of("engine_configuration")
def test_engine_configuration(case: dict[str, Any]) -> None:
    call = case["call"]
    config = EngineConfig(*call) if isinstance(call, list) else EngineConfig(**call)
    channel: LegacyEngineConfigurationChannel | EngineConfigurationChannel
    if case["name"].startswith("legacy"):
        channel = LegacyEngineConfigurationChannel()
        channel.set_configuration(config)
    else:
        channel = EngineConfigurationChannel()
        channel.set_configuration(config)
        game = EngineConfigurationChannel()
        SideChannels([game]).deliver(bytes.fromhex(case["frame_hex"]))
        assert game.config == config
    sent(channel, case)


@of("environment_parameters")
def test_environment_parameters(case: dict[str, Any]) -> None:
    call = case["call"]
    channel, key = EnvironmentParametersChannel(), call["key"]
    if call["kind"] == "float":
        channel.set_float_parameter(key, call["value"])
    elif call["kind"] == "uniform":
        channel.set_uniform_sampler_parameters(key, call["min"], call["max"], call["seed"])
    elif call["kind"] == "gaussian":
        channel.set_gaussian_sampler_parameters(key, call["mean"], call["st_dev"], call["seed"])
    else:
        intervals = [(low, high) for low, high in call["intervals"]]
        channel.set_multirangeuniform_sampler_parameters(key, intervals, call["seed"])
    sent(channel, case)
    game = EnvironmentParametersChannel()
    SideChannels([game]).deliver(bytes.fromhex(case["frame_hex"]))
    assert (key in game.values) == (call["kind"] == "float")
    assert (key in game.samplers) == (call["kind"] != "float")


@of("stats")
def test_statistics(case: dict[str, Any]) -> None:
    call = case["call"]
    if "aggregation_2__0.16" in case["name"] or "aggregation_3__0.16" in case["name"]:
        pytest.skip("older peers knew two ways of aggregation; we know four")
    channel = StatsSideChannel()
    deliver = SideChannels([channel]).deliver
    if "raises" in case:
        with pytest.raises(WireError, match="unknown aggregation"):
            deliver(bytes.fromhex(case["frame_hex"]))
        return
    deliver(bytes.fromhex(case["frame_hex"]))
    received = channel.get_and_reset_stats()
    assert channel.take() == []
    if "stats" not in call:
        expected = {
            key: [(value, StatsAggregationMethod[name]) for value, name in pairs]
            for key, pairs in case["result"].items()
        }
        assert received == expected
    else:  # the oldest peers kept the last value of a key; all count
        assert received == {"a": [(1.0, 0), (3.0, 0)], "b": [(2.0, 1)]}
    if "aggregation" in call:
        game = StatsSideChannel()
        game.add_stat(call["key"], call["value"], StatsAggregationMethod(call["aggregation"]))
        sent(game, case)


@of("training_analytics")
def test_analytics_are_accepted_and_forgotten(case: dict[str, Any]) -> None:
    channels = SideChannels([TrainingAnalyticsChannel()])
    channels.deliver(bytes.fromhex(case["frame_hex"]))
    assert channels.take_outgoing() == b""


@of("error")
def test_what_is_wrong_is_refused(case: dict[str, Any]) -> None:
    call, name = case["call"], case["name"]
    with pytest.raises(SparringError):  # noqa: PT012 - each case is one call of its own
        if name == "string_non_ascii":
            OutgoingMessage().write_string(call["value"])
        elif name == "engine_width_without_height":
            EngineConfigurationChannel().set_configuration_parameters(**call)
        elif name == "environment_parameters_receives":
            LegacyEngineConfigurationChannel().on_message_received(IncomingMessage(b""))
        elif name == "duplicate_channel_id":
            SideChannels([RawBytesChannel(RAW), RawBytesChannel(RAW)])
        else:
            SideChannels([RawBytesChannel(RAW)]).deliver(bytes.fromhex(call["receive_frame_hex"]))


def test_channels_are_framed_in_the_order_of_registration() -> None:
    case = CASES["manager/two_channels_order"]
    raw, properties = RawBytesChannel(RAW), FloatPropertiesChannel()
    channels = SideChannels([raw, properties, EngineConfigurationChannel()])
    raw.send_raw_data(b"\x01")
    properties.set_property("a", 1.0)
    raw.send_raw_data(b"\x02\x03")
    assert channels.take_outgoing().hex() == case["frame_hex"]


@pytest.mark.parametrize("name", ["manager/parse_three", "manager/unknown_channel_skipped"])
def test_messages_reach_their_channel_and_unknown_ones_do_not_disturb(name: str) -> None:
    raw, properties = RawBytesChannel(RAW), FloatPropertiesChannel()
    SideChannels([raw, properties]).deliver(bytes.fromhex(CASES[name]["call"]["receive_frame_hex"]))
    expected = [b"\xaa\xbb", b""] if name.endswith("three") else [b"\x07"]
    assert raw.get_and_clear_received_messages() == expected
    assert raw.get_and_clear_received_messages() == []


def test_a_game_keeps_an_unknown_message_for_one_exchange() -> None:
    channels = SideChannels(keeps_unknown=True)
    channels.deliver(framed(RAW, b"kept"))
    late = RawBytesChannel(RAW)
    channels.register(late)
    assert late.get_and_clear_received_messages() == [b"kept"]
    channels.unregister(late)
    channels.deliver(framed(RAW, b"lost"))
    channels.deliver(b"")
    channels.register(late)
    assert late.get_and_clear_received_messages() == []


def test_channels_are_found_by_type() -> None:
    one, two = RawBytesChannel(RAW), RawBytesChannel(uuid.UUID(int=5))
    channels = SideChannels([one, StatsSideChannel(), two])
    assert channels.find(RawBytesChannel) is one
    assert channels.find_all(RawBytesChannel) == [one, two]
    assert channels.find(FloatPropertiesChannel) is None
    assert channels.find_all(FloatPropertiesChannel) == []


@given(st.binary(max_size=200))
def test_any_bytes_are_delivered_or_refused(data: bytes) -> None:
    everything = [
        FloatPropertiesChannel(),
        EnvironmentParametersChannel(),
        StatsSideChannel(),
        EngineConfigurationChannel(),
    ]
    for payload in (data, *(framed(channel.channel_id, data) for channel in everything)):
        with contextlib.suppress(WireError):
            SideChannels(everything, keeps_unknown=True).deliver(payload)


def test_a_number_of_more_than_32_bits_is_refused() -> None:
    with pytest.raises(SpecError, match="32 bits"):
        OutgoingMessage().write_int32(2**31)
