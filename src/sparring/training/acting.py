"""Acting: one batched inference for every distinct policy, whichever teams and arenas its agents are in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from sparring.networks.policy import Policy, PolicyOutput
from sparring.selfplay import LIVE
from sparring.steps import ActionBatch, DecisionSteps

__all__ = ["Asking", "act_for_all", "joined_mask"]

_Scalar = TypeVar("_Scalar", bound=np.generic)


@dataclass(slots=True)
class Asking:
    """The agents of one behavior on one team that ask for an action.

    Attributes:
        inputs: their observations as network inputs.
        mask: their joined action mask, None if everything is available.
        player: int64 `[agents]`, who acts for each: LIVE or a snapshot's number.
        live: what the learner chose for the rows in `live_rows`, filled by `act_for_all`.
        actions: what the game is sent, filled by `act_for_all`.
    """

    inputs: list[NDArray[np.float32]]
    mask: NDArray[np.bool_] | None
    player: NDArray[np.int64]
    live: PolicyOutput | None = None
    live_rows: NDArray[np.int64] | None = None
    actions: ActionBatch | None = None


def joined_mask(decision: DecisionSteps) -> NDArray[np.bool_] | None:
    """The masks of all branches side by side, `[agents, choices]`; None if everything is available."""
    if decision.action_mask is None:
        return None
    return np.concatenate(list(decision.action_mask), axis=1)


def act_for_all(
    asking: Sequence[Asking],
    policy_of: Callable[[int], Policy],
    generator: torch.Generator,
    *,
    deterministic: bool = False,
) -> None:
    """Chooses actions for agents of one behavior name; fills `actions` and the learner's outputs.

    Args:
        asking: the behavior's agents, one entry a team.
        policy_of: gives the policy of a player number.
        generator: the stream sampled actions come from.
        deterministic: the learner takes its most likely action.
    """
    for number in np.unique(np.concatenate([group.player for group in asking])):
        parts = [(group, np.flatnonzero(group.player == number)) for group in asking]
        parts = [(group, rows) for group, rows in parts if len(rows)]
        is_live = number == LIVE
        policy = policy_of(int(number))
        output = policy.act(
            _inputs(parts), _mask(parts), generator, deterministic=deterministic and is_live, measured=bool(is_live)
        )
        _hand_out(policy, output, parts, is_live=bool(is_live))


_Parts = list[tuple[Asking, NDArray[np.int64]]]


def _inputs(parts: _Parts) -> list[NDArray[np.float32]]:
    chosen = [[_take(column, rows) for column in group.inputs] for group, rows in parts]
    if len(chosen) == 1:
        return chosen[0]
    return [np.concatenate(columns) for columns in zip(*chosen, strict=True)]


def _mask(parts: _Parts) -> NDArray[np.bool_] | None:
    masks = [None if group.mask is None else _take(group.mask, rows) for group, rows in parts]
    if all(mask is None for mask in masks):
        return None
    width = next(mask.shape[1] for mask in masks if mask is not None)
    filled = [
        np.zeros((len(rows), width), np.bool_) if mask is None else mask
        for mask, (_, rows) in zip(masks, parts, strict=True)
    ]
    return np.concatenate(filled)


def _take(column: NDArray[_Scalar], rows: NDArray[np.int64]) -> NDArray[_Scalar]:
    return column if len(rows) == len(column) else column[rows]


def _hand_out(policy: Policy, output: PolicyOutput, parts: _Parts, *, is_live: bool) -> None:
    sent = policy.actions(output)
    start = 0
    for group, rows in parts:
        part = slice(start, start + len(rows))
        start += len(rows)
        if len(rows) == len(group.player):
            group.actions = ActionBatch(sent.continuous[part], sent.discrete[part])
        else:
            if group.actions is None:
                group.actions = ActionBatch.zeros(policy.spec.action_spec, len(group.player))
            group.actions.continuous[rows] = sent.continuous[part]
            group.actions.discrete[rows] = sent.discrete[part]
        if is_live:
            assert output.log_prob is not None, "the learner's decisions are measured"
            assert output.entropy is not None, "the learner's decisions are measured"
            group.live_rows = rows
            group.live = PolicyOutput(
                output.continuous[part], output.discrete[part], output.log_prob[part], output.entropy[part]
            )
