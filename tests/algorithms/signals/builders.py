"""Transitions and demonstrations for the tests of this folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sparring.algorithms.signals import RewardSignal, Transitions
from sparring.settings import CuriositySettings, GAILSettings, RNDSettings
from sparring.specs import ActionSpec, BehaviorSpec, ObservationSpec
from sparring.steps import ActionBatch, DecisionSteps, TerminalSteps
from sparring.wire.demonstrations import DemonstrationWriter

__all__ = [
    "KINDS",
    "SPEC",
    "doubled",
    "record",
    "signal_of",
    "slope_by_differences",
    "transitions_of",
]

SPEC = BehaviorSpec((ObservationSpec.vector(3), ObservationSpec.entities(2, 2)), ActionSpec.create_hybrid(2, (3, 2)))
NETWORK = {"hidden_units": 6, "num_layers": 1, "normalize": True}
KINDS: dict[str, Any] = {"curiosity": CuriositySettings, "rnd": RNDSettings, "gail": GAILSettings}


def transitions_of(spec: BehaviorSpec = SPEC, *, rows: int = 12, seed: int = 0) -> Transitions:
    """Made-up decisions and what followed."""
    rng = np.random.default_rng(seed)

    def seen() -> list[torch.Tensor]:
        return [
            torch.from_numpy(rng.standard_normal((rows, *sensor.shape), np.float32))
            for sensor in spec.observation_specs
        ]

    branches = spec.action_spec.discrete_branches
    return Transitions(
        seen(),
        seen(),
        torch.from_numpy(rng.uniform(-1, 1, (rows, spec.action_spec.continuous_size)).astype(np.float32)),
        torch.from_numpy(rng.integers(0, branches or (1,), (rows, len(branches) or 1))[:, : len(branches)]),
        torch.from_numpy(rng.random(rows) < 0.3),
        torch.from_numpy(rng.standard_normal(rows, np.float32)),
    )


def doubled(transitions: Transitions) -> Transitions:
    """In double precision."""
    following = transitions.next_inputs
    return Transitions(
        [column.double() for column in transitions.inputs],
        None if following is None else [column.double() for column in following],
        transitions.continuous.double(),
        transitions.discrete,
        transitions.terminated,
        transitions.reward.double(),
    )


def signal_of(kind: type[RewardSignal], name: str, spec: BehaviorSpec = SPEC, *, seed: int = 0, **plan: Any) -> Any:
    """A small signal."""
    settings = KINDS[name].model_validate({"network_settings": NETWORK, **plan})
    return kind("Duel", spec, settings, device=torch.device("cpu"), seed=np.random.SeedSequence(seed))


def record(
    path: Path,
    spec: BehaviorSpec = SPEC,
    *,
    episodes: int = 3,
    steps: int = 5,
    seed: int = 0,
    ends: bool = True,
    interrupted: bool = False,
    action: ActionBatch | None = None,
) -> Path:
    """A demonstration of some episodes."""
    rng = np.random.default_rng(seed)
    one, zero = np.ones(1, np.int32), np.zeros(1, np.float32)

    def seen() -> list[NDArray[Any]]:
        return [rng.standard_normal((1, *sensor.shape), np.float32) for sensor in spec.observation_specs]

    with DemonstrationWriter(path, name="made up", behavior_name="Duel?team=0", spec=spec) as writer:
        for _ in range(episodes):
            for _ in range(steps):
                done = ActionBatch.random(spec.action_spec, 1, rng) if action is None else action
                writer.add(DecisionSteps(seen(), zero + 0.5, one, None, 0 * one, zero), 0, done)
            if ends:
                flag = np.full(1, interrupted)
                writer.add(TerminalSteps(seen(), zero + 1.0, flag, one, 0 * one, zero), 0)
    return path


def slope_by_differences(loss: Any, parameters: list[torch.Tensor], *, seed: int = 2) -> None:
    """Compares the gradient of a loss in double precision with finite differences, along random directions."""
    found = torch.autograd.grad(loss(), parameters)
    noise = torch.Generator().manual_seed(seed)
    width = 1e-6
    assert any(gradient.abs().max() > 0 for gradient in found)
    for parameter, gradient in zip(parameters, found, strict=True):
        direction = torch.randn(parameter.shape, generator=noise, dtype=torch.float64)
        with torch.no_grad():
            parameter.add_(direction, alpha=width)
        above = loss().item()
        with torch.no_grad():
            parameter.sub_(direction, alpha=2 * width)
        below = loss().item()
        with torch.no_grad():
            parameter.add_(direction, alpha=width)
        slope = (above - below) / (2 * width)
        assert abs((gradient * direction).sum().item() - slope) <= 1e-6 + 1e-5 * abs(slope)
