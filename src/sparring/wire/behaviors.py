"""Behaviors as games announce them: brain parameters and a first agent become a spec, and the other way."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparring.errors import SpecError, WireError
from sparring.specs import ActionSpec, BehaviorSpec, DimensionProperty, ObservationSpec, ObservationType
from sparring.wire.messages import message_class

__all__ = ["WireBehavior", "action_spec_of", "behavior_of", "brain_parameters"]

_LARGEST_SENSOR = 1 << 26
"""Numbers one observation may hold: more would be a gigabyte for a handful of agents."""
_MOST_CHOICES = 1 << 20


@dataclass(frozen=True, slots=True)
class WireBehavior:
    """A behavior's spec, and how its observations lie on the wire.

    Attributes:
        spec: images channels first, whatever the wire has.
        wire_shapes: the shape of each sensor as sent.
        channels_last: for each sensor whether it is an image sent height-width-channels.
        ranks, shapes: the wire shapes as int64 `[sensors]` and `[sensors, largest rank]`, for the compiled reader.
        sizes: the numbers each sensor sends.
    """

    spec: BehaviorSpec
    wire_shapes: tuple[tuple[int, ...], ...]
    channels_last: tuple[bool, ...]

    ranks: NDArray[np.int64] = field(init=False, compare=False)
    shapes: NDArray[np.int64] = field(init=False, compare=False)
    sizes: tuple[int, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        most = max(len(shape) for shape in self.wire_shapes)
        padded = [shape + (0,) * (most - len(shape)) for shape in self.wire_shapes]
        object.__setattr__(self, "ranks", np.array([len(shape) for shape in self.wire_shapes], np.int64))
        object.__setattr__(self, "shapes", np.array(padded, np.int64))
        object.__setattr__(self, "sizes", tuple(math.prod(shape) for shape in self.wire_shapes))


def action_spec_of(parameters: Any) -> ActionSpec:  # noqa: ANN401 - a run-time message class
    """The actions of a `BrainParametersProto`, from the fields of either generation (wire spec 6.4).

    Raises:
        WireError: a negative number, an empty branch, or no action at all.
    """
    new = parameters.action_spec
    if new.num_continuous_actions or new.num_discrete_actions:
        continuous, branches = new.num_continuous_actions, tuple(new.discrete_branch_sizes)
        if len(branches) != new.num_discrete_actions:
            raise WireError(
                "the branches of an action spec don't match their number",
                where=parameters.brain_name,
                found=str(branches),
                expected=f"{new.num_discrete_actions} sizes",
            )
    elif parameters.vector_action_space_type_deprecated == 1:
        sizes = tuple(parameters.vector_action_size_deprecated)
        continuous, branches = (sizes[0] if sizes else 0), ()
    else:
        continuous, branches = 0, tuple(parameters.vector_action_size_deprecated)
    if continuous < 0 or any(size < 1 for size in branches) or continuous + sum(branches) > _MOST_CHOICES:
        raise WireError(
            "an action spec has an impossible size",
            where=parameters.brain_name,
            found=f"{continuous} continuous, branches {branches}",
        )
    return ActionSpec(continuous, branches)


def behavior_of(parameters: Any, first_agent: Any, *, package_major: int | None = None) -> WireBehavior:  # noqa: ANN401
    """The behavior that brain parameters and the first agent of their message describe.

    Args:
        parameters: a `BrainParametersProto`.
        first_agent: an `AgentInfoProto`.
        package_major: the major version of the game's package, which tells the layout of images where nothing else
            does (wire spec 6.3).

    Raises:
        WireError: an observation of an impossible shape, or no observation or action.
    """
    sensors = [
        _sensor(proto, index, parameters.brain_name, package_major)
        for index, proto in enumerate(first_agent.observations)
    ]
    try:
        spec = BehaviorSpec(tuple(sensor for sensor, _ in sensors), action_spec_of(parameters))
    except SpecError as error:
        raise WireError([*error.findings]) from None
    shapes = tuple(tuple(proto.shape) for proto in first_agent.observations)
    return WireBehavior(spec, shapes, tuple(is_last for _, is_last in sensors))


def _sensor(proto: Any, index: int, behavior: str, package_major: int | None) -> tuple[ObservationSpec, bool]:  # noqa: ANN401
    shape = tuple(proto.shape)
    where = f"{behavior}, sensor {proto.name or index}"
    if not 1 <= len(shape) <= 3 or any(size < 1 for size in shape) or math.prod(shape) > _LARGEST_SENSOR:
        raise WireError(
            "an observation has an impossible shape",
            where=where,
            found=str(shape),
            expected=f"1 to 3 dimensions of at least 1, at most {_LARGEST_SENSOR:,} numbers in all",
        )
    sent = tuple(proto.dimension_properties)
    if sent and (len(sent) != len(shape) or any(not 0 <= value <= 7 for value in sent)):
        raise WireError("an observation's dimension properties don't match its shape", where=where, found=str(sent))
    kind = ObservationType.GOAL_SIGNAL if proto.observation_type == 1 else ObservationType.DEFAULT
    if len(shape) == 3:
        is_last = _is_channels_last(sent, package_major)
        height, width, channels = shape if is_last else (shape[1], shape[2], shape[0])
        image = ObservationSpec.image(channels, height, width, name=proto.name)
        return ObservationSpec(image.shape, image.dimension_property, kind, proto.name), is_last
    if len(shape) == 2:
        properties: tuple[DimensionProperty, ...] = (DimensionProperty.VARIABLE_SIZE, DimensionProperty.NONE)
    else:
        properties = (DimensionProperty.NONE,)
    return ObservationSpec(shape, properties, kind, proto.name), False


def _is_channels_last(properties: Sequence[int], package_major: int | None) -> bool:
    moves = int(DimensionProperty.TRANSLATIONAL_EQUIVARIANCE)
    if tuple(properties) == (moves, moves, 1):
        return True
    if tuple(properties) == (1, moves, moves):
        return False
    return package_major is None or package_major < 3


def brain_parameters(full_name: str, spec: ActionSpec, *, is_training: bool = True) -> Any:  # noqa: ANN401
    """The `BrainParametersProto` of a behavior, with the deprecated fields filled where they can say the same."""
    message = message_class("BrainParametersProto")(brain_name=full_name, is_training=is_training)
    message.action_spec.num_continuous_actions = spec.continuous_size
    message.action_spec.num_discrete_actions = spec.discrete_size
    message.action_spec.discrete_branch_sizes.extend(spec.discrete_branches)
    if spec.is_continuous():
        message.vector_action_size_deprecated.append(spec.continuous_size)
        message.vector_action_space_type_deprecated = 1
    elif spec.is_discrete():
        message.vector_action_size_deprecated.extend(spec.discrete_branches)
    return message
