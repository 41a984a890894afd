"""Slots of agents against a dictionary: who comes, goes, comes back and never returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from numpy.typing import NDArray

from sparring.rollouts import NO_ROW, AgentTable


def ids(*agents: int) -> NDArray[Any]:
    return np.array(agents, np.int32)


@dataclass
class _Agent:
    slot: int
    arena: int
    is_open: bool
    returns: float = 0.0
    length: int = 0


class TableAgainstDictionary(RuleBasedStateMachine):
    """Drives a table through steps as the collector does and compares it with one object an agent."""

    def __init__(self) -> None:
        super().__init__()
        self.table = AgentTable()
        self.known: dict[int, _Agent] = {}
        self.most_alive = 0

    @initialize()
    def nobody_is_there(self) -> None:
        assert self.table.find(ids(0, 5)).tolist() == [-1, -1]

    @rule(
        ending=st.sets(st.integers(0, 40), max_size=8),
        asking=st.lists(st.integers(0, 40), max_size=12, unique=True),
        fresh=st.integers(0, 2),
    )
    def a_step(self, ending: set[int], asking: list[int], fresh: int) -> None:
        asking += [10_000 + len(self.known) * 7 + offset for offset in range(fresh) if offset not in self.known]
        asking = list(dict.fromkeys(asking))
        asked = ids(*asking)
        slots = self.table.find_or_add(asked, ids(*(agent % 5 for agent in asking)))
        ended = ids(*(agent for agent in ending if agent in self.known))
        ended_slots = self.table.find(ended)
        assert ended_slots.tolist() == [self.known[int(agent)].slot for agent in ended]
        self.table.close_episodes(ended_slots)
        for agent in ended:
            self.known[int(agent)].is_open = False
        opened = self.table.open_episodes(slots)
        self.table.length[slots] += 1
        self.table.returns[slots] += 0.5
        self.table.free_closed()
        for agent, slot, was_opened in zip(asking, slots.tolist(), opened.tolist(), strict=True):
            before = self.known.get(agent)
            assert was_opened == (before is None or not before.is_open)
            if before is None:
                self.known[agent] = _Agent(slot, agent % 5, is_open=True)
            else:
                assert slot == before.slot  # an agent keeps its slot
                if not before.is_open:
                    self.known[agent] = _Agent(slot, before.arena, is_open=True)
            self.known[agent].length += 1
            self.known[agent].returns += 0.5
        self.known = {agent: entry for agent, entry in self.known.items() if entry.is_open}
        self.most_alive = max(self.most_alive, len(self.known) + len(asking))

    @rule()
    def saved_and_restored(self) -> None:
        other = AgentTable()
        other.restore(self.table.state())
        self.table = other

    @invariant()
    def the_table_holds_exactly_the_agents_of_the_dictionary(self) -> None:
        assert len(self.table) == len(self.known)
        agents = list(self.known)
        slots = self.table.find(ids(*agents))
        assert slots.tolist() == [self.known[agent].slot for agent in agents]
        assert len(set(slots.tolist())) == len(agents)
        assert self.table.arena[slots].tolist() == [self.known[agent].arena for agent in agents]
        assert self.table.length[slots].tolist() == [self.known[agent].length for agent in agents]
        assert self.table.returns[slots].tolist() == [self.known[agent].returns for agent in agents]
        assert self.table.is_open[slots].all()

    @invariant()
    def memory_follows_those_alive_not_those_ever_seen(self) -> None:
        assert len(self.table.agent_id) <= max(16, 4 * self.most_alive)


TestTableAgainstDictionary = TableAgainstDictionary.TestCase
TestTableAgainstDictionary.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)


def test_fresh_ids_for_ever_take_no_more_slots() -> None:
    table = AgentTable()
    for step in range(2000):
        asked = np.arange(step * 10, step * 10 + 10, dtype=np.int32)
        slots = table.find_or_add(asked, None)
        table.open_episodes(slots)
        table.close_episodes(table.find(asked))
        table.free_closed()
    assert len(table.agent_id) <= 20
    assert len(table) == 0


def test_what_is_not_found_can_be_looked_up_and_masked_even_in_an_empty_table() -> None:
    table = AgentTable()
    slots = table.find(ids(4, 9))
    assert slots.tolist() == [-1, -1]
    assert ((slots >= 0) & table.is_open[slots]).tolist() == [False, False]


def test_an_agent_found_a_moment_ago_is_not_found_once_it_has_gone() -> None:
    table = AgentTable()
    slots = table.find_or_add(ids(4, 9), None)
    table.open_episodes(slots)
    table.close_episodes(slots[:1])
    table.free_closed()
    assert table.find(ids(4, 9)).tolist() == [-1, slots[1]]


def test_the_slot_of_an_agent_that_went_is_given_to_the_next_one_empty() -> None:
    table = AgentTable()
    old = table.find_or_add(ids(4), ids(3))
    table.open_episodes(old)
    table.returns[old], table.group_returns[old], table.length[old], table.is_dropped[old] = 5.0, 6.0, 7, True
    table.row[old] = 11
    table.close_episodes(old)
    table.free_closed()
    new = table.find_or_add(ids(5), ids(1))
    assert new.tolist() == old.tolist()
    assert table.open_episodes(new).all()
    slot = int(new[0])
    assert (float(table.returns[slot]), float(table.group_returns[slot]), int(table.length[slot])) == (0.0, 0.0, 0)
    assert (int(table.row[slot]), bool(table.is_dropped[slot]), int(table.arena[slot])) == (NO_ROW, False, 1)


def test_an_episode_that_is_open_stays_as_it_is_when_its_agent_asks_again() -> None:
    table = AgentTable()
    slots = table.find_or_add(ids(4), None)
    table.open_episodes(slots)
    table.returns[slots] = 5.0
    assert table.open_episodes(table.find_or_add(ids(4), None)).tolist() == [False]
    assert table.returns[slots].tolist() == [5.0]


def test_agents_of_a_game_that_does_not_tell_arenas_live_in_one() -> None:
    table = AgentTable()
    slots = table.find_or_add(ids(4, 5), None)
    assert table.arena[slots].tolist() == [0, 0]


def test_growing_keeps_every_column_of_those_who_are_there() -> None:
    table = AgentTable()
    first = table.find_or_add(ids(*range(16)), ids(*range(16)))
    table.open_episodes(first)
    table.returns[first] = np.arange(16)
    table.row[first] = 100 + np.arange(16)
    table.find_or_add(ids(*range(500)), ids(*range(500)))
    again = table.find(ids(*range(16)))
    assert again.tolist() == first.tolist()
    assert table.returns[again].tolist() == list(range(16))
    assert table.row[again].tolist() == list(range(100, 116))
    assert table.arena[table.find(ids(321))].tolist() == [321]
    fresh = table.find(ids(*range(16, 500)))
    assert (table.row[fresh] == NO_ROW).all()


@given(st.lists(st.integers(0, 9), min_size=1, max_size=10, unique=True))
def test_pending_rows_follow_the_rollout(kept: list[int]) -> None:
    table = AgentTable()
    slots = table.find_or_add(ids(*range(11)), None)
    table.open_episodes(slots)
    table.row[slots[:10]] = np.arange(10)
    new_row = np.full(10, NO_ROW)
    new_row[kept] = np.arange(len(kept))
    table.move_rows(new_row)
    expected = {old: new for new, old in enumerate(kept)}
    assert table.row[slots].tolist() == [expected.get(old, NO_ROW) for old in range(11)]
