"""What on-policy learners share: the rollout, minibatches, the actor's loss and the update from top to bottom."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sparring.algorithms.clipped_losses import policy_loss
from sparring.algorithms.experience import Experience, Minibatch, features_of
from sparring.algorithms.learner import UpdateReport
from sparring.algorithms.network_learner import NetworkLearner
from sparring.algorithms.signals import Transitions
from sparring.errors import NonFiniteError
from sparring.networks import ActionDistribution, ActionParameters
from sparring.networks.threads import second_thread
from sparring.rollouts import PADDING, Rollout, cut_sequences
from sparring.settings import BehaviorSettings, OnPolicyHyperparameters
from sparring.specs import BehaviorSpec

__all__ = ["OnPolicyLearner", "standardized"]

_ROWS_CHECKED = 256
_LEAST_DEVIATION = 1e-10


class OnPolicyLearner(NetworkLearner):
    """A learner that learns from what its own policy just did, and then forgets it.

    An algorithm adds its critic: `_build` makes it, `_experience` judges a rollout with it, `_learn` takes the
    steps. The actor is learned here. Arguments as for `Learner`.
    """

    _hyper: OnPolicyHyperparameters

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
        assert isinstance(settings.hyperparameters, OnPolicyHyperparameters), "the algorithm chooses its section"
        self._hyper = settings.hyperparameters
        super().__init__(name, spec, settings, device=device, seed=seed, parallel=parallel)
        is_split = parallel and len(self._optimizers) > 1
        self._second_thread = second_thread(f"{name} critic") if is_split else None

    # -- what an algorithm adds ------------------------------------------------------------------------------------

    @abstractmethod
    def _experience(self, rollout: Rollout, rewards: NDArray[np.float32]) -> tuple[Experience, NDArray[np.float32]]:
        """What is learned from, and the values `[rows, signals]` of its rows.

        Args:
            rollout: the experience.
            rewards: `[rows, signals]`.
        """

    @abstractmethod
    def _learn(
        self, experience: Experience, batches: Sequence[Tensor], *, epsilon: float, beta: float
    ) -> dict[str, float]:
        """Takes the steps; gives the losses."""

    @abstractmethod
    def _check_outputs(self, batch: Minibatch) -> None:
        """Looks at what the networks make of some rows.

        Raises:
            NonFiniteError: something is not finite.
        """

    # -- collecting ------------------------------------------------------------------------------------------------

    def make_rollout(self) -> Rollout:
        """As `Learner.make_rollout`."""
        return Rollout(
            self.policy.layout.input_shapes,
            self._spec.action_spec,
            # Room for the buffer and for the decisions of many agents that wait for their outcome.
            capacity=self._hyper.buffer_size + 1024,
            memory_size=self.policy.memory_size,
            critic_memory_size=self._critic_memory_size,
            keeps_ends=self._signals.keeps_ends,
        )

    @property
    def _critic_memory_size(self) -> int:
        """Numbers of memory of a critic that has a memory of its own; 0 without."""
        return 0

    def wants_update(self, rollout: Rollout, *, step: int) -> bool:
        """The rollout is full."""
        del step
        return rollout.num_complete >= self._hyper.buffer_size

    # -- the update ------------------------------------------------------------------------------------------------

    def update(self, rollout: Rollout, *, step: int) -> UpdateReport:
        """As `Learner.update`."""
        report = {
            "Policy/Learning Rate": self._set_learning_rate(step),
            "Policy/Epsilon": self._scheduled(self._hyper.epsilon_schedule, self._hyper.epsilon, end=0.1, step=step),
            "Policy/Beta": self._scheduled(self._hyper.beta_schedule, self._hyper.beta, end=1e-5, step=step),
        }
        transitions = self._transitions(rollout)
        rewards = self._rewards(rollout, transitions)
        experience, values = self._experience(rollout, rewards)
        batches = self._minibatches(self._parts(rollout, len(experience)))
        before = self._guard.remember()
        try:
            report |= self._learn(experience, batches, epsilon=report["Policy/Epsilon"], beta=report["Policy/Beta"])
            if self._signals.learns:
                report |= self._teach_signals(transitions, batches)
            if self._cloning is not None:
                report |= self._cloning.update(step=step)
            self._guard.check_weights()
            self._check_outputs(experience.batch(torch.arange(min(_ROWS_CHECKED, len(experience))).to(self._device)))
            if self._actor.normalizer is not None:
                self._actor.normalizer.update(experience.inputs[0])
        except NonFiniteError:
            self._guard.put_back(before)
            raise
        ends = max(1, int(np.count_nonzero(rollout.terminated[: rollout.size])))
        for index, signal in enumerate(self._signals.names):
            report[f"Policy/{signal.capitalize()} Value Estimate"] = float(values[:, index].mean())
            if signal != "extrinsic":  # the game's reward is told by episode where episodes are known
                report[f"Policy/{signal.capitalize()} Reward"] = float(rewards[:, index].sum()) / ends
        return report

    def _rewards(self, rollout: Rollout, transitions: Transitions) -> NDArray[np.float32]:
        """Rewards `[rows, signals]` of all rows, 0 where a row is not complete."""
        rewards = np.zeros((rollout.size, len(self._signals.names)), np.float32)
        rewards[rollout.complete_rows()] = self._signals.rewards(transitions).cpu().numpy()
        return rewards

    def _teach_signals(self, transitions: Transitions, batches: Sequence[Tensor]) -> dict[str, float]:
        """Every signal learns from every minibatch of the policy, single rows and whole sequences alike."""
        reports = []
        for rows in batches:
            flat = rows.flatten()
            reports.append(self._signals.update(transitions.rows(flat[flat != PADDING])))
        means = {tag: float(np.mean([report[tag] for report in reports])) for tag in reports[0]}
        for tag, value in means.items():
            if not math.isfinite(value):
                raise self._guard.refusal(tag, value)
        return means

    def _parts(self, rollout: Rollout, rows: int) -> NDArray[np.int64]:
        """What minibatches are put together from: single rows, or with memory sequences of them."""
        if self._memory_plan is None:
            return np.arange(rows)
        size = rollout.size
        table = cut_sequences(rollout.next_row[:size], rollout.status[:size], length=self._memory_plan.sequence_length)
        place = np.full(size + 1, -1, np.int64)  # the last one for padding
        place[rollout.complete_rows()] = np.arange(rows)
        return place[table]

    def _minibatches(self, parts: NDArray[np.int64] | int) -> list[Tensor]:
        """The rows or sequences of every minibatch of every epoch; what does not fill one is left out of its epoch."""
        if isinstance(parts, int):
            parts = np.arange(parts)
        count = len(parts)
        length = 1 if parts.ndim == 1 else parts.shape[1]
        batch_size = min(max(1, self._hyper.batch_size // length), count)
        batches = []
        for _ in range(self._hyper.num_epoch):
            order = torch.from_numpy(parts[self._shuffle.permutation(count)]).to(self._device)
            batches += [order[start : start + batch_size] for start in range(0, count - batch_size + 1, batch_size)]
        return batches

    def _learn_actor(self, experience: Experience, batches: Sequence[Tensor], *, epsilon: float, beta: float) -> float:
        losses = []
        for rows in batches:
            batch = experience.batch(rows)
            features = features_of(self._actor.body, batch, batch.memory)
            loss, entropy = self._policy_terms(self._actor.heads.forward(features), batch, epsilon=epsilon)
            self._descend(self._optimizers[0], loss - beta * entropy, "policy loss")
            losses.append(abs(loss.item()))
        return float(np.mean(losses))

    def _policy_terms(self, parameters: ActionParameters, batch: Minibatch, *, epsilon: float) -> tuple[Tensor, Tensor]:
        distribution = ActionDistribution(parameters, self._spec.action_spec, batch.blocked)
        log_prob = distribution.log_prob(batch.continuous, batch.discrete)
        loss = policy_loss(log_prob, batch.log_prob, batch.advantage, epsilon=epsilon)
        return loss, distribution.entropy().mean()

    def _both(self, first: Callable[[], Any], second: Callable[[], Any]) -> tuple[Any, Any]:
        """Runs both jobs, side by side where the learner has a second thread."""
        if self._second_thread is None:
            return first(), second()
        future = self._second_thread.submit(second)
        try:
            done = first()
        finally:
            future.exception()  # waits: weights must be at rest before anybody puts them back
        return done, future.result()

    def close(self) -> None:
        """As `Learner.close`."""
        if self._second_thread is not None:
            self._second_thread.shutdown()


def standardized(advantage: NDArray[np.float32]) -> NDArray[np.float32]:
    """`[rows]` with mean 0 and deviation 1; equal advantages are 0."""
    # In double precision: the square of a large reward does not fit a float32.
    exact = advantage.astype(np.float64)
    standard: NDArray[np.float32] = ((exact - exact.mean()) / (exact.std() + _LEAST_DEVIATION)).astype(np.float32)
    return standard
