"""What still holds is said again to a game that comes back; what happened is not."""

import uuid

import pytest

from sparring.channels import (
    EngineConfig,
    EngineConfigurationChannel,
    LegacyEngineConfigurationChannel,
    RawBytesChannel,
    SideChannels,
)


@pytest.mark.parametrize("is_sent_before", [True, False])
def test_the_latest_engine_settings_are_said_again_and_none_twice(is_sent_before: bool) -> None:
    ours, theirs = EngineConfigurationChannel(), EngineConfigurationChannel()
    channels = SideChannels([ours])
    ours.set_configuration_parameters(width=80, height=60, time_scale=20.0)
    ours.set_configuration_parameters(time_scale=3.0)
    if is_sent_before:
        channels.take_outgoing()
    channels.say_again()
    assert len(ours.message_queue) == 2
    SideChannels([theirs]).deliver(channels.take_outgoing())
    assert theirs.config == EngineConfig(width=80, height=60, time_scale=3.0)
    assert channels.take_outgoing() == b""


def test_the_older_generation_says_its_configuration_again() -> None:
    channel = LegacyEngineConfigurationChannel()
    channels = SideChannels([channel])
    channels.say_again()
    assert channels.take_outgoing() == b""
    channel.set_configuration(EngineConfig(time_scale=1.0))
    channel.set_configuration(EngineConfig(time_scale=2.0))
    first = channels.take_outgoing()
    channels.say_again()
    again = channels.take_outgoing()
    assert first.endswith(again)
    assert len(first) == 2 * len(again)


def test_what_happened_is_not_said_again() -> None:
    channel = RawBytesChannel(uuid.uuid4())
    channels = SideChannels([channel])
    channel.send_raw_data(b"goal!")
    channels.take_outgoing()
    channels.say_again()
    assert channels.take_outgoing() == b""
