"""What is told of episodes and matches: the learners' apart from their opponents'."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sparring.environments import EnvironmentStatistic
from sparring.rollouts import AgentTable
from sparring.selfplay import LIVE, Lineup, MatchResult
from sparring.specs import BehaviorId
from sparring.statistics import Aggregation, Statistics
from sparring.training.lessons import Lessons
from sparring.training.roster import Roster

__all__ = ["Reports"]


class Reports:
    """Turns what ended into statistics, and into what lessons wait for.

    Args:
        roster: who takes part.
        lineup: self-play.
        lessons: of the environment parameters.
        statistics: where numbers go.
    """

    def __init__(self, roster: Roster, lineup: Lineup, lessons: Lessons, statistics: Statistics) -> None:
        self._roster = roster
        self._lineup = lineup
        self._lessons = lessons
        self._statistics = statistics

    def add_episodes(
        self, behavior: BehaviorId, table: AgentTable, slots: NDArray[np.int64], *, grouped: NDArray[np.bool_]
    ) -> None:
        """Reports ended episodes.

        Args:
            behavior: whose.
            table: its agents.
            slots: of those that ended.
            grouped: which of them were in a group.
        """
        seat = self._lineup.book.seat(behavior)
        is_live = self._lineup.book.player[table.arena[slots], seat] == LIVE
        learned = slots[is_live & ~table.is_dropped[slots]] if self._roster.learns(behavior) else slots[:0]
        if len(learned):
            self._add_learned(behavior.name, table, learned, is_grouped=bool(grouped.any()))
        others = np.setdiff1d(slots, learned)
        if len(others) and not self._lineup.learns(behavior):
            total = table.returns[others] + table.group_returns[others]
            lengths = table.length[others].astype(np.float64)
            for name in self._roster.learning_names():
                self._statistics.add_many(name, "Self-play/Opponent Cumulative Reward", total)
                self._statistics.add_many(name, "Self-play/Opponent Episode Length", lengths)

    def add_matches(self, results: Sequence[MatchResult]) -> None:
        """Reports finished matches, whose ratings are changed by now."""
        for result in results:
            is_of_now = self._lessons.end_match(result.arena)
            if result.scores is None or len(result.teams) < 2:
                continue
            for index, seats in enumerate(result.seats):
                rivals = [score for other, score in enumerate(result.scores) if other != index]
                share = float(np.mean([0.5 + 0.5 * np.sign(result.scores[index] - score) for score in rivals]))
                for behavior, player in seats:
                    if player == behavior.name and player in self._lineup.pools and self._roster.learns(behavior):
                        self._add_result(player, share)
                        met = self._lineup.past_selves(result, index)
                        if is_of_now and met is not None:
                            self._lessons.add_match(player, share, is_against_oldest=met == "oldest")

    def add_environment(self, reported: Sequence[EnvironmentStatistic], names: Sequence[str]) -> None:
        """Reports what the game told, for each of the behaviors named."""
        if reported:
            self._statistics.add_environment(names, reported)

    def _add_learned(self, name: str, table: AgentTable, slots: NDArray[np.int64], *, is_grouped: bool) -> None:
        training = self._roster.behaviors[name]
        total = table.returns[slots] + table.group_returns[slots]
        extrinsic = training.settings.reward_signals.extrinsic
        add = self._statistics.add_many
        add(name, "Environment/Cumulative Reward", table.returns[slots], Aggregation.HISTOGRAM)
        if is_grouped:
            add(name, "Environment/Group Cumulative Reward", table.group_returns[slots], Aggregation.HISTOGRAM)
        add(name, "Environment/Episode Length", table.length[slots].astype(np.float64))
        if extrinsic is not None:
            add(name, "Policy/Extrinsic Reward", total * extrinsic.strength)
        training.episodes += len(slots)
        training.recent_returns.extend(total.tolist())
        of_now = slots[~table.is_outdated[slots]]
        self._lessons.add_episodes(name, table.returns[of_now].tolist(), table.group_returns[of_now].tolist())

    def _add_result(self, player: str, share: float) -> None:
        rating = self._lineup.ratings[player]
        self._statistics.add(player, "Self-play/ELO", rating.value)
        self._statistics.add(player, "Self-play/Score", share)
        self._statistics.add(player, "Self-play/Matches", 1.0, Aggregation.SUM)
        self._statistics.add(player, "Self-play/Rating Uncertainty", rating.uncertainty, Aggregation.MOST_RECENT)
