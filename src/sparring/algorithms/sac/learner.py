"""The SAC learner: experience goes into a replay, and every so many decisions a minibatch of it is learned from.

Two critics of actions, a value critic with a slow target beside it, as in Haarnoja et al. 2018; temperatures are
learned as in its second version. Details that differ from the papers or from the known tool are numbered in
docs/algorithms/sac.md.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sparring.algorithms.learner import UpdateReport
from sparring.algorithms.network_learner import NetworkLearner
from sparring.algorithms.sac.cadence import Cadence
from sparring.algorithms.sac.losses import (
    Chances,
    available_choices,
    entropy_penalty,
    expected_value,
    half_squared_error,
    q_target,
    temperature_loss,
    value_of_action,
)
from sparring.algorithms.sac.replay import Replay, ReplayBatch
from sparring.algorithms.sac.temperatures import Temperatures
from sparring.algorithms.signals.signal import generator_of
from sparring.errors import NonFiniteError
from sparring.networks import ActionCritic, ActionDistribution, Actor, Critic, Normalizer
from sparring.rollouts import Rollout, RowStatus
from sparring.settings import BehaviorSettings, SACHyperparameters
from sparring.specs import BehaviorSpec

__all__ = ["SACLearner", "SACLosses"]

_log = logging.getLogger(__name__)

_ROLLOUT_ROWS = 1024
_ROWS_CHECKED = 256


@dataclass(frozen=True, slots=True)
class SACLosses:
    """The losses of one minibatch, scalars, and the values `[rows, signals]` of its decisions."""

    q1: Tensor
    q2: Tensor
    value: Tensor
    policy: Tensor
    temperature: Tensor
    values: Tensor


class SACLearner(NetworkLearner):
    """Actor, critics, temperatures and replay; arguments as for `Learner`."""

    _hyper: SACHyperparameters

    def __init__(
        self,
        name: str,
        spec: BehaviorSpec,
        settings: BehaviorSettings,
        *,
        device: torch.device,
        seed: int,
        parallel: bool,
    ) -> None:
        assert isinstance(settings.hyperparameters, SACHyperparameters), "the algorithm chooses its section"
        self._hyper = settings.hyperparameters
        super().__init__(name, spec, settings, device=device, seed=seed, parallel=parallel)
        # The base has taken the first four streams of the seed.
        self._noise = generator_of(np.random.SeedSequence(seed).spawn(5)[4])
        self._gammas = torch.tensor(self._signals.gammas, dtype=torch.float32, device=device)
        self._ignores_ends = torch.tensor(self._signals.ignores_ends, dtype=torch.bool, device=device)
        self._replay = self._make_replay()
        self._cadence = Cadence(self._hyper.steps_per_update)
        self._signal_cadence = Cadence(self._hyper.reward_signal_steps_per_update)
        self._least_rows = self._hyper.batch_size
        self._earned = np.zeros(len(self._signals.names))
        self._ends = 0

    def _build(self, generator: torch.Generator, normalizer: Normalizer | None) -> Actor:
        spec, network, names = self._spec, self._settings.network_settings, self._signals.names
        actor = Actor(spec, network, generator=generator, squash=True, normalizer=normalizer)
        self._q1, self._q2 = (
            ActionCritic(spec, network, signals=names, generator=generator, normalizer=normalizer).to(self._device)
            for _ in range(2)
        )
        self._value, self._target = (
            Critic(spec, network, signals=names, generator=generator, normalizer=normalizer).to(self._device)
            for _ in range(2)
        )
        self._target.load_state_dict(self._value.state_dict())
        self._target.requires_grad_(False)
        self._temperatures = Temperatures(spec.action_spec, start=self._hyper.init_entcoef).to(self._device)
        critics = [parameter for each in (self._q1, self._q2, self._value) for parameter in each.parameters()]
        actor = actor.to(self._device)
        self._optimizers = [
            self._adam(actor.parameters()),
            self._adam(critics),
            self._adam(self._temperatures.parameters()),
        ]
        return actor

    def _modules(self) -> list[torch.nn.Module]:
        return [self._actor, self._q1, self._q2, self._value, self._target, self._temperatures]

    def _make_replay(self) -> Replay:
        return Replay(
            self._actor.body.layout.input_shapes,
            self._spec.action_spec,
            capacity=self._hyper.buffer_size,
            length=self._sequence_length,
            memory_size=self._actor.memory_size,
        )

    # -- collecting ------------------------------------------------------------------------------------------------

    def make_rollout(self) -> Rollout:
        """As `Learner.make_rollout`: what waits to be taken into the replay."""
        return Rollout(
            self.policy.layout.input_shapes,
            self._spec.action_spec,
            capacity=_ROLLOUT_ROWS,
            memory_size=self.policy.memory_size,
            keeps_ends=self._signals.keeps_ends,
        )

    def wants_update(self, rollout: Rollout, *, step: int) -> bool:
        """An update is due; the first one when there are decisions enough."""
        if self._cadence.start < 0:
            held = len(self._replay) + rollout.num_complete
            return step >= self._hyper.buffer_init_steps and held >= self._least_rows
        return self._cadence.due(step) + self._signal_cadence.due(step) > 0

    # -- the update ------------------------------------------------------------------------------------------------

    def update(self, rollout: Rollout, *, step: int) -> UpdateReport:
        """As `Learner.update`: takes in the rollout and learns from as many minibatches as are due."""
        rate = self._set_learning_rate(step)
        before = self._guard.remember()
        self._cadence.start_at(step)
        if self._signals.learns:
            self._signal_cadence.start_at(step)
        try:
            report = self._take_in(rollout)
            reports = [self._learn(step) for _ in range(self._cadence.due(step))]
            self._cadence.done += len(reports)
            taught = [self._teach_signals() for _ in range(self._signal_cadence.due(step))]
            self._signal_cadence.done += len(taught)
            self._guard.check_weights()
            self._check_outputs()
        except NonFiniteError:
            self._guard.put_back(before)
            raise
        return report | _means(reports) | _means(taught) | {"Policy/Learning Rate": rate} | self._coefficients()

    def _take_in(self, rollout: Rollout) -> dict[str, float]:
        """Moves what was experienced into the replay; gives what an episode was paid by signals other than the game."""
        self._replay.add(rollout)
        rows = rollout.complete_rows()
        if not len(rows):
            return {}
        if self._actor.normalizer is not None:
            self._actor.normalizer.update(torch.from_numpy(rollout.inputs[0][rows]))
        if not self._signals.needs_observations:
            return {}
        self._earned += self._signals.rewards(self._transitions(rollout)).sum(0).double().cpu().numpy()
        followers = rollout.next_row[rows]
        self._ends += int(np.count_nonzero((followers < 0) | (rollout.status[followers] == RowStatus.TAIL)))
        if not self._ends:
            return {}
        means = (self._earned / self._ends).tolist()
        self._earned[:], self._ends = 0.0, 0
        named = zip(self._signals.names, means, strict=True)
        return {f"Policy/{name.capitalize()} Reward": mean for name, mean in named if name != "extrinsic"}

    def _learn(self, step: int) -> dict[str, float]:
        """Learns from one minibatch; gives statistics by tag."""
        losses = self._losses(self._draw())
        # The actor first: its gradient goes through the critics as they were.
        self._descend(self._optimizers[0], losses.policy, "policy loss")
        self._descend(self._optimizers[1], losses.q1 + losses.q2 + losses.value, "value losses")
        self._descend(self._optimizers[2], losses.temperature, "temperature loss")
        self._follow()
        report = {
            "Losses/Policy Loss": losses.policy.item(),
            "Losses/Value Loss": losses.value.item(),
            "Losses/Q1 Loss": losses.q1.item(),
            "Losses/Q2 Loss": losses.q2.item(),
        }
        for name, value in zip(self._signals.names, losses.values.mean(0).tolist(), strict=True):
            report[f"Policy/{name.capitalize()} Value"] = value
        return report if self._cloning is None else report | self._cloning.update(step=step)

    def _draw(self) -> ReplayBatch:
        count = max(1, self._hyper.batch_size // self._sequence_length)
        return self._replay.sample(count, rng=self._shuffle, device=self._device)

    def _losses(self, batch: ReplayBatch) -> SACLosses:
        """All losses of a minibatch, with the networks as they are now.

        The three that learn by different optimizers share no gradient: the policy's reaches the critics on its way to
        the action that was drawn, and is not kept there.
        """
        spec, done = self._spec.action_spec, batch.transitions
        chances, drawn = self._chances(batch)
        continuous_alpha, discrete_alpha = self._temperatures.continuous, self._temperatures.discrete
        penalty = entropy_penalty(chances, _fixed(continuous_alpha), _fixed(discrete_alpha), spec)
        with torch.no_grad():
            following = self._target.values.forward(batch.following_features(self._target.body))
            rewards = self._signals.rewards(done).clone()
            target = q_target(rewards, done.terminated, following, self._gammas, self._ignores_ends)
        fits, hopes = [], []
        for critic in (self._q1, self._q2):
            features = batch.features(critic.body)
            taken = critic.forward(features, done.continuous)
            fits.append(half_squared_error(value_of_action(taken, done.discrete, spec), target))
            # Without continuous actions the same entries are weighed, and the critic has no say in the gradient.
            would_be = critic.forward(features.detach(), drawn) if spec.continuous_size else taken.detach()
            hopes.append(expected_value(would_be, chances, spec))
        value = self._value.values.forward(batch.features(self._value.body))
        soft = (torch.minimum(*hopes) - penalty.unsqueeze(1)).detach()
        available = None
        if spec.discrete_size:
            available = available_choices(batch.blocked, len(done), spec, like=value)
        return SACLosses(
            q1=fits[0],
            q2=fits[1],
            value=half_squared_error(value, soft),
            policy=(penalty - hopes[0].mean(1)).mean(),
            temperature=temperature_loss(chances, available, continuous_alpha, discrete_alpha, spec),
            values=value.detach(),
        )

    def _chances(self, batch: ReplayBatch) -> tuple[Chances, Tensor]:
        """What the policy of now would do, and the continuous action drawn from it, both with gradients."""
        parameters = self._actor.heads.forward(batch.features(self._actor.body, batch.memory))
        spec = self._spec.action_spec
        distribution = ActionDistribution(parameters, spec, batch.blocked, squash=True)
        drawn, log_density = batch.transitions.continuous, None
        if spec.continuous_size:
            drawn, log_density = distribution.sample_with_log_prob(self._noise)
        return Chances(log_density, distribution.choice_log_probs() if spec.discrete_size else None), drawn

    @torch.no_grad()
    def _follow(self) -> None:
        """V̄ ← τ V + (1 − τ) V̄."""
        for slow, quick in zip(self._target.parameters(), self._value.parameters(), strict=True):
            slow.lerp_(quick, self._hyper.tau)

    def _teach_signals(self) -> dict[str, float]:
        """Every signal learns from one minibatch of its own."""
        report = self._signals.update(self._draw().transitions)
        for tag, value in report.items():
            if not math.isfinite(value):
                raise self._guard.refusal(tag, value)
        return report

    @torch.no_grad()
    def _check_outputs(self) -> None:
        """Looks at what the actor would do now where the newest decisions were taken."""
        newest = self._replay.newest(max(1, _ROWS_CHECKED // self._sequence_length), device=self._device)
        self._check_parameters(self._actor.heads.forward(newest.features(self._actor.body, newest.memory)))

    def _coefficients(self) -> dict[str, float]:
        """The temperatures by the tags users know; branches are averaged."""
        kinds = {"Continuous": self._temperatures.continuous, "Discrete": self._temperatures.discrete}
        return {
            f"Policy/{kind} Entropy Coeff": alpha.mean().item() for kind, alpha in kinds.items() if alpha is not None
        }

    # -- state -----------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """As `Learner.state`; the replay is part of it where `save_replay_buffer` says so."""
        replay = self._replay.state() if self._hyper.save_replay_buffer else {}
        return {
            **super().state(),
            "noise": self._noise.get_state().numpy().copy(),
            "cadence": self._cadence.state(),
            "signal_cadence": self._signal_cadence.state(),
            "earned": self._earned.copy(),
            "ends": self._ends,
            "held": max(len(self._replay), self._least_rows),
            "replay": replay,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """As `Learner.restore`. A replay that was not saved is filled anew before learning goes on."""
        super().restore(state)
        self._noise.set_state(torch.from_numpy(np.array(state["noise"])))
        self._earned[:] = state["earned"]
        self._ends = int(state["ends"])
        if state["replay"]:
            self._replay.restore(state["replay"])
        if state["replay"] or state["cadence"]["start"] < 0:
            self._cadence.restore(state["cadence"])
            self._signal_cadence.restore(state["signal_cadence"])
            return
        self._least_rows = min(int(state["held"]), self._hyper.buffer_size)
        _log.warning(
            "%s: the replay was not saved; learning goes on when %d decisions have been collected again "
            "(hyperparameters.save_replay_buffer: true keeps it)",
            self.name,
            self._least_rows,
        )


def _fixed(alpha: Tensor | None) -> Tensor | None:
    return None if alpha is None else alpha.detach()


def _means(reports: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Means by tag over reports with the same tags."""
    return {tag: float(np.mean([report[tag] for report in reports])) for tag in reports[0]} if reports else {}
