"""The PPO learner: one update, top to bottom, in the order of the paper.

Details that differ from the paper or from the known tool are numbered in docs/algorithms/ppo.md. With a critic of
its own, actor and critic share nothing once advantages and returns are fixed, so each is updated on a thread of
its own: neither waits for the other, and the arithmetic of each stays on one core, where its bits do not depend on
what else the machine does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sparring.algorithms.advantages import gae
from sparring.algorithms.learner import Learner, UpdateReport
from sparring.algorithms.ppo.loss import policy_loss, value_loss
from sparring.algorithms.schedules import scheduled
from sparring.algorithms.torch_state import (
    load_module_state,
    load_optimizer_state,
    load_what_fits,
    module_state,
    optimizer_state,
)
from sparring.errors import CheckpointError, NonFiniteError, SettingsError
from sparring.networks import ActionDistribution, ActionParameters, Actor, Critic, Normalizer, SharedActorCritic
from sparring.networks.policy import Policy
from sparring.networks.threads import second_thread
from sparring.rollouts import Rollout
from sparring.settings import BehaviorSettings, ScheduleKind
from sparring.specs import BehaviorSpec

__all__ = ["PPOLearner"]

_SIGNALS = ("extrinsic",)
_VALUE_ROWS = 4096
_ROWS_CHECKED = 256
_VALUE_WEIGHT = 0.5
_LEAST_DEVIATION = 1e-10


@dataclass(frozen=True, slots=True)
class _Experience:
    """The complete rows of a rollout on the learner's device, leading axis `[rows]`."""

    inputs: list[Tensor]
    blocked: Tensor | None
    continuous: Tensor
    discrete: Tensor
    log_prob: Tensor
    advantage: Tensor
    old_value: Tensor
    returns: Tensor

    def batch(self, rows: Tensor) -> _Experience:
        """The given rows."""
        return _Experience(
            [column.index_select(0, rows) for column in self.inputs],
            None if self.blocked is None else self.blocked.index_select(0, rows),
            *(
                column.index_select(0, rows)
                for column in (
                    self.continuous,
                    self.discrete,
                    self.log_prob,
                    self.advantage,
                    self.old_value,
                    self.returns,
                )
            ),
        )


class PPOLearner(Learner):
    """Actor, critic, their optimizers and schedules.

    Args:
        name: the behavior, for messages.
        spec: what its agents see and do.
        settings: of the behavior.
        device: where the networks live.
        seed: of the first weights and of the shuffling of minibatches.
        parallel: whether a separate critic may be updated on a thread of its own.
    """

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
        if settings.network_settings.memory is not None:
            raise SettingsError(
                "ppo does not learn with memory yet",
                where=f"behaviors.{name}.network_settings.memory",
                cure="leave memory out; stacked observations often serve as well",
            )
        self.name = name
        self._spec = spec
        self._settings = settings
        self._hyper = settings.hyperparameters
        self._device = device
        weights, shuffle = np.random.SeedSequence(seed).spawn(2)
        generator = torch.Generator().manual_seed(int(weights.generate_state(1, np.uint64)[0] >> np.uint64(1)))
        self._shuffle = np.random.Generator(np.random.PCG64(shuffle))
        network = settings.network_settings
        normalizer = Normalizer.of(spec, network)
        self._shared: SharedActorCritic | None = None
        self._critic: Critic | None = None
        if self._hyper.shared_critic:
            self._shared = SharedActorCritic(
                spec, network, signals=_SIGNALS, generator=generator, normalizer=normalizer
            ).to(device)
            self._actor: Actor = self._shared.actor
            self._optimizers = [self._adam(self._shared)]
        else:
            self._actor = Actor(spec, network, generator=generator, normalizer=normalizer).to(device)
            self._critic = Critic(spec, network, signals=_SIGNALS, generator=generator, normalizer=normalizer).to(
                device
            )
            self._optimizers = [self._adam(self._actor), self._adam(self._critic)]
        self.policy = Policy(spec, self._actor, device=device)
        is_split = self._critic is not None and parallel
        self._second_thread = second_thread(f"{name} critic") if is_split else None

    def _adam(self, module: torch.nn.Module) -> torch.optim.Adam:
        return torch.optim.Adam(module.parameters(), lr=self._hyper.learning_rate, fused=True)

    def make_rollout(self) -> Rollout:
        """As `Learner.make_rollout`."""
        # Room for the buffer and for the decisions of many agents that wait for their outcome.
        capacity = self._hyper.buffer_size + 1024
        return Rollout(self.policy.layout.input_shapes, self._spec.action_spec, capacity=capacity)

    def wants_update(self, rollout: Rollout, *, step: int) -> bool:
        """The rollout is full."""
        del step
        return rollout.num_complete >= self._hyper.buffer_size

    # -- the update --------------------------------------------------------------------------------------------

    def update(self, rollout: Rollout, *, step: int) -> UpdateReport:
        """As `Learner.update`."""
        report = {
            "Policy/Learning Rate": self._scheduled(self._hyper.learning_rate_schedule, "learning_rate", 1e-10, step),
            "Policy/Epsilon": self._scheduled(self._hyper.epsilon_schedule, "epsilon", 0.1, step),
            "Policy/Beta": self._scheduled(self._hyper.beta_schedule, "beta", 1e-5, step),
        }
        for optimizer in self._optimizers:
            for group in optimizer.param_groups:
                group["lr"] = report["Policy/Learning Rate"]
        experience, values = self._experience(rollout)
        batches = self._minibatches(len(experience.log_prob))
        before = self._weights()
        try:
            report |= self._learn(experience, batches, epsilon=report["Policy/Epsilon"], beta=report["Policy/Beta"])
            self._check_weights()
            self._check_outputs(experience)
            if self._actor.normalizer is not None:
                self._actor.normalizer.update(experience.inputs[0])
        except NonFiniteError:
            self._put_back(before)
            raise
        report["Policy/Extrinsic Value Estimate"] = float(values.mean())
        return report

    def _scheduled(self, kind: ScheduleKind, name: str, end: float, step: int) -> float:
        start = float(getattr(self._hyper, name))
        return scheduled(kind, start, end=end, step=step, max_steps=self._settings.max_steps)

    def _experience(self, rollout: Rollout) -> tuple[_Experience, NDArray[np.float32]]:
        """Values, advantages and returns of a rollout; advantages are standardized over it."""
        size = rollout.size
        extrinsic = self._settings.reward_signals.extrinsic
        values = self._values([column[:size] for column in rollout.inputs])
        advantage = gae(
            rollout.reward[:size] * np.float32(extrinsic.strength),
            values[:, 0],
            rollout.next_row[:size],
            rollout.terminated[:size],
            rollout.cut[:size],
            rollout.status[:size],
            gamma=extrinsic.gamma,
            lam=self._hyper.lambd,
        )
        rows = rollout.complete_rows()
        returns = (advantage + values[:, 0])[rows]
        # In double precision: the square of a large reward does not fit a float32.
        kept = advantage[rows].astype(np.float64)
        kept = (kept - kept.mean()) / (kept.std() + _LEAST_DEVIATION)
        # Without dropped, pending or tail rows the columns serve as they are; nothing is copied.
        whole = slice(None) if len(rows) == size else rows

        def column(array: NDArray[Any]) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(array[:size][whole])).to(self._device)

        experience = _Experience(
            inputs=[column(array) for array in rollout.inputs],
            blocked=None if rollout.blocked is None else column(rollout.blocked),
            continuous=column(rollout.continuous),
            discrete=column(rollout.discrete),
            log_prob=column(rollout.log_prob),
            advantage=torch.from_numpy(kept.astype(np.float32)).to(self._device),
            old_value=torch.from_numpy(values[rows]).to(self._device),
            returns=torch.from_numpy(returns[:, None]).to(self._device),
        )
        return experience, values[rows]

    @torch.inference_mode()
    def _values(self, inputs: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        """Values `[rows, signals]` of all rows, in large batches, split over the learner's threads."""
        size = len(inputs[0])
        values = np.empty((size, len(_SIGNALS)), np.float32)

        @torch.inference_mode()
        def fill(starts: Sequence[int]) -> None:
            for start in starts:
                stop = start + _VALUE_ROWS
                batch = [torch.from_numpy(column[start:stop]).to(self._device) for column in inputs]
                if self._critic is not None:
                    value, _ = self._critic(batch)
                else:
                    assert self._shared is not None, "a learner has a critic or shares it"
                    _, value, _ = self._shared(batch)
                values[start:stop] = value.cpu().numpy()

        starts = list(range(0, size, _VALUE_ROWS))
        self._both(lambda: fill(starts[::2]), lambda: fill(starts[1::2]))
        return values

    def _minibatches(self, rows: int) -> list[Tensor]:
        """Row numbers of every minibatch of every epoch; what does not fill a minibatch is left out of its epoch."""
        batch_size = min(self._hyper.batch_size, rows)
        batches = []
        for _ in range(self._hyper.num_epoch):
            order = torch.from_numpy(self._shuffle.permutation(rows)).to(self._device)
            batches += [order[start : start + batch_size] for start in range(0, rows - batch_size + 1, batch_size)]
        return batches

    def _learn(
        self, experience: _Experience, batches: Sequence[Tensor], *, epsilon: float, beta: float
    ) -> dict[str, float]:
        if self._shared is not None:
            return self._learn_shared(self._shared, experience, batches, epsilon=epsilon, beta=beta)
        policy, value = self._both(
            lambda: self._learn_actor(experience, batches, epsilon=epsilon, beta=beta),
            lambda: self._learn_critic(experience, batches, epsilon=epsilon),
        )
        return {"Losses/Policy Loss": policy, "Losses/Value Loss": value}

    def _learn_actor(self, experience: _Experience, batches: Sequence[Tensor], *, epsilon: float, beta: float) -> float:
        losses = []
        for batch in _batches_of(experience, batches):
            parameters, _ = self._actor(batch.inputs)
            loss, entropy = self._policy_terms(parameters, batch, epsilon=epsilon)
            self._descend(self._optimizers[0], loss - beta * entropy, "policy loss")
            losses.append(abs(loss.item()))
        return float(np.mean(losses))

    def _learn_critic(self, experience: _Experience, batches: Sequence[Tensor], *, epsilon: float) -> float:
        assert self._critic is not None, "a learner has a critic or shares it"
        losses = []
        for batch in _batches_of(experience, batches):
            value, _ = self._critic(batch.inputs)
            loss = value_loss(value, batch.old_value, batch.returns, epsilon=epsilon)
            self._descend(self._optimizers[1], _VALUE_WEIGHT * loss, "value loss")
            losses.append(loss.item())
        return float(np.mean(losses))

    def _learn_shared(
        self,
        shared: SharedActorCritic,
        experience: _Experience,
        batches: Sequence[Tensor],
        *,
        epsilon: float,
        beta: float,
    ) -> dict[str, float]:
        policy_losses, value_losses = [], []
        for batch in _batches_of(experience, batches):
            parameters, value, _ = shared(batch.inputs)
            loss, entropy = self._policy_terms(parameters, batch, epsilon=epsilon)
            fit = value_loss(value, batch.old_value, batch.returns, epsilon=epsilon)
            self._descend(self._optimizers[0], loss + _VALUE_WEIGHT * fit - beta * entropy, "policy and value loss")
            policy_losses.append(abs(loss.item()))
            value_losses.append(fit.item())
        return {"Losses/Policy Loss": float(np.mean(policy_losses)), "Losses/Value Loss": float(np.mean(value_losses))}

    def _policy_terms(
        self, parameters: ActionParameters, batch: _Experience, *, epsilon: float
    ) -> tuple[Tensor, Tensor]:
        distribution = ActionDistribution(parameters, self._spec.action_spec, batch.blocked)
        log_prob = distribution.log_prob(batch.continuous, batch.discrete)
        loss = policy_loss(log_prob, batch.log_prob, batch.advantage, epsilon=epsilon)
        return loss, distribution.entropy().mean()

    def _descend(self, optimizer: torch.optim.Optimizer, loss: Tensor, what: str) -> None:
        if not math.isfinite(loss.item()):
            raise self._non_finite(what, loss.item())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        if self._hyper.max_grad_norm is not None:
            parameters = optimizer.param_groups[0]["params"]
            torch.nn.utils.clip_grad_norm_(parameters, self._hyper.max_grad_norm)
        optimizer.step()

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

    # -- the guard against non-finite numbers --------------------------------------------------------------------

    def _weights(self) -> list[Tensor]:
        return [tensor.detach().clone() for tensor in self._everything()]

    def _everything(self) -> Iterator[Tensor]:
        for module in self._modules():
            yield from module.parameters()
        for optimizer in self._optimizers:
            for moments in optimizer.state.values():
                yield from moments.values()

    def _put_back(self, before: Sequence[Tensor]) -> None:
        # Moments that did not exist before the update come last in their group: forget those of a first update.
        now = list(self._everything())
        if len(now) != len(before):
            for optimizer in self._optimizers:
                optimizer.state.clear()
            now = list(self._everything())
        with torch.no_grad():
            for tensor, old in zip(now, before, strict=True):
                tensor.copy_(old)

    def _check_weights(self) -> None:
        for module in self._modules():
            for name, tensor in module.named_parameters():
                if not bool(torch.isfinite(tensor).all()):
                    raise self._non_finite(f"weight {name}", float("nan"))

    @torch.no_grad()
    def _check_outputs(self, experience: _Experience) -> None:
        """Finite weights are not enough: a log-deviation of 100 is finite, what is sampled with it is not."""
        rows = torch.arange(min(_ROWS_CHECKED, len(experience.log_prob)), device=self._device)
        inputs = experience.batch(rows).inputs
        if self._shared is not None:
            parameters, value, _ = self._shared(inputs)
        else:
            assert self._critic is not None, "a learner has a critic or shares it"
            parameters, _ = self._actor(inputs)
            value, _ = self._critic(inputs)
        deviation = None if parameters.log_std is None else parameters.log_std.exp()
        for what, output in (
            ("mean actions", parameters.mean),
            ("deviations of actions", deviation),
            ("chances of choices", parameters.logits),
            ("values", value),
        ):
            if output is not None and not bool(torch.isfinite(output).all()):
                raise self._non_finite(what, float(output[~torch.isfinite(output)][0]))

    def _non_finite(self, what: str, found: float) -> NonFiniteError:
        return NonFiniteError(
            f"the update made the {what} non-finite; the weights before it were put back",
            where=self.name,
            found=str(found),
            cure="lower learning_rate, or set max_grad_norm (0.5 is usual); look at the size of the rewards",
        )

    # -- state ---------------------------------------------------------------------------------------------------

    def _modules(self) -> list[torch.nn.Module]:
        if self._shared is not None:
            return [self._shared]
        assert self._critic is not None, "a learner has a critic or shares it"
        return [self._actor, self._critic]

    def state(self) -> dict[str, Any]:
        """As `Learner.state`."""
        return {
            "networks": {str(index): module_state(module) for index, module in enumerate(self._modules())},
            "optimizers": {str(index): optimizer_state(adam) for index, adam in enumerate(self._optimizers)},
            "shuffle": self._shuffle.bit_generator.state,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """As `Learner.restore`."""
        for index, module in enumerate(self._modules()):
            load_module_state(module, state["networks"][str(index)], where=self.name)
        for index, optimizer in enumerate(self._optimizers):
            load_optimizer_state(optimizer, state["optimizers"].get(str(index), {}))
        self._shuffle.bit_generator.state = state["shuffle"]

    def take_over(self, networks: Mapping[str, Any]) -> list[str]:
        """Takes the weights of another learner's networks where name and shape fit; says in words what it did.

        Args:
            networks: the entry `networks` of another learner's `state`; empty if it has none for this behavior.

        Raises:
            CheckpointError: there are networks, but nothing in them fits.
        """
        if not networks:
            return ["starts fresh; the other run does not have it"]
        lines, taken = [], 0
        for index, module in enumerate(self._modules()):
            loaded, left = load_what_fits(module, networks.get(str(index), {}))
            taken += len(loaded)
            role = type(module).__name__
            lines.append(f"{role}: took over {len(loaded)} of {len(loaded) + len(left)} arrays")
            lines += [f"{role}: {line}" for line in left]
        if taken == 0:
            raise CheckpointError(
                "nothing in the other run's networks fits",
                where=self.name,
                cure="start without --initialize-from, or with the network_settings of that run",
            )
        return lines

    def close(self) -> None:
        """As `Learner.close`."""
        if self._second_thread is not None:
            self._second_thread.shutdown()


def _batches_of(experience: _Experience, batches: Sequence[Tensor]) -> Iterator[_Experience]:
    for rows in batches:
        yield experience.batch(rows)
