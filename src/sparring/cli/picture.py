"""A picture of an arena in characters: braille cells of 2 x 4 dots, which are about square in a terminal."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

from sparring.worlds import Scene, SceneDisc, SceneLine

__all__ = ["drawn"]

_DOTS_WIDE, _DOTS_HIGH = 2, 4
_BITS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]], np.int64)
"""What each dot of a cell adds to the first braille character."""
_FIRST = 0x2800
_STYLES = ("", "bright_black", "blue", "magenta", "white", "bright_yellow")
"""Where dots of several colors share a cell, the last of these is seen."""
_PAINT = {"gray": 1, "blue": 2, "purple": 3, "white": 4}
_MARKED = 5


def drawn(scene: Scene, *, columns: int, rows: int, marked: str = "") -> Text:
    """The scene as lines of text, as large as fits.

    Args:
        scene: what is there.
        columns, rows: of characters; at least one each.
        marked: the name of a disc that is drawn in a color of its own.
    """
    dots = np.zeros((rows * _DOTS_HIGH, columns * _DOTS_WIDE), np.int8)
    to_dots = _scale(scene, *dots.shape)
    for line in (*scene.walls, *scene.goals):
        _paint_line(dots, to_dots, line)
    for disc in sorted(scene.discs, key=lambda disc: disc.name == marked):
        _paint_disc(dots, to_dots, disc, _MARKED if disc.name == marked else _PAINT.get(disc.color, 4))
    return _as_text(dots)


class _Scale:
    """From meters to dots: the same in both directions, z upwards, in the middle."""

    def __init__(self, left: float, low: float, factor: float, margin: tuple[float, float], height: int) -> None:
        self.factor = factor
        self._left, self._low, self._margin, self._height = left, low, margin, height

    def __call__(self, x: NDArray[np.float64], z: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        across = (x - self._left) * self.factor + self._margin[0]
        up = (z - self._low) * self.factor + self._margin[1]
        return np.rint(across).astype(np.int64), self._height - 1 - np.rint(up).astype(np.int64)


def _scale(scene: Scene, height: int, width: int) -> _Scale:
    ends = [end for line in (*scene.walls, *scene.goals) for end in (line.start, line.end)]
    corners = np.array(ends or [disc.position for disc in scene.discs] or [(0.0, 0.0)], np.float64)
    (left, low), (right, high) = corners.min(axis=0), corners.max(axis=0)
    factor = min((width - 1) / max(right - left, 1e-9), (height - 1) / max(high - low, 1e-9))
    margin = (width - 1 - (right - left) * factor) / 2, (height - 1 - (high - low) * factor) / 2
    return _Scale(float(left), float(low), factor, margin, height)


def _paint(dots: NDArray[np.int8], to_dots: _Scale, x: NDArray[np.float64], z: NDArray[np.float64], color: int) -> None:
    across, down = to_dots(x, z)
    seen = (across >= 0) & (across < dots.shape[1]) & (down >= 0) & (down < dots.shape[0])
    dots[down[seen], across[seen]] = color


def _paint_line(dots: NDArray[np.int8], to_dots: _Scale, line: SceneLine) -> None:
    (x0, z0), (x1, z1) = line.start, line.end
    along = np.linspace(0.0, 1.0, 2 + int(2 * to_dots.factor * math.hypot(x1 - x0, z1 - z0)))
    _paint(dots, to_dots, x0 + along * (x1 - x0), z0 + along * (z1 - z0), _PAINT.get(line.color, 1))


def _paint_disc(dots: NDArray[np.int8], to_dots: _Scale, disc: SceneDisc, color: int) -> None:
    """A filled disc, with a line to its front that sticks out by its radius."""
    x, z = disc.position
    reach = np.linspace(-disc.radius, disc.radius, 3 + int(4 * to_dots.factor * disc.radius))
    dx, dz = (part.reshape(-1) for part in np.meshgrid(reach, reach))
    inside = dx**2 + dz**2 <= disc.radius**2
    _paint(dots, to_dots, x + dx[inside], z + dz[inside], color)
    if disc.heading is not None:
        along = np.linspace(0.0, 2.0 * disc.radius, 3 + int(4 * to_dots.factor * disc.radius))
        _paint(dots, to_dots, x + along * math.cos(disc.heading), z + along * math.sin(disc.heading), color)


def _as_text(dots: NDArray[np.int8]) -> Text:
    height, width = dots.shape
    cells = dots.reshape(height // _DOTS_HIGH, _DOTS_HIGH, width // _DOTS_WIDE, _DOTS_WIDE).transpose(0, 2, 1, 3)
    codes = _FIRST + ((cells > 0) * _BITS).sum(axis=(2, 3))
    colors = cells.max(axis=(2, 3))
    text = Text(no_wrap=True)
    for row, (line, shades) in enumerate(zip(codes.tolist(), colors.tolist(), strict=True)):
        if row:
            text.append("\n")
        for code, shade in zip(line, shades, strict=True):
            text.append(chr(code), _STYLES[shade])
    return text
