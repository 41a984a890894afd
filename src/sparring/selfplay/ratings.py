"""Ratings of learners and snapshots: one zero-sum Elo update a match.

The scale is Elo's: 400 points of difference are odds of ten to one. A match of k teams is k·(k-1)/2 comparisons
that share its K, so what one player gains another loses, whatever k is (spec: self-play §7, put right).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["PRIOR_DEVIATION", "Rating", "RatingBook", "expected_score", "pairwise_changes"]

PRIOR_DEVIATION = 350.0
"""Uncertainty, in points, of a player that has not played."""

_POINTS_PER_NAT = 400.0 / math.log(10.0)


def expected_score(rating: float, opponent: float) -> float:
    """The share of a match that `rating` is expected to take from `opponent`, from 0 to 1 (Elo 1978)."""
    # The logistic function by way of tanh, which no difference makes overflow.
    return 0.5 + 0.5 * math.tanh((rating - opponent) / (2.0 * _POINTS_PER_NAT))


def pairwise_changes(ratings: Sequence[float], scores: Sequence[float], *, k: float) -> list[float]:
    """What one match adds to each player's rating; the changes sum to zero.

    Args:
        ratings: the players' ratings before the match, one a team.
        scores: the teams' results, compared pair by pair: higher wins, equal draws.
        k: points at stake in the whole match; each pair has k / (teams - 1).
    """
    changes = [0.0] * len(ratings)
    for first in range(len(ratings)):
        for second in range(first + 1, len(ratings)):
            result = 0.5 + 0.5 * ((scores[first] > scores[second]) - (scores[first] < scores[second]))
            gain = k / (len(ratings) - 1) * (result - expected_score(ratings[first], ratings[second]))
            changes[first] += gain
            changes[second] -= gain
    return changes


@dataclass(slots=True)
class Rating:
    """A player's rating in points, the matches behind it and what they tell."""

    value: float
    games: int = 0
    information: float = 0.0
    """Fisher information of the matches played, in 1/points²; see `uncertainty`."""

    @property
    def uncertainty(self) -> float:
        """Standard error in points: a normal prior of `PRIOR_DEVIATION`, sharpened by every match.

        A match between players of expected score E carries E·(1-E)·(ln 10 / 400)² of information on their
        difference, so even matches teach most. The estimate takes the player as unchanging.
        """
        return 1.0 / math.sqrt(PRIOR_DEVIATION**-2 + self.information)


class RatingBook:
    """The ratings of all players of a run, by name."""

    def __init__(self) -> None:
        self._ratings: dict[str, Rating] = {}

    def __contains__(self, player: str) -> bool:
        return player in self._ratings

    def __getitem__(self, player: str) -> Rating:
        return self._ratings[player]

    def get(self, player: str) -> Rating | None:
        """The player's rating, None if it has none."""
        return self._ratings.get(player)

    def add(self, player: str, value: float) -> None:
        """Enters a player at a value; one that is known keeps its rating."""
        self._ratings.setdefault(player, Rating(value))

    def record(self, sides: Sequence[Sequence[str]], scores: Sequence[float], *, k: float) -> list[float]:
        """Enters one match and returns the change of each side.

        Args:
            sides: the players of each team; a team of several plays at their mean and shares its change.
            scores: the teams' results, compared pair by pair.
            k: points at stake.
        """
        means = [sum(self._ratings[player].value for player in side) / len(side) for side in sides]
        changes = pairwise_changes(means, scores, k=k)
        for index, side in enumerate(sides):
            rivals = [mean for other, mean in enumerate(means) if other != index]
            information = sum(_match_information(means[index], rival) for rival in rivals) / max(1, len(rivals))
            for player in side:
                rating = self._ratings[player]
                rating.value += changes[index] / len(side)
                rating.games += 1
                rating.information += information
        return changes

    def forget(self, player: str) -> None:
        """Removes a player that can't be met any more."""
        self._ratings.pop(player, None)

    def state(self) -> dict[str, Any]:
        """Everything the book holds."""
        return {
            "players": list(self._ratings),
            "ratings": [[entry.value, entry.games, entry.information] for entry in self._ratings.values()],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Puts back what `state` gave."""
        self._ratings = {
            player: Rating(float(value), int(games), float(information))
            for player, (value, games, information) in zip(state["players"], state["ratings"], strict=True)
        }


def _match_information(rating: float, opponent: float) -> float:
    expected = expected_score(rating, opponent)
    return expected * (1.0 - expected) / _POINTS_PER_NAT**2
