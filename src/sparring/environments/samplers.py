"""What samplers of environment parameters draw: for games that draw in this process, and for what is told of them."""

from __future__ import annotations

import math

import numpy as np

from sparring.settings import (
    ConstantParameters,
    GaussianParameters,
    MultiRangeParameters,
    Sampler,
    UniformParameters,
)

__all__ = ["draw", "in_words", "moments", "of_game"]


def draw(sampler: Sampler, *, arena: int, number: int) -> float:
    """The number-th value, from 0, that an arena draws.

    It depends on the sampler, its seed, the arena and the number alone: there is no state to carry, and how many
    arenas there are changes nothing. A seed of -1 is a seed like any other here.
    """
    plan = sampler.sampler_parameters
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([plan.seed % 2**32, arena, number])))
    if isinstance(plan, UniformParameters):
        return _within(plan.min_value, plan.max_value, rng)
    if isinstance(plan, GaussianParameters):
        return plan.mean + plan.st_dev * float(rng.standard_normal())
    if isinstance(plan, MultiRangeParameters):
        index = int(rng.choice(len(plan.intervals), p=_weights(plan)))
        return _within(plan.intervals[index][0], plan.intervals[index][1], rng)
    return _constant(sampler)


def moments(sampler: Sampler) -> tuple[float, float]:
    """Mean and standard deviation of what a sampler draws."""
    plan = sampler.sampler_parameters
    if isinstance(plan, UniformParameters):
        return (plan.min_value + plan.max_value) / 2.0, (plan.max_value - plan.min_value) / math.sqrt(12.0)
    if isinstance(plan, GaussianParameters):
        return plan.mean, plan.st_dev
    if isinstance(plan, MultiRangeParameters):
        middle = np.array([(low + high) / 2.0 for low, high in plan.intervals])
        width = np.array([high - low for low, high in plan.intervals])
        weight = np.array(_weights(plan))
        mean = float(weight @ middle)
        return mean, math.sqrt(float(weight @ (width**2 / 12.0 + (middle - mean) ** 2)))
    return _constant(sampler), 0.0


def of_game(sampler: Sampler, worker: int) -> Sampler:
    """The sampler of one game among several: game 0 has the seed as it is, every other one a seed of its own."""
    if worker == 0:
        return sampler
    plan = sampler.sampler_parameters
    seed = int(np.random.SeedSequence([plan.seed % 2**32, worker]).generate_state(1, np.uint32)[0]) >> 1
    return sampler.model_copy(update={"sampler_parameters": plan.model_copy(update={"seed": seed})})


def in_words(value: float | Sampler) -> str:
    """A number or a sampler as users of ML-Agents are told of it."""
    if not isinstance(value, Sampler):
        return f"Float: value={value}"
    plan = value.sampler_parameters
    if isinstance(plan, UniformParameters):
        return f"Uniform sampler: min={plan.min_value}, max={plan.max_value}"
    if isinstance(plan, GaussianParameters):
        return f"Gaussian sampler: mean={plan.mean}, stddev={plan.st_dev}"
    if isinstance(plan, MultiRangeParameters):
        return f"MultiRangeUniform sampler: intervals={[list(interval) for interval in plan.intervals]}"
    return f"Float: value={_constant(value)}"


def _within(low: float, high: float, rng: np.random.Generator) -> float:
    return low + float(rng.random()) * (high - low)


def _weights(plan: MultiRangeParameters) -> list[float]:
    """The probability of each interval, in proportion to its width; points alone are equally likely."""
    widths = [high - low for low, high in plan.intervals]
    total = sum(widths)
    return [width / total for width in widths] if total > 0 else [1.0 / len(widths)] * len(widths)


def _constant(sampler: Sampler) -> float:
    plan = sampler.sampler_parameters
    assert isinstance(plan, ConstantParameters), f"{sampler.sampler_type} is one of the kinds of samplers"
    return plan.value
