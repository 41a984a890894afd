"""Running mean and deviation of the vector observations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from sparring.errors import NonFiniteError
from sparring.settings.network import NetworkSettings
from sparring.specs import BehaviorSpec

from ._layout import ObservationLayout

__all__ = ["CLIP", "Normalizer"]

_STATISTICS = ("count", "mean", "squares")
CLIP = 5.0
_LEAST_DEVIATION = 1e-6
_ROWS_AT_ONCE = 256  # so that the float64 copies stay in the cache


class Normalizer(nn.Module):
    """Maps a column to `clip((x - mean) / deviation, -5, 5)` with the statistics of everything seen so far.

    The statistics are float64 and stay on the CPU wherever the module goes (some devices have no float64, and an
    update runs once a trajectory); what `forward` needs of them follows as two float32 rows on the module's device.
    The same instance is shared by actor and critic, so acting, learning and export see the same numbers.

    Attributes:
        count: float64 scalar, rows seen; begins at 1.
        mean: float64 `[size]`; begins at 0.
        squares: float64 `[size]`, sum of squared deviations from the mean; begins at 1, so the deviation does too.
    """

    count: Tensor
    mean: Tensor
    squares: Tensor
    offset: Tensor
    scale: Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        for name, value in (
            ("count", torch.ones((), dtype=torch.float64, device="cpu")),
            ("mean", torch.zeros(size, dtype=torch.float64, device="cpu")),
            ("squares", torch.ones(size, dtype=torch.float64, device="cpu")),
        ):
            self.register_buffer(name, value)
        self.register_buffer("offset", torch.zeros(size, dtype=torch.float32, device="cpu"), persistent=False)
        self.register_buffer("scale", torch.ones(size, dtype=torch.float32, device="cpu"), persistent=False)
        self.register_load_state_dict_post_hook(_follow_statistics)  # type: ignore[no-untyped-call]

    @classmethod
    def of(cls, spec: BehaviorSpec, settings: NetworkSettings) -> Normalizer | None:
        """One for the joined vector observations; None where there are none or normalizing is off."""
        size = ObservationLayout(spec).vector_size
        return cls(size) if settings.normalize and size else None

    @property
    def size(self) -> int:
        """The number of columns."""
        return len(self.mean)

    @torch.no_grad()
    def update(self, x: Tensor) -> None:
        """Takes in the rows of `x`, `[N, size]`, as one batch.

        With count n, mean m, squares s: n' = n + N; m' = m + Σ(x - m)/n'; s' = s + Σ(x - m')(x - m).

        Raises:
            NonFiniteError: a column of `x` holds a NaN or an infinity; the statistics are as before.
        """
        if not len(x):
            return
        total = torch.zeros_like(self.mean)
        total_squared = torch.zeros_like(self.mean)
        for start in range(0, len(x), _ROWS_AT_ONCE):
            deviation = x[start : start + _ROWS_AT_ONCE].to("cpu", torch.float64) - self.mean
            total += deviation.sum(0)
            total_squared += deviation.square_().sum(0)
        self._refuse_non_finite(total_squared)
        self.count += len(x)
        step = total / self.count
        self.mean += step
        # Σ(x - m')(x - m) with m' = m + step, without a second pass over the rows.
        self.squares += total_squared - step * total
        self.follow_statistics()

    def forward(self, x: Tensor) -> Tensor:
        """`[..., size]` to the same shape, within ±5."""
        return ((x - self.offset) * self.scale).clamp_(-CLIP, CLIP)

    @torch.no_grad()
    def follow_statistics(self) -> None:
        """Recomputes the float32 rows; call it after writing to the statistics by hand."""
        deviation = (self.squares / self.count).clamp_min(0.0).sqrt().clamp_min(_LEAST_DEVIATION)
        self.offset.copy_(self.mean)
        self.scale.copy_(deviation.reciprocal())

    def _refuse_non_finite(self, total_squared: Tensor) -> None:
        finite = torch.isfinite(total_squared)
        if not bool(finite.all()):
            columns = (~finite).nonzero().flatten().tolist()
            raise NonFiniteError(
                "vector observations to be normalized are not finite",
                found=f"NaN, infinity or a number too large to square in columns {columns[:8]}",
                cure="check the game's vector sensors for divisions by zero",
            )

    def _apply(self, fn: Callable[..., Any], recurse: bool = True) -> Normalizer:
        # Torch's hook for `.to(...)` and its kin: moves the float32 rows, leaves the statistics where they are.
        kept = {name: self._buffers[name] for name in _STATISTICS}
        for name in kept:
            self._buffers[name] = None
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self._buffers.update(kept)
        return self


def _follow_statistics(module: nn.Module, _: object) -> None:
    assert isinstance(module, Normalizer), module
    module.follow_statistics()
