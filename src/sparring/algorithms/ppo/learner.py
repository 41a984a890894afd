"""The PPO learner: its critics, and one update in the order of the paper.

Details that differ from the paper or from the known tool are numbered in docs/algorithms/ppo.md. With a critic of
its own, actor and critic share nothing once advantages and returns are fixed, so each is updated on a thread of
its own: neither waits for the other, and the arithmetic of each stays on one core, where its bits do not depend on
what else the machine does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sparring.algorithms.advantages import gae
from sparring.algorithms.clipped_losses import value_loss
from sparring.algorithms.experience import Experience, Minibatch, features_of
from sparring.algorithms.on_policy import OnPolicyLearner, standardized
from sparring.networks import Actor, Critic, Normalizer, SharedActorCritic
from sparring.rollouts import Rollout, steps_in_order
from sparring.settings import PPOHyperparameters

__all__ = ["PPOLearner"]

_VALUE_ROWS = 4096
_VALUE_WEIGHT = 0.5


class PPOLearner(OnPolicyLearner):
    """Actor, critic, their optimizers and schedules; arguments as for `Learner`."""

    def _build(self, generator: torch.Generator, normalizer: Normalizer | None) -> Actor:
        spec, network = self._spec, self._settings.network_settings
        self._shared: SharedActorCritic | None = None
        self._critic: Critic | None = None
        if isinstance(self._hyper, PPOHyperparameters) and self._hyper.shared_critic:
            self._shared = SharedActorCritic(
                spec, network, signals=self._signals.names, generator=generator, normalizer=normalizer
            ).to(self._device)
            self._optimizers = [self._adam(self._shared.parameters())]
            return self._shared.actor
        actor = Actor(spec, network, generator=generator, normalizer=normalizer).to(self._device)
        names = self._signals.names
        critic = Critic(spec, network, signals=names, generator=generator, normalizer=normalizer)
        self._critic = critic.to(self._device)
        self._optimizers = [self._adam(actor.parameters()), self._adam(self._critic.parameters())]
        return actor

    def _modules(self) -> list[torch.nn.Module]:
        return [self._shared] if self._shared is not None else [self._actor, self._own_critic]

    @property
    def _own_critic(self) -> Critic:
        assert self._critic is not None, "a learner has a critic or shares it"
        return self._critic

    @property
    def _critic_memory_size(self) -> int:
        return 0 if self._critic is None else self._critic.memory_size

    # -- what a rollout is worth -------------------------------------------------------------------------------------

    def _experience(self, rollout: Rollout, rewards: NDArray[np.float32]) -> tuple[Experience, NDArray[np.float32]]:
        """Values, advantages and returns of a rollout; advantages are standardized over it."""
        size = rollout.size
        values = self._values_of(rollout)
        never = np.zeros(size, np.bool_)
        advantages = np.stack(
            [
                gae(
                    rewards[:, index],
                    values[:, index],
                    rollout.next_row[:size],
                    never if self._signals.ignores_ends[index] else rollout.terminated[:size],
                    rollout.cut[:size],
                    rollout.status[:size],
                    gamma=gamma,
                    lam=self._hyper.lambd,
                )
                for index, gamma in enumerate(self._signals.gammas)
            ],
            axis=1,
        )
        rows = rollout.complete_rows()
        experience = Experience.of(
            rollout,
            rows,
            advantage=standardized(advantages[rows].mean(axis=1)),
            old_value=values[rows],
            returns=(advantages + values)[rows],
            device=self._device,
        )
        return experience, values[rows]

    def _values_of(self, rollout: Rollout) -> NDArray[np.float32]:
        """Values `[rows, signals]` of everything in a rollout; fills in the memories of a critic that has its own."""
        inputs = [column[: rollout.size] for column in rollout.inputs]
        if rollout.critic_memory is not None:
            return self._values_with_memory(rollout, self._own_critic, rollout.critic_memory)
        return self._values(inputs, None if rollout.memory is None else rollout.memory[: rollout.size])

    @torch.inference_mode()
    def _values(
        self, inputs: Sequence[NDArray[np.float32]], memory: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """Values `[rows, signals]` of rows that stand alone, in large batches, split over the learner's threads."""
        size = len(inputs[0])
        values = np.empty((size, len(self._signals.names)), np.float32)

        @torch.inference_mode()
        def fill(starts: Sequence[int]) -> None:
            for start in starts:
                part = slice(start, start + _VALUE_ROWS)
                batch = [torch.from_numpy(column[part]).to(self._device) for column in inputs]
                before = None if memory is None else torch.from_numpy(memory[part]).to(self._device)
                if self._shared is not None:
                    _, value, _ = self._shared(batch, before)
                else:
                    value, _ = self._own_critic(batch, before)
                values[part] = value.cpu().numpy()

        starts = list(range(0, size, _VALUE_ROWS))
        self._both(lambda: fill(starts[::2]), lambda: fill(starts[1::2]))
        return values

    @torch.inference_mode()
    def _values_with_memory(self, rollout: Rollout, critic: Critic, memory: NDArray[np.float32]) -> NDArray[np.float32]:
        """Walks the critic along every trajectory, all of them step by step at once.

        The first row of a trajectory in a rollout has the memory the last update left there, or zeros where the
        trajectory began; every other one is given the memory after the row before it.
        """
        size = rollout.size
        values = np.zeros((size, len(self._signals.names)), np.float32)
        for rows in steps_in_order(rollout.next_row[:size], rollout.status[:size]):
            batch = [torch.from_numpy(column[rows]).to(self._device) for column in rollout.inputs]
            value, after = critic(batch, torch.from_numpy(memory[rows]).to(self._device))
            values[rows] = value.cpu().numpy()
            followers = rollout.next_row[rows]
            going = followers >= 0
            assert after is not None, "a critic with memory gives one back"
            memory[followers[going]] = after.cpu().numpy()[going]
        return values

    # -- learning ----------------------------------------------------------------------------------------------------

    def _learn(
        self, experience: Experience, batches: Sequence[Tensor], *, epsilon: float, beta: float
    ) -> dict[str, float]:
        if self._shared is not None:
            return self._learn_shared(self._shared, experience, batches, epsilon=epsilon, beta=beta)
        policy, value = self._both(
            lambda: self._learn_actor(experience, batches, epsilon=epsilon, beta=beta),
            lambda: self._learn_critic(experience, batches, epsilon=epsilon),
        )
        return {"Losses/Policy Loss": policy, "Losses/Value Loss": value}

    def _learn_critic(self, experience: Experience, batches: Sequence[Tensor], *, epsilon: float) -> float:
        critic = self._own_critic
        losses = []
        for rows in batches:
            batch = experience.batch(rows)
            value = critic.values.forward(features_of(critic.body, batch, batch.critic_memory))
            loss = value_loss(value, batch.old_value, batch.returns, epsilon=epsilon)
            self._descend(self._optimizers[1], _VALUE_WEIGHT * loss, "value loss")
            losses.append(loss.item())
        return float(np.mean(losses))

    def _learn_shared(
        self,
        shared: SharedActorCritic,
        experience: Experience,
        batches: Sequence[Tensor],
        *,
        epsilon: float,
        beta: float,
    ) -> dict[str, float]:
        policy_losses, value_losses = [], []
        for rows in batches:
            batch = experience.batch(rows)
            features = features_of(shared.actor.body, batch, batch.memory)
            value = shared.values.forward(features)
            loss, entropy = self._policy_terms(shared.actor.heads.forward(features), batch, epsilon=epsilon)
            fit = value_loss(value, batch.old_value, batch.returns, epsilon=epsilon)
            self._descend(self._optimizers[0], loss + _VALUE_WEIGHT * fit - beta * entropy, "policy and value loss")
            policy_losses.append(abs(loss.item()))
            value_losses.append(fit.item())
        return {"Losses/Policy Loss": float(np.mean(policy_losses)), "Losses/Value Loss": float(np.mean(value_losses))}

    @torch.no_grad()
    def _check_outputs(self, batch: Minibatch) -> None:
        if self._shared is not None:
            parameters, value, _ = self._shared(batch.inputs, batch.memory)
        else:
            parameters, _ = self._actor(batch.inputs, batch.memory)
            value, _ = self._own_critic(batch.inputs, batch.critic_memory)
        self._check_parameters(parameters)
        self._guard.check("values", value)
