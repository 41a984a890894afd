"""The pitch: its walls, its posts, and what is inside."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worlds.builders import STRIKERS_PITCH, TWOS_PITCH, clearance, winding

PITCHES = pytest.mark.parametrize("pitch", [TWOS_PITCH, STRIKERS_PITCH], ids=["twos", "strikers"])


@PITCHES
def test_walls_form_one_closed_chain_with_unit_normals_that_point_inwards(pitch):
    walls = pitch.walls()
    ends = walls[:, :2] + walls[:, 6:7] * walls[:, 4:6]
    np.testing.assert_allclose(ends, np.roll(walls[:, :2], -1, axis=0), atol=1e-12)
    np.testing.assert_allclose(np.hypot(walls[:, 2], walls[:, 3]), 1.0)
    inside = walls[:, :2] + 0.5 * walls[:, 6:7] * walls[:, 4:6] + 0.01 * walls[:, 2:4]
    assert winding(pitch.corners, inside[:, 0], inside[:, 1]).all()


def test_the_posts_are_the_ends_of_the_goal_mouths_and_the_corners_of_the_blocker():
    twos = {(x, z) for x, z, _ in TWOS_PITCH.posts()}
    assert twos == {(15.5, 4.15), (15.5, -4.15), (-15.5, 4.15), (-15.5, -4.15)}
    strikers = {(x, z) for x, z, _ in STRIKERS_PITCH.posts()}
    assert strikers == {(15.5, 4.15), (15.5, -4.15), (-15.01, 3.9575), (-15.01, -3.9575)}


def test_corner_walls_stand_at_sixty_degrees_where_the_sheet_has_them():
    corner = TWOS_PITCH.walls()[3]
    assert np.degrees(np.arctan2(corner[5], corner[4])) == pytest.approx(120.0)
    assert (corner[0], corner[1]) == (15.5, 4.15)
    assert TWOS_PITCH.corners[4] == pytest.approx((13.56, 7.508), abs=0.01)


@PITCHES
def test_no_wall_cuts_the_clear_rectangle(pitch):
    x, z = np.meshgrid(*(np.linspace(-half, half, 101) for half in pitch.clear))
    assert clearance(pitch, x, z).min() > -1e-9


@PITCHES
@given(x=st.floats(-20, 20), z=st.floats(-10, 10))
def test_inside_is_what_the_polygon_winds_around(pitch, x, z):
    if abs(clearance(pitch, np.array(x), np.array(z))) > 1e-9:
        assert pitch.contains(np.array([x]), np.array([z]))[0] == winding(pitch.corners, np.array(x), np.array(z))
