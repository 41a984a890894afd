"""The random streams of a run, each named and independent of the others."""

from __future__ import annotations

import numpy as np

__all__ = ["SeedStreams", "draw_seed"]


def draw_seed() -> int:
    """A seed from the operating system, for runs that were not given one."""
    return int(np.random.SeedSequence().generate_state(1, np.uint32)[0]) >> 1


class SeedStreams:
    """Streams of one root seed by name: a stream depends on the seed and its name, not on who asked before."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def number(self, name: str) -> int:
        """A 63-bit seed for something that takes a number."""
        return int(self._sequence(name).generate_state(1, np.uint64)[0]) >> 1

    def generator(self, name: str) -> np.random.Generator:
        """A NumPy generator."""
        return np.random.Generator(np.random.PCG64(self._sequence(name)))

    def _sequence(self, name: str) -> np.random.SeedSequence:
        return np.random.SeedSequence([self.seed, *name.encode()])
