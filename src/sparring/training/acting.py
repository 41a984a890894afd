"""Acting: one forward pass for every distinct policy, then one draw of actions for everybody.

Passes of different policies don't depend on each other or on any random stream, so they may run side by side; the
draw happens after, in the order of the agents, and gives the same actions however the passes were split.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from sparring.networks import ActionParameters
from sparring.networks.drawing import ParameterColumns, PolicyOutput, draw_actions
from sparring.networks.policy import Policy
from sparring.selfplay import LIVE
from sparring.steps import ActionBatch, DecisionSteps

__all__ = ["Asking", "act_for_all", "joined_mask"]

_ROWS_A_PASS_COSTS = 8
"""What a pass costs whatever its size, in rows; a rough figure, only for sharing work out."""

_Scalar = TypeVar("_Scalar", bound=np.generic)


@dataclass(slots=True)
class Asking:
    """The agents of one behavior on one team that ask for an action.

    Attributes:
        inputs: their observations as network inputs.
        mask: their joined action mask, None if everything is available.
        player: int64 `[agents]`, who acts for each: LIVE or a snapshot's number.
        memory: float32 `[agents, memory size]` before the decision, whoever acts; None without memory.
        output: what was chosen, with log-probabilities and entropies; filled by `act_for_all`.
        actions: what the game is sent; filled by `act_for_all`.
    """

    inputs: list[NDArray[np.float32]]
    mask: NDArray[np.bool_] | None
    player: NDArray[np.int64]
    memory: NDArray[np.float32] | None = None
    output: PolicyOutput | None = None
    actions: ActionBatch | None = None


def joined_mask(decision: DecisionSteps) -> NDArray[np.bool_] | None:
    """The masks of all branches side by side, `[agents, choices]`; None if everything is available."""
    if decision.action_mask is None:
        return None
    return np.concatenate(list(decision.action_mask), axis=1)


@torch.inference_mode()
def act_for_all(
    asking: Sequence[Asking],
    policy_of: Callable[[int], Policy],
    generator: torch.Generator,
    *,
    deterministic: bool = False,
    second_thread: Executor | None = None,
) -> None:
    """Chooses actions for agents of one behavior name; fills `output` and `actions`.

    Args:
        asking: the behavior's agents, one entry a team; at least one agent together.
        policy_of: gives the policy of a player number.
        generator: the stream sampled actions come from.
        deterministic: the learner takes its most likely action; snapshots are sampled.
        second_thread: runs the passes of snapshots beside the learner's; None runs one after the other.
    """
    player = _joined([group.player for group in asking])
    is_one = bool((player == player[0]).all())
    numbers, policy_index = (player[:1], player) if is_one else np.unique(player, return_inverse=True)
    policies = [policy_of(int(number)) for number in numbers]
    inputs = [_joined(columns) for columns in zip(*(group.inputs for group in asking), strict=True)]
    memory = _joined_memories(asking)
    if len(policies) == 1:
        whole, remembered = policies[0].parameters(inputs, memory)
        parameters, after = ParameterColumns.of(whole), None if remembered is None else remembered.cpu().numpy()
    else:
        order = np.argsort(policy_index, kind="stable")
        counts = np.bincount(policy_index)
        sorted_inputs = [column[order] for column in inputs]
        sorted_memory = None if memory is None else memory[order]
        shares = [
            slice(end - count, end) for count, end in zip(counts.tolist(), np.cumsum(counts).tolist(), strict=True)
        ]
        parts = [
            _Part([column[share] for column in sorted_inputs], None if sorted_memory is None else sorted_memory[share])
            for share in shares
        ]
        passes = _passes(policies, parts, second_thread)
        parameters = _in_order([done for done, _ in passes], order)
        after = _memories_in_order([memory for _, memory in passes], order)
    _draw(asking, policies[0], parameters, after, player == LIVE if deterministic else None, generator)


class _Part(NamedTuple):
    """The rows of one policy."""

    inputs: list[NDArray[np.float32]]
    memory: NDArray[np.float32] | None


_Pass: TypeAlias = tuple[ActionParameters, torch.Tensor | None]


def _joined_memories(asking: Sequence[Asking]) -> NDArray[np.float32] | None:
    memories = [group.memory for group in asking if group.memory is not None]
    return _joined(memories) if memories else None


def _memories_in_order(memories: Sequence[torch.Tensor | None], order: NDArray[np.int64]) -> NDArray[np.float32] | None:
    known = [memory.cpu().numpy() for memory in memories if memory is not None]
    return _put_back(known, order) if known else None


def _joined(columns: Sequence[NDArray[_Scalar]]) -> NDArray[_Scalar]:
    return columns[0] if len(columns) == 1 else np.concatenate(columns)


def _passes(policies: Sequence[Policy], parts: Sequence[_Part], second_thread: Executor | None) -> list[_Pass]:
    if second_thread is None:
        return [policy.parameters(*part) for policy, part in zip(policies, parts, strict=True)]

    def passes_of(shares: Sequence[int]) -> list[_Pass]:
        with torch.inference_mode():
            return [policies[index].parameters(*parts[index]) for index in shares]

    here, there = _split([len(part.inputs[0]) for part in parts])
    future = second_thread.submit(passes_of, there)
    done = dict(zip(here, passes_of(here), strict=True))
    done |= zip(there, future.result(), strict=True)
    return [done[index] for index in range(len(policies))]


def _split(rows: Sequence[int]) -> tuple[list[int], list[int]]:
    """Shares passes out to two threads so that both have about as much to do."""
    shares: tuple[list[int], list[int]] = ([], [])
    loads = [0, 0]
    for index in sorted(range(len(rows)), key=lambda index: -rows[index]):
        lighter = 0 if loads[0] <= loads[1] else 1
        shares[lighter].append(index)
        loads[lighter] += rows[index] + _ROWS_A_PASS_COSTS
    return shares


def _in_order(passes: Sequence[ActionParameters], order: NDArray[np.int64]) -> ParameterColumns:
    """The parameters of all passes as one batch, in the order of the agents."""
    columns = zip(*(ParameterColumns.of(parameters) for parameters in passes), strict=True)
    return ParameterColumns(*(_put_back(parts, order) for parts in columns))


def _put_back(parts: Sequence[NDArray[np.float32]], order: NDArray[np.int64]) -> NDArray[np.float32]:
    """Rows that were sorted by policy, as they were before."""
    joined = np.concatenate(parts)
    unsorted = np.empty_like(joined)
    unsorted[order] = joined
    return unsorted


def _draw(
    asking: Sequence[Asking],
    policy: Policy,
    parameters: ParameterColumns,
    memory: NDArray[np.float32] | None,
    greedy: NDArray[np.bool_] | None,
    generator: torch.Generator,
) -> None:
    """Draws everybody's actions at once and hands them out."""
    output = draw_actions(
        parameters,
        policy.spec.action_spec,
        _joined_masks(asking),
        generator,
        squash=policy.actor.squash,
        greedy=greedy,
        memory=memory,
    )
    sent = policy.actions(output)
    start = 0
    for group in asking:
        part = slice(start, start + len(group.player))
        start = part.stop
        group.output = output.rows(part)
        group.actions = ActionBatch(sent.continuous[part], sent.discrete[part])


def _joined_masks(asking: Sequence[Asking]) -> NDArray[np.bool_] | None:
    width = next((group.mask.shape[1] for group in asking if group.mask is not None), None)
    if width is None:
        return None
    return np.concatenate(
        [np.zeros((len(group.player), width), np.bool_) if group.mask is None else group.mask for group in asking]
    )
