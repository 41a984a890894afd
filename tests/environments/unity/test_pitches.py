"""Who plays whom, told from who begins and ends together."""

import logging
from collections.abc import Iterator, Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparring.environments.unity.pitches import Pitches
from tests.builders import exchange

RED, BLUE = "Soccer?team=0", "Soccer?team=1"


class Game:
    """Feeds exchanges, in the notation of the cases, and keeps who is where: `where[behavior][agent]`."""

    def __init__(self) -> None:
        self.pitches = Pitches()
        self.where: dict[str, dict[int, int]] = {}

    def says(self, **scripts: str) -> "Game":
        names = {"red": RED, "blue": BLUE}
        steps = {names[side]: exchange(text) for side, text in scripts.items()}
        for name, (asking, ended) in self.pitches.assigned(steps).items():
            decision, terminal = steps[name]
            own = self.where.setdefault(name, {})
            for agent, arena in zip(terminal.agent_id.tolist(), ended.tolist(), strict=True):
                assert own.get(agent, arena) == arena, "an episode ends where it began"
            own.update(zip(decision.agent_id.tolist(), asking.tolist(), strict=True))
        return self

    def of(self, side: str) -> dict[int, int]:
        return self.where[{"red": RED, "blue": BLUE}[side]]


def test_everybody_begins_on_one_pitch_and_late_ones_join_the_match() -> None:
    game = Game().says(red="D[1, 2]").says(red="D[1, 2]", blue="D[7]")
    assert game.of("red") == {1: 0, 2: 0}
    assert game.of("blue") == {7: 0}


def test_fields_are_told_apart_when_one_ends_while_the_other_plays_on() -> None:
    game = Game().says(red="D[1, 2]", blue="D[3, 4]")
    game.says(red="T[1 end] D[1, 2]", blue="T[3 end] D[3, 4]")
    assert game.of("red")[1] == game.of("blue")[3] != game.of("red")[2] == game.of("blue")[4]
    for _ in range(5):  # and they stay apart when they end together
        before = (dict(game.of("red")), dict(game.of("blue")))
        game.says(red="T[1 end, 2 end] D[1, 2]", blue="T[3 end, 4 end] D[3, 4]")
        assert (game.of("red"), game.of("blue")) == before


def test_agents_that_come_back_one_by_one_are_still_one_field() -> None:
    game = Game().says(red="D[1, 2]", blue="D[3, 4]").says(red="T[1 end] D[2]", blue="T[3 end] D[4]")
    game.says(red="D[1, 2]").says(red="D[2]", blue="D[4, 3]")
    assert game.of("red")[1] == game.of("blue")[3] != game.of("red")[2]


def test_a_match_ends_for_all_and_the_next_one_begins_one_by_one() -> None:
    game = Game().says(red="D[1, 2]", blue="D[3, 4]")
    for _ in range(3):
        game.says(red="T[1 end, 2 end]", blue="T[3 end, 4 end]")
        game.says(red="D[1]").says(blue="D[4]").says(red="D[2]", blue="D[3]")
        assert set(game.of("red").values()) | set(game.of("blue").values()) == {0}


def test_players_that_drop_out_wait_for_the_end_of_their_match() -> None:
    game = Game().says(red="D[1, 2]", blue="D[3, 4]")
    for _ in range(3):
        game.says(red="T[1 end] D[2]", blue="D[3, 4]").says(red="D[2]", blue="T[4 end] D[3]")
        game.says(red="T[2 end] D[1, 2]", blue="T[3 end] D[3, 4]")
        assert set(game.of("red").values()) | set(game.of("blue").values()) == {0}
    assert game.pitches.arenas == [0]


def test_sides_that_are_told_of_the_end_one_after_the_other_meet_in_each_match() -> None:
    game = Game().says(red="D[1]", blue="D[2]")
    for _ in range(4):
        before = game.of("red")[1]
        game.says(red="T[1 end] D[1]", blue="D[2]")
        assert game.of("red")[1] != before == game.of("blue")[2]
        game.says(red="D[1]", blue="T[2 end] D[2]")
        assert game.of("red")[1] == game.of("blue")[2]
    assert len(game.pitches.arenas) == 1


def test_a_group_is_never_torn_apart() -> None:
    game = Game().says(red="D[1 G1, 2 G1]", blue="D[3 G2, 4 G2]")
    game.says(red="T[1 G1 end] D[1 G1, 2 G1]", blue="T[3 G2 end] D[3 G2, 4 G2]")
    game.says(red="T[2 G1 end] D[1 G1, 2 G1]", blue="T[4 G2 end] D[3 G2, 4 G2]")
    assert len({*game.of("red").values(), *game.of("blue").values()}) == 1


def test_new_ids_take_the_places_of_those_that_ended_last() -> None:
    game = Game().says(red="D[1, 2]", blue="D[3, 4]")
    game.says(red="T[1 end] D[5, 2]", blue="T[3 end] D[6, 4]")
    assert game.of("red")[5] == game.of("blue")[6] != game.of("red")[2] == game.of("blue")[4]
    game.says(red="T[5 end, 2 end] D[8, 7]", blue="T[6 end, 4 end] D[9, 10]")
    assert game.of("red")[8] == game.of("blue")[9] == game.of("red")[5]
    assert game.of("red")[7] == game.of("blue")[10] == game.of("red")[2]


def test_a_reset_ends_all_matches_and_keeps_what_was_learned() -> None:
    game = Game().says(red="D[1, 2]", blue="D[3, 4]").says(red="T[1 end] D[1, 2]", blue="T[3 end] D[3, 4]")
    before = (dict(game.of("red")), dict(game.of("blue")))
    game.pitches.begin_anew()
    game.says(red="D[1, 2]", blue="D[3, 4]")
    assert (game.of("red"), game.of("blue")) == before


def test_odd_sequences_do_no_harm() -> None:
    game = Game()
    for text in ["D[1, 2]", "T[2 end] D[1, 9]", "T[1 end, 9 int]", "T[9 end]", "D[10]", "T[11 end] D[10]", "D[2]"]:
        game.says(red=text)
    game.says(red="T[2 end, 10 end]")


def test_ids_that_never_come_back_take_no_memory() -> None:
    pitches = Pitches()
    for number in range(5_000):
        pitches.assigned({RED: exchange(f"D[{number}]")})
        pitches.assigned({RED: exchange(f"T[{number} end]"), BLUE: exchange(f"D[{number}]")})
        pitches.assigned({BLUE: exchange(f"T[{number} end]")})
    for number in range(5_000, 10_000):  # an agent more with every exchange, and none of them twice
        pitches.assigned({RED: exchange(f"D[{number}, {number + 5_000}]")})
        pitches.assigned({RED: exchange(f"T[{number} end, {number + 5_000} end]")})
    assert len(pitches._agents) < 600
    assert len(pitches.arenas) < 4


def test_matches_without_a_second_side_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    pitches = Pitches()
    with caplog.at_level(logging.WARNING):
        for _ in range(300):
            pitches.assigned({RED: exchange("D[1]"), BLUE: exchange("")})
            pitches.assigned({RED: exchange("T[1 end]"), BLUE: exchange("D[2]")})
            pitches.assigned({RED: exchange(""), BLUE: exchange("T[2 end]")})
    assert [record.getMessage()[:36] for record in caplog.records] == ["the last 100 matches had one side on"]


def test_an_agent_that_never_ends_is_named(caplog: pytest.LogCaptureFixture) -> None:
    pitches = Pitches()
    with caplog.at_level(logging.WARNING):
        pitches.assigned({RED: exchange("D[1, 2]"), BLUE: exchange("D[3]")})
        for _ in range(300):
            pitches.assigned({RED: exchange("T[1 end] D[1, 2]"), BLUE: exchange("D[3]")})
    assert len(caplog.records) == 1
    assert "never ended: Soccer?team=0, agent 2; Soccer?team=1, agent 3." in caplog.records[0].getMessage()


@settings(max_examples=150, deadline=None)
@given(
    fields=st.integers(1, 4),
    has_fresh_ids=st.booleans(),
    ends=st.lists(st.sets(st.integers(0, 3)), min_size=1, max_size=25),
)
def test_a_match_is_never_changed_while_it_lasts_and_fields_are_told_apart_for_good(
    fields: int, has_fresh_ids: bool, ends: list[set[int]]
) -> None:
    """Fields of one red and one blue end at any times; a match of ours is a set of fields that began together."""
    pitches = Pitches()
    ids = {field: field for field in range(fields)}
    fresh = iter(range(fields, 10_000))
    arena = of_fields(pitches, ids, [])
    apart: set[frozenset[int]] = set()
    for ending in ends:
        over = {field for field in ending if field < fields}
        old = dict(ids)
        if has_fresh_ids:
            ids |= {field: next(fresh) for field in sorted(over)}
        before, arena = arena, of_fields(pitches, ids, [old[field] for field in sorted(over)])
        assert all(arena[field] == before[field] for field in range(fields) if field not in over)
        apart |= {frozenset((one, other)) for one in over for other in range(fields) if other not in over}
        assert all(arena[one] != arena[other] for one, other in map(sorted, apart))
    assert len(pitches.arenas) <= fields


def of_fields(pitches: Pitches, ids: Mapping[int, int], ended: list[int]) -> dict[int, int]:
    """The arena of each field after an exchange; its two agents are always in the same one."""

    def text(first: int) -> Iterator[str]:
        yield "T[" + ", ".join(f"{number + first} end" for number in ended) + "]"
        yield "D[" + ", ".join(str(number + first) for number in ids.values()) + "]"

    found = pitches.assigned({RED: exchange(" ".join(text(0))), BLUE: exchange(" ".join(text(100_000)))})
    np.testing.assert_array_equal(found[RED][0], found[BLUE][0])
    return dict(zip(ids, found[RED][0].tolist(), strict=True))
