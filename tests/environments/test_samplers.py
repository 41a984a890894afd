"""Samplers draw what they say: against distribution functions in closed form, with streams that share nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sparring.environments.samplers import draw, in_words, moments, of_game
from sparring.settings import Sampler

DRAWS = 4000


def sampler(kind: str, **parameters: Any) -> Sampler:
    return Sampler.model_validate({"sampler_type": kind, "sampler_parameters": {"seed": 5, **parameters}})


def drawn(plan: Sampler, *, arena: int = 0, count: int = DRAWS) -> NDArray[Any]:
    return np.array([draw(plan, arena=arena, number=number) for number in range(count)])


def two_ranges(value: float) -> float:
    """Of [0, 1) and [4, 7): a quarter of the draws in the first, three in the second."""
    return min(max(value, 0.0), 1.0) / 4.0 + min(max(value - 4.0, 0.0), 3.0) / 4.0


CASES: list[tuple[Sampler, Callable[[float], float], float, float]] = [
    (sampler("uniform", min_value=-2.0, max_value=6.0), lambda x: (x + 2.0) / 8.0, 2.0, 8.0 / math.sqrt(12.0)),
    (
        sampler("gaussian", mean=3.0, st_dev=0.5),
        lambda x: 0.5 + 0.5 * math.erf((x - 3.0) / (0.5 * math.sqrt(2.0))),
        3.0,
        0.5,
    ),
    # Mean 1/4 * 0.5 + 3/4 * 5.5 = 4.25; variance 1/4 (1/12 + 3.75²) + 3/4 (9/12 + 1.25²) = 5.27083.
    (sampler("multirangeuniform", intervals=[[0, 1], [4, 7]]), two_ranges, 4.25, math.sqrt(5.270833333333333)),
]


@pytest.mark.parametrize(("plan", "distribution", "mean", "deviation"), CASES)
def test_draws_follow_the_distribution(
    plan: Sampler, distribution: Callable[[float], float], mean: float, deviation: float
) -> None:
    values = np.sort(drawn(plan))
    expected = np.array([distribution(float(value)) for value in values])
    steps = np.arange(DRAWS + 1) / DRAWS
    distance = max(np.abs(expected - steps[1:]).max(), np.abs(expected - steps[:-1]).max())
    assert distance < 1.63 / math.sqrt(DRAWS)  # Kolmogorov-Smirnov at 1 %; seeds are fixed
    assert abs(values.mean() - mean) < 4.0 * deviation / math.sqrt(DRAWS)
    assert values.std() == pytest.approx(deviation, rel=0.06)


@pytest.mark.parametrize(("plan", "distribution", "mean", "deviation"), CASES)
def test_moments_are_those_in_closed_form(
    plan: Sampler, distribution: Callable[[float], float], mean: float, deviation: float
) -> None:
    del distribution
    np.testing.assert_allclose(moments(plan), (mean, deviation), rtol=1e-12)


def test_a_point_is_drawn_as_it_is_and_points_are_equally_likely() -> None:
    assert set(drawn(sampler("uniform", min_value=2.0, max_value=2.0), count=5)) == {2.0}
    assert set(drawn(sampler("constant", value=7.0), count=5)) == {7.0}
    assert moments(sampler("constant", value=7.0)) == (7.0, 0.0)
    points = drawn(sampler("multirangeuniform", intervals=[[1, 1], [3, 3]]), count=1000)
    assert set(points) == {1.0, 3.0}
    assert abs(points.mean() - 2.0) < 4.0 / math.sqrt(1000)


@pytest.mark.parametrize("change", ["seed", "arena"])
def test_seeds_and_arenas_have_streams_that_share_nothing(change: str) -> None:
    first = drawn(sampler("uniform"))
    other = drawn(sampler("uniform", seed=6)) if change == "seed" else drawn(sampler("uniform"), arena=1)
    assert not np.isin(first, other).any()
    assert abs(np.corrcoef(first, other)[0, 1]) < 4.0 / math.sqrt(DRAWS)


def test_a_value_depends_on_nothing_that_was_drawn_before() -> None:
    plan = sampler("gaussian")
    assert draw(plan, arena=3, number=17) == drawn(plan, arena=3, count=18)[17]


def test_games_have_seeds_of_their_own_and_the_first_keeps_the_one_that_was_given() -> None:
    plan = sampler("uniform", seed=2**31 - 1)
    seeds = [of_game(plan, worker).sampler_parameters.seed for worker in range(50)]
    assert seeds[0] == 2**31 - 1
    assert len(set(seeds)) == 50
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert of_game(plan, 1).sampler_parameters.model_copy(update={"seed": plan.sampler_parameters.seed}) == (
        plan.sampler_parameters
    )


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (2.0, "Float: value=2.0"),
        (sampler("constant", value=2.0), "Float: value=2.0"),
        (sampler("uniform", min_value=1.0, max_value=4.0), "Uniform sampler: min=1.0, max=4.0"),
        (sampler("gaussian", mean=1.0, st_dev=2.0), "Gaussian sampler: mean=1.0, stddev=2.0"),
        (
            sampler("multirangeuniform", intervals=[[0, 1], [2, 3]]),
            "MultiRangeUniform sampler: intervals=[[0.0, 1.0], [2.0, 3.0]]",
        ),
    ],
)
def test_values_are_told_in_the_known_words(value: float | Sampler, words: str) -> None:
    assert in_words(value) == words
