"""Behavioral cloning: the actor learns to do what experts did, before and beside its reward."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from sparring.algorithms.demonstrations import load_demonstrations
from sparring.algorithms.signals.signal import generator_of
from sparring.algorithms.torch_state import load_optimizer_state, optimizer_state
from sparring.networks import ActionDistribution, ActionParameters, Actor
from sparring.rollouts import PADDING
from sparring.settings import BehavioralCloningSettings
from sparring.specs import ActionSpec

__all__ = ["Cloning", "cloning_loss"]

_EPOCHS = 3
_NO_LONGER = 1e-10


def cloning_loss(
    parameters: ActionParameters,
    noise: Tensor,
    continuous: Tensor,
    discrete: Tensor,
    spec: ActionSpec,
    *,
    squash: bool,
) -> Tensor:
    """Squared error of sampled actions plus cross-entropy of choices, by row.

    Squared errors are averaged over dimensions, cross-entropies over branches. An action drawn with a large deviation
    is far from any expert's, so the deviation falls as well.

    Args:
        parameters: of the actor.
        noise: standard normal `[rows, continuous size]` that actions are drawn with.
        continuous, discrete: the experts' actions, the continuous ones as sent to the game.
        spec: the actions.
        squash: the actor's.

    Returns:
        float32 `[rows]`.
    """
    distribution = ActionDistribution(parameters, spec, squash=squash)
    loss = torch.zeros(len(discrete), dtype=noise.dtype, device=noise.device)
    if spec.continuous_size:
        drawn = distribution.with_noise(noise)
        # As the game is sent it, but for the clipping, beyond which there would be no slope back.
        sent = drawn if squash else drawn / 3.0
        loss = loss + (sent - continuous).square().mean(1)
    if spec.discrete_size:
        log_prob = distribution.component_log_probs(continuous, discrete)[:, spec.continuous_size :]
        loss = loss - log_prob.mean(1)
    return loss


class Cloning:
    """The demonstrations of a behavior, an optimizer of the actor for them, and how fast it still learns.

    Args:
        behavior: its name.
        actor: what learns.
        settings: the section.
        learning_rate: of the algorithm; multiplied with the strength.
        batch_size: of the algorithm, where the section has none.
        sequence_length: of the actor's memory; 1 without.
        device: where the actor lives.
        seed: of the order of demonstrations and of the noise.
    """

    def __init__(
        self,
        behavior: str,
        actor: Actor,
        settings: BehavioralCloningSettings,
        *,
        learning_rate: float,
        batch_size: int,
        sequence_length: int,
        device: torch.device,
        seed: np.random.SeedSequence,
    ) -> None:
        self._actor = actor
        self._settings = settings
        self._rate = learning_rate * settings.strength
        self._device = device
        order, noise = seed.spawn(2)
        self._order = np.random.Generator(np.random.PCG64(order))
        self.generator = generator_of(noise)
        where = f"behaviors.{behavior}.behavioral_cloning.demo_path"
        demonstrations = load_demonstrations(settings.demo_path, actor.spec, where=where)
        self._expert = demonstrations.transitions(device)
        self._parts = demonstrations.sequences(sequence_length)
        size = min(settings.batch_size or batch_size, len(demonstrations))
        self._batch = max(1, size // sequence_length)
        self.optimizer = torch.optim.Adam(actor.parameters(), lr=self._rate)

    def rate(self, step: int) -> float:
        """The learning rate at a step of the behavior: falls to 1e-10 over `steps`, stays where that is 0."""
        if self._settings.steps == 0:
            return self._rate
        left = 1.0 - min(step, self._settings.steps) / self._settings.steps
        return (self._rate - _NO_LONGER) * left + _NO_LONGER

    def update(self, *, step: int) -> dict[str, float]:
        """Passes over the demonstrations; statistics by tag, a loss of 0 once there is nothing left to learn with.

        Raises:
            NonFiniteError: never by itself; whoever calls this looks at the weights.
        """
        rate = self.rate(step)
        if rate <= _NO_LONGER:
            return {"Losses/Pretraining Loss": 0.0}
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        losses, hits = [], []
        for rows in self._batches():
            loss, accuracy = self._losses(rows)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
            losses.append(loss.item())
            hits.append(accuracy)
        report = {"Losses/Pretraining Loss": float(np.mean(losses))}
        if self._actor.spec.action_spec.discrete_size:
            report["Policy/Pretraining Accuracy"] = float(np.mean(hits))
        return report

    def _batches(self) -> list[Tensor]:
        """Sequences `[batch, length]` of every minibatch of every pass."""
        batches = []
        most = self._settings.samples_per_update // (self._batch * self._parts.shape[1])
        for _ in range(self._settings.num_epoch or _EPOCHS):
            order = self._parts[self._order.permutation(len(self._parts))]
            parts = [
                torch.from_numpy(order[start : start + self._batch]).to(self._device)
                for start in range(0, len(order) - self._batch + 1, self._batch)
            ]
            batches += parts[: max(1, most)] if self._settings.samples_per_update else parts
        return batches

    def _losses(self, sequences: Tensor) -> tuple[Tensor, float]:
        """The loss of the real steps of sequences, and the share of choices the actor would make too."""
        flat = sequences.flatten()
        places = torch.nonzero(flat != PADDING).flatten()
        rows = flat[places]
        seen = [column.index_select(0, flat.clamp_min(0)) for column in self._expert.inputs]
        features, _ = self._actor.body.forward(seen, None, sequences.shape[1])
        parameters = self._actor.heads.forward(features.index_select(0, places))
        spec = self._actor.spec.action_spec
        noise = torch.randn(len(rows), spec.continuous_size, generator=self.generator).to(self._device)
        discrete = self._expert.discrete[rows]
        loss = cloning_loss(
            parameters, noise, self._expert.continuous[rows], discrete, spec, squash=self._actor.squash
        ).mean()
        accuracy = 0.0
        if spec.discrete_size:
            with torch.no_grad():
                _, likely = ActionDistribution(parameters, spec, squash=self._actor.squash).most_likely()
                accuracy = (likely == discrete).float().mean().item()
        return loss, accuracy

    def state(self) -> dict[str, Any]:
        """Everything cloning's future depends on, but for the actor."""
        return {
            "optimizer": optimizer_state(self.optimizer),
            "order": self._order.bit_generator.state,
            "generator": self.generator.get_state().numpy().copy(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Puts back what `state` gave."""
        load_optimizer_state(self.optimizer, state["optimizer"])
        self._order.bit_generator.state = state["order"]
        self.generator.set_state(torch.from_numpy(np.array(state["generator"])))
