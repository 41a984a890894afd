"""The formulas of soft actor-critic (Haarnoja et al. 2018), for continuous actions, branches and both at once.

The value of a choice is the mean over branches of its entries: Q(s, a) = mean_b Q_b(s, a_c)[a_b]. Everything below
follows from that; docs/algorithms/sac.md has the formulas in one place.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sparring.specs import ActionSpec

__all__ = [
    "Chances",
    "available_choices",
    "entropy_penalty",
    "expected_value",
    "half_squared_error",
    "q_target",
    "temperature_loss",
    "value_of_action",
]

_TARGET_SHARE = 0.2
"""Entropy a branch is held to, as a part of the largest one there is."""


@dataclass(frozen=True, slots=True)
class Chances:
    """What a policy would do, by row.

    Attributes:
        log_density: `[rows]`, ln π of a continuous action drawn from it, summed over dimensions; None without.
        choices: `[rows, choices]`, ln π of every choice, branches joined; None without branches.
    """

    log_density: Tensor | None
    choices: Tensor | None

    def detached(self) -> Chances:
        """The same numbers without gradients."""
        return Chances(
            None if self.log_density is None else self.log_density.detach(),
            None if self.choices is None else self.choices.detach(),
        )


def value_of_action(q: Tensor, discrete: Tensor, spec: ActionSpec) -> Tensor:
    """Q of what was done, `[rows, signals]`: the mean over branches of the chosen entries.

    Args:
        q: `[rows, signals, choices]`, or `[rows, signals, 1]` without branches.
        discrete: int64 `[rows, branches]`.
        spec: the actions.
    """
    if not spec.discrete_size:
        return q.squeeze(2)
    starts = torch.tensor(_starts(spec), device=discrete.device)
    chosen = (discrete + starts).unsqueeze(1).expand(-1, q.shape[1], -1)
    return q.gather(2, chosen).mean(2)


def expected_value(q: Tensor, chances: Chances, spec: ActionSpec) -> Tensor:
    """Q of what the policy would do, `[rows, signals]`: mean_b Σ_a π_b(a) Q_b(a).

    Args:
        q: as for `value_of_action`, of the continuous action that was drawn.
        chances: of the policy.
        spec: the actions.
    """
    if chances.choices is None:
        return q.squeeze(2)
    return (chances.choices.exp().unsqueeze(1) * q).sum(2) / spec.discrete_size


def entropy_penalty(
    chances: Chances, continuous_alpha: Tensor | None, discrete_alpha: Tensor | None, spec: ActionSpec
) -> Tensor:
    """α_c ln π(ã) + mean_b α_b Σ_a π_b ln π_b by row, `[rows]`; what it is subtracted from gains by entropy.

    Args:
        chances: of the policy.
        continuous_alpha: `[1]`; None without continuous actions.
        discrete_alpha: `[branches]`; None without branches.
        spec: the actions.
    """
    parts = []
    if chances.log_density is not None and continuous_alpha is not None:
        parts.append(continuous_alpha * chances.log_density)
    if chances.choices is not None and discrete_alpha is not None:
        parts.append((discrete_alpha * _negative_entropies(chances.choices, spec)).mean(1))
    return torch.stack(parts).sum(0)


def q_target(reward: Tensor, terminated: Tensor, following: Tensor, gammas: Tensor, ignores_ends: Tensor) -> Tensor:
    """Rewards and what follows: y = r + γ V̄(s') where the rules did not end the episode; `[rows, signals]`.

    Args:
        reward: `[rows, signals]`, multiplied with strengths.
        terminated: bool `[rows]`; False where an episode was interrupted.
        following: V̄(s') `[rows, signals]`.
        gammas: `[signals]`.
        ignores_ends: bool `[signals]`.
    """
    ends = terminated.unsqueeze(1) & ~ignores_ends
    return reward + gammas * following.masked_fill(ends, 0.0)


def half_squared_error(value: Tensor, target: Tensor) -> Tensor:
    """½ mean((target − value)²) over rows and signals."""
    return 0.5 * (target - value).square().mean()


def temperature_loss(
    chances: Chances,
    available: Tensor | None,
    continuous_alpha: Tensor | None,
    discrete_alpha: Tensor | None,
    spec: ActionSpec,
) -> Tensor:
    """−mean(α (ln π + H̄)), summed over the temperatures; the gradient reaches the α only.

    H̄ is −dimensions for continuous actions and 0.2 ln(n) for a branch with n choices available.

    Args:
        chances: of the policy.
        available: `[rows, branches]`, numbers of choices; None without branches.
        continuous_alpha, discrete_alpha: as for `entropy_penalty`.
        spec: the actions.
    """
    chances = chances.detached()
    parts = []
    if chances.log_density is not None and continuous_alpha is not None:
        parts.append(-(continuous_alpha * (chances.log_density - spec.continuous_size)).mean())
    if chances.choices is not None and discrete_alpha is not None:
        assert available is not None, spec
        target = _TARGET_SHARE * available.log()
        parts.append(-(discrete_alpha * (_negative_entropies(chances.choices, spec) + target)).mean(0).sum())
    return torch.stack(parts).sum()


def available_choices(blocked: Tensor | None, rows: int, spec: ActionSpec, *, like: Tensor) -> Tensor:
    """How many choices there were, `[rows, branches]`; a branch with nothing available counts as unmasked.

    Args:
        blocked: bool `[rows, choices]`; None where everything was available.
        rows: how many.
        spec: the actions.
        like: of the type and on the device of the answer.
    """
    sizes = torch.tensor(spec.discrete_branches, dtype=like.dtype, device=like.device).expand(rows, -1)
    if blocked is None:
        return sizes
    free = _sums_by_branch((~blocked).to(like.dtype), spec)
    return torch.where(free > 0, free, sizes)


def _negative_entropies(choices: Tensor, spec: ActionSpec) -> Tensor:
    """Σ_a π_b ln π_b, `[rows, branches]`."""
    return _sums_by_branch(choices.exp() * choices, spec)


def _sums_by_branch(table: Tensor, spec: ActionSpec) -> Tensor:
    """`[rows, choices]` to `[rows, branches]`."""
    parts = zip(_starts(spec), spec.discrete_branches, strict=True)
    return torch.stack([table[:, start : start + size].sum(1) for start, size in parts], dim=1)


def _starts(spec: ActionSpec) -> list[int]:
    """The first joined choice of every branch."""
    return [sum(spec.discrete_branches[:branch]) for branch in range(spec.discrete_size)]
