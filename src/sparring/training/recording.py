"""Recording demonstrations: one agent at a time, as a policy, a script or chance lets it act."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from sparring.environments import Environment
from sparring.errors import SpecError, nearest
from sparring.networks.policy import Policy
from sparring.rollouts import AgentTable
from sparring.specs import BehaviorId, BehaviorSpec
from sparring.steps import ActionBatch, DecisionSteps
from sparring.training.acting import joined_mask
from sparring.wire.demonstrations import DemonstrationWriter

__all__ = ["Person", "Player", "Recorded", "Script", "full_name_of", "record_demonstration"]

Script: TypeAlias = Callable[[DecisionSteps, BehaviorSpec], ActionBatch]
"""Plays as a person wrote it down: the agents that ask to their actions, row by row."""

Player: TypeAlias = Policy | Script | None
"""Who acts for a behavior; None acts at random."""


class Recorded(NamedTuple):
    """How much was recorded: decisions, and episodes that are whole."""

    decisions: int
    episodes: int


class Person(Protocol):
    """Somebody who plays the one agent that is recorded."""

    def choose(self, agent: int, steps: DecisionSteps, row: int, *, is_first: bool) -> ActionBatch:
        """One row of actions.

        Args:
            agent: its id.
            steps: of its behavior.
            row: of the agent.
            is_first: its episode begins.
        """
        ...


_LONGEST_WAIT = 10_000


def record_demonstration(
    environment: Environment,
    players: Mapping[str, Player],
    path: Path,
    *,
    behavior: str,
    episodes: int,
    generator: torch.Generator,
    rng: np.random.Generator,
    deterministic: bool = False,
    person: Person | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Recorded:
    """Plays a game and records one of its agents; when its episode ends, the next one is recorded.

    Args:
        environment: the game; it is reset.
        players: who acts for each behavior name; chance for those that are not named.
        path: the file, which must not exist.
        behavior: the behavior to record, with or without its team.
        episodes: how many whole episodes are recorded.
        generator: stream of sampled actions.
        rng: stream of random actions.
        deterministic: policies take their most likely action.
        person: plays the agent that is recorded; the others are left to `players`.
        should_stop: asked at every step; True ends the recording.

    Returns:
        How much was recorded.

    Raises:
        SpecError: the game has no such behavior, none of its agents ever asks, a script gave actions that don't fit,
            or the file exists.
    """
    environment.reset()
    full_name = full_name_of(environment, behavior)
    tables = {
        name: AgentTable(memory_size=player.memory_size if isinstance(player, Policy) else 0)
        for name in environment.behavior_specs
        for player in (players.get(BehaviorId.parse(name).name),)
    }
    recorded, left, idle = 0, episodes, 0
    agent: int | None = None
    spec = environment.behavior_specs[full_name]
    with DemonstrationWriter(path, name=path.stem, behavior_name=full_name, spec=spec) as writer:
        while left and not should_stop():
            decision, terminal = environment.get_steps(full_name)
            if agent is not None and agent in terminal:
                writer.add(terminal, terminal.agent_id_to_index[agent])
                agent, left = None, left - 1
            actions = _choose(environment, players, tables, generator, rng, deterministic=deterministic)
            is_first = agent is None
            if left and agent is None and len(decision):
                agent = int(decision.agent_id[0])
            if left and agent is not None and agent in decision:
                row = decision.agent_id_to_index[agent]
                chosen = actions[full_name]
                if person is not None:
                    own = person.choose(agent, decision, row, is_first=is_first)
                    chosen.continuous[row], chosen.discrete[row] = own.continuous[0], own.discrete[0]
                writer.add(decision, row, chosen)
                recorded, idle = recorded + 1, 0
            for name, chosen in actions.items():
                environment.set_actions(name, chosen)
            idle += 1
            if idle > _LONGEST_WAIT:
                raise SpecError("no agent asked for a decision", where=full_name, found=f"{_LONGEST_WAIT} steps")
            environment.step()
            environment.take_statistics()
    return Recorded(recorded, episodes - left)


def full_name_of(environment: Environment, behavior: str) -> str:
    """The full name of a behavior that is named with or without its team.

    Raises:
        SpecError: the game has no such behavior.
    """
    known = list(environment.behavior_specs)
    for name in known:
        if behavior in (name, BehaviorId.parse(name).name):
            return name
    like = nearest(behavior, known)
    raise SpecError(
        f"the game has no behavior {behavior!r}",
        expected=", ".join(known),
        cure=f"did you mean {like[0]!r}?" if like else "",
    )


def _choose(
    environment: Environment,
    players: Mapping[str, Player],
    tables: Mapping[str, AgentTable],
    generator: torch.Generator,
    rng: np.random.Generator,
    *,
    deterministic: bool,
) -> dict[str, ActionBatch]:
    """What everybody who asks is to do, by behavior."""
    done: dict[str, ActionBatch] = {}
    for name, spec in environment.behavior_specs.items():
        decision, terminal = environment.get_steps(name)
        table = tables[name]
        ended = table.find(terminal.agent_id)
        table.close_episodes(ended[ended >= 0])
        slots = table.find_or_add(decision.agent_id, decision.arena_id)
        table.open_episodes(slots)
        table.free_closed()
        if len(decision) == 0:
            continue
        player = players.get(BehaviorId.parse(name).name)
        if player is None:
            done[name] = ActionBatch.random(spec.action_spec, len(decision), rng, action_mask=decision.action_mask)
        elif isinstance(player, Policy):
            done[name] = _by_policy(player, decision, table, slots, generator, deterministic=deterministic)
        else:
            done[name] = player(decision, spec)
            done[name].validate(spec.action_spec, len(decision), behavior=name)
    return done


def _by_policy(
    policy: Policy,
    decision: DecisionSteps,
    table: AgentTable,
    slots: NDArray[Any],
    generator: torch.Generator,
    *,
    deterministic: bool,
) -> ActionBatch:
    inputs = policy.layout.inputs(decision.obs)
    output = policy.act(
        inputs, joined_mask(decision), generator, memory=table.memory[slots], deterministic=deterministic
    )
    if output.memory is not None:
        table.memory[slots] = output.memory
    return policy.actions(output)
