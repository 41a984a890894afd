"""Ratings: known values, and what holds whatever is played."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparring.selfplay import RatingBook, expected_score, pairwise_changes
from sparring.selfplay.ratings import PRIOR_DEVIATION

RATINGS = st.floats(-3000, 3000)
MATCHES = st.integers(2, 6).flatmap(
    lambda teams: st.tuples(
        st.lists(RATINGS, min_size=teams, max_size=teams),
        st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0]), min_size=teams, max_size=teams),
    )
)


@pytest.mark.parametrize(
    ("difference", "share"),
    # Ten to one at 400 points, a hundred to one at 800; the others from the definition's 1 / (1 + 10^(-d / 400)).
    [(0, 0.5), (400, 10 / 11), (800, 100 / 101), (-400, 1 / 11), (200, 0.7597469), (100, 0.6400650)],
)
def test_expected_score_is_elos(difference: float, share: float) -> None:
    assert expected_score(1200 + difference, 1200) == pytest.approx(share, abs=1e-7)


@given(RATINGS, RATINGS)
def test_expected_scores_of_both_sides_make_one_match(first: float, second: float) -> None:
    assert expected_score(first, second) + expected_score(second, first) == pytest.approx(1.0, abs=1e-15)


@given(RATINGS, st.floats(0, 500), RATINGS)
def test_better_player_expects_no_less(rating: float, better_by: float, opponent: float) -> None:
    assert expected_score(rating + better_by, opponent) >= expected_score(rating, opponent)


def test_players_that_are_worlds_apart_break_nothing() -> None:
    assert expected_score(1e9, 1200) == 1.0
    assert expected_score(1200, 1e9) == 0.0


@given(MATCHES, st.floats(0.01, 64))
def test_what_one_team_gains_others_lose(match: tuple[list[float], list[float]], k: float) -> None:
    assert sum(pairwise_changes(*match, k=k)) == pytest.approx(0.0, abs=1e-9)


@given(MATCHES, st.floats(0.01, 64))
def test_no_match_moves_a_team_by_more_than_k(match: tuple[list[float], list[float]], k: float) -> None:
    assert max(abs(change) for change in pairwise_changes(*match, k=k)) <= k * (1 + 1e-12)


@given(MATCHES)
def test_changes_are_the_mean_over_the_other_teams(match: tuple[list[float], list[float]]) -> None:
    ratings, scores = match
    for me, change in enumerate(pairwise_changes(ratings, scores, k=16.0)):
        won = {1: 1.0, 0: 0.5, -1: 0.0}
        surprises = [
            won[int(np.sign(scores[me] - scores[other]))] - 1 / (1 + 10 ** ((ratings[other] - ratings[me]) / 400))
            for other in range(len(ratings))
            if other != me
        ]
        assert change == pytest.approx(16.0 * sum(surprises) / len(surprises), abs=1e-9)


@given(MATCHES, st.randoms())
def test_order_of_the_teams_does_not_matter(match: tuple[list[float], list[float]], random: object) -> None:
    order = list(range(len(match[0])))
    random.shuffle(order)  # type: ignore[attr-defined]
    shuffled = pairwise_changes([match[0][i] for i in order], [match[1][i] for i in order], k=8.0)
    plain = pairwise_changes(*match, k=8.0)
    assert shuffled == pytest.approx([plain[i] for i in order], abs=1e-9)


def test_published_example_moves_eight_points() -> None:
    # The known tool's documentation: equals, 16 points at stake, the winner gains 8.
    assert pairwise_changes([1200, 1200], [1, -1], k=16) == [8, -8]


def book_of(*players: str, value: float = 1200.0) -> RatingBook:
    book = RatingBook()
    for player in players:
        book.add(player, value)
    return book


@given(st.lists(MATCHES, max_size=8))
def test_sum_of_all_ratings_never_moves(matches: list[tuple[list[float], list[float]]]) -> None:
    book = book_of(*(f"player {index}" for index in range(6)))
    for _, scores in matches:
        book.record([[f"player {index}"] for index in range(len(scores))], scores, k=32)
    assert sum(book[f"player {index}"].value for index in range(6)) == pytest.approx(6 * 1200, abs=1e-8)


def test_team_of_several_players_plays_at_its_mean_and_shares_the_change() -> None:
    book = book_of("keeper", "striker", value=1100.0)
    book.add("rival", 1200.0)
    book["striker"].value = 1300.0
    # 1100 and 1300 play at 1200 against 1200: half of K, shared by two.
    assert book.record([["keeper", "striker"], ["rival"]], [1, 0], k=4) == pytest.approx([2, -2])
    assert [book[player].value for player in ("keeper", "striker", "rival")] == pytest.approx([1101, 1301, 1198])


def test_known_player_keeps_its_rating() -> None:
    book = book_of("Duel")
    book.record([["Duel"], ["Duel"]], [1, 0], k=4)
    book.add("Duel", 5.0)
    assert book["Duel"].value == 1200.0


def test_uncertainty_starts_at_the_prior() -> None:
    assert book_of("Duel")["Duel"].uncertainty == pytest.approx(PRIOR_DEVIATION)


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=30), st.floats(-800, 800))
def test_every_match_makes_both_sides_more_certain(scores: list[float], difference: float) -> None:
    book = book_of("Duel")
    book.add("rival", 1200.0 + difference)
    for score in scores:
        before = book["Duel"].uncertainty, book["rival"].uncertainty
        book.record([["Duel"], ["rival"]], [score, 1 - score], k=16)
        assert book["Duel"].uncertainty < before[0]
        assert book["rival"].uncertainty < before[1]


def test_even_matches_teach_most() -> None:
    even, uneven = book_of("Duel", "rival"), book_of("Duel")
    uneven.add("rival", 2000.0)
    for book in (even, uneven):
        book.record([["Duel"], ["rival"]], [1, 0], k=1)
    assert even["Duel"].uncertainty < uneven["Duel"].uncertainty


def test_match_of_several_teams_teaches_as_much_as_one_of_two() -> None:
    # Its K is shared among the pairs, and so is what it tells.
    pair, trio = book_of("a", "b"), book_of("a", "b", "c")
    pair.record([["a"], ["b"]], [1, 0], k=1)
    trio.record([["a"], ["b"], ["c"]], [2, 1, 0], k=1)
    assert trio["a"].uncertainty == pytest.approx(pair["a"].uncertainty)


def test_uncertainty_after_many_even_draws_is_that_of_a_binomial_share() -> None:
    # n even matches know a share to sqrt(1/4 / n); the slope of the curve at even is ln(10) / 1600 a point.
    book = book_of("Duel", "rival")
    for _ in range(10_000):
        book.record([["Duel"], ["rival"]], [0, 0], k=1e-9)
    assert book["Duel"].uncertainty == pytest.approx(math.sqrt(0.25 / 10_000) / (math.log(10) / 1600), rel=1e-3)


def test_matches_are_counted_once_for_each_side() -> None:
    book = book_of("a", "b", "c")
    book.record([["a"], ["b"], ["c"]], [1, 0, 0], k=1)
    book.record([["a"], ["b"]], [1, 0], k=1)
    assert [book[player].games for player in "abc"] == [2, 2, 1]


def test_forgotten_player_is_gone_and_may_come_back_fresh() -> None:
    book = book_of("Duel")
    book.forget("Duel")
    assert "Duel" not in book
    assert book.get("Duel") is None
    book.add("Duel", 7.0)
    assert book["Duel"].value == 7.0


def test_book_comes_back_from_its_state_exactly() -> None:
    book = book_of("Duel", "Duel@0#0", "Duel@50#1")
    for scores in ([1, 0, 0], [0, 0.5, 1]):
        book.record([["Duel"], ["Duel@0#0"], ["Duel@50#1"]], scores, k=0.1)
    again = book_of("someone else")
    again.restore(book.state())
    assert again.state() == book.state()
    assert "someone else" not in again
    assert again["Duel"].uncertainty == book["Duel"].uncertainty
