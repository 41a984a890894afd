"""The soccer worlds: `StrikersVsGoalie` (two against a goalie) and `SoccerTwos` (two against two).

One step is one decision of every agent: five ticks of 0.02 s during which its actions are repeated. A match ends with
a goal (terminated) or after `max_ticks` ticks (interrupted). The arena then starts its next match in the same tick:
in that step its agents are in `TerminalSteps` with their last observation and rewards, and in `DecisionSteps` with
the first observation of the new match. A match that ends in the middle of a decision cuts that decision short; the
new one starts with a whole decision in the next step, so all arenas always ask together.

Numbers, rewards and ends are those of the original's release 21. Unlike there, motion is planar and without friction or
spin, a disc is exactly round, and goals are judged by the ball's place instead of by contacts with nets and floor.
There is no drawing here: `scene` gives what a picture needs.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from sparring.environments.environment import Environment, EnvironmentStatistic, StateTree
from sparring.errors import Finding, GameError, SettingsError
from sparring.specs import BehaviorSpec
from sparring.steps import ActionBatch, DecisionSteps, TerminalSteps
from sparring.worlds._soccer_columns import TeamColumns
from sparring.worlds._soccer_kernel import play_arenas
from sparring.worlds._soccer_rules import (
    BALL_SCALES,
    SoccerRules,
    soccer_twos_rules,
    strikers_vs_goalie_rules,
    tables,
)
from sparring.worlds._soccer_scene import soccer_scene
from sparring.worlds._soccer_state import (
    NOT_STARTED,
    PLAYING,
    TICKS_PER_DECISION,
    TIME_OUT,
    check_possible,
    new_scratch,
    new_state,
)
from sparring.worlds._state_tree import checked_arrays
from sparring.worlds.arena_parameters import ArenaParameters, ParameterRange
from sparring.worlds.scene import Scene

if TYPE_CHECKING:
    from sparring.settings import Sampler

__all__ = ["SoccerTwos", "StrikersVsGoalie"]

PARAMETERS: Mapping[str, ParameterRange] = MappingProxyType(
    {
        "ball_touch": ParameterRange(0.0, -1e6, 1e6),  # no number means anything beyond
        "ball_scale": ParameterRange(1.0, *BALL_SCALES),
        "gravity": ParameterRange(0.0, -1e6, 1e6),
    }
)
"""The environment parameters; the kernel takes the first two."""
MOST_PENDING_STATISTICS = 10_000
"""Matches whose statistics wait to be taken; older ones are dropped when nobody takes them."""


class _Soccer(Environment):
    """What both games share; the rules tell them apart. For the arguments see the games."""

    def __init__(
        self, rules: SoccerRules, *, num_arenas: int, seed: int, threads: int, max_ticks: int, sees_overlaps: bool
    ) -> None:
        _check_at_least(num_arenas=(num_arenas, 1), seed=(seed, 0), threads=(threads, 1), max_ticks=(max_ticks, 1))
        self._rules = rules
        self._tables = tables(rules, max_ticks=max_ticks, sees_overlaps=sees_overlaps)
        view_size = sum(seat.view_size for seat in rules.seats)
        self._state = new_state(num_arenas, seats=len(rules.seats), view_size=view_size, seed=seed)
        teams = (TeamColumns(rules, team, self._state) for team in range(len(rules.behaviors)))
        self._teams = {team.name: team for team in teams}
        self._specs = {name: team.spec for name, team in self._teams.items()}
        self._parameters = ArenaParameters(PARAMETERS, num_arenas=num_arenas)
        self._finished: deque[tuple[float, float]] = deque(maxlen=MOST_PENDING_STATISTICS)
        self._shares = _shares(num_arenas, threads)
        self._scratch = [new_scratch(self._tables) for _ in self._shares]
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
        self._state.ticks[:] = NOT_STARTED
        self._state.actions[:] = 0
        self._play()
        self._parameters.begin(np.arange(len(self._state.ticks)))

    def step(self) -> None:
        """Plays one decision in every arena; agents without an action do nothing."""
        self._check_open()
        self._play()
        ended = np.flatnonzero(self._state.outcome != PLAYING)
        if len(ended):
            self._parameters.begin(ended)
            goal = (self._state.outcome[ended] != TIME_OUT).astype(float)
            length = np.ceil(self._state.last_ticks[ended] / TICKS_PER_DECISION)
            self._finished.extend(zip(goal.tolist(), length.tolist(), strict=True))

    def get_steps(self, behavior_name: str) -> tuple[DecisionSteps, TerminalSteps]:
        """All agents of the team ask for a decision; those of arenas where a match ended are also terminal."""
        team = self._team(behavior_name)
        return team.decisions(), team.terminals()

    def set_actions(self, behavior_name: str, action: ActionBatch) -> None:
        """Sets the team's actions for the next step, rows ordered by arena, then seat."""
        self._team(behavior_name).set_actions(action)

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
        self._parameters.set_numbers(parameters)

    def set_samplers(self, samplers: Mapping[str, Sampler]) -> None:
        """Draws parameters, the same as of `set_parameters`, for each match of each arena that begins from now on.

        Raises:
            SettingsError: a sampler draws what `set_parameters` refuses.
        """
        self._check_open()
        self._parameters.set_samplers(samplers)

    def take_statistics(self) -> Sequence[EnvironmentStatistic]:
        """Of matches that ended: whether with a goal, after how many decisions; of those that began: what was drawn."""
        taken = [
            statistic
            for goal, length in self._finished
            for statistic in (
                EnvironmentStatistic("Match/Goal", goal, 0),
                EnvironmentStatistic("Match/Length", length, 0),
            )
        ]
        self._finished.clear()
        return taken + self._parameters.take_statistics()

    def save_state(self) -> StateTree:
        """A copy of all arenas, streams, pending actions, parameters and statistics not yet taken."""
        self._check_open()
        return {
            "arenas": {name: array.copy() for name, array in self._state._asdict().items()},
            "parameters": self._parameters.save_state(),
            "finished": np.array(self._finished, np.float64).reshape(-1, 2),
        }

    def restore_state(self, state: StateTree) -> None:
        """Puts back what `save_state` of a world with the same settings gave.

        Raises:
            CheckpointError: something is missing, has another shape or type, or is not finite; nothing was changed.
        """
        self._check_open()
        world = checked_arrays(state, {"finished": np.zeros((0, 2))}, where="world")
        parameters = self._parameters.checked_state(state.get("parameters"))
        arenas = checked_arrays(state.get("arenas"), self._state._asdict(), where="arenas")
        check_possible(arenas, self._rules.pitch)
        for name, array in self._state._asdict().items():
            array[...] = arenas[name]
        self._parameters.restore_state(parameters)
        self._finished.clear()
        self._finished.extend((float(goal), float(length)) for goal, length in world["finished"])

    def scene(self, arena: int) -> Scene:
        """What one arena looks like now."""
        self._check_open()
        arenas = len(self._state.ticks)
        if not 0 <= arena < arenas:
            raise GameError("there is no such arena", found=str(arena), expected=f"0 to {arenas - 1}")
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

    def _team(self, behavior_name: str) -> TeamColumns:
        self._check_open()
        if behavior_name not in self._teams:
            raise GameError(
                "this world has no such behavior", found=repr(behavior_name), expected=" or ".join(self._teams)
            )
        return self._teams[behavior_name]

    def _play(self) -> None:
        """Runs the kernel over all arenas, this thread taking the first share."""
        calls = [
            (self._tables, self._state, scratch, self._parameters.next_values, *share)
            for scratch, share in zip(self._scratch, self._shares, strict=True)
        ]
        rest = [self._pool.submit(play_arenas, *call) for call in calls[1:] if self._pool is not None]
        play_arenas(*calls[0])
        for share in rest:
            share.result()


def _shares(arenas: int, threads: int) -> list[tuple[int, int]]:
    """First and one past the last arena of each thread."""
    edges = np.linspace(0, arenas, min(threads, arenas) + 1).astype(int).tolist()
    return list(itertools.pairwise(edges))


def _check_at_least(**numbers: tuple[int, int]) -> None:
    findings = [
        Finding(f"{name} is too small", found=str(value), expected=f"at least {least}")
        for name, (value, least) in numbers.items()
        if value < least
    ]
    if findings:
        raise SettingsError(findings)


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
