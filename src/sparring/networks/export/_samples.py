"""Made-up observations for a proof when no real ones are at hand."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparring.networks._actor import Actor

__all__ = ["sample_masks", "sample_observations"]


def sample_observations(actor: Actor, *, rows: int, rng: np.random.Generator) -> list[NDArray[np.float32]]:
    """One array a sensor, `[rows, *sensor shape]`, in the range the actor expects.

    Vectors follow the statistics of the normalizer where there is one; images are uniform in [0, 1]; lists of entities
    hold anything from none to the most, the last row always none.
    """
    found: list[NDArray[np.float32]] = []
    normalizer = actor.normalizer
    start = 0
    for sensor in actor.spec.observation_specs:
        shape = (rows, *sensor.shape)
        if len(sensor.shape) == 3:
            found.append(rng.random(shape, np.float32))
            continue
        values = rng.standard_normal(shape, np.float32)
        if len(sensor.shape) == 2:
            most = sensor.shape[0]
            present = rng.integers(0, most + 1, rows)
            present[-1] = 0
            values *= (np.arange(most) < present[:, None])[:, :, None]
        elif normalizer is not None:
            columns = slice(start, start + sensor.size)
            scale = normalizer.scale[columns].cpu().numpy()
            values = values / scale + normalizer.offset[columns].cpu().numpy()
        if len(sensor.shape) == 1:
            start += sensor.size
        found.append(values.astype(np.float32))
    return found


def sample_masks(actor: Actor, *, rows: int, rng: np.random.Generator) -> NDArray[np.bool_] | None:
    """A mask `[rows, sum of branch sizes]`, about a third of it True; the last row masks everything."""
    choices = actor.spec.action_spec.total_choices
    if not choices:
        return None
    mask = rng.random((rows, choices)) < 0.33
    mask[-1] = True
    return mask
