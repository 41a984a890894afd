"""Generative adversarial imitation: what an expert's judge takes for the expert's is worth doing (Ho and Ermon 2016).

The gradient penalty is that of Gulrajani et al. 2017; the variational bottleneck that of Peng et al. 2019.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from sparring.algorithms.demonstrations import load_demonstrations
from sparring.algorithms.signals.signal import LearnedSignal, Transitions, action_columns, generator_of, without_memory
from sparring.networks import Body, Dense, ObservationLayout, kaiming_normal
from sparring.settings import GAILSettings
from sparring.specs import BehaviorSpec, ObservationSpec

__all__ = ["Discriminator", "GAILSignal", "discriminator_loss", "gradient_penalty", "imitation_reward", "vail_kl"]

_LEAST = 1e-7
_CODE_SIZE = 128
_PENALTY = 10.0
_KL_TARGET = 0.5
_BETA_STEP = 0.0005


class Discriminator(nn.Module):
    """Tells an expert's transitions from a policy's.

    With actions, they and whether the rules ended the episode are joined to the vector observations. With the
    variational bottleneck, only a noisy code of 128 numbers passes.

    Attributes:
        beta: float32 scalar, weight of the bottleneck's term.
    """

    beta: Tensor

    def __init__(self, spec: BehaviorSpec, settings: GAILSettings, *, generator: torch.Generator) -> None:
        super().__init__()
        self.actions = spec.action_spec
        self.has_vectors = ObservationLayout(spec).vector_size > 0
        self.use_actions = settings.use_actions
        if settings.use_actions:
            width = self.actions.continuous_size + self.actions.total_choices + 1
            extra = ObservationSpec.vector(width, name="ActionAndEnd")
            spec = dataclasses.replace(spec, observation_specs=(*spec.observation_specs, extra))
        self.body = Body(spec, without_memory(settings.network_settings), generator=generator)
        size = self.body.features
        self.code: Dense | None = None
        self.deviation: nn.Parameter | None = None
        if settings.use_vail:
            self.code = Dense(kaiming_normal(_CODE_SIZE, size, scale=0.1, generator=generator))
            self.deviation = nn.Parameter(torch.ones(_CODE_SIZE, dtype=torch.float32, device="cpu"))
            size = _CODE_SIZE
        self.judge = Dense(kaiming_normal(1, size, scale=0.2, generator=generator))
        self.register_buffer("beta", torch.zeros((), dtype=torch.float32, device="cpu"))

    def columns(self, transitions: Transitions) -> list[Tensor]:
        """What the discriminator looks at, as inputs of its body."""
        inputs = list(transitions.inputs)
        if not self.use_actions:
            return inputs
        action = action_columns(self.actions, transitions.continuous, transitions.discrete)
        extra = torch.cat((action, transitions.terminated.to(action.dtype).unsqueeze(1)), dim=1)
        if self.has_vectors:
            return [torch.cat((inputs[0], extra), dim=1), *inputs[1:]]
        return [extra, *inputs]

    def forward(self, columns: Sequence[Tensor], noise: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """The logit `[rows]` of being the expert's, and the mean of the code, None without a bottleneck.

        Args:
            columns: from `columns`.
            noise: standard normal `[rows, 128]`; None for none.
        """
        features, _ = self.body.forward(columns)
        if self.code is None or self.deviation is None:
            return self.judge.forward(features).squeeze(1), None
        mean = self.code.forward(features)
        code = mean if noise is None else mean + self.deviation * noise
        return self.judge.forward(code).squeeze(1), mean


def imitation_reward(estimate: Tensor) -> Tensor:
    """−ln(1 − D (1 − 1e-7)) of estimates D within 0 and 1."""
    return -torch.log(1.0 - estimate * (1.0 - _LEAST))


def discriminator_loss(expert: Tensor, policy: Tensor) -> Tensor:
    """−mean(ln D_expert) − mean(ln(1 − D_policy)) of estimates within 0 and 1."""
    return -(torch.log(expert + _LEAST).mean() + torch.log(1.0 - policy + _LEAST).mean())


def gradient_penalty(network: Discriminator, expert: Sequence[Tensor], policy: Sequence[Tensor], mix: Tensor) -> Tensor:
    """mean((‖∇D‖ − 1)²) between the expert's columns and the policy's, the gradient with respect to all of them.

    Args:
        network: D.
        expert, policy: columns of as many rows each.
        mix: `[rows]` within 0 and 1, the expert's share.
    """
    between = []
    for theirs, ours in zip(expert, policy, strict=True):
        share = mix.view(-1, *[1] * (theirs.ndim - 1))
        between.append((share * theirs + (1.0 - share) * ours).detach().requires_grad_())
    logit, _ = network.forward(between)
    slopes = torch.autograd.grad(logit.sigmoid().sum(), between, create_graph=True)
    squared = torch.stack([slope.flatten(1).square().sum(1) for slope in slopes]).sum(0)
    return ((squared + 1e-12).sqrt() - 1.0).square().mean()


def vail_kl(expert_mean: Tensor, policy_mean: Tensor, deviation: Tensor) -> Tensor:
    """Mean of −Σ(1 + ln σ² − ½μ_E² − ½μ_π² − σ²) over rows.

    Args:
        expert_mean, policy_mean: `[rows, code]`.
        deviation: `[code]`.
    """
    variance = deviation.square()
    inside = 1.0 + torch.log(variance + _LEAST) - 0.5 * expert_mean.square() - 0.5 * policy_mean.square() - variance
    return -inside.sum(1).mean()


class GAILSignal(LearnedSignal):
    """Pays for what looks like the demonstrations."""

    network: Discriminator

    def __init__(
        self,
        behavior: str,
        spec: BehaviorSpec,
        settings: GAILSettings,
        *,
        device: torch.device,
        seed: np.random.SeedSequence,
    ) -> None:
        self.behavior = behavior
        self.generator = generator_of(seed)
        self.network = Discriminator(spec, settings, generator=self.generator).to(device)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=settings.learning_rate)
        self._device = device
        where = f"behaviors.{behavior}.reward_signals.gail.demo_path"
        self._expert = load_demonstrations(settings.demo_path, spec, where=where).transitions(device)

    def reward(self, transitions: Transitions) -> Tensor:
        """As `RewardSignal.reward`."""
        logit, _ = self.network.forward(self.network.columns(transitions))
        return imitation_reward(logit.sigmoid())

    def update(self, transitions: Transitions) -> dict[str, float]:
        """As `RewardSignal.update`."""
        rows = len(transitions)
        drawn = torch.randint(len(self._expert), (rows,), generator=self.generator).to(self._device)
        expert, policy = (self.network.columns(seen) for seen in (self._expert.rows(drawn), transitions))
        noises = [self._noise(rows), self._noise(rows)]
        mix = torch.rand(rows, generator=self.generator).to(self._device)
        loss, report = self.losses(expert, policy, noises, mix)
        self._descend(loss)
        if "Losses/GAIL KL Loss" in report:
            change = _BETA_STEP * (report["Losses/GAIL KL Loss"] - _KL_TARGET)
            self.network.beta.copy_((self.network.beta + change).clamp_min(0.0))
        if self.network.body.normalizer is not None:
            self.network.body.normalizer.update(expert[0])
        return report

    def losses(
        self, expert: Sequence[Tensor], policy: Sequence[Tensor], noises: Sequence[Tensor | None], mix: Tensor
    ) -> tuple[Tensor, dict[str, float]]:
        """What is descended on, and statistics by tag; arguments as for `gradient_penalty`."""
        expert_logit, expert_mean = self.network.forward(expert, noises[0])
        policy_logit, policy_mean = self.network.forward(policy, noises[1])
        theirs, ours = expert_logit.sigmoid(), policy_logit.sigmoid()
        loss = discriminator_loss(theirs, ours)
        penalty = gradient_penalty(self.network, expert, policy, mix)
        accuracy = 0.5 * ((theirs > 0.5).float().mean() + (ours < 0.5).float().mean())
        report = {
            "Losses/GAIL Loss": loss.item(),
            "Policy/GAIL Policy Estimate": ours.mean().item(),
            "Policy/GAIL Expert Estimate": theirs.mean().item(),
            "Policy/GAIL Grad Mag Loss": penalty.item(),
            "Policy/GAIL Accuracy": accuracy.item(),
        }
        total = loss + _PENALTY * penalty
        if expert_mean is not None and policy_mean is not None and self.network.deviation is not None:
            kl = vail_kl(expert_mean, policy_mean, self.network.deviation)
            report |= {"Policy/GAIL Beta": self.network.beta.item(), "Losses/GAIL KL Loss": kl.item()}
            total = total + self.network.beta.item() * (kl - _KL_TARGET)
        return total, report

    def _noise(self, rows: int) -> Tensor | None:
        if self.network.code is None:
            return None
        return torch.randn(rows, _CODE_SIZE, generator=self.generator).to(self._device)
