"""The POCA learner: one critic for the whole group, and a baseline for each of its members (Cohen et al. 2022).

The actor learns as in PPO. What it is judged by differs: returns are those of the group's value, which goes on after a
member has fallen as long as mates are there; from them the member's own baseline is taken, which knows what the mates
did but not what the member did. Details are numbered in docs/algorithms/poca.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sparring.algorithms.advantages import gae
from sparring.algorithms.clipped_losses import value_loss
from sparring.algorithms.experience import Experience, Minibatch
from sparring.algorithms.learner import UpdateReport
from sparring.algorithms.on_policy import OnPolicyLearner, standardized
from sparring.algorithms.signals.signal import action_columns
from sparring.networks import Actor, GroupCritic, Normalizer, scaled_for_environment
from sparring.rollouts import Company, Rollout, company_of, shared_reward, steps_in_order

__all__ = ["GroupExperience", "POCALearner"]

_VALUE_ROWS = 2048
_VALUE_WEIGHT = 0.5
_BASELINE_WEIGHT = 0.5


@dataclass(frozen=True, slots=True)
class GroupExperience(Experience):
    """An experience with the mates of every row.

    Attributes:
        everything: inputs of all rows of the rollout, for mates may be in rows that are not learned from.
        actions: `[all rows, action size]`, what was done in them.
        mates: int64 `[rows, most mates]`, places in `everything`, −1 for nobody.
    """

    everything: tuple[Tensor, ...]
    actions: Tensor
    mates: Tensor


class POCALearner(OnPolicyLearner):
    """Actor, group critic, their optimizers and schedules; arguments as for `Learner`."""

    def _build(self, generator: torch.Generator, normalizer: Normalizer | None) -> Actor:
        spec, network = self._spec, self._settings.network_settings
        actor = Actor(spec, network, generator=generator, normalizer=normalizer).to(self._device)
        critic = GroupCritic(spec, network, signals=self._signals.names, generator=generator, normalizer=normalizer)
        self._critic: GroupCritic = critic.to(self._device)
        self._optimizers = [
            torch.optim.Adam(module.parameters(), lr=self._hyper.learning_rate, fused=True)
            for module in (actor, self._critic)
        ]
        return actor

    def _modules(self) -> list[torch.nn.Module]:
        return [self._actor, self._critic]

    @property
    def _critic_memory_size(self) -> int:
        return 2 * self._critic.memory_size  # one for the walk of values, one for that of baselines

    def make_rollout(self) -> Rollout:
        """As `Learner.make_rollout`."""
        return Rollout(
            self.policy.layout.input_shapes,
            self._spec.action_spec,
            capacity=self._hyper.buffer_size + 1024,
            memory_size=self.policy.memory_size,
            critic_memory_size=self._critic_memory_size,
            keeps_ends=self._signals.keeps_ends,
            records_groups=True,
        )

    def _game_reward(self, rollout: Rollout) -> NDArray[np.float32]:
        return shared_reward(rollout)

    # -- what a rollout is worth -------------------------------------------------------------------------------------

    def _experience(self, rollout: Rollout, rewards: NDArray[np.float32]) -> tuple[Experience, NDArray[np.float32]]:
        """Values, baselines, advantages and returns of a rollout; advantages are standardized over it."""
        company = company_of(rollout)
        everything, actions = self._all_rows(rollout)
        mates = torch.from_numpy(company.mates).to(self._device)
        self._critic.see_groups(mates >= 0)
        values, baselines = self._values_of(rollout, everything, actions, mates)
        paid = rewards + self._posthumous(rollout, company, everything)
        returns = np.stack(
            [
                self._returns(rollout, paid[:, index], values[:, index], index)
                for index in range(len(self._signals.names))
            ],
            axis=1,
        )
        rows = rollout.complete_rows()
        plain = Experience.of(
            rollout,
            rows,
            advantage=standardized((returns - baselines)[rows].mean(axis=1)),
            old_value=values[rows],
            returns=returns[rows],
            old_baseline=baselines[rows],
            device=self._device,
        )
        whole: dict[str, Any] = {each.name: getattr(plain, each.name) for each in fields(plain)}
        chosen = torch.from_numpy(rows).to(self._device)
        return GroupExperience(**whole, everything=everything, actions=actions, mates=mates[chosen]), values[rows]

    def _all_rows(self, rollout: Rollout) -> tuple[tuple[Tensor, ...], Tensor]:
        """Inputs and actions of all rows of a rollout; actions as the game was sent them."""
        size = rollout.size
        everything = tuple(torch.from_numpy(column[:size].copy()).to(self._device) for column in rollout.inputs)
        continuous = torch.from_numpy(rollout.continuous[:size]).to(self._device)
        discrete = torch.from_numpy(rollout.discrete[:size]).to(self._device)
        sent = scaled_for_environment(continuous, self._actor.squash)
        return everything, action_columns(self._spec.action_spec, sent, discrete)

    def _returns(
        self, rollout: Rollout, paid: NDArray[np.float32], value: NDArray[np.float32], index: int
    ) -> NDArray[np.float32]:
        """λ-returns of one signal (Sutton and Barto 2018, eq. 12.18, recursively): advantage by λ plus value."""
        size = rollout.size
        ends = np.zeros(size, np.bool_) if self._signals.ignores_ends[index] else rollout.terminated[:size]
        advantage = gae(
            paid,
            value,
            rollout.next_row[:size],
            ends,
            rollout.cut[:size],
            rollout.status[:size],
            gamma=self._signals.gammas[index],
            lam=self._hyper.lambd,
        )
        return advantage + value

    @torch.inference_mode()
    def _posthumous(self, rollout: Rollout, company: Company, everything: tuple[Tensor, ...]) -> NDArray[np.float32]:
        """What is added to the last reward of members that fell: the discounted value of the mates that go on."""
        added = np.zeros((rollout.size, len(self._signals.names)), np.float32)
        fallen = np.flatnonzero((company.survivors >= 0).any(axis=1))
        gammas = np.array(
            [
                0.0 if ignores else gamma  # such a signal goes on from the member's own last observation
                for gamma, ignores in zip(self._signals.gammas, self._signals.ignores_ends, strict=True)
            ],
            np.float32,
        )
        for start in range(0, len(fallen), _VALUE_ROWS):
            rows = fallen[start : start + _VALUE_ROWS]
            left = torch.from_numpy(company.survivors[rows]).to(self._device)
            encodings = self._encodings(everything, left)
            nobody = encodings.new_zeros((len(rows), encodings.shape[2]))
            gone = torch.zeros(len(rows), dtype=torch.bool, device=self._device)
            memory = self._memory_of_survivors(rollout, company.survivors[rows])
            value, _ = self._critic.value(nobody, encodings, left >= 0, memory, has_own=gone)
            added[rows] = value.cpu().numpy() * gammas
        return added

    def _memory_of_survivors(self, rollout: Rollout, survivors: NDArray[np.int64]) -> Tensor | None:
        """The critic's memory of the first mate that goes on: it has seen what the group went through."""
        if rollout.critic_memory is None:
            return None
        first = rollout.critic_memory[survivors[:, 0], : self._critic.memory_size]
        return torch.from_numpy(np.ascontiguousarray(first)).to(self._device)

    def _encodings(self, everything: Sequence[Tensor], rows: Tensor) -> Tensor:
        """What the agents in rows see, `[*rows, encoding size]`; nonsense where there is nobody."""
        flat = rows.clamp_min(0).flatten()
        encodings = self._critic.encode([column.index_select(0, flat) for column in everything])
        return encodings.view(*rows.shape, encodings.shape[1])

    @torch.inference_mode()
    def _values_of(
        self, rollout: Rollout, everything: tuple[Tensor, ...], actions: Tensor, mates: Tensor
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Values and baselines `[rows, signals]` of everything in a rollout; fills in the memories of the critic."""
        size = rollout.size
        values = np.zeros((size, len(self._signals.names)), np.float32)
        baselines = np.zeros_like(values)
        if rollout.critic_memory is None:
            parts = np.split(np.arange(size), range(_VALUE_ROWS, size, _VALUE_ROWS))
        else:
            parts = steps_in_order(rollout.next_row[:size], rollout.status[:size])
        for rows in parts:
            memory = None
            if rollout.critic_memory is not None:
                memory = torch.from_numpy(rollout.critic_memory[rows]).to(self._device)
            chosen = torch.from_numpy(rows).to(self._device)
            value, baseline, after = self._judged(everything, actions, chosen, mates[chosen], memory, 1, None)
            values[rows], baselines[rows] = value.cpu().numpy(), baseline.cpu().numpy()
            if rollout.critic_memory is not None and after is not None:
                followers = rollout.next_row[rows]
                going = followers >= 0
                rollout.critic_memory[followers[going]] = after.cpu().numpy()[going]
        return values, baselines

    def _judged(
        self,
        everything: Sequence[Tensor],
        actions: Tensor,
        rows: Tensor,
        mates: Tensor,
        memory: Tensor | None,
        length: int,
        places: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Values, baselines and both memories after, of rows of a rollout.

        Args:
            everything, actions: of all rows.
            rows: int64 `[sequences * length]`.
            mates: int64 `[sequences * length, most mates]`.
            memory: `[sequences, 2 * memory size]`, of values and of baselines.
            length: of the sequences.
            places: the rows that are asked for; None for all.
        """
        own = self._encodings(everything, rows)
        theirs = self._encodings(everything, mates)
        acts = actions[mates.clamp_min(0)]
        present = mates >= 0
        of_value, of_baseline = (None, None) if memory is None else memory.chunk(2, dim=1)
        value, after = self._critic.value(own, theirs, present, of_value, length, places=places)
        baseline, later = self._critic.baseline(own, theirs, acts, present, of_baseline, length, places=places)
        memories = None if after is None or later is None else torch.cat((after, later), dim=1)
        return value, baseline, memories

    # -- learning ----------------------------------------------------------------------------------------------------

    def update(self, rollout: Rollout, *, step: int) -> UpdateReport:
        """As `Learner.update`."""
        self._mean_baselines: list[float] = []
        report = dict(super().update(rollout, step=step))
        for signal, mean in zip(self._signals.names, self._mean_baselines, strict=True):
            report[f"Policy/{signal.capitalize()} Baseline Estimate"] = mean
        return report

    def _learn(
        self, experience: Experience, batches: Sequence[Tensor], *, epsilon: float, beta: float
    ) -> dict[str, float]:
        assert isinstance(experience, GroupExperience), "poca makes its own experience"
        assert experience.old_baseline is not None, "poca has baselines"
        self._mean_baselines = experience.old_baseline.mean(0).tolist()
        policy, (value, baseline) = self._both(
            lambda: self._learn_actor(experience, batches, epsilon=epsilon, beta=beta),
            lambda: self._learn_critic(experience, batches, epsilon=epsilon),
        )
        return {"Losses/Policy Loss": policy, "Losses/Value Loss": value, "Losses/Baseline Loss": baseline}

    def _learn_critic(
        self, experience: GroupExperience, batches: Sequence[Tensor], *, epsilon: float
    ) -> tuple[float, float]:
        value_losses, baseline_losses = [], []
        for rows in batches:
            batch = experience.batch(rows)
            fit, apart = self._critic_losses(experience, batch, epsilon=epsilon)
            self._descend(self._optimizers[1], _VALUE_WEIGHT * (fit + _BASELINE_WEIGHT * apart), "value loss")
            value_losses.append(fit.item())
            baseline_losses.append(apart.item())
        return float(np.mean(value_losses)), float(np.mean(baseline_losses))

    def _critic_losses(self, experience: GroupExperience, batch: Minibatch, *, epsilon: float) -> tuple[Tensor, Tensor]:
        """Losses of values and baselines, both against the λ-returns and clipped around what they were."""
        assert batch.old_baseline is not None, "poca has baselines"
        mates = experience.mates.index_select(0, batch.seen)
        own = self._critic.encode(batch.inputs)
        theirs = self._encodings(experience.everything, mates)
        acts = experience.actions[mates.clamp_min(0)]
        memory = batch.critic_memory
        of_value, of_baseline = (None, None) if memory is None else memory.chunk(2, dim=1)
        value, _ = self._critic.value(own, theirs, mates >= 0, of_value, batch.length, places=batch.places)
        baseline, _ = self._critic.baseline(
            own, theirs, acts, mates >= 0, of_baseline, batch.length, places=batch.places
        )
        return (
            value_loss(value, batch.old_value, batch.returns, epsilon=epsilon),
            value_loss(baseline, batch.old_baseline, batch.returns, epsilon=epsilon),
        )

    @torch.no_grad()
    def _check_outputs(self, batch: Minibatch) -> None:
        parameters, _ = self._actor(batch.inputs, batch.memory)
        self._check_parameters(parameters)
        own = self._critic.encode(batch.inputs)
        nobody = own.new_zeros((len(own), 0, own.shape[1]))
        memory = None if batch.critic_memory is None else batch.critic_memory.chunk(2, dim=1)[0]
        value, _ = self._critic.value(
            own, nobody, torch.zeros((len(own), 0), dtype=torch.bool, device=own.device), memory
        )
        self._guard.check("values", value)
