"""Drawing actions: from the parameters of a batch to actions and what is known of them, in one pass over the rows.

While a game is played a batch is a few rows, and an operation on tensors costs more than all of its arithmetic. So
what `ActionDistribution` says for learning is compiled here for acting; the tests hold both together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from sparring.compilation import entry
from sparring.specs import ActionSpec

from ._distributions import LOG_SQRT_TWO_PI
from ._heads import ActionParameters

__all__ = ["ParameterColumns", "PolicyOutput", "draw_actions"]

_LEAST_NOISE = 1e-37
"""A generator may give an exponential number of 0, whose logarithm would outweigh everything."""


@dataclass(frozen=True, slots=True)
class PolicyOutput:
    """What a policy chose for a batch of agents, as columns.

    Attributes:
        continuous: float32 `[agents, continuous size]` as sampled, before it is scaled for the game.
        discrete: int64 `[agents, branches]`.
        log_prob, entropy: float32 `[agents]`, joint over all components.
        memory: float32 `[agents, memory size]` after the decision; None without memory.
    """

    continuous: NDArray[np.float32]
    discrete: NDArray[np.int64]
    log_prob: NDArray[np.float32]
    entropy: NDArray[np.float32]
    memory: NDArray[np.float32] | None = None

    def rows(self, part: slice) -> PolicyOutput:
        """Some of the rows, as views."""
        memory = None if self.memory is None else self.memory[part]
        return PolicyOutput(self.continuous[part], self.discrete[part], self.log_prob[part], self.entropy[part], memory)


class ParameterColumns(NamedTuple):
    """The parameters of a batch of actions as arrays, of width 0 for what the actions don't have.

    Attributes:
        mean, log_std: float32 `[rows, continuous size]`.
        logits: float32 `[rows, choices of all branches]`, before masking.
    """

    mean: NDArray[np.float32]
    log_std: NDArray[np.float32]
    logits: NDArray[np.float32]

    @classmethod
    def of(cls, parameters: ActionParameters) -> ParameterColumns:
        """Those an actor gave, brought to the CPU."""
        mean, log_std, logits = (None if part is None else part.detach().cpu().numpy() for part in parameters)
        if mean is None or log_std is None:
            assert logits is not None, "an action has parts"
            mean = log_std = np.empty((len(logits), 0), np.float32)
        elif log_std.ndim == 1:  # a free deviation: one row for all
            log_std = np.repeat(log_std[None], len(mean), axis=0)
        return cls(mean, log_std, np.empty((len(mean), 0), np.float32) if logits is None else logits)


def draw_actions(
    parameters: ParameterColumns,
    spec: ActionSpec,
    blocked: NDArray[np.bool_] | None,
    generator: torch.Generator,
    *,
    squash: bool,
    greedy: NDArray[np.bool_] | None = None,
    memory: NDArray[np.float32] | None = None,
) -> PolicyOutput:
    """Draws one action a row; log-probabilities and entropies are those of `ActionDistribution`.

    Args:
        parameters: of the rows.
        spec: the actions.
        blocked: bool `[rows, choices of all branches]`, True where a choice is not available; None if all are.
        generator: of the noise, on the CPU; how much is taken from it depends on the number of rows alone.
        squash: the actor's.
        greedy: bool `[rows]`, True for rows that take their most likely action; None for none.
        memory: after the decisions, handed on.
    """
    rows = len(parameters.mean)
    continuous = np.empty((rows, spec.continuous_size), np.float32)
    discrete = np.empty((rows, spec.discrete_size), np.int64)
    log_prob, entropy = np.zeros(rows, np.float32), np.zeros(rows, np.float32)
    if greedy is None:
        greedy = np.zeros(rows, np.bool_)
    if spec.continuous_size:
        normal = torch.empty(continuous.shape, dtype=torch.float32).normal_(generator=generator).numpy()
        _draw_continuous(parameters.mean, parameters.log_std, normal, greedy, squash, continuous, log_prob, entropy)
    if spec.discrete_size:
        logits = np.ascontiguousarray(parameters.logits)
        exponential = torch.empty(logits.shape, dtype=torch.float32).exponential_(generator=generator).numpy()
        if blocked is None:
            blocked = np.zeros(logits.shape, np.bool_)
        branches = np.array(spec.discrete_branches)
        _draw_choices(logits, blocked, branches, exponential, greedy, discrete, log_prob, entropy)
    return PolicyOutput(continuous, discrete, log_prob, entropy, memory)


@entry
def _draw_continuous(
    mean: NDArray[np.float32],
    log_std: NDArray[np.float32],
    normal: NDArray[np.float32],
    greedy: NDArray[np.bool_],
    squash: bool,
    continuous: NDArray[np.float32],
    log_prob: NDArray[np.float32],
    entropy: NDArray[np.float32],
) -> None:
    """Fills in actions, and adds to log-probabilities and entropies."""
    for row in range(mean.shape[0]):
        for place in range(mean.shape[1]):
            log_deviation = float(log_std[row, place])
            noise = 0.0 if greedy[row] else float(normal[row, place])
            raw = mean[row, place] + noise * math.exp(log_deviation)
            chance = -0.5 * noise * noise - log_deviation - LOG_SQRT_TWO_PI
            action = raw
            if squash:
                action = math.tanh(raw)
                # ln(1 - tanh(u)²), in a form that stays finite for large u.
                chance -= 2.0 * (math.log(2.0) - abs(raw) - math.log1p(math.exp(-2.0 * abs(raw))))
            continuous[row, place] = action
            log_prob[row] += chance
            entropy[row] += log_deviation + 0.5 + LOG_SQRT_TWO_PI


@entry
def _draw_choices(
    logits: NDArray[np.float32],
    blocked: NDArray[np.bool_],
    branches: NDArray[np.int64],
    exponential: NDArray[np.float32],
    greedy: NDArray[np.bool_],
    discrete: NDArray[np.int64],
    log_prob: NDArray[np.float32],
    entropy: NDArray[np.float32],
) -> None:
    """As `_draw_continuous`. Gumbel's trick: the argmax of logits less the logarithms of exponential noise."""
    for row in range(logits.shape[0]):
        first = 0
        for branch in range(len(branches)):
            last = first + branches[branch]
            # A branch in which nothing is available counts as unmasked.
            is_masked = not blocked[row, first:last].all()
            largest = best = -math.inf
            chosen = first
            for place in range(first, last):
                if is_masked and blocked[row, place]:
                    continue
                logit = float(logits[row, place])
                largest = max(largest, logit)
                noise = 0.0 if greedy[row] else math.log(max(float(exponential[row, place]), _LEAST_NOISE))
                if logit - noise > best:
                    best, chosen = logit - noise, place
            total = weighted = 0.0
            for place in range(first, last):
                if not (is_masked and blocked[row, place]):
                    offset = float(logits[row, place]) - largest
                    chance = math.exp(offset)
                    total += chance
                    weighted += chance * offset
            log_total = math.log(total)
            discrete[row, branch] = chosen - first
            log_prob[row] += float(logits[row, chosen]) - largest - log_total
            entropy[row] += log_total - weighted / total
            first = last
