"""The lineup: who learns, who is met, who sits in which arena, and what every match did to the ratings."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sparring.errors import CheckpointError, SettingsError
from sparring.networks.policy import Policy
from sparring.selfplay.matches import MatchBook
from sparring.selfplay.matchmaking import LatestOrWindow, Matchmaker
from sparring.selfplay.outcome import MatchResult
from sparring.selfplay.ratings import RatingBook
from sparring.selfplay.schedule import TurnSchedule
from sparring.selfplay.snapshots import LIVE, Snapshot, SnapshotPool
from sparring.settings import BehaviorSettings, SelfPlaySettings
from sparring.specs import BehaviorId

__all__ = ["Lineup", "LineupEvent"]

_VIEWS_WATCHED = 20


@dataclass(frozen=True, slots=True)
class LineupEvent:
    """Something worth a line: a snapshot was saved, the turn passed, opponents were drawn, outcomes clash."""

    kind: Literal["saved", "turn", "drawn", "warning"]
    text: str
    behavior: str = ""
    snapshot: Snapshot | None = None


@dataclass(frozen=True, slots=True)
class _Opponent:
    """Whom a seat gets in matches that start now."""

    number: int
    rated_live: bool


class Lineup:
    """Self-play of one run: schedule, pools, ratings and the matches under way.

    A behavior without `self_play` always learns and always sits itself. Everything here is counted in agent
    steps; the draw of opponents has a random stream of its own.
    """

    def __init__(self, *, rng: np.random.Generator) -> None:
        self._settings: dict[str, BehaviorSettings] = {}
        self._rng = rng
        self.schedule = TurnSchedule()
        self.ratings = RatingBook()
        self.book = MatchBook(rule="auto")
        self.pools: dict[str, SnapshotPool] = {}
        self._matchmakers: dict[str, Matchmaker] = {}
        self._opponents: dict[BehaviorId, _Opponent] = {}
        self._k = 1.0
        self._clashes: deque[bool] = deque(maxlen=_VIEWS_WATCHED)
        self._has_warned = False

    def add(self, behavior: BehaviorId, policy: Policy, settings: BehaviorSettings) -> None:
        """Makes a behavior on a team known, with its settings and the policy its learner starts from.

        Raises:
            SettingsError: it wants matches decided or rated otherwise than the behaviors it plays with.
        """
        self._settings[behavior.name] = settings
        self.book.seat(behavior)
        plan = settings.self_play
        if plan is None:
            return
        self._agree(behavior.name, plan)
        self.schedule.add(behavior.name, behavior.team)
        if behavior.name not in self.pools:
            self.pools[behavior.name] = SnapshotPool(behavior.name, window=plan.window)
            self._matchmakers[behavior.name] = LatestOrWindow(latest_ratio=plan.play_against_latest_model_ratio)
            self.ratings.add(behavior.name, plan.initial_elo)
            first = self.pools[behavior.name].take(policy, step=0, origin="initial")
            self.ratings.add(first.player, plan.initial_elo)

    def _agree(self, name: str, plan: SelfPlaySettings) -> None:
        """A match has one result and one K, whoever plays it."""
        if not self.pools:
            self.book.rule = plan.outcome
            self._k = plan.rating_k
        for key, mine, ours in (("outcome", plan.outcome, self.book.rule), ("rating_k", plan.rating_k, self._k)):
            if mine != ours:
                raise SettingsError(
                    "behaviors that play each other rate their matches differently",
                    where=f"behaviors.{name}.self_play.{key}",
                    found=str(mine),
                    expected=f"{ours}, as in behaviors.{next(iter(self.pools))}",
                    cure="give both the same value",
                )

    def learns(self, behavior: BehaviorId) -> bool:
        """Whether the learner of this behavior learns from this team's steps now."""
        if self._settings[behavior.name].self_play is None:
            return True
        return self.schedule.is_learning(behavior.name, behavior.team)

    def opponent_text(self) -> dict[str, str]:
        """For each behavior whose turn it is, whom it meets in matches that start now."""
        met = ", ".join(
            f"{seat.name} of step {self.pools[seat.name][opponent.number].step:,}"
            for seat, opponent in self._opponents.items()
            if opponent.number != LIVE
        )
        team = self.schedule.learning_team
        return {} if team is None else dict.fromkeys(self.schedule.behaviors_of(team), met)

    # -- results -----------------------------------------------------------------------------------------------

    def record_finished(self) -> tuple[NDArray[np.int64], list[MatchResult], list[LineupEvent]]:
        """Rates the matches that are over; gives their arenas, results and a warning if outcomes clash."""
        arenas = self.book.finished()
        results = [
            self.book.result(int(arena), learning_team=self.schedule.learning_team, name_of=self._player_name)
            for arena in arenas
        ]
        events: list[LineupEvent] = []
        for result in results:
            if result.scores is None or len(result.teams) < 2:
                continue
            self._rate(result, result.scores)
            self._clashes.append(not result.mirrored)
            if not self._has_warned and len(self._clashes) == _VIEWS_WATCHED and all(self._clashes):
                self._has_warned = True
                events.append(LineupEvent("warning", _CLASH_TEXT))
        return arenas, results, events

    def _player_name(self, behavior: BehaviorId, number: int, rated_live: bool) -> str:
        if rated_live or number == LIVE or behavior.name not in self.pools:
            return behavior.name
        return self.pools[behavior.name][number].player

    def _rate(self, result: MatchResult, scores: Sequence[float]) -> None:
        sides = [[player for seat, player in seats if seat.name in self.pools] for seats in result.seats]
        if all(sides):
            self.ratings.record(sides, scores, k=self._k)

    def past_selves(self, result: MatchResult, side: int) -> Literal["oldest", "saved"] | None:
        """Whom one side of a match met: the oldest snapshots there are, any that were saved, or somebody else."""
        others = [seat for index, seats in enumerate(result.seats) if index != side for seat in seats]
        found = [(self.pools[seat.name], player) for seat, player in others if seat.name in self.pools]
        met = [(pool, pool.met_as(player)) for pool, player in found]
        if not met or any(snapshot is None for _, snapshot in met):
            return None
        # One that left the window meanwhile is older still.
        is_oldest = all(snapshot is not None and snapshot.number <= pool.window[0].number for pool, snapshot in met)
        return "oldest" if is_oldest else "saved"

    # -- the schedule ------------------------------------------------------------------------------------------

    def advance(self, live: Mapping[str, Policy], finished: Callable[[str], bool]) -> list[LineupEvent]:
        """Saves snapshots, passes the turn and draws opponents, where due.

        Args:
            live: the learners' policies by behavior.
            finished: whether a behavior's learner has reached its max_steps.
        """
        events: list[LineupEvent] = []
        self.schedule.begin()
        events += self._draw([seat for seat in self._seats(self.pools) if seat not in self._opponents], live)
        for name, pool in self.pools.items():
            clock, plan = self.schedule.clock(name), self._plan(name)
            if clock.save_is_due(plan):
                clock.mark_save(plan)
                snapshot = pool.take(live[name], step=clock.learner_steps, origin="saved")
                self.ratings.add(snapshot.player, self.ratings[name].value)
                events.append(LineupEvent("saved", f"snapshot of step {snapshot.step:,}", name, snapshot))
        if self.schedule.turn_is_over(self._settings, finished):
            events += self._pass_turn(live, finished)
        for name in self.pools:
            clock, plan = self.schedule.clock(name), self._plan(name)
            if clock.swap_is_due(plan):
                clock.mark_swap(plan)
                events += self._draw(self._seats([name]), live)
        return events

    def _pass_turn(self, live: Mapping[str, Policy], finished: Callable[[str], bool]) -> list[LineupEvent]:
        now = self.schedule.learning_team
        assert now is not None, "a turn that is over was somebody's"
        team = self.schedule.next_team(finished)
        self.schedule.pass_turn(now if team is None else team, self._settings)
        if team is None:
            return []
        for name in self.pools:
            clock = self.schedule.clock(name)
            clock.last_swap = clock.opponent_steps
        learners = ", ".join(self.schedule.behaviors_of(team))
        return [
            LineupEvent("turn", f"team {team} ({learners}) learns now"),
            *self._draw(self._seats(self.pools), live),
        ]

    def _draw(self, seats: Iterable[BehaviorId], live: Mapping[str, Policy]) -> list[LineupEvent]:
        """Draws anew who sits in the given seats, each non-learning team by itself."""
        events = []
        for seat in seats:
            if self.learns(seat):
                self._opponents[seat] = _Opponent(LIVE, rated_live=True)
                continue
            chosen = self._matchmakers[seat.name].choose(self.pools[seat.name], self._rng)
            opponent = self._latest(seat, live[seat.name]) if chosen is None else _Opponent(chosen.number, False)
            self._opponents[seat] = opponent
            step = self.pools[seat.name][opponent.number].step
            events.append(LineupEvent("drawn", f"{seat} is played by the policy of step {step:,}", seat.name))
        return events

    def _seats(self, names: Collection[str]) -> list[BehaviorId]:
        return [seat for seat in self.book.seats if seat.name in names]

    def _plan(self, name: str) -> SelfPlaySettings:
        plan = self._settings[name].self_play
        assert plan is not None, "only behaviors with self_play have a pool"
        return plan

    def _latest(self, seat: BehaviorId, policy: Policy) -> _Opponent:
        """A copy of the latest policy; one with the same weights that is held already serves as well.

        Where the behavior's learner isn't learning, its latest policy *is* the learner and is rated as such;
        where it is (a symmetric game), the copy stays behind while the learner goes on and has its own rating.
        """
        pool = self.pools[seat.name]
        learning_team = self.schedule.learning_team
        is_symmetric = learning_team is not None and seat.name in self.schedule.behaviors_of(learning_team)
        weights = policy.weights_hash()
        held = next((snapshot for snapshot in reversed(pool.all) if snapshot.weights_hash == weights), None)
        if held is None:
            held = pool.take(policy, step=self.schedule.clock(seat.name).learner_steps, origin="latest")
            self.ratings.add(held.player, self.ratings[seat.name].value)
        return _Opponent(held.number, rated_live=not is_symmetric)

    # -- seats -------------------------------------------------------------------------------------------------

    def seat_arenas(self, arenas: NDArray[np.int64]) -> None:
        """Starts matches in the given arenas, and seats those in whose arena nobody had a seat for them yet."""
        opponents = [self._opponents.get(seat, _Opponent(LIVE, True)) for seat in self.book.seats]
        player = np.array([opponent.number for opponent in opponents], np.int64)
        rated_live = np.array([opponent.rated_live for opponent in opponents], np.bool_)
        if len(arenas):
            self.book.start(arenas, player, rated_live)
        if self.book.seat_newcomers(player, rated_live) or len(arenas):
            self._release_unused()

    def overdue(self) -> NDArray[np.int64]:
        """Arenas whose match nobody learns from and has outlasted a whole turn: they would never be seated anew."""
        turn = max((plan.self_play.team_change for plan in self._settings.values() if plan.self_play), default=0)
        if turn == 0 or len(self.book.seats) == 0 or not (self.book.steps > turn).any():
            return np.zeros(0, np.int64)
        learning = np.array([self.learns(seat) for seat in self.book.seats])
        idle = ~((self.book.player == LIVE) & learning).any(axis=1)
        return np.flatnonzero(idle & (self.book.steps > turn))

    def _release_unused(self) -> None:
        for name, pool in self.pools.items():
            columns = [index for index, seat in enumerate(self.book.seats) if seat.name == name]
            seated = {int(number) for number in np.unique(self.book.player[:, columns])}
            drawn = {opponent.number for seat, opponent in self._opponents.items() if seat.name == name}
            for gone in pool.release(seated | drawn):
                self.ratings.forget(gone.player)

    # -- state -------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Everything self-play remembers, weights of snapshots included."""
        return {
            "schedule": self.schedule.state(),
            "ratings": self.ratings.state(),
            "book": self.book.state(),
            "pools": {name: pool.state() for name, pool in self.pools.items()},
            "opponents": [
                [str(seat), opponent.number, opponent.rated_live] for seat, opponent in self._opponents.items()
            ],
            "rng": self._rng.bit_generator.state,
            "clashes": list(self._clashes),
            "has_warned": self._has_warned,
        }

    def restore(self, state: dict[str, Any], live: Mapping[str, Policy]) -> None:
        """Puts back what `state` gave; `live` are the learners' policies, whose shape the snapshots share.

        Teams that are known now but were not when the state was taken stay, as if they had just appeared.

        Raises:
            CheckpointError: a behavior had opponents then and has no self_play now.
        """
        strangers = [name for name in state["pools"] if name not in self.pools]
        if strangers:
            raise CheckpointError(
                "the checkpoint has opponents for behaviors without self_play",
                where=", ".join(strangers),
                cure="resume with the self_play settings of the run, or start anew with --initialize-from",
            )
        known = self.book.seats
        self.schedule.restore(state["schedule"])
        self.ratings.restore(state["ratings"])
        self.book.restore(state["book"])
        self.pools = {name: self.pools[name] for name in state["pools"]}
        for name, pool in self.pools.items():
            pool.restore(state["pools"][name], live[name].with_state)
        self._opponents = {
            BehaviorId.parse(seat): _Opponent(int(number), bool(rated_live))
            for seat, number, rated_live in state["opponents"]
        }
        self._rng.bit_generator.state = state["rng"]
        self._clashes = deque((bool(clash) for clash in state["clashes"]), maxlen=_VIEWS_WATCHED)
        self._has_warned = bool(state["has_warned"])
        for seat in known:
            self.add(seat, live[seat.name], self._settings[seat.name])


_CLASH_TEXT = (
    f"the last {_VIEWS_WATCHED} matches gave every team the same outcome (all won or all lost), so the rating says "
    "nothing; the last reward of a match does not tell who won. Set self_play.outcome to returns, or let the game "
    "state the result"
)
