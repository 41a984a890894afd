"""What learners made of networks share: signals, cloning, schedules, steps of optimizers, the guard and the state."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sparring.algorithms.cloning import Cloning
from sparring.algorithms.guard import WeightGuard
from sparring.algorithms.learner import Learner
from sparring.algorithms.schedules import scheduled
from sparring.algorithms.signals import SignalSet, Transitions
from sparring.algorithms.signals.signal import generator_of
from sparring.algorithms.torch_state import (
    load_module_state,
    load_optimizer_state,
    load_what_fits,
    module_state,
    optimizer_state,
)
from sparring.errors import CheckpointError
from sparring.networks import ActionParameters, Actor, Normalizer, scaled_for_environment
from sparring.networks.policy import Policy
from sparring.rollouts import Rollout
from sparring.settings import BehaviorSettings, Hyperparameters, ScheduleKind
from sparring.specs import BehaviorSpec

__all__ = ["NetworkLearner"]


class NetworkLearner(Learner):
    """A learner with an actor, other networks beside it, and one optimizer or more.

    An algorithm sets `_hyper`, then makes this; `_build` makes its networks. Arguments as for `Learner`.
    """

    _hyper: Hyperparameters

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
        del parallel  # of use to some algorithms
        self.name = name
        self._spec = spec
        self._settings = settings
        self._memory_plan = settings.network_settings.memory
        self._device = device
        weights, shuffle, signals, cloning = np.random.SeedSequence(seed).spawn(4)
        self._signals = SignalSet(name, spec, settings, device=device, seed=signals)
        self._shuffle = np.random.Generator(np.random.PCG64(shuffle))
        self._optimizers: list[torch.optim.Adam] = []
        self._actor = self._build(generator_of(weights), Normalizer.of(spec, settings.network_settings))
        self.policy = Policy(spec, self._actor, device=device)
        self._cloning = self._make_cloning(cloning)
        optimizers = [*self._optimizers, *self._signals.optimizers()]
        optimizers += [self._cloning.optimizer] if self._cloning is not None else []
        self._guard = WeightGuard(name, [*self._modules(), *self._signals.modules()], optimizers)

    def _make_cloning(self, seed: np.random.SeedSequence) -> Cloning | None:
        plan = self._settings.behavioral_cloning
        if plan is None:
            return None
        return Cloning(
            self.name,
            self._actor,
            plan,
            learning_rate=self._hyper.learning_rate,
            batch_size=self._hyper.batch_size,
            sequence_length=self._sequence_length,
            device=self._device,
            seed=seed,
        )

    @property
    def _sequence_length(self) -> int:
        """Decisions that are learned from together; 1 without memory."""
        return 1 if self._memory_plan is None else self._memory_plan.sequence_length

    # -- what an algorithm adds ------------------------------------------------------------------------------------

    @abstractmethod
    def _build(self, generator: torch.Generator, normalizer: Normalizer | None) -> Actor:
        """Makes the networks and `_optimizers`, the actor's first; gives the actor."""

    @abstractmethod
    def _modules(self) -> list[torch.nn.Module]:
        """The networks, in the order in which they are stored."""

    # -- experience ------------------------------------------------------------------------------------------------

    def _transitions(self, rollout: Rollout) -> Transitions:
        """The complete rows as signals see them."""
        rows = rollout.complete_rows()
        following = rollout.next_row[rows]

        def tensor(column: NDArray[Any]) -> Tensor:
            return torch.from_numpy(column).to(self._device)

        continuous = scaled_for_environment(tensor(rollout.continuous[rows]), self._actor.squash)
        return Transitions(
            inputs=[tensor(column[rows]) for column in rollout.inputs] if self._signals.needs_observations else [],
            next_inputs=[tensor(column[following]) for column in rollout.inputs] if self._signals.needs_next else None,
            continuous=continuous,
            discrete=tensor(rollout.discrete[rows]),
            terminated=tensor(rollout.terminated[rows]),
            reward=tensor(self._game_reward(rollout)[rows]),
        )

    def _game_reward(self, rollout: Rollout) -> NDArray[np.float32]:
        """What the game paid, `[rows]`."""
        return rollout.reward[: rollout.size]

    # -- steps -----------------------------------------------------------------------------------------------------

    def _adam(self, parameters: Iterable[Tensor]) -> torch.optim.Adam:
        return torch.optim.Adam(parameters, lr=self._hyper.learning_rate, fused=True)

    def _scheduled(self, kind: ScheduleKind, start: float, *, end: float, step: int) -> float:
        return scheduled(kind, start, end=end, step=step, max_steps=self._settings.max_steps)

    def _set_learning_rate(self, step: int) -> float:
        """Gives all optimizers the learning rate of a step; gives it back."""
        kind, start = self._hyper.learning_rate_schedule, self._hyper.learning_rate
        rate = self._scheduled(kind, start, end=1e-10, step=step)
        for optimizer in self._optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate
        return rate

    def _descend(self, optimizer: torch.optim.Optimizer, loss: Tensor, what: str) -> None:
        """One step; only the optimizer's own parameters get a gradient."""
        if not math.isfinite(loss.item()):
            raise self._guard.refusal(what, loss.item())
        parameters = optimizer.param_groups[0]["params"]
        optimizer.zero_grad(set_to_none=True)
        loss.backward(inputs=parameters)  # type: ignore[no-untyped-call]
        if self._hyper.max_grad_norm is not None:
            torch.nn.utils.clip_grad_norm_(parameters, self._hyper.max_grad_norm)
        optimizer.step()

    def _check_parameters(self, parameters: ActionParameters) -> None:
        """Finite weights are not enough: a log-deviation of 100 is finite, what is sampled with it is not."""
        self._guard.check("mean actions", parameters.mean)
        self._guard.check("deviations of actions", None if parameters.log_std is None else parameters.log_std.exp())
        self._guard.check("chances of choices", parameters.logits)

    # -- state -----------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """As `Learner.state`."""
        cloning = {} if self._cloning is None else {"cloning": self._cloning.state()}
        return {
            **cloning,
            "signals": self._signals.state(),
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
        self._signals.restore(state["signals"])
        if self._cloning is not None:
            self._cloning.restore(state["cloning"])

    def take_over(self, networks: Mapping[str, Any]) -> list[str]:
        """As `Learner.take_over`."""
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
