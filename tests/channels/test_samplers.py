"""Samplers come over the wire as they were, and those that make no sense are refused."""

from __future__ import annotations

from typing import Any

import pytest

from sparring.channels import EnvironmentParametersChannel, SideChannels
from sparring.errors import WireError
from sparring.settings import Sampler


def received(channel: EnvironmentParametersChannel) -> EnvironmentParametersChannel:
    """The game's side, after what the trainer's has queued."""
    game = EnvironmentParametersChannel()
    SideChannels([game]).deliver(SideChannels([channel]).take_outgoing())
    return game


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("uniform", {"min_value": -1.0, "max_value": 2.5}),
        ("gaussian", {"mean": 3.0, "st_dev": 0.5}),
        ("multirangeuniform", {"intervals": [[0.0, 1.0], [2.0, 4.0]]}),
    ],
)
def test_a_sampler_arrives_as_it_was(kind: str, parameters: dict[str, Any]) -> None:
    plan = {"sampler_type": kind, "sampler_parameters": {"seed": 2**31 - 1, **parameters}}
    channel, sampler = EnvironmentParametersChannel(), Sampler.model_validate(plan)
    channel.set_float_parameter("wind", 1.0)
    channel.set_sampler("wind", sampler)
    game = received(channel)
    assert game.received_samplers() == {"wind": sampler}
    assert game.values == {}


def test_a_constant_arrives_as_a_number() -> None:
    channel = EnvironmentParametersChannel()
    plan = {"sampler_type": "constant", "sampler_parameters": {"value": 2.5}}
    channel.set_sampler("wind", Sampler.model_validate(plan))
    game = received(channel)
    assert game.values == {"wind": 2.5}
    assert game.received_samplers() == {}


def test_negative_seeds_of_other_trainers_are_seeds_too() -> None:
    channel = EnvironmentParametersChannel()
    channel.set_gaussian_sampler_parameters("wind", 0.0, 1.0, seed=-3)
    assert received(channel).received_samplers()["wind"].sampler_parameters.seed == 2**31 - 3


@pytest.mark.parametrize("wrong", ["uniform", "gaussian", "intervals", "half"])
def test_a_sampler_that_makes_no_sense_is_refused(wrong: str) -> None:
    channel = EnvironmentParametersChannel()
    if wrong == "uniform":
        channel.set_uniform_sampler_parameters("wind", 2.0, 1.0, seed=0)
    elif wrong == "gaussian":
        channel.set_gaussian_sampler_parameters("wind", float("nan"), 1.0, seed=0)
    elif wrong == "intervals":
        channel.set_multirangeuniform_sampler_parameters("wind", [], seed=0)
    else:
        channel.set_multirangeuniform_sampler_parameters("wind", [(0.0,)], seed=0)  # type: ignore[list-item]
    with pytest.raises(WireError, match="environment parameter wind"):
        received(channel).received_samplers()
