"""A policy: an actor that turns columns of observations into columns of actions."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sparring.networks import ActionParameters, Actor, ObservationLayout, scaled_for_environment, weights_hash
from sparring.networks.drawing import ParameterColumns, PolicyOutput, draw_actions
from sparring.specs import BehaviorSpec
from sparring.steps import ActionBatch

__all__ = ["Policy", "PolicyOutput"]


class Policy:
    """An actor with its normalization, bound to what its behavior sees and does."""

    def __init__(self, spec: BehaviorSpec, actor: Actor, *, device: torch.device) -> None:
        self.spec = spec
        self.layout = ObservationLayout(spec)
        self.actor = actor
        self.device = device

    @property
    def memory_size(self) -> int:
        """Numbers of memory an agent carries from decision to decision; 0 without memory."""
        return self.actor.memory_size

    def parameters(
        self, inputs: Sequence[NDArray[np.float32]], memory: NDArray[np.float32] | None = None
    ) -> tuple[ActionParameters, torch.Tensor | None]:
        """What the actions of a batch are drawn from, and the memory after; draws nothing itself.

        Gradients flow unless switched off.

        Args:
            inputs: columns as `ObservationLayout.inputs` gives them.
            memory: float32 `[agents, memory_size]` before the decisions; None for zeros, and without memory.
        """
        tensors = [_tensor(column).to(self.device) for column in inputs]
        if memory is None or not self.memory_size:
            return self.actor.forward(tensors)
        return self.actor.forward(tensors, _tensor(memory).to(self.device))

    @torch.inference_mode()
    def act(
        self,
        inputs: Sequence[NDArray[np.float32]],
        mask: NDArray[np.bool_] | None,
        generator: torch.Generator,
        *,
        memory: NDArray[np.float32] | None = None,
        deterministic: bool = False,
    ) -> PolicyOutput:
        """Chooses actions for a batch.

        Args:
            inputs: columns as `ObservationLayout.inputs` gives them.
            mask: bool `[agents, choices of all branches]`, True where a choice is not available; None if all are.
            generator: stream that sampled actions are drawn from, on the CPU.
            memory: as for `parameters`.
            deterministic: takes the most likely action instead of a sample.
        """
        parameters, after = self.parameters(inputs, memory)
        return draw_actions(
            ParameterColumns.of(parameters),
            self.spec.action_spec,
            mask,
            generator,
            squash=self.actor.squash,
            greedy=np.full(len(inputs[0]), deterministic),
            memory=None if after is None else after.cpu().numpy(),
        )

    def actions(self, output: PolicyOutput) -> ActionBatch:
        """What the game is sent for an output: continuous actions within [-1, 1], choices as int32."""
        scaled = scaled_for_environment(output.continuous, self.actor.squash)
        return ActionBatch(scaled, output.discrete.astype(np.int32))

    def frozen_copy(self) -> Policy:
        """A copy that shares nothing and whose weights never change."""
        actor = copy.deepcopy(self.actor).requires_grad_(False)
        return Policy(self.spec, actor.eval(), device=self.device)

    def weights_hash(self) -> str:
        """Hash of all weights and normalization statistics."""
        return weights_hash(self.actor)

    def state(self) -> dict[str, Any]:
        """Copies of all weights and normalization statistics, by name."""
        return {name: tensor.detach().cpu().numpy().copy() for name, tensor in self.actor.state_dict().items()}

    def with_state(self, state: dict[str, Any]) -> Policy:
        """A frozen policy of the same shape with the weights of `state`."""
        other = self.frozen_copy()
        other.actor.load_state_dict({name: torch.from_numpy(np.asarray(array)) for name, array in state.items()})
        return other


def _tensor(column: NDArray[np.float32]) -> torch.Tensor:
    """Shares the memory of a column; a read-only one, which torch can't hold, is copied."""
    return torch.from_numpy(column if column.flags.writeable else column.copy())
