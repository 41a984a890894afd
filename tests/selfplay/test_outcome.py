"""Who won: each rule on matches worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparring.selfplay import TeamRecord, match_scores
from sparring.settings import OutcomeRule


def team(
    returns: float = 0.0, last: float = 0.0, *, stated: float | None = None, interrupted: bool = False
) -> TeamRecord:
    return TeamRecord(0, returns, last, stated, interrupted)


def signs(scores: tuple[float, ...] | None) -> list[float]:
    """How the first team did against each other one."""
    assert scores is not None
    return [(scores[0] > other) - (scores[0] < other) for other in scores[1:]]


@pytest.mark.parametrize("rule", ["auto", "returns"])
def test_higher_return_wins(rule: OutcomeRule) -> None:
    assert signs(match_scores(rule, [team(0.99, -0.01), team(-1.01, -0.01)], learner=0)[0]) == [1]


def test_stated_result_decides_before_returns() -> None:
    scores, mirrored = match_scores("auto", [team(5.0, stated=0), team(-5.0, stated=1)], learner=0)
    assert (signs(scores), mirrored) == ([-1], True)


def test_result_stated_for_some_teams_only_does_not_decide() -> None:
    assert signs(match_scores("auto", [team(5.0, stated=0), team(-5.0)], learner=0)[0]) == [1]


def test_returns_never_ask_for_the_stated_result() -> None:
    assert signs(match_scores("returns", [team(5.0, stated=0), team(-5.0, stated=1)], learner=0)[0]) == [1]


@pytest.mark.parametrize("rule", ["auto", "returns"])
def test_equal_returns_draw_even_at_a_time_limit(rule: OutcomeRule) -> None:
    cut = team(-0.6, interrupted=True)
    assert signs(match_scores(rule, [cut, cut], learner=0)[0]) == [0]


@pytest.mark.parametrize(("last", "sign"), [(0.3, 1), (0.0, 0), (-1e-9, -1)])
def test_sign_of_the_learners_last_reward_decides_against_everybody(last: float, sign: int) -> None:
    records = [team(9, last), team(0, 5.0), team(0, -5.0)]
    assert signs(match_scores("last_reward", records, learner=0)[0]) == [sign, sign]


def test_teams_that_are_not_asked_draw_with_each_other() -> None:
    scores, _ = match_scores("last_reward", [team(last=1.0), team(last=3.0), team(last=-3.0)], learner=0)
    assert scores is not None
    assert scores[1] == scores[2]


def test_first_team_is_asked_where_the_learner_does_not_play() -> None:
    records = [team(last=-1.0), team(last=-1.0)]
    assert signs(match_scores("last_reward", records, learner=None)[0]) == [-1]
    assert signs(match_scores("last_reward", records, learner=1)[0]) == [1]


def test_interrupted_match_has_no_result_by_last_reward() -> None:
    assert match_scores("last_reward", [team(last=1.0, interrupted=True), team(last=-1.0)], learner=0) == (None, True)


@pytest.mark.parametrize(
    ("lasts", "mirrored"),
    [((1, -1), True), ((0, 0), True), ((-1, -1), False), ((1, 1), False), ((1, 0), True), ((-1, -1, 1), True)],
)
def test_views_mirror_unless_everybody_won_or_everybody_lost(lasts: tuple[float, ...], mirrored: bool) -> None:
    records = [team(last=last) for last in lasts]
    assert match_scores("last_reward", records, learner=0)[1] is mirrored


def test_single_team_contradicts_nobody() -> None:
    assert match_scores("last_reward", [team(last=-1.0)], learner=0)[1]


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=5), st.sampled_from(["auto", "returns"]))
def test_order_of_scores_is_the_order_of_returns(returns: list[float], rule: OutcomeRule) -> None:
    scores, mirrored = match_scores(rule, [team(value) for value in returns], learner=None)
    assert (list(scores or ()), mirrored) == (returns, True)
