"""The settings of a category as text."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["hyperparameter_text"]


def hyperparameter_text(hyperparameters: Mapping[str, object], *, depth: int = 0) -> str:
    """One line per key, nested ones two spaces deeper, the form users know from TensorBoard's text page."""
    lines: list[str] = []
    for key, value in hyperparameters.items():
        head = "\t" + "  " * depth + f"{key}:"
        if isinstance(value, Mapping) and value:
            lines += [head, hyperparameter_text(value, depth=depth + 1)]
        else:
            lines.append(f"{head}\t{value}")
    return "\n".join(lines)
