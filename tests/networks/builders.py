"""Specs, networks and observations for the tests of this folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import hypothesis
import numpy as np
import torch
from numpy.typing import NDArray

from sparring.networks import Actor, Critic, ObservationLayout
from sparring.settings.network import MemorySettings, NetworkSettings
from sparring.specs import (
    ActionSpec,
    BehaviorSpec,
    DimensionProperty,
    ObservationSpec,
    ObservationType,
)

unhurried = hypothesis.settings(deadline=None)
"""For property tests: the first call of a torch operation may take long, which is no fault."""

DISCRETE = ActionSpec.create_discrete((3, 4))
HYBRID = ActionSpec.create_hybrid(2, (3, 4))


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def behavior(*sensors: ObservationSpec, actions: ActionSpec = HYBRID) -> BehaviorSpec:
    return BehaviorSpec(sensors, actions)


def goal(size: int, *, name: str = "") -> ObservationSpec:
    return ObservationSpec((size,), (DimensionProperty.NONE,), ObservationType.GOAL_SIGNAL, name)


def goal_image(channels: int, height: int, width: int) -> ObservationSpec:
    image = ObservationSpec.image(channels, height, width)
    return ObservationSpec(image.shape, image.dimension_property, ObservationType.GOAL_SIGNAL)


def settings(*, memory_size: int | None = None, **values: Any) -> NetworkSettings:
    memory = None if memory_size is None else MemorySettings(memory_size=memory_size)
    return NetworkSettings(**{"hidden_units": 16, "memory": memory, **values})


def actor(spec: BehaviorSpec, *, seed: int = 0, squash: bool = False, **values: Any) -> Any:
    """An actor; untyped because tests look into parts that only some actors have."""
    return Actor(spec, settings(**values), generator=generator(seed), squash=squash)


def critic(spec: BehaviorSpec, *, signals: Sequence[str] = ("extrinsic",), seed: int = 0, **values: Any) -> Any:
    """A critic; untyped as `actor` is."""
    return Critic(spec, settings(**values), signals=signals, generator=generator(seed))


def observations(spec: BehaviorSpec, rows: int, *, seed: int = 0) -> list[NDArray[Any]]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((rows, *sensor.shape), np.float32) for sensor in spec.observation_specs]


def tensors(spec: BehaviorSpec, rows: int, *, seed: int = 0) -> list[torch.Tensor]:
    return [torch.from_numpy(column) for column in ObservationLayout(spec).inputs(observations(spec, rows, seed=seed))]
