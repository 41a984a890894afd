"""Who won a match: the result as a first-class value, and the rules that give it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sparring.settings import OutcomeRule
from sparring.specs import BehaviorId

__all__ = ["MatchResult", "TeamRecord", "match_scores"]


@dataclass(frozen=True, slots=True)
class TeamRecord:
    """What one team took home from a match.

    Attributes:
        team: its id.
        returns: mean over its agents of the sum of individual and group rewards.
        last_reward: individual plus group reward of the last step, mean over its agents.
        stated: the result the game states for the team, None where it states none.
        interrupted: the match was cut off, not ended by the rules.
    """

    team: int
    returns: float
    last_reward: float
    stated: float | None
    interrupted: bool


@dataclass(frozen=True, slots=True)
class MatchResult:
    """Outcome of one finished match.

    Attributes:
        arena: the copy of the game it was played in.
        teams: team ids, ascending.
        seats: the behaviors of each team, and the rated player that sat there.
        scores: results by team, compared pair by pair: higher wins, equal draws; None when the match has none.
        mirrored: False when the teams' own views of the result contradict each other (both lost, both won).
        steps: decision steps of all agents together.
    """

    arena: int
    teams: tuple[int, ...]
    seats: tuple[tuple[tuple[BehaviorId, str], ...], ...]
    scores: tuple[float, ...] | None
    mirrored: bool
    steps: int


def match_scores(
    rule: OutcomeRule, records: Sequence[TeamRecord], *, learner: int | None
) -> tuple[tuple[float, ...] | None, bool]:
    """The scores of a match by a rule, and whether the teams' views of it mirror each other.

    `auto`: the result the game states, where it states one for every team; else `returns`.
    `returns`: the teams' returns are compared.
    `last_reward`: the sign of the learning team's last reward decides against everybody (the rule of the known
    tool); an interrupted match has no result.

    Args:
        rule: which rule.
        records: one record a team.
        learner: index of the learning team's record; without one, the first team's view decides.
    """
    if rule == "auto" and all(record.stated is not None for record in records):
        return tuple(float(record.stated) for record in records if record.stated is not None), True
    if rule != "last_reward":
        return tuple(record.returns for record in records), True
    if any(record.interrupted for record in records):
        return None, True
    views = [0.0 if record.last_reward == 0 else math.copysign(1.0, record.last_reward) for record in records]
    judge = 0 if learner is None else learner
    scores = tuple(views[judge] if index == judge else 0.0 for index in range(len(records)))
    mirrored = len(views) < 2 or not (min(views) == max(views) != 0.0)
    return scores, mirrored
