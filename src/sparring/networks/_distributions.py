"""The distribution of a batch of actions, for learning: log-probabilities and entropy with gradients."""

from __future__ import annotations

import functools
import math
from typing import Any, TypeVar

import torch
import torch.nn.functional as F  # noqa: N812 - the name torch users read
from numpy.typing import NDArray
from torch import Tensor

from sparring.specs import ActionSpec

from ._heads import ActionParameters

__all__ = ["LOG_SQRT_TWO_PI", "MASKED_LOGIT", "ActionDistribution", "scaled_for_environment"]

MASKED_LOGIT = -1e8
"""Logit of a choice that is not available: its probability is exactly 0 and its log-probability still finite."""

LOG_SQRT_TWO_PI = 0.5 * math.log(2.0 * math.pi)
_LARGEST_SQUASHED = 1.0 - 1e-6


class ActionDistribution:
    """Independent Gaussians for the continuous actions, one categorical for each branch.

    Log-probability and entropy are those of the joint action: summed over all dimensions and branches.

    A choice that is not available has probability exactly 0. A branch of an agent in which *nothing* is available is
    treated as if nothing were masked there, so every row has a valid distribution; the exported file does the same.

    With `squash` a continuous action is tanh of the Gaussian sample, and log-probabilities are those of the squashed
    action; the entropy stays that of the Gaussian, for tanh of it has none in closed form.

    Args:
        parameters: from an actor.
        spec: the actions.
        mask: bool `[B, sum of branch sizes]`, branches joined, True where a choice is not available; None when all
            are.
        squash: the actor's.
    """

    def __init__(
        self, parameters: ActionParameters, spec: ActionSpec, mask: Tensor | None = None, *, squash: bool = False
    ) -> None:
        self.spec = spec
        self.squash = squash
        self._mean = parameters.mean
        self._log_std = parameters.log_std
        self._logits: Tensor | None = None
        self._log_p: Tensor | None = None
        if parameters.logits is not None:
            self._logits = _by_branch(parameters.logits, spec.discrete_branches, mask)
        reference = parameters.logits if parameters.mean is None else parameters.mean
        assert reference is not None, spec
        self._reference = reference

    def most_likely(self) -> tuple[Tensor, Tensor]:
        """The mean (its tanh with `squash`) and the most likely choice of each branch.

        Returns:
            Continuous `[B, continuous size]`, not yet scaled for the environment, and discrete int64 `[B, branches]`.
        """
        continuous = self._mean
        if continuous is not None and self.squash:
            continuous = continuous.tanh()
        return self._filled(continuous, None if self._logits is None else self._logits.argmax(2))

    def with_noise(self, noise: Tensor) -> Tensor:
        """The continuous action `[B, continuous size]` that given standard normal noise leads to."""
        raw = self._raw(noise)
        return raw.tanh() if self.squash else raw

    def sample_with_log_prob(self, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Draws the continuous part and gives its log-probability `[B]`, both with gradients to the parameters.

        With `squash` this is exact where `log_prob` has to recover the Gaussian sample from a rounded tanh.
        """
        raw = self._raw(self._noise(generator))
        log_prob = self._gaussian_log_prob(raw)
        if self.squash:
            return raw.tanh(), (log_prob - _log_slope_of_tanh(raw)).sum(1)
        return raw, log_prob.sum(1)

    def log_prob(self, continuous: Tensor, discrete: Tensor) -> Tensor:
        """Log-probability `[B]` of joint actions, shapes as `most_likely` returns them."""
        total: Tensor | None = None
        if self._mean is not None:
            total = self._continuous_log_probs(continuous).sum(1)
        if self._logits is not None:
            choices = self._discrete_log_probs(discrete).sum(1)
            total = choices if total is None else total + choices
        assert total is not None, self.spec
        return total

    def component_log_probs(self, continuous: Tensor, discrete: Tensor) -> Tensor:
        """Log-probabilities `[B, continuous size + branches]` of each dimension and each branch by itself."""
        parts: list[Tensor] = []
        if self._mean is not None:
            parts.append(self._continuous_log_probs(continuous))
        if self._logits is not None:
            parts.append(self._discrete_log_probs(discrete))
        return torch.cat(parts, dim=1)

    def entropy(self) -> Tensor:
        """Entropy `[B]` of the joint action, in nats."""
        total: Tensor | None = None
        if self._mean is not None:
            assert self._log_std is not None, self.spec
            dimensions = self._mean.shape[1]
            total = self._log_std.sum(-1) + dimensions * (0.5 + LOG_SQRT_TWO_PI)
            if self._log_std.ndim == 1:
                total = total.expand(len(self._mean))
        if self._logits is not None:
            log_p = self._branch_log_probs()
            choices = -(log_p.exp() * log_p).sum((1, 2))
            total = choices if total is None else total + choices
        assert total is not None, self.spec
        return total

    def choice_log_probs(self) -> Tensor:
        """Log-probabilities `[B, sum of branch sizes]` of every choice, branches joined; masked ones near -1e8."""
        assert self._logits is not None, self.spec
        branches = self.spec.discrete_branches
        joined = self._branch_log_probs().flatten(1)
        if _are_equal(branches):
            return joined
        return joined.index_select(1, _places_of_choices(branches, joined.device))

    def _filled(self, continuous: Tensor | None, discrete: Tensor | None) -> tuple[Tensor, Tensor]:
        """Both parts, with an empty one `[B, 0]` for what the spec does not have."""
        rows = len(self._reference)
        if continuous is None:
            continuous = self._reference.new_empty((rows, 0))
        if discrete is None:
            discrete = self._reference.new_empty((rows, 0), dtype=torch.int64)
        return continuous, discrete

    def _noise(self, generator: torch.Generator) -> Tensor:
        """Standard normal numbers `[B, continuous size]`."""
        noise = torch.empty(self._reference.shape, dtype=torch.float32, device=generator.device)
        return noise.normal_(generator=generator).to(self._reference.device)

    def _raw(self, noise: Tensor) -> Tensor:
        assert self._mean is not None, self.spec
        assert self._log_std is not None, self.spec
        return torch.addcmul(self._mean, noise, self._log_std.exp())

    def _continuous_log_probs(self, continuous: Tensor) -> Tensor:
        if not self.squash:
            return self._gaussian_log_prob(continuous)
        raw = continuous.clamp(-_LARGEST_SQUASHED, _LARGEST_SQUASHED).atanh()
        return self._gaussian_log_prob(raw) - _log_slope_of_tanh(raw)

    def _gaussian_log_prob(self, raw: Tensor) -> Tensor:
        assert self._mean is not None, self.spec
        assert self._log_std is not None, self.spec
        standard = (raw - self._mean) * (-self._log_std).exp()
        return -0.5 * standard.square() - (self._log_std + LOG_SQRT_TWO_PI)

    def _discrete_log_probs(self, discrete: Tensor) -> Tensor:
        return self._branch_log_probs().gather(2, discrete.unsqueeze(2)).squeeze(2)

    def _branch_log_probs(self) -> Tensor:
        """Log-probabilities `[B, branches, largest branch]`; computed once."""
        if self._log_p is None:
            assert self._logits is not None, self.spec
            self._log_p = self._logits.log_softmax(2)
        return self._log_p


_Column = TypeVar("_Column", Tensor, NDArray[Any])


def scaled_for_environment(raw: _Column, squash: bool) -> _Column:
    """The continuous action the game gets: `clip(raw, -3, 3) / 3`, or unchanged where tanh was applied already."""
    return raw if squash else raw.clip(-3.0, 3.0) / 3.0


def _by_branch(logits: Tensor, branches: tuple[int, ...], mask: Tensor | None) -> Tensor:
    """Masked logits `[B, branches, largest branch]`; places beyond the end of a branch count as masked."""
    rows = len(logits)
    most = max(branches)
    shape = (rows, len(branches), most)
    if _are_equal(branches):
        logits = logits.view(shape)
        if mask is None:
            return logits
        mask = mask.view(shape)
    else:
        places = _choices_of_places(branches, logits.device)
        logits = F.pad(logits, (0, 1), value=MASKED_LOGIT).index_select(1, places).view(shape)
        if mask is None:
            return logits
        mask = F.pad(mask, (0, 1), value=True).index_select(1, places).view(shape)
    return logits.masked_fill(mask & ~mask.all(2, keepdim=True), MASKED_LOGIT)


def _log_slope_of_tanh(raw: Tensor) -> Tensor:
    """ln(1 - tanh(u)²), in a form that stays finite for large u."""
    return 2.0 * (math.log(2.0) - raw - F.softplus(-2.0 * raw))


def _are_equal(branches: tuple[int, ...]) -> bool:
    return all(size == branches[0] for size in branches)


@functools.lru_cache(maxsize=64)
def _choices_of_places(branches: tuple[int, ...], device: torch.device) -> Tensor:
    """For each place of the padded table the joined choice in it; the column after the last one for padding."""
    total = sum(branches)
    places: list[int] = []
    start = 0
    for size in branches:
        places.extend(range(start, start + size))
        places.extend([total] * (max(branches) - size))
        start += size
    return _index(places, device)


@functools.lru_cache(maxsize=64)
def _places_of_choices(branches: tuple[int, ...], device: torch.device) -> Tensor:
    """For each joined choice its place in the padded table."""
    most = max(branches)
    places = [branch * most + choice for branch, size in enumerate(branches) for choice in range(size)]
    return _index(places, device)


def _index(places: list[int], device: torch.device) -> Tensor:
    # First asked for while acting in inference mode, an index must still be of use to autograd later.
    with torch.inference_mode(False):
        return torch.tensor(places, dtype=torch.int64, device=device)
