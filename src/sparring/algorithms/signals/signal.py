"""What a reward signal is: something that judges transitions, and may learn from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - the name torch users read
from torch import Tensor

from sparring.algorithms.torch_state import (
    load_module_state,
    load_optimizer_state,
    module_state,
    optimizer_state,
)
from sparring.settings import NetworkSettings
from sparring.specs import ActionSpec, BehaviorSpec

__all__ = ["LearnedSignal", "RewardSignal", "Transitions", "action_columns", "generator_of", "without_memory"]


@dataclass(frozen=True, slots=True)
class Transitions:
    """Decisions and what followed, leading axis `[rows]`, on the learner's device.

    Attributes:
        inputs: of the networks, at the decision.
        next_inputs: at what followed, the last observation of an episode included; None where no signal asks for it.
        continuous: float32 `[rows, continuous size]` as the game was sent them, within ±1 whatever the algorithm.
        discrete: int64 `[rows, branches]`.
        terminated: bool `[rows]`, the rules ended the episode after the decision.
        reward: float32 `[rows]`, the game's.
    """

    inputs: Sequence[Tensor]
    next_inputs: Sequence[Tensor] | None
    continuous: Tensor
    discrete: Tensor
    terminated: Tensor
    reward: Tensor

    def __len__(self) -> int:
        return len(self.reward)

    def rows(self, rows: Tensor | slice) -> Transitions:
        """Some of the rows."""
        following = None if self.next_inputs is None else [column[rows] for column in self.next_inputs]
        return Transitions(
            [column[rows] for column in self.inputs],
            following,
            self.continuous[rows],
            self.discrete[rows],
            self.terminated[rows],
            self.reward[rows],
        )


class RewardSignal(ABC):
    """One source of reward for one behavior; an entry point of `sparring.reward_signals` names a class like this.

    Args:
        behavior: its name, for messages.
        spec: what the agents see and do.
        settings: the signal's section of `reward_signals`.
        device: where networks live.
        seed: of everything the signal draws.

    Attributes:
        ignores_ends: an end of an episode is no end for this signal: its value there is that of the last observation.
        needs_next: it looks at what followed a decision.
    """

    ignores_ends: ClassVar[bool] = False
    needs_next: ClassVar[bool] = False

    @abstractmethod
    def __init__(
        self,
        behavior: str,
        spec: BehaviorSpec,
        settings: Any,  # noqa: ANN401 - every signal has settings of its own
        *,
        device: torch.device,
        seed: np.random.SeedSequence,
    ) -> None: ...

    @abstractmethod
    def reward(self, transitions: Transitions) -> Tensor:
        """Reward `[rows]` of transitions, before it is multiplied with the strength; called without gradients."""

    def update(self, transitions: Transitions) -> dict[str, float]:
        """Learns from a minibatch of what the agents did; gives statistics by tag."""
        del transitions
        return {}

    def modules(self) -> list[torch.nn.Module]:
        """Everything that learns, and the numbers learning depends on."""
        return []

    def optimizers(self) -> list[torch.optim.Optimizer]:
        """The optimizers of the modules."""
        return []

    def state(self) -> dict[str, Any]:
        """Everything the signal's future depends on."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Puts back what `state` gave.

        Raises:
            CheckpointError: a weight is missing or has another shape.
        """
        del state


class LearnedSignal(RewardSignal):
    """A signal with one network, one optimizer and one random stream, all of them part of the checkpoint."""

    network: torch.nn.Module
    optimizer: torch.optim.Optimizer
    generator: torch.Generator
    behavior: str

    def modules(self) -> list[torch.nn.Module]:
        """As `RewardSignal.modules`."""
        return [self.network]

    def optimizers(self) -> list[torch.optim.Optimizer]:
        """As `RewardSignal.optimizers`."""
        return [self.optimizer]

    def state(self) -> dict[str, Any]:
        """As `RewardSignal.state`."""
        return {
            "network": module_state(self.network),
            "optimizer": optimizer_state(self.optimizer),
            "generator": self.generator.get_state().numpy().copy(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """As `RewardSignal.restore`."""
        load_module_state(self.network, state["network"], where=f"{self.behavior}, {type(self).__name__}")
        load_optimizer_state(self.optimizer, state["optimizer"])
        self.generator.set_state(torch.from_numpy(np.array(state["generator"])))

    def _descend(self, loss: Tensor) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()


def without_memory(settings: NetworkSettings) -> NetworkSettings:
    """The network of a signal: a transition is judged by itself, whatever came before."""
    return settings.model_copy(update={"memory": None})


def generator_of(seed: np.random.SeedSequence) -> torch.Generator:
    """A CPU generator for weights and noise."""
    return torch.Generator().manual_seed(int(seed.generate_state(1, np.uint64)[0] >> np.uint64(1)))


def action_columns(spec: ActionSpec, continuous: Tensor, discrete: Tensor) -> Tensor:
    """Joint actions as `[rows, continuous size + choices]`, choices one-hot."""
    parts = [continuous]
    for branch, size in enumerate(spec.discrete_branches):
        parts.append(F.one_hot(discrete[:, branch], size).to(continuous.dtype))
    return torch.cat(parts, dim=1)
