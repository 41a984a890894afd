"""Environment parameters as a game reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sparring.environments.samplers import draw
from sparring.settings import Sampler

__all__ = ["EnvironmentParameters"]


class EnvironmentParameters:
    """Numbers by name, set by the trainer's lessons, or drawn anew at every read where it sent a sampler."""

    def __init__(self) -> None:
        self._numbers: dict[str, float] = {}
        self._samplers: dict[str, Sampler] = {}
        self._drawn: dict[str, int] = {}
        self._callbacks: dict[str, list[Callable[[float], None]]] = {}

    def get(self, name: str, default: float) -> float:
        """A parameter; the default where nobody set it."""
        if name in self._samplers:
            number = self._drawn[name]
            self._drawn[name] = number + 1
            return draw(self._samplers[name], arena=0, number=number)
        return self._numbers.get(name, default)

    def names(self) -> list[str]:
        """The parameters that were set."""
        return [*self._numbers, *self._samplers]

    def on_change(self, name: str, callback: Callable[[float], None]) -> None:
        """Calls a function with the new value whenever a number or a sampler is set."""
        self._callbacks.setdefault(name, []).append(callback)

    def set_numbers(self, numbers: Mapping[str, float]) -> None:
        """Sets parameters; each takes the place of a sampler of that name."""
        for name, value in numbers.items():
            is_new = self._numbers.get(name) != value
            self._samplers.pop(name, None)
            self._numbers[name] = value
            if is_new:
                self._tell(name)

    def set_samplers(self, samplers: Mapping[str, Sampler]) -> None:
        """Lets parameters be drawn; a sampler that is in force already draws on."""
        for name, sampler in samplers.items():
            if self._samplers.get(name) != sampler:
                self._numbers.pop(name, None)
                self._samplers[name] = sampler
                self._drawn[name] = 0
                self._tell(name)

    def _tell(self, name: str) -> None:
        for callback in self._callbacks.get(name, ()):
            callback(self.get(name, 0.0))
