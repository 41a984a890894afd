"""Who plays whom in one game: arenas told from who begins and ends together, for the wire does not say.

Agents share a *pitch* until they show that they do not; a pitch plays one match after the other. These are the rules:

1. All agents begin on one pitch, and an agent that appears while a match is on joins it.
2. A match is over when every agent of it has ended. Those that ended early (they died, or their side was told first)
   and come back before that belong to the next match of the pitch.
3. If agents of at least two teams end in one exchange and one of them comes back while others of their pitch play on,
   they have a pitch of their own: what looked like one was several. A group is never torn apart.
4. An agent with a new id takes the place of the agent of its behavior that ended last.

So the fields of a Unity scene are told apart after their first episodes, sides that are told of the end in different
exchanges still meet in one match, and players that drop out one by one end their match together.
"""

from __future__ import annotations

import heapq
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sparring.specs import BehaviorId
from sparring.steps import DecisionSteps, TerminalSteps

__all__ = ["Pitches"]

_log = logging.getLogger(__name__)

_FEWEST_ABSENT = 256
"""Agents that ended and have not come back are remembered, as many as ever played at once or at least so many."""
_TELL_AFTER = 100
"""Episodes that ended without a match of two sides, until that is told."""

_Key = tuple[str, int]
_Steps = tuple[DecisionSteps, TerminalSteps]


@dataclass(slots=True, eq=False)
class _Pitch:
    arena: int
    match: int = 0
    """How many matches are over."""
    next_arena: int | None = None
    """Where those play who came back before the match was over."""
    members: int = 0
    open: int = 0
    """Agents of the running match that have not ended."""
    teams: set[int] = field(default_factory=set)
    """Of the running match."""
    next_teams: set[int] = field(default_factory=set)
    early: int = 0
    """Agents that came back while the match was on."""


@dataclass(slots=True, eq=False)
class _Agent:
    team: int
    pitch: _Pitch
    match: int
    arena: int
    group: int = 0
    is_open: bool = False
    ended_at: int = -1


class Pitches:
    """The arenas of one game, inferred from its exchanges."""

    def __init__(self) -> None:
        self._agents: dict[_Key, _Agent] = {}
        self._absent: dict[str, dict[int, None]] = {}  # by behavior, who ended last at the end
        self._num_absent = self._most_agents = 0
        self._free: list[int] = []
        self._arenas = 0
        self._pitches: list[_Pitch] = []
        self._names: dict[str, int] = {}
        self._seen: dict[str, tuple[NDArray[np.int32], NDArray[np.int32]]] = {}
        self._exchange = 0
        self._one_sided = 0
        self._has_told: set[str] = set()

    @property
    def arenas(self) -> list[int]:
        """The numbers in use."""
        return sorted(
            {arena for pitch in self._pitches for arena in (pitch.arena, pitch.next_arena) if arena is not None}
        )

    def assigned(self, steps: Mapping[str, _Steps]) -> dict[str, tuple[NDArray[np.int32], NDArray[np.int32]]]:
        """The arenas of the agents of one exchange, in the order of their rows.

        Args:
            steps: by full behavior name, in the order of the message; ends come before what begins.

        Gives:
            For each behavior int32 `[agents that ask]` and int32 `[agents that ended]`.
        """
        self._exchange += 1
        ended = {name: self._end(name, terminal) for name, (_, terminal) in steps.items()}
        for pitch in [pitch for pitch in self._pitches if pitch.teams and pitch.open == 0]:
            self._finish(pitch)
        return {name: (self._ask(name, decision), ended[name]) for name, (decision, _) in steps.items()}

    def begin_anew(self) -> None:
        """The game was reset: nobody's episode is under way any more, and nobody is told to have ended."""
        for key, agent in self._agents.items():
            agent.is_open = False
            agent.ended_at = -1
            self._wait_for(key)
        for pitch in self._pitches:
            self._release(pitch.next_arena)
            pitch.next_arena, pitch.open, pitch.early = None, 0, 0
            pitch.teams, pitch.next_teams = set(), set()
            pitch.match += 2  # also for those who were in the next one
        self._seen = {}

    # -- ends ------------------------------------------------------------------------------------------------------

    def _end(self, name: str, terminal: TerminalSteps) -> NDArray[np.int32]:
        arenas = np.zeros(len(terminal), np.int32)
        if len(terminal):
            self._seen.pop(name, None)
        for row, number in enumerate(terminal.agent_id.tolist()):
            agent = self._agents.get((name, number))
            if agent is None:
                continue
            arenas[row] = agent.arena
            if agent.is_open:
                agent.is_open = False
                agent.ended_at = self._exchange
                self._wait_for((name, number))
                if agent.match == agent.pitch.match:
                    agent.pitch.open -= 1
        self._forget_the_gone()
        return arenas

    def _finish(self, pitch: _Pitch) -> None:
        """The match of a pitch is over; those who came back early are in the next one already."""
        self._watch(pitch)
        pitch.match += 1
        if pitch.next_arena is not None:
            self._release(pitch.arena)
            pitch.arena, pitch.next_arena = pitch.next_arena, None
        pitch.teams, pitch.next_teams = pitch.next_teams, set()
        pitch.open = sum(agent.is_open for agent in self._players(pitch)) if pitch.teams else 0
        pitch.early = 0

    def _players(self, pitch: _Pitch) -> Iterator[_Agent]:
        """The agents of the running match, those that have ended included."""
        return (agent for agent in self._agents.values() if agent.pitch is pitch and agent.match == pitch.match)

    # -- beginnings --------------------------------------------------------------------------------------------------

    def _ask(self, name: str, decision: DecisionSteps) -> NDArray[np.int32]:
        seen = self._seen.get(name)
        if seen is not None and np.array_equal(seen[0], decision.agent_id):
            return seen[1]
        arenas = np.empty(len(decision), np.int32)
        groups = decision.group_id.tolist()
        for row, number in enumerate(decision.agent_id.tolist()):
            agent = self._agents.get((name, number))
            if agent is None or not agent.is_open:
                agent = self._begin(name, number, agent, groups[row])
            arenas[row] = agent.arena
        if len(decision):
            self._seen[name] = (decision.agent_id, arenas)
        return arenas

    def _begin(self, name: str, number: int, agent: _Agent | None, group: int) -> _Agent:
        if agent is None:
            agent = self._replaced(name, number) or self._added(name, number)
        self._stop_waiting_for((name, number))
        if agent.match == agent.pitch.match and agent.ended_at >= 0 and agent.pitch.open:  # others play on
            cohort = self._cohort(agent)
            if len({each.team for each in cohort}) > 1:
                self._split(cohort)
            else:
                agent.match += 1
        pitch = agent.pitch
        if agent.match > pitch.match:
            pitch.next_arena = self._take() if pitch.next_arena is None else pitch.next_arena
            pitch.next_teams.add(agent.team)
            pitch.early += 1
            self._tell_if_stuck(name, pitch)
            agent.arena = pitch.next_arena
        else:
            agent.match, agent.arena = pitch.match, pitch.arena
            pitch.open += 1
            pitch.teams.add(agent.team)
        agent.is_open, agent.group = True, group
        return agent

    def _added(self, name: str, number: int) -> _Agent:
        if not self._pitches:
            self._pitches.append(_Pitch(self._take()))
        if name not in self._names:
            self._names[name] = BehaviorId.parse(name).team
        pitch = self._pitches[0]
        pitch.members += 1
        agent = _Agent(self._names[name], pitch, pitch.match, pitch.arena)
        self._agents[name, number] = agent
        return agent

    def _replaced(self, name: str, number: int) -> _Agent | None:
        """The agent of this behavior that ended last and has not come back, known by the new id from now on."""
        found: _Key | None = None
        for other in reversed(self._absent.get(name, {})):
            key = (name, other)
            if found is not None and self._agents[key].ended_at != self._agents[found].ended_at:
                break
            found = key  # of those that ended together the first: messages keep their order
        if found is None:
            return None
        self._stop_waiting_for(found)
        agent = self._agents[name, number] = self._agents.pop(found)
        return agent

    def _cohort(self, agent: _Agent) -> list[_Agent]:
        """Who ended with an agent in its match; empty if one of their groups plays on."""
        mates = list(self._players(agent.pitch))
        cohort = [each for each in mates if not each.is_open and each.ended_at == agent.ended_at]
        groups = {each.group for each in cohort} - {0}
        return [] if any(each.is_open and each.group in groups for each in mates) else cohort

    def _split(self, cohort: Iterable[_Agent]) -> None:
        pitch = _Pitch(self._take())
        for agent in cohort:
            self._leave(agent.pitch)
            agent.pitch, agent.match = pitch, -1
            pitch.members += 1
        self._pitches.append(pitch)

    # -- bookkeeping -------------------------------------------------------------------------------------------------

    def _take(self) -> int:
        if self._free:
            return heapq.heappop(self._free)
        self._arenas += 1
        return self._arenas - 1

    def _release(self, arena: int | None) -> None:
        if arena is not None:
            heapq.heappush(self._free, arena)

    def _wait_for(self, key: _Key) -> None:
        absent = self._absent.setdefault(key[0], {})
        if absent.pop(key[1], False) is False:
            self._num_absent += 1
        absent[key[1]] = None

    def _stop_waiting_for(self, key: _Key) -> None:
        if self._absent.get(key[0], {}).pop(key[1], False) is None:
            self._num_absent -= 1

    def _forget_the_gone(self) -> None:
        """Forgets who ended longest ago, of the behavior with most of them, where ids never come back."""
        self._most_agents = max(self._most_agents, len(self._agents) - self._num_absent)
        while self._num_absent > max(_FEWEST_ABSENT, self._most_agents):
            name = max(self._absent, key=lambda name: len(self._absent[name]))
            key = (name, next(iter(self._absent[name])))
            self._stop_waiting_for(key)
            self._leave(self._agents.pop(key).pitch)

    def _leave(self, pitch: _Pitch) -> None:
        pitch.members -= 1
        if pitch.members == 0:
            self._pitches.remove(pitch)
            self._release(pitch.arena)
            self._release(pitch.next_arena)

    # -- what a person should know -----------------------------------------------------------------------------------

    def _watch(self, pitch: _Pitch) -> None:
        """Tells if matches end and never have two sides, although the game has."""
        self._one_sided = 0 if len(pitch.teams) > 1 else self._one_sided + 1
        if self._one_sided >= _TELL_AFTER and len(set(self._names.values())) > 1:
            self._tell(
                "sides",
                "the last %d matches had one side only: as far as their ends tell, the agents of different teams don't "
                "play each other, so nothing is rated. End the episodes of all that play each other in one step",
                _TELL_AFTER,
            )

    def _tell_if_stuck(self, name: str, pitch: _Pitch) -> None:
        if pitch.early < _TELL_AFTER:
            return
        still = sorted(
            f"{each[0]}, agent {each[1]}"
            for each, agent in self._agents.items()
            if agent.is_open and agent.pitch is pitch and agent.match == pitch.match
        )
        self._tell(
            "stuck",
            "%d episodes of agents such as those of %s have ended, but the match goes on, for others never ended: %s. "
            "Opponents change and matches are rated only when all that play each other have ended; set a step limit",
            pitch.early,
            name,
            "; ".join(still[:4]) + (" and others" if len(still) > 4 else ""),
        )

    def _tell(self, what: str, text: str, *values: object) -> None:
        if what not in self._has_told:
            self._has_told.add(what)
            _log.warning(text, *values)
