"""The soccer worlds: `StrikersVsGoalie` (two against a goalie) and `SoccerTwos` (two against two).

One step is one decision of every agent: five ticks of 0.02 s during which its actions are repeated. A match ends with
a goal (terminated) or after `max_ticks` ticks (interrupted). The arena then starts its next match in the same tick:
in that step its agents are in `TerminalSteps` with their last observation and rewards, and in `DecisionSteps` with
the first observation of the new match. A match that ends in the middle of a decision cuts that decision short; the
new one starts with a whole decision in the next step, so all arenas always ask together.

Motion is planar and without friction. Kicks, touch rewards and ends are those of the game's release 21; where this
world differs from it, the comment at the number says so. There is no drawing here: `scene` gives what a picture needs.
"""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from sparring.environments.environment import Environment, EnvironmentStatistic, StateTree
from sparring.errors import CheckpointError, GameError, SettingsError, SparringError, SpecError
from sparring.specs import ActionSpec, BehaviorSpec
from sparring.steps import ActionBatch, DecisionSteps, TerminalSteps
from sparring.worlds._soccer_kernel import (
    PLAYING,
    TICKS_PER_DECISION,
    TIME_OUT,
    SoccerState,
    new_state,
    play_arenas,
    start_arenas,
)
from sparring.worlds._soccer_rules import (
    SoccerRules,
    SoccerTables,
    soccer_twos_rules,
    strikers_vs_goalie_rules,
    tables,
)
from sparring.worlds._soccer_scene import soccer_scene
from sparring.worlds._state_tree import checked_arrays
from sparring.worlds.scene import Scene

__all__ = ["SoccerTwos", "StrikersVsGoalie"]

IntArray = NDArray[np.int32]
Kernel = Callable[[SoccerTables, SoccerState, NDArray[np.float64], int, int], None]

BRANCHES = (3, 3, 3)
MOST_PENDING_STATISTICS = 10_000
"""Matches whose statistics wait to be taken; older ones are dropped when nobody takes them."""
BALL_SCALES = (0.25, 4.0)
"""Multiples of the ball's radius that still fit the pitch and the goals."""


class _Soccer(Environment):
    """What both games share; the rules tell them apart.

    Args:
        rules: the game.
        num_arenas: copies of the pitch that are played side by side.
        seed: of all random streams; arena k draws the same whatever the number of arenas.
        threads: that share the arenas out; has no influence on what happens.
        max_ticks: length of a match until time runs out.
        sees_overlaps: whether a ray that heads towards something already nearer than its sphere's radius reports it
            at distance zero. False is what the original engine does: it overlooks such neighbors.
    """

    def __init__(
        self, rules: SoccerRules, *, num_arenas: int, seed: int, threads: int, max_ticks: int, sees_overlaps: bool
    ) -> None:
        for name, value, least in (
            ("num_arenas", num_arenas, 1),
            ("seed", seed, 0),
            ("threads", threads, 1),
            ("max_ticks", max_ticks, 1),
        ):
            if value < least:
                raise SettingsError(f"{name} is too small", found=str(value), expected=f"at least {least}")
        self._rules = rules
        self._arenas = num_arenas
        blue = sum(seat.team == 0 for seat in rules.seats)
        self._teams = (slice(0, blue), slice(blue, len(rules.seats)))
        self._tables = tables(rules, max_ticks=max_ticks, sees_overlaps=sees_overlaps)
        view_size = sum(seat.view_size for seat in rules.seats)
        self._state = new_state(num_arenas, seats=len(rules.seats), view_size=view_size, seed=seed)
        self._parameters = np.array([0.0, 1.0])
        self._finished: deque[tuple[float, float]] = deque(maxlen=MOST_PENDING_STATISTICS)
        self._specs = {
            name: BehaviorSpec(
                tuple(sensor.spec for sensor in rules.seats[seats.start].sensors), ActionSpec.create_discrete(BRANCHES)
            )
            for name, seats in zip(rules.behaviors, self._teams, strict=True)
        }
        self._shares = _shares(num_arenas, threads)
        self._pool = ThreadPoolExecutor(len(self._shares) - 1) if len(self._shares) > 1 else None
        self._closed = False
        self.reset()

    @property
    def behavior_specs(self) -> Mapping[str, BehaviorSpec]:
        """Blue's behavior, then purple's."""
        return self._specs

    def reset(self) -> None:
        """Starts a new match in every arena; a new world has done so already."""
        self._check_open()
        self._run(start_arenas)

    def step(self) -> None:
        """Plays one decision in every arena; agents without an action do nothing."""
        self._check_open()
        self._run(play_arenas)
        ended = np.flatnonzero(self._state.outcome)
        if len(ended):
            goal = (self._state.outcome[ended] != TIME_OUT).astype(float)
            length = -(-self._state.last_ticks[ended] // TICKS_PER_DECISION)
            self._finished.extend(zip(goal.tolist(), length.astype(float).tolist(), strict=True))

    def get_steps(self, behavior_name: str) -> tuple[DecisionSteps, TerminalSteps]:
        """All agents of the team ask for a decision; those of arenas where a match ended are also terminal."""
        self._check_open()
        team = self._team(behavior_name)
        return self._decisions(team), self._terminals(team)

    def set_actions(self, behavior_name: str, action: ActionBatch) -> None:
        """Sets the team's actions for the next step, rows ordered by arena, then seat."""
        self._check_open()
        seats = self._teams[self._team(behavior_name)]
        size = seats.stop - seats.start
        action.validate(self._specs[behavior_name].action_spec, self._arenas * size, behavior=behavior_name)
        if action.discrete.dtype.kind not in "iu":
            raise SpecError(
                "choices are not whole numbers",
                where=f"actions for {behavior_name}",
                found=str(action.discrete.dtype),
                expected="an integer type",
            )
        self._state.actions[:, seats] = action.discrete.reshape(self._arenas, size, len(BRANCHES))

    def close(self) -> None:
        """Ends the threads."""
        if self._pool is not None:
            self._pool.shutdown()
        self._closed = True

    def set_parameters(self, parameters: Mapping[str, float]) -> None:
        """Sets what holds from the next match of each arena on.

        Args:
            parameters: `ball_touch` (a fifth of it is the reward of each contact with the ball that begins, default
                0), `ball_scale` (multiple of the ball's radius, default 1) and `gravity` (accepted; it changes
                nothing, since ball and agents move in a plane). Others are ignored.

        Raises:
            SettingsError: a value is not finite, or the ball would not fit the pitch.
        """
        self._check_open()
        known = {
            name: float(parameters[name]) for name in ("ball_touch", "ball_scale", "gravity") if name in parameters
        }
        for name, value in known.items():
            if not math.isfinite(value):
                raise SettingsError(f"environment parameter {name} is not finite", found=str(value))
        scale = known.get("ball_scale", float(self._parameters[1]))
        self._check_scale(scale, SettingsError)
        self._parameters[:] = known.get("ball_touch", self._parameters[0]), scale

    def take_statistics(self) -> Sequence[EnvironmentStatistic]:
        """For each match that ended: whether it ended with a goal, and its length in decisions."""
        taken = [
            statistic
            for goal, length in self._finished
            for statistic in (
                EnvironmentStatistic("Match/Goal", goal, 0),
                EnvironmentStatistic("Match/Length", length, 0),
            )
        ]
        self._finished.clear()
        return taken

    def save_state(self) -> StateTree:
        """A copy of all arenas, streams, pending actions, parameters and statistics not yet taken."""
        self._check_open()
        return {
            "arenas": {name: array.copy() for name, array in self._state._asdict().items()},
            "parameters": self._parameters.copy(),
            "finished": np.array(self._finished, np.float64).reshape(-1, 2),
        }

    def restore_state(self, state: StateTree) -> None:
        """Puts back what `save_state` of a world with the same settings gave.

        Raises:
            CheckpointError: something is missing, has another shape or type, or is not finite; nothing was changed.
        """
        self._check_open()
        arenas = checked_arrays(state.get("arenas"), self._state._asdict(), where="arenas")
        world = checked_arrays(state, {"parameters": self._parameters, "finished": np.zeros((0, 2))}, where="world")
        self._check_bodies(arenas["bodies"])
        self._check_scale(float(world["parameters"][1]), CheckpointError)
        for name, array in self._state._asdict().items():
            array[...] = arenas[name]
        self._parameters[:] = world["parameters"]
        self._finished.clear()
        self._finished.extend((float(goal), float(length)) for goal, length in world["finished"])

    def scene(self, arena: int) -> Scene:
        """What one arena looks like now."""
        self._check_open()
        if not 0 <= arena < self._arenas:
            raise GameError("there is no such arena", found=str(arena), expected=f"0 to {self._arenas - 1}")
        state = self._state
        return soccer_scene(
            self._rules,
            state.bodies[arena],
            state.heading[arena],
            ball_radius=float(state.ball_radius[arena]),
            tick=int(state.ticks[arena]),
        )

    def _check_open(self) -> None:
        if self._closed:
            raise GameError("the world is closed", cure="create a new one")

    def _check_scale(self, scale: float, error: type[SparringError]) -> None:
        if not BALL_SCALES[0] <= scale <= BALL_SCALES[1]:
            raise error(
                "ball_scale does not fit the pitch",
                where="environment parameters",
                found=str(scale),
                expected=f"{BALL_SCALES[0]} to {BALL_SCALES[1]}, a multiple of the ball's radius",
            )

    def _check_bodies(self, bodies: NDArray[np.float64]) -> None:
        outside = ~self._rules.pitch.contains(bodies[..., 0], bodies[..., 1])
        if outside.any():
            arena, disc = np.argwhere(outside)[0]
            raise CheckpointError(
                "a disc lies outside the pitch",
                where=f"arena {arena}, disc {disc}",
                found=str(bodies[arena, disc, :2]),
            )

    def _team(self, behavior_name: str) -> int:
        if behavior_name not in self._rules.behaviors:
            raise GameError(
                "this world has no such behavior",
                found=repr(behavior_name),
                expected=" or ".join(self._rules.behaviors),
            )
        return self._rules.behaviors.index(behavior_name)

    def _run(self, kernel: Kernel) -> None:
        """Runs a kernel over all arenas, this thread taking the first share."""
        rest = [
            self._pool.submit(kernel, self._tables, self._state, self._parameters, first, last)
            for first, last in self._shares[1:]
            if self._pool is not None
        ]
        kernel(self._tables, self._state, self._parameters, *self._shares[0])
        for share in rest:
            share.result()

    def _ids(self, team: int, arenas: NDArray[np.int64]) -> tuple[IntArray, IntArray, IntArray]:
        """Agent, group and arena of the team's agents in some arenas; groups count from 1 because 0 means none."""
        seats = self._teams[team]
        arena = arenas.astype(np.int32).repeat(seats.stop - seats.start)
        seat = np.tile(np.arange(seats.start, seats.stop, dtype=np.int32), len(arenas))
        return arena * np.int32(len(self._rules.seats)) + seat, 2 * arena + np.int32(team + 1), arena

    def _observations(self, team: int, view: NDArray[np.float32]) -> list[NDArray[np.float32]]:
        """Fresh arrays, one a sensor, from rows `[arenas, all sensors of all seats]`."""
        seats = self._teams[team]
        size = self._rules.seats[seats.start].view_size
        first = sum(seat.view_size for seat in self._rules.seats[: seats.start])
        count = seats.stop - seats.start
        own = view[:, first : first + count * size].reshape(len(view), count, size)
        ends = np.cumsum([sensor.size for sensor in self._rules.seats[seats.start].sensors])
        return [
            own[:, :, end - sensor.size : end].copy().reshape(-1, sensor.size)
            for end, sensor in zip(ends.tolist(), self._rules.seats[seats.start].sensors, strict=True)
        ]

    def _decisions(self, team: int) -> DecisionSteps:
        agent, group, arena = self._ids(team, np.arange(self._arenas))
        return DecisionSteps(
            obs=self._observations(team, self._state.sight),
            reward=self._state.reward[:, self._teams[team]].flatten(),
            agent_id=agent,
            action_mask=None,
            group_id=group,
            group_reward=np.zeros(len(agent), np.float32),
            arena_id=arena,
        )

    def _terminals(self, team: int) -> TerminalSteps:
        state = self._state
        ended = np.flatnonzero(state.outcome != PLAYING)
        agent, group, arena = self._ids(team, ended)
        size = self._teams[team].stop - self._teams[team].start
        return TerminalSteps(
            obs=self._observations(team, state.last_sight[ended]),
            reward=state.last_reward[ended, self._teams[team]].flatten(),
            interrupted=(state.outcome[ended] == TIME_OUT).repeat(size),
            agent_id=agent,
            group_id=group,
            group_reward=state.last_group_reward[ended, team].repeat(size),
            arena_id=arena,
            match_score=state.score[ended, team].repeat(size),
        )


def _shares(arenas: int, threads: int) -> list[tuple[int, int]]:
    """First and one past the last arena of each thread."""
    edges = np.linspace(0, arenas, min(threads, arenas) + 1).astype(int).tolist()
    return list(itertools.pairwise(edges))


class StrikersVsGoalie(_Soccer):
    """Two strikers (`Striker?team=0`) must score, one goalie (`Goalie?team=1`) must keep the ball out.

    A goal scores 1 for the strikers and 0 for the goalie; when time runs out it is the other way round.

    Args:
        num_arenas: copies of the pitch that are played side by side.
        seed: of all random streams; arena k draws the same whatever the number of arenas.
        threads: that share the arenas out; has no influence on what happens.
        max_ticks: length of a match until time runs out.
        sees_overlaps: whether a ray that heads towards something nearer than its sphere's radius reports it at
            distance zero. False is what the original engine does: it overlooks such neighbors.
    """

    def __init__(
        self,
        *,
        num_arenas: int = 8,
        seed: int = 0,
        threads: int = 1,
        max_ticks: int = 5000,
        sees_overlaps: bool = True,
    ) -> None:
        super().__init__(
            strikers_vs_goalie_rules(),
            num_arenas=num_arenas,
            seed=seed,
            threads=threads,
            max_ticks=max_ticks,
            sees_overlaps=sees_overlaps,
        )


class SoccerTwos(_Soccer):
    """Two against two with one policy (`SoccerTwos?team=0` is blue, `SoccerTwos?team=1` purple).

    A goal scores 1 for the team that profits and 0 for the other; when time runs out both have a half.

    Args:
        num_arenas: copies of the pitch that are played side by side.
        seed: of all random streams; arena k draws the same whatever the number of arenas.
        threads: that share the arenas out; has no influence on what happens.
        max_ticks: length of a match until time runs out.
        sees_overlaps: whether a ray that heads towards something nearer than its sphere's radius reports it at
            distance zero. False is what the original engine does: it overlooks such neighbors.
    """

    def __init__(
        self,
        *,
        num_arenas: int = 8,
        seed: int = 0,
        threads: int = 1,
        max_ticks: int = 5000,
        sees_overlaps: bool = True,
    ) -> None:
        super().__init__(
            soccer_twos_rules(),
            num_arenas=num_arenas,
            seed=seed,
            threads=threads,
            max_ticks=max_ticks,
            sees_overlaps=sees_overlaps,
        )
