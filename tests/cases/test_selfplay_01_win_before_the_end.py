"""Case selfplay-01: the win came one step before the end, and the last reward is a step penalty for everybody."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import pytest

from sparring.settings import OutcomeRule
from tests.selfplay.builders import Ask, End, ScriptedGame, collector_of, plan, run_plan

K = 16.0
START = 1200.0
MATCHES = 20
EXCHANGES = 3
SNAPSHOT = "Duel@0#0"


@dataclass
class Played:
    """The ratings after every match, and the warnings by the number of matches played when they came."""

    learner: list[float]
    opponent: list[float]
    warned_after: list[int]

    def changes(self, ratings: list[float]) -> list[float]:
        return [after - before for before, after in pairwise([START, *ratings])]


def played(rule: OutcomeRule, *, agents: int) -> Played:
    """Twenty matches against the untrained snapshot; each exchange is of all agents of both teams."""
    teams = {"Duel?team=0": range(agents), "Duel?team=1": range(agents, 2 * agents)}
    begun = {seat: [Ask(agent) for agent in team] for seat, team in teams.items()}
    won = {seat: [Ask(agent, 1.0 if seat.endswith("0") else -1.0) for agent in team] for seat, team in teams.items()}
    over = {seat: [End(agent, -0.01) for agent in team] for seat, team in teams.items()}
    far = {"save_steps": 10**6, "swap_steps": 10**6, "team_change": 10**6}
    settings = run_plan(
        Duel=plan(**far, play_against_latest_model_ratio=0.0, initial_elo=START, rating_k=K, outcome=rule)
    )
    collector = collector_of(ScriptedGame(begun, won, over), settings)
    seen = Played([], [], [])
    for match in range(1, MATCHES + 1):
        events = [event for _ in range(EXCHANGES) for event in collector.step()]
        ratings = collector.lineup.ratings
        seen.learner.append(ratings["Duel"].value)
        seen.opponent.append(ratings[SNAPSHOT].value)
        seen.warned_after += [match for event in events if event.kind == "warning"]
    return seen


def test_compatible_rule_scores_the_winner_as_the_loser_of_all_twenty() -> None:
    seen = played("last_reward", agents=1)
    assert seen.changes(seen.learner)[0] == -K / 2
    assert all(change < 0 for change in seen.changes(seen.learner))


def test_compatible_rule_is_warned_of_within_twenty_matches() -> None:
    assert played("last_reward", agents=1).warned_after == [20]


@pytest.mark.parametrize("rule", ["returns", "auto"])
def test_compared_returns_let_the_winner_win(rule: OutcomeRule) -> None:
    seen = played(rule, agents=1)
    assert seen.changes(seen.learner)[0] == K / 2
    assert all(change > 0 for change in seen.changes(seen.learner))
    assert seen.warned_after == []


@pytest.mark.parametrize("rule", ["last_reward", "returns"])
@pytest.mark.parametrize("agents", [1, 2])
def test_opponent_changes_by_the_exact_negative(rule: OutcomeRule, agents: int) -> None:
    seen = played(rule, agents=agents)
    assert seen.changes(seen.opponent)[0] == -seen.changes(seen.learner)[0] != 0.0
    for mine, theirs in zip(seen.learner, seen.opponent, strict=True):
        assert mine + theirs == pytest.approx(2 * START, abs=1e-9)


@pytest.mark.parametrize("rule", ["last_reward", "returns"])
def test_team_mates_do_not_count_as_matches_of_their_own(rule: OutcomeRule) -> None:
    assert played(rule, agents=2) == played(rule, agents=1)
