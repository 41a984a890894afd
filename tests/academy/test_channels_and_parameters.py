"""What game and trainer tell each other in one process: parameters, statistics, channels of one's own."""

import uuid

import pytest

from sparring.academy import Academy, AcademyEnvironment, EnvironmentParameters, Update
from sparring.channels import RawBytesChannel, SideChannel, StatsAggregationMethod, StatsSideChannel
from sparring.environments import EnvironmentStatistic
from sparring.environments.samplers import draw
from sparring.errors import SpecError
from sparring.settings import Sampler
from tests.academy.games import Walker, walkers

UNIFORM = Sampler.model_validate(
    {"sampler_type": "uniform", "sampler_parameters": {"seed": 4, "min_value": 1.0, "max_value": 2.0}}
)
OWN = uuid.UUID("01234567-89ab-cdef-0123-456789abcdef")


def test_a_parameter_is_a_number_a_draw_or_its_default() -> None:
    parameters = EnvironmentParameters()
    assert parameters.get("size", 3.0) == 3.0
    parameters.set_samplers({"size": UNIFORM})
    drawn = [parameters.get("size", 3.0) for _ in range(3)]
    parameters.set_samplers({"size": UNIFORM})  # is in force already, and draws on
    drawn.append(parameters.get("size", 3.0))
    assert drawn == [draw(UNIFORM, arena=0, number=number) for number in range(4)]
    parameters.set_numbers({"size": 5.0, "speed": 1.0})
    assert parameters.get("size", 3.0) == 5.0
    assert parameters.names() == ["size", "speed"]
    parameters.set_samplers({"size": UNIFORM})
    assert parameters.get("size", 3.0) == draw(UNIFORM, arena=0, number=0)


def test_a_change_is_told_once() -> None:
    told: list[float] = []
    parameters = EnvironmentParameters()
    parameters.on_change("size", told.append)
    parameters.set_numbers({"size": 1.0, "other": 9.0})
    parameters.set_numbers({"size": 1.0})
    parameters.set_numbers({"size": 2.0})
    parameters.set_samplers({"size": UNIFORM})
    assert told == [1.0, 2.0, draw(UNIFORM, arena=0, number=0)]


def test_the_first_reset_carries_the_parameters() -> None:
    seen: list[float] = []

    def make_game(academy: Academy) -> Update:
        Walker(academy)
        academy.on_reset(lambda: seen.append(academy.environment_parameters.get("size", 0.0)))
        return lambda: None

    environment = AcademyEnvironment(make_game)
    environment.set_parameters({"size": 7.0})
    environment.reset()
    assert seen == [7.0]


def test_statistics_reach_the_trainer_once_however_they_are_reported() -> None:
    environment = AcademyEnvironment(walkers())
    environment.academy.statistics.add("Goals", 2.0, StatsAggregationMethod.SUM)
    channel = environment.academy.side_channels.find(StatsSideChannel)
    assert channel is not None
    channel.add_stat("Speed/Mean", 0.5)
    environment.reset()
    assert environment.take_statistics() == [
        EnvironmentStatistic("Goals", 2.0, 2),
        EnvironmentStatistic("Speed/Mean", 0.5, 0),
    ]
    assert environment.take_statistics() == []


def test_a_channel_of_ones_own_works_in_one_process() -> None:
    ours = RawBytesChannel(OWN)
    environment = AcademyEnvironment(walkers(), side_channels=[ours])
    theirs = RawBytesChannel(OWN)
    environment.academy.side_channels.register(theirs)
    ours.send_raw_data(b"to the game")
    theirs.send_raw_data(b"to the trainer")
    environment.reset()
    assert theirs.get_and_clear_received_messages() == [b"to the game"]
    assert ours.get_and_clear_received_messages() == [b"to the trainer"]


def test_channels_are_found_by_type_and_none_is_an_answer() -> None:
    class Other(RawBytesChannel):
        """Another type."""

    academy = Academy()
    assert academy.side_channels.find(RawBytesChannel) is None
    assert academy.side_channels.find_all(RawBytesChannel) == []
    channels: list[SideChannel] = [Other(uuid.uuid4()), RawBytesChannel(uuid.uuid4())]
    for channel in channels:
        academy.side_channels.register(channel)
    assert academy.side_channels.find(Other) is channels[0]
    assert academy.side_channels.find_all(RawBytesChannel) == channels


def test_alone_nothing_that_is_reported_piles_up() -> None:
    academy = Academy()
    Walker(academy)
    channel = academy.side_channels.find(StatsSideChannel)
    assert channel is not None
    for _ in range(100):
        academy.statistics.add("Goals", 1.0)
        academy.environment_step()
    assert channel.message_queue == []


@pytest.mark.parametrize("key", ["", "Hits/Left wall %", "Bot(Clone)/1"])
def test_keys_arrive_as_they_were_given(key: str) -> None:
    environment = AcademyEnvironment(walkers())
    environment.academy.statistics.add(key, 1.0)
    environment.reset()
    assert [each.key for each in environment.take_statistics()] == [key]


def test_a_key_the_wire_can_not_carry_is_refused() -> None:
    with pytest.raises(SpecError, match="not ASCII; found 'über'"):
        Academy().statistics.add("über", 1.0)
