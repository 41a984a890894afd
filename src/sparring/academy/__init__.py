"""The game's side of the wire."""

from sparring.academy.serving import MakeGame, serve

__all__ = ["MakeGame", "serve"]
