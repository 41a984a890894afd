"""How this package writes lists of records into a state tree."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

__all__ = ["StateTree", "in_order", "numbered"]

# The shape of `sparring.environments.StateTree`, named again: packages of one floor do not import each other.
StateTree: TypeAlias = dict[str, Any]
"""Nested dictionaries with string keys; leaves are NumPy arrays, numbers, strings, booleans, None or lists of these."""


def numbered(records: Iterable[StateTree]) -> StateTree:
    """The records under "0", "1", ….

    Names that come from a game hold slashes and dots; as values they survive any way of flattening a tree, as
    keys they would not.
    """
    return {str(index): record for index, record in enumerate(records)}


def in_order(tree: StateTree) -> list[StateTree]:
    """The records that `numbered` packed, in their first order."""
    return [tree[str(index)] for index in range(len(tree))]
