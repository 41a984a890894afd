"""Who plays whom: turns, snapshots, draws of opponents, matches and ratings."""

from sparring.selfplay.intervals import wilson_interval
from sparring.selfplay.lineup import Lineup, LineupEvent
from sparring.selfplay.matches import UNSEATED, MatchBook
from sparring.selfplay.matchmaking import LatestOrWindow, Matchmaker
from sparring.selfplay.outcome import MatchResult, TeamRecord, match_scores
from sparring.selfplay.ratings import Rating, RatingBook, expected_score, pairwise_changes
from sparring.selfplay.schedule import BehaviorClock, TurnSchedule, describe_schedule
from sparring.selfplay.snapshots import LIVE, Snapshot, SnapshotPool

__all__ = [
    "LIVE",
    "UNSEATED",
    "BehaviorClock",
    "LatestOrWindow",
    "Lineup",
    "LineupEvent",
    "MatchBook",
    "MatchResult",
    "Matchmaker",
    "Rating",
    "RatingBook",
    "Snapshot",
    "SnapshotPool",
    "TeamRecord",
    "TurnSchedule",
    "describe_schedule",
    "expected_score",
    "match_scores",
    "pairwise_changes",
    "wilson_interval",
]
