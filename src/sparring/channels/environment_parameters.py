"""Environment parameters: numbers, or samplers from which the game draws at every read (wire spec 5.4)."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from sparring.channels.messages import IncomingMessage, OutgoingMessage
from sparring.channels.side_channel import SideChannel
from sparring.errors import SpecError, WireError
from sparring.settings import (
    ConstantParameters,
    GaussianParameters,
    MultiRangeParameters,
    Sampler,
    UniformParameters,
)

__all__ = ["EnvironmentParametersChannel"]

_FLOAT, _SAMPLER = 0, 1
_UNIFORM, _GAUSSIAN, _MULTI_RANGE = 0, 1, 2


class EnvironmentParametersChannel(SideChannel):
    """Sends parameters to a game; on the game's side it keeps those that are numbers.

    Attributes:
        values: on the game's side, the parameters that are numbers, by name.
        samplers: on the game's side, kind, seed and arguments of the others, by name.
    """

    def __init__(self) -> None:
        super().__init__(uuid.UUID("534c891e-810f-11ea-a9d0-822485860400"))
        self.values: dict[str, float] = {}
        self.samplers: dict[str, tuple[int, int, list[float]]] = {}

    def set_float_parameter(self, key: str, value: float) -> None:
        """Makes a parameter a number."""
        msg = OutgoingMessage()
        msg.write_string(key)
        msg.write_int32(_FLOAT)
        msg.write_float32(value)
        self.queue_message_to_send(msg)

    def set_uniform_sampler_parameters(self, key: str, min_value: float, max_value: float, seed: int) -> None:
        """Lets the game draw a parameter evenly between two numbers."""
        msg = self._sampler(key, seed, _UNIFORM)
        msg.write_float32(min_value)
        msg.write_float32(max_value)
        self.queue_message_to_send(msg)

    def set_gaussian_sampler_parameters(self, key: str, mean: float, st_dev: float, seed: int) -> None:
        """Lets the game draw a parameter from a normal distribution."""
        msg = self._sampler(key, seed, _GAUSSIAN)
        msg.write_float32(mean)
        msg.write_float32(st_dev)
        self.queue_message_to_send(msg)

    def set_multirangeuniform_sampler_parameters(
        self, key: str, intervals: Sequence[tuple[float, float]], seed: int
    ) -> None:
        """Lets the game draw a parameter evenly from several intervals, the wider the likelier."""
        msg = self._sampler(key, seed, _MULTI_RANGE)
        msg.write_float32_list([end for interval in intervals for end in interval])
        self.queue_message_to_send(msg)

    def set_sampler(self, key: str, sampler: Sampler) -> None:
        """Lets the game draw a parameter from a sampler, whose seed is a number by now."""
        plan = sampler.sampler_parameters
        if isinstance(plan, UniformParameters):
            self.set_uniform_sampler_parameters(key, plan.min_value, plan.max_value, plan.seed)
        elif isinstance(plan, GaussianParameters):
            self.set_gaussian_sampler_parameters(key, plan.mean, plan.st_dev, plan.seed)
        elif isinstance(plan, MultiRangeParameters):
            intervals = [(low, high) for low, high in plan.intervals]
            self.set_multirangeuniform_sampler_parameters(key, intervals, plan.seed)
        elif isinstance(plan, ConstantParameters):
            self.set_float_parameter(key, plan.value)

    def received_samplers(self) -> dict[str, Sampler]:
        """On the game's side, the parameters to draw, by name.

        Raises:
            WireError: a kind of sampler or its arguments make no sense.
        """
        return {key: _read_sampler(key, *received) for key, received in self.samplers.items()}

    def on_message_received(self, msg: IncomingMessage) -> None:
        """Keeps a parameter; an unknown kind is ignored, as games do."""
        key, kind = msg.read_string(), msg.read_int32()
        if kind == _FLOAT:
            self.samplers.pop(key, None)
            self.values[key] = msg.read_float32()
        elif kind == _SAMPLER:
            seed, sampler = msg.read_int32(), msg.read_int32()
            is_list = sampler == _MULTI_RANGE
            arguments = msg.read_float32_list() if is_list else [msg.read_float32(), msg.read_float32()]
            self.values.pop(key, None)
            self.samplers[key] = sampler, seed, arguments

    @staticmethod
    def _sampler(key: str, seed: int, kind: int) -> OutgoingMessage:
        if not -(2**31) <= seed < 2**31:
            raise SpecError("a seed does not fit into 32 bits", where=f"environment parameter {key}", found=str(seed))
        msg = OutgoingMessage()
        msg.write_string(key)
        msg.write_int32(_SAMPLER)
        msg.write_int32(seed)
        msg.write_int32(kind)
        return msg


def _read_sampler(key: str, kind: int, seed: int, arguments: Sequence[float]) -> Sampler:
    """A sampler as it came over the wire; seeds are all numbers of 32 bits there, and not negative here."""
    given: dict[str, Any] = {"seed": seed % 2**31}
    names = {_UNIFORM: ("uniform", "min_value", "max_value"), _GAUSSIAN: ("gaussian", "mean", "st_dev")}
    if kind in names:
        name, *keys = names[kind]
        given |= zip(keys, arguments, strict=True)
    else:
        name = "multirangeuniform" if kind == _MULTI_RANGE else str(kind)
        given["intervals"] = [arguments[start : start + 2] for start in range(0, len(arguments), 2)]
    try:
        return Sampler.model_validate({"sampler_type": name, "sampler_parameters": given})
    except ValidationError as error:
        first = error.errors()[0]["msg"]
        raise WireError("a sampler makes no sense", where=f"environment parameter {key}", found=first) from None
