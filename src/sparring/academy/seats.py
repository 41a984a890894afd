"""What the academy keeps of each agent, and how agents become columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparring.academy.actuators import ActionMask, Actions, Actuator, parts_of
from sparring.academy.sensors import Sensor
from sparring.errors import GameError, SpecError
from sparring.specs import BehaviorSpec
from sparring.steps import ActionBatch, DecisionSteps, TerminalSteps

if TYPE_CHECKING:
    from sparring.academy.agent import Agent, DecisionRequester
    from sparring.academy.models import Model
    from sparring.academy.recorder import DemonstrationRecorder

__all__ = ["Ended", "Seat", "asking_columns", "ended_columns", "give_actions"]

FloatArray: TypeAlias = NDArray[np.float32]


class Ended(NamedTuple):
    """An episode that ended, until it is told."""

    obs: list[FloatArray]
    reward: float
    group_reward: float
    group: int
    interrupted: bool
    score: float | None
    is_for_trainer: bool


@dataclass(slots=True, eq=False)
class Seat:
    """One agent as the academy sees it.

    Attributes:
        agent: whose seat it is.
        number: its id, the same for all its episodes.
        name: full name of its behavior.
        area: the copy of the game it lives in.
        spec: what it sees and does.
        sensors, actuators: in the order of their names.
        max_step: environment steps after which an episode is interrupted; 0 for never.
        group: the number of its group, 0 without one.
        reward, group_reward: gathered since its last decision.
        cumulative_reward: gathered since its episode began, without the group's.
        steps: environment steps of this episode.
        episodes: episodes that ended.
        wants_decision, wants_action: what was requested for this step.
        has_asked: whether it asked for a decision in this episode; one that never did is not told of.
        is_remote: whether a trainer chose for it last.
        is_beginning: whether its episode is being begun.
        is_gone: whether it left the game.
        actions, parts: the last ones chosen, and the part of each actuator.
        model: what chooses where no trainer does.
        memory: what the model remembers of this episode.
        recorders: that write down what it does.
        requester: that asks for its decisions.
        ended: the episode that ended since the last exchange.
    """

    agent: Agent
    number: int
    name: str
    area: int
    spec: BehaviorSpec
    sensors: Sequence[Sensor]
    actuators: Sequence[Actuator]
    max_step: int
    group: int = 0
    reward: float = 0.0
    group_reward: float = 0.0
    cumulative_reward: float = 0.0
    steps: int = 0
    episodes: int = 0
    wants_decision: bool = False
    wants_action: bool = False
    has_asked: bool = False
    is_remote: bool = False
    is_beginning: bool = False
    is_gone: bool = False
    actions: Actions = field(init=False)
    parts: list[tuple[Actuator, Actions]] = field(init=False)
    model: Model | None = None
    memory: FloatArray | None = None
    recorders: list[DemonstrationRecorder] = field(default_factory=list)
    requester: DecisionRequester | None = None
    ended: Ended | None = None

    def __post_init__(self) -> None:
        self.set_actions(Actions.zeros(self.spec.action_spec))

    def set_actions(self, actions: Actions) -> None:
        """Keeps what is to be carried out."""
        self.actions = actions
        self.parts = parts_of(self.actuators, actions)

    def observe(self, out: Sequence[FloatArray]) -> None:
        """Writes what the agent perceives into one array of zeros a sensor."""
        with self.agent.academy.observing():
            self.agent.gather_observations()
            for sensor, array in zip(self.sensors, out, strict=True):
                sensor.write(array)

    def act(self) -> None:
        """Carries the last actions out if that was requested; those left when the episode ends are for nobody."""
        if self.wants_action:
            self.wants_action = False
            parts = self.parts
            for actuator, part in parts:
                actuator.on_action_received(part)
                if self.parts is not parts:
                    break

    def choose_by_heuristic(self) -> bool:
        """Lets the agent's own rules choose; False if it has none."""
        self.set_actions(Actions.zeros(self.spec.action_spec))
        has_rules = [actuator.heuristic(part) for actuator, part in self.parts]  # every one of them is to choose
        return any(has_rules)

    def end(self, *, interrupted: bool, score: float | None = None) -> None:
        """Ends the episode with what the agent perceives last; `begin` starts the next one.

        Raises:
            GameError: agents are being observed, or this episode is being begun.
            SpecError: the score is not finite.
        """
        if self.is_gone:
            return
        if self.agent.academy.is_observing or self.is_beginning:
            raise GameError(
                "an episode can't end now",
                where=self.name,
                found="an episode that is being begun" if self.is_beginning else "agents that are being observed",
                cure="end it in on_action_received or in the game's update",
            )
        if score is not None and not math.isfinite(score):
            raise SpecError("the score of a match is not finite", where=self.name, found=str(score))
        if self.has_asked:
            self.ended = self._closed(interrupted=interrupted, score=score)
            self._write_end()
            self.episodes += 1
        self._clear()

    def forget(self) -> None:
        """The whole game begins anew: nobody is told of this episode, but recordings must not run on into the next."""
        if self.has_asked and self.recorders:
            self.ended = self._closed(interrupted=True, score=None)
            self._write_end()
        self.ended = None
        self._clear()

    def begin(self) -> None:
        """Starts an episode."""
        if self.is_gone:
            return
        self._clear()
        self.is_beginning = True
        try:
            self.agent.on_episode_begin()
        finally:
            self.is_beginning = False

    def _closed(self, *, interrupted: bool, score: float | None) -> Ended:
        obs = [np.zeros(sensor.spec.shape, np.float32) for sensor in self.sensors]
        self.observe(obs)
        return Ended(obs, self.reward, self.group_reward, self.group, interrupted, score, self.is_remote)

    def _write_end(self) -> None:
        steps = ended_columns(self.spec, [self])
        for recorder in self.recorders:
            recorder.write_end(steps)

    def _clear(self) -> None:
        self.reward = self.group_reward = self.cumulative_reward = 0.0
        self.steps = 0
        self.wants_decision = self.wants_action = self.has_asked = False
        self.set_actions(Actions.zeros(self.spec.action_spec))
        self.memory = None
        for sensor in self.sensors:
            sensor.reset()


def asking_columns(spec: BehaviorSpec, seats: Sequence[Seat]) -> DecisionSteps:
    """The agents that ask for a decision; what they gathered since the last one is handed over.

    Raises:
        SpecError: every choice of a branch is masked.
    """
    count = len(seats)
    obs = [np.zeros((count, *sensor.shape), np.float32) for sensor in spec.observation_specs]
    mask = [np.zeros((count, size), np.bool_) for size in spec.action_spec.discrete_branches]
    for row, seat in enumerate(seats):
        seat.observe([sensor[row] for sensor in obs])
        first = 0
        for actuator in seat.actuators:
            last = first + actuator.spec.discrete_size
            actuator.write_action_mask(ActionMask([branch[row] for branch in mask[first:last]]))
            first = last
    for number, branch in enumerate(mask):
        if branch.all(axis=1).any():
            raise SpecError(
                f"every choice in branch {number} is masked",
                where=seats[int(branch.all(axis=1).argmax())].name,
                cure="leave at least one choice of every branch available",
            )
    steps = DecisionSteps(
        obs=obs,
        reward=np.array([seat.reward for seat in seats], np.float32),
        agent_id=np.array([seat.number for seat in seats], np.int32),
        action_mask=mask if any(branch.any() for branch in mask) else None,
        group_id=np.array([seat.group for seat in seats], np.int32),
        group_reward=np.array([seat.group_reward for seat in seats], np.float32),
        arena_id=np.array([seat.area for seat in seats], np.int32),
    )
    for seat in seats:
        seat.reward = seat.group_reward = 0.0
        seat.has_asked, seat.wants_decision, seat.wants_action = True, False, True
        seat.set_actions(Actions.zeros(spec.action_spec))  # whoever is given none does nothing
    return steps


def ended_columns(spec: BehaviorSpec, seats: Sequence[Seat]) -> TerminalSteps:
    """The agents whose episode ended, at least one."""
    ended = [seat.ended for seat in seats if seat.ended is not None]
    scores = np.array([np.nan if end.score is None else end.score for end in ended], np.float32)
    return TerminalSteps(
        obs=[np.stack([end.obs[sensor] for end in ended]) for sensor in range(len(spec.observation_specs))],
        reward=np.array([end.reward for end in ended], np.float32),
        interrupted=np.array([end.interrupted for end in ended], np.bool_),
        agent_id=np.array([seat.number for seat in seats], np.int32),
        group_id=np.array([end.group for end in ended], np.int32),
        group_reward=np.array([end.group_reward for end in ended], np.float32),
        arena_id=np.array([seat.area for seat in seats], np.int32),
        match_score=None if np.isnan(scores).all() else scores,
    )


def give_actions(seats: Sequence[Seat], batch: ActionBatch) -> None:
    """Hands each agent its row of the actions that were chosen."""
    for row, seat in enumerate(seats):
        seat.set_actions(Actions(batch.continuous[row].copy(), batch.discrete[row].copy()))
