"""Learners and the rollouts they learn from, for the tests of this folder."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sparring.algorithms import Learner, PPOLearner
from sparring.networks import ObservationLayout
from sparring.networks.drawing import PolicyOutput
from sparring.rollouts import Rollout, RowStatus
from sparring.selfplay import LIVE
from sparring.settings import BehaviorSettings
from sparring.specs import ActionSpec, BehaviorSpec, ObservationSpec
from sparring.training.acting import Asking, act_for_all

__all__ = ["ACTIONS", "act", "behavior", "bits", "experience_of", "judged", "make_learner", "plan"]

ACTIONS = {
    "continuous": ActionSpec.create_continuous(2),
    "discrete": ActionSpec.create_discrete((3, 4)),
    "hybrid": ActionSpec.create_hybrid(2, (3, 4)),
}


def behavior(actions: ActionSpec = ACTIONS["hybrid"], *, size: int = 3) -> BehaviorSpec:
    """Agents that see one vector."""
    return BehaviorSpec((ObservationSpec.vector(size),), actions)


def plan(
    *, network: dict[str, Any] | None = None, behavior: dict[str, Any] | None = None, **hyper: Any
) -> BehaviorSettings:
    """Settings of a small learner whose schedules stand still."""
    return BehaviorSettings.model_validate(
        {
            "hyperparameters": {
                "batch_size": 16,
                "buffer_size": 64,
                "learning_rate": 1e-3,
                "learning_rate_schedule": "constant",
                **hyper,
            },
            "network_settings": {"hidden_units": 8, "num_layers": 1, **(network or {})},
            **(behavior or {}),
        }
    )


def make_learner(
    spec: BehaviorSpec, settings: BehaviorSettings | None = None, *, seed: int = 0, parallel: bool = False
) -> PPOLearner:
    return PPOLearner("Duel", spec, settings or plan(), device=torch.device("cpu"), seed=seed, parallel=parallel)


def experience_of(
    learner: PPOLearner,
    spec: BehaviorSpec,
    *,
    seed: int = 0,
    steps: int = 20,
    agents: int = 4,
    end_rate: float = 0.1,
    masked: bool = False,
    observe: Callable[[np.random.Generator], list[NDArray[Any]]] | None = None,
) -> Rollout:
    """What agents that act by the learner's policy experience in a game that answers at random.

    Episodes end by the rules and by interruption; after the last step every agent has a decision pending.
    """
    rng = np.random.default_rng(seed)
    generator = torch.Generator().manual_seed(seed)
    layout = ObservationLayout(spec)
    rollout = learner.make_rollout()
    memory: NDArray[Any] = np.zeros((agents, learner.policy.memory_size), np.float32)

    def see() -> list[NDArray[Any]]:
        if observe is not None:
            return layout.inputs(observe(rng))
        return layout.inputs(
            [rng.standard_normal((agents, *sensor.shape), np.float32) for sensor in spec.observation_specs]
        )

    pending: NDArray[Any] | None = None
    trajectory = rollout.begin_trajectories(agents)
    for step in range(steps + 1):
        inputs = see()
        mask = None
        if masked:
            mask = rng.random((agents, spec.action_spec.total_choices)) < 0.3
            mask[:, np.cumsum([0, *spec.action_spec.discrete_branches[:-1]])] = False
        if pending is not None:
            ended = _complete(rollout, pending, trajectory, inputs, memory, rng, end_rate=end_rate)
            trajectory = np.where(ended, rollout.begin_trajectories(agents), trajectory)
            memory[ended] = 0.0
            followers = rollout.append(inputs, mask, trajectory, memory=memory)
            rollout.next_row[pending[~ended]] = followers[~ended]
            pending = followers
        else:
            pending = rollout.append(inputs, mask, trajectory, memory=memory)
        if step < steps:
            output = act(learner, rollout, pending, inputs, mask, generator, memory=memory)
            memory = memory if output.memory is None else output.memory
    return rollout


def judged(learner: Any, rollout: Rollout) -> tuple[Any, NDArray[Any]]:
    """What a learner learns from in a rollout, and the values of its rows."""
    rewards = learner._rewards(rollout, learner._transitions(rollout))
    experience, values = learner._experience(rollout, rewards)
    return experience, values


def act(
    learner: Learner,
    rollout: Rollout,
    rows: NDArray[Any],
    inputs: list[NDArray[Any]],
    mask: NDArray[Any] | None,
    generator: torch.Generator,
    *,
    memory: NDArray[Any] | None = None,
) -> PolicyOutput:
    """The learner decides in the rows, which see the inputs."""
    asking = Asking(inputs, mask, np.full(len(rows), LIVE), memory if learner.policy.memory_size else None)
    act_for_all([asking], lambda number: learner.policy, generator)
    output = asking.output
    assert output is not None
    assert output.log_prob is not None
    rollout.set_actions(rows, continuous=output.continuous, discrete=output.discrete, log_prob=output.log_prob)
    return output


def _complete(
    rollout: Rollout,
    pending: NDArray[Any],
    trajectory: NDArray[Any],
    inputs: list[NDArray[Any]],
    memory: NDArray[Any],
    rng: np.random.Generator,
    *,
    end_rate: float,
) -> NDArray[Any]:
    """Gives every pending decision its outcome; True where the episode ended."""
    count = len(pending)
    ends = rng.random(count) < end_rate
    interrupted = ends & (rng.random(count) < 0.5)
    followers = np.full(count, -1, np.int64)
    kept = ends if rollout.keeps_ends else interrupted
    if kept.any():
        tails = [column[kept] for column in inputs]
        followers[kept] = rollout.append(tails, None, trajectory[kept], status=RowStatus.TAIL, memory=memory[kept])
    reward = rng.standard_normal(count, np.float32)
    rollout.complete(pending, reward, next_row=followers, terminated=ends & ~interrupted)
    return ends


def bits(state: Any, path: str = "") -> dict[str, str]:
    """What a state tree holds by path, arrays as fingerprints: equal only if every bit is, and short to compare."""
    if isinstance(state, dict):
        return {place: value for name, part in state.items() for place, value in bits(part, f"{path}/{name}").items()}
    if isinstance(state, np.ndarray):
        digest = hashlib.blake2b(state.tobytes(), digest_size=8).hexdigest()
        return {path: f"{state.dtype} {state.shape} {digest}"}
    return {path: repr(state)}
