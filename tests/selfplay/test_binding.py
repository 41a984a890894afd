"""Who acted for whom: every agent of every match through the real collector, across draws and turns.

Policies here are stamped: the game itself sees in the actions it gets which copy acted.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from sparring.environments import Environment
from sparring.specs import BehaviorId, BehaviorSpec
from sparring.steps import ActionBatch, DecisionSteps, TerminalSteps
from sparring.training.collector import Collector
from tests.selfplay.builders import (
    LEARNER,
    STAMPED,
    Ask,
    End,
    collector_of,
    plan,
    run_plan,
    stamp_of,
    steps_of,
)

STEPS = 120


@dataclass
class Arena:
    """The agents of one arena by seat, and the number of its match."""

    match: int = 0
    agents: dict[str, list[int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Act:
    """Who acted for an agent: the number of the copy, and the updates behind its weights."""

    step: int
    arena: int
    match: int
    seat: str
    copy: int
    updates: int


class CrowdGame(Environment):
    """Agents come, pause and end at random; a match is over when the last one in its arena has ended."""

    def __init__(self, seats: Sequence[str], *, arenas: int, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._seats = seats
        self._arenas = [Arena(agents={seat: [] for seat in seats}) for _ in range(arenas)]
        self._free = 0
        self._rows: dict[str, list[Ask | End]] = {}
        self.steps = 0
        self.acts: list[Act] = []

    @property
    def behavior_specs(self) -> Mapping[str, BehaviorSpec]:
        return dict.fromkeys(self._seats, STAMPED)

    def reset(self) -> None:
        self._rows = {seat: [] for seat in self._seats}

    def step(self) -> None:
        self.steps += 1
        self.reset()
        for number, arena in enumerate(self._arenas):
            was_played = any(arena.agents.values())
            for seat, agents in arena.agents.items():
                for agent in list(agents):
                    self._go_on(number, seat, agent)
            if was_played and not any(arena.agents.values()):
                arena.match += 1
            for seat, agents in arena.agents.items():
                for _ in range(self._rng.integers(0, 3) if self._rng.random() < 0.3 else 0):
                    agents.append(self._free)
                    self._rows[seat].append(Ask(self._free, 0.0, number))
                    self._free += 1

    def _go_on(self, arena: int, seat: str, agent: int) -> None:
        chance, reward = self._rng.random(), float(self._rng.integers(-1, 2))
        if chance < 0.2:
            self._rows[seat].append(End(agent, reward, arena, interrupted=bool(self._rng.random() < 0.1)))
            self._arenas[arena].agents[seat].remove(agent)
        elif chance < 0.9:
            self._rows[seat].append(Ask(agent, reward, arena))

    def get_steps(self, behavior_name: str) -> tuple[DecisionSteps, TerminalSteps]:
        return steps_of(self._rows[behavior_name])

    def set_actions(self, behavior_name: str, action: ActionBatch) -> None:
        asks = [row for row in self._rows[behavior_name] if isinstance(row, Ask)]
        for row, (copy, updates) in zip(asks, action.discrete.tolist(), strict=True):
            match = self._arenas[row.arena].match
            self.acts.append(Act(self.steps, row.arena, match, behavior_name, copy, updates))

    def close(self) -> None:
        """Nothing to end."""


@dataclass
class Season:
    """Everything that was seen in a run; lists are by step of the collector, from 0."""

    game: CrowdGame
    collector: Collector
    turn: int
    told: list[dict[str, int]] = field(default_factory=list)
    """For each seat of a team that does not learn, the step of the policy it was last said to get."""
    learning: list[set[str]] = field(default_factory=list)
    """The seats that learn."""
    taken_at: dict[tuple[str, int], int] = field(default_factory=dict)
    """The learner step of each snapshot, by behavior and number of the copy."""

    def by_match(self) -> list[list[Act]]:
        """The acts for each seat in each match, up to where it outlasts a turn: then it may be seated anew."""
        decisions = Counter((act.arena, act.match, act.step) for act in self.game.acts)
        played: dict[tuple[int, int], int] = defaultdict(int)
        lasted = {}
        for (arena, match, step), count in sorted(decisions.items()):
            played[arena, match] += count
            lasted[arena, match, step] = played[arena, match]
        acts = defaultdict(list)
        for act in self.game.acts:
            if lasted[act.arena, act.match, act.step] <= self.turn:
                acts[act.arena, act.match, act.seat].append(act)
        return list(acts.values())


_DRAWN = re.compile(r"(\S+) is played by the policy of step ([\d,]+)")


def season(seats: Sequence[str], *, arenas: int, seed: int, ratio: float, pace: int) -> Season:
    """Plays `STEPS` steps; a draw of opponents every `pace` steps of theirs."""
    game = CrowdGame(seats, arenas=arenas, seed=seed)
    behavior = plan(
        save_steps=2 * pace, swap_steps=pace, team_change=5 * pace, window=3, play_against_latest_model_ratio=ratio
    )
    names = {BehaviorId.parse(seat).name for seat in seats}
    seen = Season(game, collector_of(game, run_plan(**dict.fromkeys(names, behavior)), seed=seed), turn=5 * pace)
    lineup = seen.collector.lineup
    told: dict[str, int] = {}
    for _ in range(STEPS):
        for event in seen.collector.step():
            if event.kind == "drawn":
                words = _DRAWN.match(event.text)
                assert words is not None
                told[words[1]] = int(words[2].replace(",", ""))
        seen.told.append(dict(told))
        seen.learning.append({seat for seat in seats if lineup.learns(BehaviorId.parse(seat))})
        for name, pool in lineup.pools.items():
            for snapshot in pool.all:
                seen.taken_at[name, stamp_of(snapshot.policy)[0]] = snapshot.step
    return seen


SEATS = [("Duel?team=0", "Duel?team=1"), ("Left?team=2", "Right?team=9"), ("A?team=0", "B?team=1", "A?team=5")]


@pytest.fixture(scope="module", params=range(12))
def seen(request: pytest.FixtureRequest) -> Season:
    """One of a dozen seasons; every kind of game with every ratio, at changing paces."""
    number: int = request.param
    return season(
        SEATS[number % 3],
        arenas=1 + number % 4,
        seed=number,
        ratio=(0.5, 1.0, 0.0)[number // 3 % 3],
        pace=3 + 2 * number,
    )


def test_opponent_stays_for_the_whole_match(seen: Season) -> None:
    for acts in seen.by_match():
        assert len({act.copy for act in acts}) == 1, acts


def test_weights_of_an_opponent_never_change(seen: Season) -> None:
    updates = defaultdict(set)
    for act in seen.game.acts:
        if act.copy != LEARNER:
            updates[BehaviorId.parse(act.seat).name, act.copy].add(act.updates)
    assert all(len(versions) == 1 for versions in updates.values())


def test_match_begins_with_the_learner_of_the_turn_and_the_opponents_drawn_last(seen: Season) -> None:
    begun: dict[tuple[int, int], int] = {}
    for act in seen.game.acts:
        begun.setdefault((act.arena, act.match), act.step)
    for act in (act for acts in seen.by_match() for act in acts):
        step = begun[act.arena, act.match]
        if act.seat in seen.learning[step]:
            assert act.copy == LEARNER
        else:
            assert seen.taken_at[BehaviorId.parse(act.seat).name, act.copy] == seen.told[step][act.seat]


def test_learner_counts_only_its_own_decisions_on_the_learning_team(seen: Season) -> None:
    own: dict[str, int] = defaultdict(int)
    others: dict[str, int] = defaultdict(int)
    for act in seen.game.acts:
        name = BehaviorId.parse(act.seat).name
        if act.seat not in seen.learning[act.step]:
            others[name] += 1
        elif act.copy == LEARNER:
            own[name] += 1
    for name, training in seen.collector.behaviors.items():
        assert training.steps <= own[name]
        assert training.opponent_steps == others[name]


def test_learner_learns_only_from_what_it_did(seen: Season) -> None:
    for training in seen.collector.behaviors.values():
        assert set(training.rollout.discrete[training.rollout.complete_rows(), 0]) <= {LEARNER}


def test_the_seasons_above_have_draws_turns_and_updates_within_matches() -> None:
    seen = season(SEATS[0], arenas=3, seed=1, ratio=0.5, pace=5)
    spans = [(acts[0].step, acts[-1].step) for acts in seen.by_match()]
    assert sum(seen.learning[first] != seen.learning[last] for first, last in spans) > 5
    assert sum(seen.told[first] != seen.told[last] for first, last in spans) > 20
    assert len({act.updates for act in seen.game.acts if act.copy == LEARNER}) > 3
    assert len(seen.collector.behaviors["Duel"].rollout.complete_rows()) > 10
