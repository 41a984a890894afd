"""Checks arrays that come back from a checkpoint before a world takes them over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparring.errors import CheckpointError, Finding

__all__ = ["checked_arrays"]


def checked_arrays(saved: object, expected: Mapping[str, NDArray[Any]], *, where: str) -> dict[str, NDArray[Any]]:
    """The arrays of `saved` that `expected` names, if they have its shapes and types and are finite.

    An expected first axis of length 0 stands for any length. All mistakes are reported at once.

    Raises:
        CheckpointError: an array is missing, has another shape or type, or is not finite.
    """
    if not isinstance(saved, Mapping):
        raise CheckpointError("the saved state of the world is not a table", where=where, found=type(saved).__name__)
    findings = [
        finding
        for name, like in expected.items()
        if (finding := _mistake(saved.get(name), like, where=f"{where}.{name}")) is not None
    ]
    if findings:
        raise CheckpointError(findings)
    return {name: np.asarray(saved[name]) for name in expected}


def _mistake(value: object, like: NDArray[Any], *, where: str) -> Finding | None:
    if not isinstance(value, np.ndarray):
        return Finding("an array is missing from the saved state of the world", where, type(value).__name__)
    shape = value.shape[1:] if like.shape[:1] == (0,) else value.shape
    wanted = like.shape[1:] if like.shape[:1] == (0,) else like.shape
    if shape != wanted or value.ndim != like.ndim or value.dtype != like.dtype:
        return Finding(
            "a saved array does not fit this world",
            where,
            f"{value.dtype} {value.shape}",
            f"{like.dtype} {like.shape}",
            "restore into a world with the same number of arenas",
        )
    if not np.isfinite(value).all():
        return Finding("a saved array is not finite", where)
    return None
