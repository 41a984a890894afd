"""Agents: what a game's players derive from, when they decide, and groups that are paid together."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sparring.academy.actuators import ActionMask, Actions, Actuator, joined_spec
from sparring.academy.seats import Seat
from sparring.academy.sensors import Sensor, StackingSensor, VectorSensor
from sparring.errors import Finding, NonFiniteError, SpecError
from sparring.specs import ActionSpec, BehaviorId, BehaviorSpec

if TYPE_CHECKING:
    from sparring.academy.academy import Academy
    from sparring.academy.models import Model

__all__ = ["Agent", "AgentGroup", "BehaviorType", "DecisionRequester"]


class BehaviorType(enum.Enum):
    """Who chooses an agent's actions."""

    DEFAULT = "default"
    """The trainer; without one the model; without one the heuristic."""
    HEURISTIC_ONLY = "heuristic only"
    """The heuristic, also where a trainer is connected; the trainer does not see the agent."""
    INFERENCE_ONLY = "inference only"
    """The model, also where a trainer is connected; the trainer does not see the agent."""


class _OwnActions(Actuator):
    """The actions an agent carries out itself."""

    def __init__(self, agent: Agent, spec: ActionSpec) -> None:
        super().__init__("VectorActuator", spec)
        self._agent = agent

    def on_action_received(self, actions: Actions) -> None:
        self._agent.on_action_received(actions)

    def write_action_mask(self, mask: ActionMask) -> None:
        self._agent.write_action_mask(mask)

    def heuristic(self, actions: Actions) -> bool:
        if type(self._agent).heuristic is Agent.heuristic:
            return False
        self._agent.heuristic(actions)
        return True


class Agent:
    """One player of a game. Subclass it and override what your game needs.

    Args:
        academy: of the game.
        behavior: name of what is learned; agents of one name share a policy.
        team: which side it plays on; self-play lets teams of one or several behaviors play each other.
        actions: what the agent itself can do, given to `on_action_received`; actuators may add to it.
        vector_size: how many numbers `collect_observations` adds; 0 for no such sensor.
        vector_stacks: how many of these lists are stacked.
        sensors: further ones.
        actuators: further ones.
        max_step: environment steps after which an episode is interrupted; 0 for never.
        area: the copy of the game it lives in, from 0; agents of one area play one match.
        behavior_type: who chooses its actions.

    Raises:
        SpecError: no sensor, no action, two sensors or actuators of one name, or another spec than that of an
            earlier agent of the same behavior.
    """

    def __init__(
        self,
        academy: Academy,
        behavior: str,
        *,
        team: int = 0,
        actions: ActionSpec | None = None,
        vector_size: int = 0,
        vector_stacks: int = 1,
        sensors: Sequence[Sensor] = (),
        actuators: Sequence[Actuator] = (),
        max_step: int = 0,
        area: int = 0,
        behavior_type: BehaviorType = BehaviorType.DEFAULT,
    ) -> None:
        if "?" in behavior:
            raise SpecError("a behavior's name holds no '?'", found=repr(behavior), cure="say the team with team=")
        name = str(BehaviorId.parse(f"{behavior}?team={team}"))
        self._check(name, actions=actions, vector_size=vector_size, vector_stacks=vector_stacks)
        if max_step < 0 or area < 0:
            raise SpecError("max_step and area are not negative", where=name, found=f"{max_step} and {area}")
        self._academy = academy
        self._group: AgentGroup | None = None
        self._vector = VectorSensor(vector_size) if vector_size else None
        all_sensors = list(sensors)
        if self._vector is not None:
            all_sensors.append(self._vector if vector_stacks == 1 else StackingSensor(self._vector, vector_stacks))
        all_actuators = list(actuators)
        if actions is not None:
            all_actuators.append(_OwnActions(self, actions))
        all_sensors.sort(key=lambda sensor: sensor.spec.name)
        all_actuators.sort(key=lambda actuator: actuator.name)
        _check_names(name, [sensor.spec.name for sensor in all_sensors], "sensors")
        _check_names(name, [actuator.name for actuator in all_actuators], "actuators")
        spec = BehaviorSpec(tuple(sensor.spec for sensor in all_sensors), joined_spec(all_actuators))
        number = academy.next_number()
        self._seat = Seat(self, number, name, area, spec, all_sensors, all_actuators, max_step)
        self.behavior_type = behavior_type
        academy.admit(self._seat)

    def _check(self, name: str, *, actions: ActionSpec | None, vector_size: int, vector_stacks: int) -> None:
        """Refuses what would never be called."""
        kind = type(self)
        findings = []
        if vector_size == 0 and (vector_stacks != 1 or kind.collect_observations is not Agent.collect_observations):
            what = "collect_observations would never be called"
            findings.append(Finding(what, where=name, cure="say with vector_size how many numbers it adds"))
        if actions is None and kind.on_action_received is not Agent.on_action_received:
            what = "on_action_received would never be called"
            findings.append(Finding(what, where=name, cure="say with actions what the agent can do"))
        if findings:
            raise SpecError(findings)

    # What a game overrides.

    def on_episode_begin(self) -> None:
        """Puts the agent where its episodes begin."""

    def collect_observations(self, sensor: VectorSensor) -> None:
        """Adds as many numbers as `vector_size` says."""

    def write_action_mask(self, mask: ActionMask) -> None:
        """Says which choices of the agent's own actions are not available at this decision."""

    def on_action_received(self, actions: Actions) -> None:
        """Carries the agent's own actions out; rewards and ends of episodes belong here or into the game's update."""

    def heuristic(self, actions: Actions) -> None:
        """Chooses the agent's own actions where neither a trainer nor a model does.

        Args:
            actions: zeros, to be written.
        """

    # What a game calls.

    @property
    def academy(self) -> Academy:
        """Of the game it is in."""
        return self._academy

    @property
    def behavior_name(self) -> str:
        """Full name, with the team."""
        return self._seat.name

    @property
    def agent_id(self) -> int:
        """Its number in the academy."""
        return self._seat.number

    @property
    def area(self) -> int:
        """The copy of the game it lives in."""
        return self._seat.area

    @property
    def spec(self) -> BehaviorSpec:
        """What it sees and does."""
        return self._seat.spec

    @property
    def step_count(self) -> int:
        """Environment steps of this episode."""
        return self._seat.steps

    @property
    def completed_episodes(self) -> int:
        """Episodes that ended in which it asked for a decision."""
        return self._seat.episodes

    @property
    def cumulative_reward(self) -> float:
        """The rewards of this episode, without the group's."""
        return self._seat.cumulative_reward

    @property
    def stored_actions(self) -> Actions:
        """The actions chosen last."""
        return self._seat.actions

    def add_reward(self, reward: float) -> None:
        """Adds to the reward since the last decision.

        Raises:
            NonFiniteError: it is not a finite number.
        """
        _check_finite(reward, self._seat)
        self._seat.reward += reward
        self._seat.cumulative_reward += reward

    def set_reward(self, reward: float) -> None:
        """Replaces the reward since the last decision.

        Raises:
            NonFiniteError: it is not a finite number.
        """
        _check_finite(reward, self._seat)
        self._seat.cumulative_reward += reward - self._seat.reward
        self._seat.reward = reward

    def request_decision(self) -> None:
        """Asks for new actions at the next environment step; they are carried out in the same step."""
        self._seat.wants_decision = True

    def request_action(self) -> None:
        """Carries the last actions out again at the next environment step."""
        self._seat.wants_action = True

    def end_episode(self, *, match_score: float | None = None) -> None:
        """Ends the episode by the rules of the game and begins the next one.

        Args:
            match_score: the result of the agent's team in the match, compared with that of other teams: higher is
                better, equal is a draw. Without one the returns of the teams are compared. Only a trainer in this
                process sees it.

        Raises:
            GameError: agents are being observed, or this episode is being begun.
            SpecError: the score is not finite.
        """
        self._seat.end(interrupted=False, score=match_score)
        self._seat.begin()

    def interrupt_episode(self) -> None:
        """Ends the episode for a reason outside its rules and begins the next; what was to come counts."""
        self._seat.end(interrupted=True)
        self._seat.begin()

    def remove(self) -> None:
        """Takes the agent out of the game and of its group; its episode ends.

        Raises:
            GameError: agents are being observed, or its episode is being begun.
        """
        self._seat.end(interrupted=False)
        if self._group is not None:
            self._group.unregister_agent(self)
        self._academy.dismiss(self._seat)

    def set_model(self, model: Model | Path | str | None) -> None:
        """Lets a model choose the actions where no trainer does; it may be changed at any time, also in an episode.

        What a model remembers of the episode is forgotten, the episode goes on.

        Args:
            model: an ONNX file, a `Model`, or None for the heuristic. Agents with one file share it in memory, and it
                is let go with the last of them.

        Raises:
            SpecError: the model sees or does something else than the agent.
        """
        found = self._academy.load_model(model) if isinstance(model, (str, Path)) else model
        if found is not None:
            found.check(self._seat.spec, where=self._seat.name)
        self._seat.model = found
        self._seat.memory = None

    def join(self, group: AgentGroup | None) -> None:
        """Called by the group it joins or, with None, leaves."""
        self._group = group
        self._seat.group = 0 if group is None else group.group_id

    def gather_observations(self) -> None:
        """Fills the sensor of numbers; called by the academy before sensors are read."""
        if self._vector is not None:
            self.collect_observations(self._vector)

    @property
    def seat(self) -> Seat:
        """What the academy keeps of it."""
        return self._seat


class AgentGroup:
    """Agents that are paid together: a trainer that knows groups (POCA) shares the reward out by merit.

    Args:
        academy: of the game.
    """

    def __init__(self, academy: Academy) -> None:
        self.group_id = academy.next_group_number()
        self._members: list[Agent] = []

    @property
    def members(self) -> tuple[Agent, ...]:
        """Who is in it."""
        return tuple(self._members)

    def register_agent(self, agent: Agent) -> None:
        """Takes an agent in.

        Raises:
            SpecError: it is in another group.
        """
        if agent.seat.group not in (0, self.group_id):
            raise SpecError("the agent is in another group", where=agent.behavior_name, found=str(agent.seat.group))
        if agent not in self._members:
            agent.join(self)
            self._members.append(agent)

    def unregister_agent(self, agent: Agent) -> None:
        """Lets an agent go; one that is not in is no error."""
        if agent in self._members:
            agent.join(None)
            self._members.remove(agent)

    def add_group_reward(self, reward: float) -> None:
        """Adds to what every member got from the group since its last decision."""
        for agent in self._members:
            _check_finite(reward, agent.seat)
            agent.seat.group_reward += reward

    def set_group_reward(self, reward: float) -> None:
        """Replaces what every member got from the group since its last decision."""
        for agent in self._members:
            _check_finite(reward, agent.seat)
            agent.seat.group_reward = reward

    def end_group_episode(self, *, match_score: float | None = None) -> None:
        """Ends every member's episode by the rules of the game; see `Agent.end_episode`."""
        self._end(interrupted=False, score=match_score)

    def interrupt_group_episode(self) -> None:
        """Ends every member's episode for a reason outside the rules."""
        self._end(interrupted=True, score=None)

    def _end(self, *, interrupted: bool, score: float | None) -> None:
        # All end before one begins: what a member sees last must not be a teammate's next episode.
        members = self.members  # whatever the game does with the group meanwhile
        for agent in members:
            agent.seat.end(interrupted=interrupted, score=score)
        for agent in members:
            agent.seat.begin()


class DecisionRequester:
    """Asks for an agent's decisions at regular steps.

    Args:
        agent: whose.
        period: environment steps from one decision to the next.
        offset: of the first step that asks; agents with different ones don't all ask at once.
        acts_between: the last actions are carried out at the steps between.

    Raises:
        SpecError: the period is below 1, the offset not below the period, or the agent has one already.
    """

    def __init__(self, agent: Agent, period: int = 5, *, offset: int = 0, acts_between: bool = True) -> None:
        if period < 1 or not 0 <= offset < period:
            raise SpecError(
                "an agent can't decide at this rate",
                where=agent.behavior_name,
                found=f"period {period}, offset {offset}",
                expected="a period from 1 on and an offset below it",
            )
        if agent.seat.requester is not None:
            raise SpecError("the agent has a decision requester already", where=agent.behavior_name)
        self._agent = agent
        self._period, self._offset, self._acts_between = period, offset, acts_between
        agent.seat.requester = self

    def on_step(self, step: int) -> None:
        """Called by the academy before each environment step."""
        if step % self._period == self._offset:
            self._agent.request_decision()
        elif self._acts_between:
            self._agent.request_action()


def _check_finite(reward: float, seat: Seat) -> None:
    if not math.isfinite(reward):
        raise NonFiniteError(
            f"agent {seat.number} is given a reward that is not finite", where=seat.name, found=str(reward)
        )


def _check_names(where: str, names: Sequence[str], kind: str) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SpecError(f"two {kind} have one name", where=where, found=", ".join(twice), cure="name them")
