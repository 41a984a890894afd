"""The columns of one team: its part of the game's state as decision and terminal steps, and its actions back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparring.errors import SpecError
from sparring.specs import ActionSpec, BehaviorSpec
from sparring.steps import ActionBatch, DecisionSteps, TerminalSteps
from sparring.worlds._soccer_rules import SoccerRules
from sparring.worlds._soccer_state import PLAYING, TIME_OUT, SoccerState

__all__ = ["TeamColumns"]

BRANCHES = (3, 3, 3)


class TeamColumns:
    """Reads and writes the rows of one team; everything it hands out is a fresh copy.

    Rows are ordered by arena, then seat. Agent k of all is seat k % seats of arena k // seats; groups are numbered
    from 1 because 0 means none.
    """

    def __init__(self, rules: SoccerRules, team: int, state: SoccerState) -> None:
        arenas, seats = len(state.ticks), len(rules.seats)
        own = [number for number, seat in enumerate(rules.seats) if seat.team == team]
        sensors = rules.seats[own[0]].sensors
        self.name = rules.behaviors[team]
        self.spec = BehaviorSpec(tuple(sensor.spec for sensor in sensors), ActionSpec.create_discrete(BRANCHES))
        self._state, self._team = state, team
        self._seats = slice(own[0], own[-1] + 1)
        arena, seat = np.meshgrid(np.arange(arenas, dtype=np.int32), np.array(own, np.int32), indexing="ij")
        self._arena_id = arena
        self._agent_id = arena * np.int32(seats) + seat
        self._group_id = arena * np.int32(2) + np.int32(team + 1)
        begin = sum(seat.view_size for seat in rules.seats[: own[0]])
        sizes = [sensor.size for sensor in sensors]
        self._sight = _sensor_views(state.sight, begin, len(own), sizes)
        self._last_sight = _sensor_views(state.last_sight, begin, len(own), sizes)
        self._nobody = self._ended(np.zeros(0, np.intp))

    def decisions(self) -> DecisionSteps:
        """All agents of the team ask for a decision after every step."""
        agents = self._agent_id.size
        return DecisionSteps(
            obs=[view.copy().reshape(agents, -1) for view in self._sight],
            reward=self._state.reward[:, self._seats].flatten(),
            agent_id=self._agent_id.flatten(),
            action_mask=None,
            group_id=self._group_id.flatten(),
            group_reward=np.zeros(agents, np.float32),
            arena_id=self._arena_id.flatten(),
        )

    def terminals(self) -> TerminalSteps:
        """The agents of arenas where a match ended in the last step."""
        ended = np.flatnonzero(self._state.outcome != PLAYING)
        return self._ended(ended) if len(ended) else self._nobody

    def set_actions(self, action: ActionBatch) -> None:
        """Checks the actions and keeps them for the next step."""
        action.validate(self.spec.action_spec, self._agent_id.size, behavior=self.name)
        if action.discrete.dtype.kind not in "iu":
            raise SpecError(
                "choices are not whole numbers",
                where=f"actions for {self.name}",
                found=str(action.discrete.dtype),
                expected="an integer type",
            )
        self._state.actions[:, self._seats] = action.discrete.reshape(*self._agent_id.shape, len(BRANCHES))

    def _ended(self, arenas: NDArray[np.intp]) -> TerminalSteps:
        state, seats = self._state, self._agent_id.shape[1]
        rows = len(arenas) * seats
        return TerminalSteps(
            obs=[view[arenas].reshape(rows, view.shape[2]) for view in self._last_sight],
            reward=state.last_reward[arenas, self._seats].flatten(),
            interrupted=(state.outcome[arenas] == TIME_OUT).repeat(seats),
            agent_id=self._agent_id[arenas].flatten(),
            group_id=self._group_id[arenas].flatten(),
            group_reward=state.last_group_reward[arenas, self._team].repeat(seats),
            arena_id=self._arena_id[arenas].flatten(),
            match_score=state.score[arenas, self._team].repeat(seats),
        )


def _sensor_views(sight: NDArray[Any], begin: int, seats: int, sizes: list[int]) -> list[NDArray[Any]]:
    """The memory of each sensor, `[arenas, seats, size]`, in rows that hold all sensors of all seats."""
    rows = sight[:, begin : begin + seats * sum(sizes)].reshape(len(sight), seats, sum(sizes))
    return np.split(rows, np.cumsum(sizes)[:-1], axis=2)
