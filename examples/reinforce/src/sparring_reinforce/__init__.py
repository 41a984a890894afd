"""REINFORCE, a signal that pays for large actions, an encoder of means: each as small as what is whole can be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sparring.algorithms import Learner, UpdateReport, gae
from sparring.algorithms.guard import WeightGuard
from sparring.algorithms.signals import RewardSignal, Transitions
from sparring.algorithms.torch_state import (
    load_module_state,
    load_optimizer_state,
    load_what_fits,
    module_state,
    optimizer_state,
)
from sparring.errors import NonFiniteError, SettingsError
from sparring.networks import ActionDistribution, Actor, CustomEncoder, Dense, kaiming_normal
from sparring.networks.export import GraphWriter
from sparring.networks.policy import Policy
from sparring.rollouts import Rollout
from sparring.settings import BehaviorSettings
from sparring.specs import BehaviorSpec

__all__ = ["LivelinessSignal", "MeanPoolEncoder", "ReinforceLearner"]


class ReinforceLearner(Learner):
    """Raises the probability of actions whose return was above the mean (Williams 1992)."""

    @classmethod
    def check_settings(cls, name: str, settings: BehaviorSettings) -> None:
        """Memory would need sequences, which this example leaves out."""
        if settings.network_settings.memory is not None:
            raise SettingsError("reinforce has no memory", where=f"behaviors.{name}.network_settings.memory")

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
        del parallel
        self.name = name
        self._settings = settings
        self._device = device
        actor = Actor(spec, settings.network_settings, generator=torch.Generator().manual_seed(seed)).to(device)
        self._actor = actor
        self._optimizer = torch.optim.Adam(actor.parameters(), lr=settings.hyperparameters.learning_rate)
        self._guard = WeightGuard(name, [actor], [self._optimizer])
        self.policy = Policy(spec, actor, device=device)

    def make_rollout(self) -> Rollout:
        """A plain rollout."""
        capacity = self._settings.hyperparameters.buffer_size + 1024
        return Rollout(self.policy.layout.input_shapes, self.policy.spec.action_spec, capacity=capacity)

    def wants_update(self, rollout: Rollout, *, step: int) -> bool:
        """The buffer is full."""
        del step
        return rollout.num_complete >= self._settings.hyperparameters.buffer_size

    def update(self, rollout: Rollout, *, step: int) -> UpdateReport:
        """One step along the policy gradient."""
        del step
        size, rows = rollout.size, rollout.complete_rows()
        nothing = np.zeros(size, np.float32)
        returns = gae(  # without a critic and with λ = 1 the advantage is the return
            rollout.reward[:size],
            nothing,
            rollout.next_row[:size],
            rollout.terminated[:size],
            rollout.cut[:size],
            rollout.status[:size],
            gamma=self._settings.reward_signals.extrinsic.gamma,
            lam=1.0,
        )[rows]
        weight = torch.from_numpy((returns - returns.mean()) / (returns.std() + 1e-6)).to(self._device)
        parameters, _ = self._actor([torch.from_numpy(column[rows]).to(self._device) for column in rollout.inputs])
        blocked = None if rollout.blocked is None else torch.from_numpy(rollout.blocked[rows]).to(self._device)
        distribution = ActionDistribution(parameters, self.policy.spec.action_spec, blocked)
        log_prob = distribution.log_prob(
            torch.from_numpy(rollout.continuous[rows]).to(self._device),
            torch.from_numpy(rollout.discrete[rows]).to(self._device),
        )
        loss = -(log_prob * weight).mean() - self._settings.hyperparameters.beta * distribution.entropy().mean()
        before = self._guard.remember()
        try:
            self._guard.check("policy loss", loss.detach())
            self._optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self._optimizer.step()
            self._guard.check_weights()
        except NonFiniteError:
            self._guard.put_back(before)
            raise
        return {"Losses/Policy Loss": abs(loss.item())}

    def state(self) -> dict[str, Any]:
        """Weights and moments."""
        return {"networks": {"0": module_state(self._actor)}, "optimizer": optimizer_state(self._optimizer)}

    def restore(self, state: dict[str, Any]) -> None:
        """Puts back what `state` gave."""
        load_module_state(self._actor, state["networks"]["0"], where=self.name)
        load_optimizer_state(self._optimizer, state["optimizer"])

    def take_over(self, networks: Mapping[str, Any]) -> list[str]:
        """Takes the actor's weights where they fit."""
        loaded, left = load_what_fits(self._actor, networks.get("0", {}))
        return [f"took over {len(loaded)} of {len(loaded) + len(left)} arrays", *left]


class LivelinessSignal(RewardSignal):
    """Pays the mean size of the continuous actions; nothing where there are none."""

    def __init__(
        self,
        behavior: str,
        spec: BehaviorSpec,
        settings: Any,  # noqa: ANN401 - strength and gamma are all it has
        *,
        device: torch.device,
        seed: np.random.SeedSequence,
    ) -> None:
        del behavior, settings, device, seed
        self._size = max(1, spec.action_spec.continuous_size)

    def reward(self, transitions: Transitions) -> Tensor:
        """`[rows]`."""
        return transitions.continuous.abs().sum(1) / self._size


class MeanPoolEncoder(CustomEncoder):
    """The mean of every channel, then one dense layer with a ReLU."""

    smallest = 2

    def __init__(self, shape: tuple[int, ...], outputs: int, *, generator: torch.Generator) -> None:
        super().__init__(shape, outputs, generator=generator)
        self.dense = Dense(kaiming_normal(outputs, shape[0], generator=generator))

    def forward(self, image: Tensor) -> Tensor:
        """`[B, channels, height, width]` to `[B, outputs]`."""
        return torch.relu(self.dense.forward(image.mean(dim=(2, 3))))

    def write(self, graph: GraphWriter, image: str, name: str) -> str:
        """The same, of ONNX' own operators."""
        weight = graph.weight(f"{name}.dense.weight", self.dense.weight.detach().cpu().numpy())
        bias = graph.weight(f"{name}.dense.bias", self.dense.bias.detach().cpu().numpy())
        means = graph.reshape(graph.node("GlobalAveragePool", image), [-1, self.dense.weight.shape[1]])
        return graph.node("Relu", graph.node("Gemm", means, weight, bias, transB=1))
