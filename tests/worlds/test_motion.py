"""The planar engine against closed forms, and what must hold for any speed, angle and crowd."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sparring.worlds.outline import Outline
from tests.worlds.builders import (
    AGENT,
    BALL,
    STRIKERS_PITCH,
    TWOS_PITCH,
    Array,
    Traits,
    clearance,
    overlap,
    pull_apart,
    run,
    scatter,
)

FIELD = Outline(((-1e4, -1e4), (1e4, -1e4), (1e4, 1e4), (-1e4, 1e4)), (0, 0, 0, 0), (9e3, 9e3))
"""So wide that nothing reaches its walls."""
TICK = 0.02

angles = st.floats(0.0, 2 * np.pi)
sideways = st.floats(-40.0, 40.0)


@given(
    angle=angles,
    approach=st.floats(0.01, 90.0),
    common=sideways,
    slides=st.tuples(sideways, sideways),
    when=st.floats(0.0, 0.999 * TICK),
    kinds=st.sampled_from([(AGENT, AGENT), (AGENT, BALL), (BALL, BALL)]),
)
def test_two_discs_exchange_momentum_by_the_impact_law(angle, approach, common, slides, when, kinds):
    assume(abs(approach - 2.0) > 1e-6)
    normal = np.array([np.cos(angle), np.sin(angle)])
    tangent = np.array([-normal[1], normal[0]])
    before = np.array([(common + approach) * normal + slides[0] * tangent, common * normal + slides[1] * tangent])
    meeting = np.array([[0.0, 0.0], (kinds[0][0] + kinds[1][0]) * normal])
    start = np.concatenate([meeting - before * when, before], axis=1)

    (end,), _ = run(FIELD, [start], kinds)

    masses = np.array([1 / kind[1] for kind in kinds])
    bounce = 0.8 if BALL in kinds and approach >= 2.0 else 0.0
    impulse = (1 + bounce) * approach / (1 / masses).sum()
    after = before + np.outer([-impulse, impulse] / masses, normal)
    np.testing.assert_allclose(end[:, 2:], after, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(end[:, :2], meeting + after * (TICK - when), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(masses @ end[:, 2:], masses @ before, rtol=1e-12, atol=1e-9)


@given(
    side=st.sampled_from([k for k, wall in enumerate(TWOS_PITCH.walls()) if wall[6] > 3.5]),
    approach=st.floats(0.1, 90.0),
    slide=sideways,
    when=st.floats(0.0, 0.999 * TICK),
    kind=st.sampled_from([AGENT, BALL]),
)
def test_a_wall_returns_the_ball_with_four_fifths_and_stops_an_agent(side, approach, slide, when, kind):
    assume(abs(approach - 2.0) > 1e-6)
    wall = TWOS_PITCH.walls()[side]
    inward, along = wall[2:4], wall[4:6]
    before = -approach * inward + slide * along
    meeting = wall[:2] + 0.5 * wall[6] * along + kind[0] * inward
    aside = (0.0, 0.0, 0.0, 0.0)

    (end,), _ = run(TWOS_PITCH, [[aside, [*(meeting - before * when), *before]]], [AGENT, kind])

    bounce = 0.8 if kind is BALL and approach >= 2.0 else 0.0
    after = bounce * approach * inward + slide * along
    np.testing.assert_allclose(end[1, 2:], after, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(end[1, :2], meeting + after * (TICK - when), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("pitch", [TWOS_PITCH, STRIKERS_PITCH], ids=["twos", "strikers"])
@given(seed=st.integers(0, 2**32 - 1), speed=st.floats(0.0, 300.0))
@settings(max_examples=30)
def test_nothing_passes_through_a_wall_at_any_speed(pitch, seed, speed):
    rng = np.random.default_rng(seed)
    for kind in (BALL, AGENT):
        traits = [kind]
        bodies = _in_motion(pitch, traits, 100, speed, rng)
        for _ in range(10):
            bodies, _ = run(pitch, bodies, traits)
            assert clearance(pitch, bodies[..., 0], bodies[..., 1]).min() > kind[0] - 1e-6


@pytest.mark.parametrize("corner", range(12))
def test_nothing_passes_through_a_corner_or_post_it_is_shot_at(corner):
    target = np.array(TWOS_PITCH.corners[corner])
    rng = np.random.default_rng(corner)
    traits = [BALL]
    bodies = _in_motion(TWOS_PITCH, traits, 500, 0.0, rng)
    aim = target + rng.normal(0.0, 0.3, (500, 2)) - bodies[:, 0, :2]
    bodies[:, 0, 2:] = rng.uniform(1.0, 150.0, (500, 1)) * aim / np.linalg.norm(aim, axis=1, keepdims=True)
    for _ in range(30):
        bodies, _ = run(TWOS_PITCH, bodies, traits)
        assert clearance(TWOS_PITCH, bodies[..., 0], bodies[..., 1]).min() > BALL[0] - 1e-6


@given(seed=st.integers(0, 2**32 - 1), speed=st.floats(0.0, 150.0))
@settings(max_examples=30)
def test_a_crowd_never_overlaps_nor_leaves_nor_gains_energy(seed, speed):
    rng = np.random.default_rng(seed)
    traits = [AGENT] * 4 + [BALL]
    mass = np.array([1 / trait[1] for trait in traits])
    bodies = _in_motion(STRIKERS_PITCH, traits, 50, speed, rng)
    for _ in range(10):
        energy = (mass * (bodies[..., 2:] ** 2).sum(-1)).sum(-1)
        bodies, _ = run(STRIKERS_PITCH, bodies, traits)
        assert np.isfinite(bodies).all()
        assert overlap(bodies, traits) < 1e-6
        inside = clearance(STRIKERS_PITCH, bodies[..., 0], bodies[..., 1]) - [trait[0] for trait in traits]
        assert inside.min() > -1e-6
        assert ((mass * (bodies[..., 2:] ** 2).sum(-1)).sum(-1) <= energy * (1 + 1e-9) + 1e-9).all()


@pytest.mark.parametrize("angle", np.linspace(0.0, 2 * np.pi, 25)[:-1].tolist())
def test_agents_that_press_the_ball_against_anything_neither_pass_nor_gain_speed(angle):
    # Two agents push side by side towards the wall, the ball in front of them, for four seconds.
    heading = np.array([np.cos(angle), np.sin(angle)])
    aside = np.array([-heading[1], heading[0]])
    places = [-1.3 * heading + 0.55 * aside, -1.3 * heading - 0.55 * aside, 0 * heading]
    bodies = np.array([[[*place, 0.0, 0.0] for place in places]])
    traits = [AGENT, AGENT, BALL]
    for _ in range(200):
        bodies[:, :2, 2:] = (bodies[:, :2, 2:] + 2.6 * heading) * 0.94
        bodies[:, 2, 2:] *= 0.98
        bodies, _ = run(TWOS_PITCH, bodies, traits)
        assert overlap(bodies, traits) < 1e-4
        assert clearance(TWOS_PITCH, bodies[..., 0], bodies[..., 1]).min() > 0.5 - 1e-4
    assert np.linalg.norm(bodies[0, :2, 2:], axis=1).max() < 41.0  # a free run's steady speed is 40.7


def test_an_agent_pressing_the_ball_head_on_against_a_wall_comes_to_rest():
    bodies = np.array([[[0.0, 5.0, 0.0, 0.0], [0.0, 6.5, 0.0, 0.0]]])
    for _ in range(100):
        bodies[0, 0, 3] = (bodies[0, 0, 3] + 2.0) * 0.94  # 1.88 m/s: too slow to bounce
        bodies, _ = run(TWOS_PITCH, bodies, [AGENT, BALL])
    assert abs(bodies[0, :, 3]).max() < 1e-3
    assert bodies[0, 1, 1] == pytest.approx(7.508 - 0.624, abs=1e-6)
    assert bodies[0, 0, 1] == pytest.approx(7.508 - 2 * 0.624 - 0.5, abs=1e-4)


def test_the_way_of_the_ball_tells_how_far_it_came_between_ticks():
    # From 10 m in front of the net at 100 m/s: it is thrown back within the tick, and both ends are told.
    start = [[0.0, 0.0, 0.0, 0.0], [16.0, 0.0, 100.0, 0.0]]
    (end,), ((left, right),) = run(TWOS_PITCH, [start], [AGENT, BALL])
    assert right == pytest.approx(17.36 - 0.624)
    assert left == pytest.approx(end[1, 0]) == right - 80.0 * (TICK - (right - 16.0) / 100.0)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_overlapping_discs_are_pulled_apart_the_lighter_one_farther(seed):
    rng = np.random.default_rng(seed)
    traits = [AGENT, BALL]
    bodies = np.zeros((20, 2, 4))
    bodies[..., :2] = rng.uniform(-3.0, 3.0, (20, 1, 2)) + rng.uniform(-0.4, 0.4, (20, 2, 2))
    apart = pull_apart(TWOS_PITCH, bodies, traits)
    assert overlap(apart, traits) < 1e-6
    moved = np.linalg.norm(apart[..., :2] - bodies[..., :2], axis=-1)
    np.testing.assert_allclose(moved[:, 0] * 50, moved[:, 1] * 3, atol=1e-6)


def test_discs_in_one_place_are_pulled_apart_too():
    apart = pull_apart(TWOS_PITCH, np.zeros((1, 2, 4)), [AGENT, BALL])
    assert np.isfinite(apart).all()
    assert overlap(apart, [AGENT, BALL]) < 1e-6


def _in_motion(pitch: Outline, traits: Traits, arenas: int, speed: float, rng: np.random.Generator) -> Array:
    angle = rng.uniform(0.0, 2 * np.pi, (arenas, len(traits)))
    velocity = speed * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    return np.concatenate([scatter(pitch, traits, arenas, rng), velocity], axis=-1)
