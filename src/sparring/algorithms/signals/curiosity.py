"""Curiosity: what could not be foreseen is worth seeing (Pathak et al. 2017)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - the name torch users read
from torch import Tensor, nn

from sparring.algorithms.signals.signal import LearnedSignal, Transitions, action_columns, generator_of, without_memory
from sparring.networks import Body, Dense, kaiming_normal
from sparring.settings import CuriositySettings
from sparring.specs import ActionSpec, BehaviorSpec

__all__ = ["CuriosityNetwork", "CuriositySignal", "forward_loss", "inverse_loss", "surprise"]

_HIDDEN = 256
_LOSS_SCALE = 10.0
_FORWARD_SHARE = 0.2


class CuriosityNetwork(nn.Module):
    """An encoder, a model of what follows an action and a model of which action led from one state to the next.

    Attributes:
        has_learned: int64 scalar, 1 after the first update; before it, everything would be a surprise.
    """

    has_learned: Tensor

    def __init__(self, spec: BehaviorSpec, settings: CuriositySettings, *, generator: torch.Generator) -> None:
        super().__init__()
        actions = spec.action_spec
        self.actions = actions
        self.body = Body(spec, without_memory(settings.network_settings), generator=generator)
        features = self.body.features
        width = actions.continuous_size + actions.total_choices
        self.foresee = _two_layers(features + width, features, generator)
        self.explain = _two_layers(2 * features, width, generator)
        self.register_buffer("has_learned", torch.zeros((), dtype=torch.int64, device="cpu"))

    def encode(self, inputs: Sequence[Tensor]) -> Tensor:
        """Features `[rows, features]`."""
        features, _ = self.body.forward(inputs)
        return features

    def foreseen(self, features: Tensor, continuous: Tensor, discrete: Tensor) -> Tensor:
        """The features `[rows, features]` expected after an action."""
        action = action_columns(self.actions, continuous, discrete)
        expected: Tensor = self.foresee(torch.cat((features, action), dim=1))
        return expected

    def explanation(self, features: Tensor, following: Tensor) -> Tensor:
        """Continuous actions and logits of choices `[rows, continuous size + choices]` that explain a change."""
        explained: Tensor = self.explain(torch.cat((features, following), dim=1))
        return explained


def _two_layers(inputs: int, outputs: int, generator: torch.Generator) -> nn.Sequential:
    return nn.Sequential(
        Dense(kaiming_normal(_HIDDEN, inputs, generator=generator)),
        nn.SiLU(),
        Dense(kaiming_normal(outputs, _HIDDEN, generator=generator)),
    )


def surprise(expected: Tensor, following: Tensor) -> Tensor:
    """½‖φ(s') − f(φ(s), a)‖² by row (Pathak et al. 2017, eq. 6 with η = 1)."""
    return 0.5 * (following - expected).square().sum(1)


def forward_loss(expected: Tensor, following: Tensor) -> Tensor:
    """Mean surprise."""
    return surprise(expected, following).mean()


def inverse_loss(explained: Tensor, continuous: Tensor, discrete: Tensor, spec: ActionSpec) -> Tensor:
    """How badly actions are explained: squared error summed over dimensions, cross-entropy summed over branches.

    Args:
        explained: `[rows, continuous size + choices]`.
        continuous, discrete: what was done.
        spec: the actions.
    """
    size = spec.continuous_size
    loss = (explained[:, :size] - continuous).square().sum(1)
    start = size
    for branch, choices in enumerate(spec.discrete_branches):
        logits = explained[:, start : start + choices]
        loss = loss + F.cross_entropy(logits, discrete[:, branch], reduction="none")
        start += choices
    return loss.mean()


class CuriositySignal(LearnedSignal):
    """Pays for surprise: min(½‖φ(s') − f(φ(s), a)‖², 1 / strength); nothing before the first update."""

    ignores_ends = True
    needs_next = True

    def __init__(
        self,
        behavior: str,
        spec: BehaviorSpec,
        settings: CuriositySettings,
        *,
        device: torch.device,
        seed: np.random.SeedSequence,
    ) -> None:
        self.behavior = behavior
        self.generator = generator_of(seed)
        self.network: CuriosityNetwork = CuriosityNetwork(spec, settings, generator=self.generator).to(device)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=settings.learning_rate)
        self._most = 1.0 / settings.strength if settings.strength else math.inf
        self._spec = spec

    def reward(self, transitions: Transitions) -> Tensor:
        """As `RewardSignal.reward`."""
        if not int(self.network.has_learned):
            return torch.zeros_like(transitions.reward)
        expected, following = self._both_features(transitions)
        return surprise(expected, following).clamp_max(self._most)

    def losses(self, transitions: Transitions) -> tuple[Tensor, Tensor]:
        """Forward and inverse loss; gradients of both reach the encoder on both sides."""
        assert transitions.next_inputs is not None, "curiosity needs_next"
        features = self.network.encode(transitions.inputs)
        following = self.network.encode(transitions.next_inputs)
        expected = self.network.foreseen(features, transitions.continuous, transitions.discrete)
        explained = self.network.explanation(features, following)
        return forward_loss(expected, following), inverse_loss(
            explained, transitions.continuous, transitions.discrete, self._spec.action_spec
        )

    def total(self, forward: Tensor, inverse: Tensor) -> Tensor:
        """What is descended on."""
        return _LOSS_SCALE * (_FORWARD_SHARE * forward + (1.0 - _FORWARD_SHARE) * inverse)

    def update(self, transitions: Transitions) -> dict[str, float]:
        """As `RewardSignal.update`."""
        forward, inverse = self.losses(transitions)
        self._descend(self.total(forward, inverse))
        if self.network.body.normalizer is not None:
            self.network.body.normalizer.update(transitions.inputs[0])
        self.network.has_learned.fill_(1)
        return {
            "Losses/Curiosity Forward Loss": forward.item(),
            "Losses/Curiosity Inverse Loss": inverse.item(),
        }

    def _both_features(self, transitions: Transitions) -> tuple[Tensor, Tensor]:
        assert transitions.next_inputs is not None, "curiosity needs_next"
        features = self.network.encode(transitions.inputs)
        expected = self.network.foreseen(features, transitions.continuous, transitions.discrete)
        return expected, self.network.encode(transitions.next_inputs)
