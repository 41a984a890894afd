"""Matches between given policies: who beats whom, how often, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from sparring.environments import Environment
from sparring.networks.policy import Policy
from sparring.rollouts import AgentTable
from sparring.selfplay import LIVE, MatchBook, MatchResult, wilson_interval
from sparring.settings import NonFiniteRule, OutcomeRule
from sparring.specs import BehaviorId
from sparring.steps import ActionBatch, DecisionSteps
from sparring.training.acting import joined_mask
from sparring.training.door import check_steps, clean_steps

__all__ = ["Contestants", "EvaluationRow", "Tally", "duel", "play_matches"]

Contestants: TypeAlias = Mapping[str, Policy | None]
"""The policy of each behavior name; None acts at random."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Results from one side's view."""

    wins: int = 0
    draws: int = 0
    losses: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.wins + other.wins, self.draws + other.draws, self.losses + other.losses)

    @property
    def matches(self) -> int:
        """Matches played."""
        return self.wins + self.draws + self.losses

    @property
    def score(self) -> float:
        """Share of the points: a draw is half a win."""
        return (self.wins + 0.5 * self.draws) / self.matches if self.matches else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the score."""
        return wilson_interval(self.wins + 0.5 * self.draws, self.matches)


@dataclass(frozen=True, slots=True)
class EvaluationRow:
    """One line of the table: a side, whom it met and how it went."""

    side: str
    against: str
    tally: Tally


def play_matches(
    environment: Environment,
    seats: Mapping[BehaviorId, Policy | None],
    *,
    matches: int,
    generator: torch.Generator,
    rng: np.random.Generator,
    rule: OutcomeRule = "auto",
    non_finite: NonFiniteRule = "stop",
    should_stop: Callable[[], bool] = lambda: False,
) -> dict[int, Tally]:
    """Plays matches in all arenas at once and tallies them by team.

    Every arena plays the same number of matches, so that short ones don't count more often than long ones; the
    number is rounded up to that. Arenas that appear later play as many as the first ones, until all together have
    played enough.

    Args:
        environment: the game; it is reset.
        seats: who acts for each behavior on each team; None acts at random.
        matches: how many, all arenas together.
        generator: stream of sampled actions.
        rng: stream of random actions.
        rule: how a match is decided; `last_reward` has no learner to judge by, so `returns` stands in for it.
        non_finite: with `drop` a number that is not finite counts as zero, and the match goes on.
        should_stop: asked at every step; the matches that are over count.

    Raises:
        NonFiniteError: the game sent a NaN or an infinity, and `non_finite` is `stop`.
    """
    book = MatchBook(rule="returns" if rule == "last_reward" else rule)
    columns = {behavior: book.seat(behavior) for behavior in seats}
    tables = {
        behavior: AgentTable(memory_size=0 if policy is None else policy.memory_size)
        for behavior, policy in seats.items()
    }
    tallies = {behavior.team: Tally() for behavior in seats}
    quota: NDArray[np.int64] = np.zeros(0, np.int64)
    share = first_arenas = played = 0
    step = 0
    environment.reset()
    environment.take_lost_arenas()
    while len(quota) == 0 or (quota > 0).any():
        if should_stop() or (len(quota) > first_arenas and played >= matches):
            break
        _lose(environment.take_lost_arenas(), tables, book)
        decisions = _read(environment, tables, book, columns, step if non_finite == "stop" else None)
        arenas = book.finished()
        for arena in arenas:
            result = book.result(int(arena), learning_team=None, name_of=lambda behavior, *_: behavior.name)
            if quota[arena] > 0 and result.scores is not None:
                quota[arena] -= 1
                played += 1
                _count(tallies, result)
        _open(decisions, tables, book, columns, arenas)
        if len(quota) == 0 and book.num_arenas:
            first_arenas = book.num_arenas
            share = -(-matches // first_arenas)
        quota = np.append(quota, np.full(book.num_arenas - len(quota), share))
        _act(environment, seats, decisions, tables, generator, rng)
        environment.step()
        environment.take_statistics()
        step += 1
    return tallies


_Decisions = dict[BehaviorId, DecisionSteps]
_Tables = dict[BehaviorId, AgentTable]


def _lose(arenas: NDArray[np.int64], tables: _Tables, book: MatchBook) -> None:
    """Arenas began anew without a word: their matches count for nobody."""
    if len(arenas):
        for table in tables.values():
            table.close_episodes(np.flatnonzero(table.is_open & np.isin(table.arena, arenas)))
            table.free_closed()
        book.forget_matches(arenas)


def _read(
    environment: Environment, tables: _Tables, book: MatchBook, columns: Mapping[BehaviorId, int], step: int | None
) -> _Decisions:
    """Takes in what ended and gives who asks; columns are checked at `step`, or mended where it is None."""
    specs = environment.behavior_specs
    decisions: _Decisions = {}
    for behavior, table in tables.items():
        decision, terminal = environment.get_steps(str(behavior))
        for steps in (terminal, decision):
            if step is None:
                clean_steps(specs[str(behavior)], steps)
            else:
                check_steps(behavior, specs[str(behavior)], steps, environment_step=step)
        decisions[behavior] = decision
        slots = table.find(terminal.agent_id)
        known = slots >= 0
        if known.any():
            reward = (terminal.reward + terminal.group_reward)[known]
            score = None if terminal.match_score is None else terminal.match_score[known]
            arena = table.arena[slots[known]]
            book.add_terminals(columns[behavior], arena, reward, terminal.interrupted[known], score)
            table.close_episodes(slots[known])
    return decisions


def _open(
    decisions: _Decisions,
    tables: _Tables,
    book: MatchBook,
    columns: Mapping[BehaviorId, int],
    over: NDArray[np.int64],
) -> None:
    """Starts the next match where one is over, and opens the episodes of agents that are new."""
    everybody = np.full(len(columns), LIVE)
    book.start(over, everybody, everybody == LIVE)
    for behavior, decision in decisions.items():
        table = tables[behavior]
        if len(decision):
            slots = table.find_or_add(decision.agent_id, decision.arena_id)
            new = table.open_episodes(slots, decision.arena_id)
            arena = table.arena[slots]
            book.make_room(int(arena.max()) + 1)
            reward = np.where(new, np.float32(0.0), decision.reward + decision.group_reward)
            book.add_decisions(columns[behavior], arena, reward, new)
        table.free_closed()


def _act(
    environment: Environment,
    seats: Mapping[BehaviorId, Policy | None],
    decisions: _Decisions,
    tables: _Tables,
    generator: torch.Generator,
    rng: np.random.Generator,
) -> None:
    for behavior, decision in decisions.items():
        if len(decision) == 0:
            continue
        policy = seats[behavior]
        if policy is None:
            spec = environment.behavior_specs[str(behavior)].action_spec
            action = ActionBatch.random(spec, len(decision), rng, action_mask=decision.action_mask)
        else:
            inputs, table = policy.layout.inputs(decision.obs), tables[behavior]
            slots = table.find(decision.agent_id)
            output = policy.act(inputs, joined_mask(decision), generator, memory=table.memory[slots])
            if output.memory is not None:
                table.memory[slots] = output.memory
            action = policy.actions(output)
        environment.set_actions(str(behavior), action)


def _count(tallies: dict[int, Tally], result: MatchResult) -> None:
    assert result.scores is not None, "only decided matches are counted"
    best = max(result.scores)
    winners = [team for team, score in zip(result.teams, result.scores, strict=True) if score == best]
    for team in result.teams:
        if len(winners) > 1 and team in winners:
            tallies[team] += Tally(draws=1)
        elif team in winners:
            tallies[team] += Tally(wins=1)
        else:
            tallies[team] += Tally(losses=1)


def duel(
    environment: Environment,
    ours: Contestants,
    theirs: Contestants,
    *,
    names: tuple[str, str],
    matches: int,
    generator: torch.Generator,
    rng: np.random.Generator,
    rule: OutcomeRule,
    non_finite: NonFiniteRule = "stop",
    should_stop: Callable[[], bool] = lambda: False,
) -> Iterator[EvaluationRow]:
    """Plays `ours` against `theirs` from every team in turn.

    In a symmetric game the teams' results are one row; in an asymmetric one every role has a row, and the last row
    takes all roles together.

    Args:
        environment: the game.
        ours, theirs: the policies of both sides, for every behavior.
        names: what both sides are called in the table.
        matches: matches a row of a role; split over the teams in a symmetric game.
        generator, rng, rule, non_finite, should_stop: as for `play_matches`.
    """
    if not environment.behavior_specs:  # a game over the wire shows them with its first agents
        environment.reset()
    seats = [BehaviorId.parse(full_name) for full_name in environment.behavior_specs]
    teams = sorted({seat.team for seat in seats})
    roles = {team: " and ".join(seat.name for seat in seats if seat.team == team) for team in teams}
    is_symmetric = len(set(roles.values())) == 1
    share = -(-matches // len(teams)) if is_symmetric else matches
    total = Tally()
    for team in teams:
        seated = {seat: (ours if seat.team == team else theirs)[seat.name] for seat in seats}
        tallies = play_matches(
            environment,
            seated,
            matches=share,
            generator=generator,
            rng=rng,
            rule=rule,
            non_finite=non_finite,
            should_stop=should_stop,
        )
        total += tallies[team]
        if not is_symmetric:
            rivals = _joined([roles[other] for other in teams if other != team])
            yield EvaluationRow(f"{roles[team]} ({names[0]})", f"{rivals} ({names[1]})", tallies[team])
    yield EvaluationRow(
        f"{_joined(list(roles.values()))} ({names[0]})",
        names[1] if is_symmetric else f"{names[1]}, all roles",
        total,
    )


def _joined(names: Sequence[str]) -> str:
    return " + ".join(dict.fromkeys(names))
