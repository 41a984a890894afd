"""Policies of a run as models for agents of a game that plays alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sparring.academy import Chosen
from sparring.algorithms import find_algorithm
from sparring.errors import RunError, SpecError, nearest
from sparring.networks.policy import Policy
from sparring.runs import CheckpointChoice, RunFolder
from sparring.settings.reading import read_settings_text, validate_settings
from sparring.specs import BehaviorSpec
from sparring.steps import DecisionSteps
from sparring.training.acting import joined_mask
from sparring.training.roster import settings_for

__all__ = ["PolicyModel", "load_model"]


class PolicyModel:
    """A policy that chooses for agents, as `sparring.academy.Agent.set_model` takes it.

    Args:
        policy: whose weights are not copied.
        deterministic: the likeliest actions are taken instead of drawn ones.
        seed: of what is drawn.
    """

    def __init__(self, policy: Policy, *, deterministic: bool = False, seed: int = 0) -> None:
        self.policy = policy
        self._deterministic = deterministic
        self._generator = torch.Generator().manual_seed(seed)

    @property
    def memory_size(self) -> int:
        """Numbers remembered of each agent; 0 for none."""
        return self.policy.memory_size

    def check(self, spec: BehaviorSpec, *, where: str) -> None:
        """Makes sure that the policy was trained for what an agent sees and does.

        Raises:
            SpecError: it was not.
        """
        if spec != self.policy.spec:
            raise SpecError(
                "the policy sees or does something else than the agent",
                where=where,
                found=str(spec),
                expected=str(self.policy.spec),
            )

    def choose(self, spec: BehaviorSpec, steps: DecisionSteps, memory: NDArray[np.float32]) -> Chosen:
        """Runs the policy once for all agents."""
        del spec
        inputs = self.policy.layout.inputs(steps.obs)
        output = self.policy.act(
            inputs, joined_mask(steps), self._generator, memory=memory, deterministic=self._deterministic
        )
        return Chosen(self.policy.actions(output), memory if output.memory is None else output.memory)


def load_model(
    run: Path | str,
    behavior: str,
    spec: BehaviorSpec,
    *,
    checkpoint: CheckpointChoice = "newest",
    snapshot: int | None = None,
    deterministic: bool = False,
    seed: int = 0,
) -> PolicyModel:
    """A policy from a run's folder; no game is started and nothing is written.

    Args:
        run: the run's folder.
        behavior: name, without team.
        spec: what its agents see and do, as `Agent.spec` has it.
        checkpoint: which one.
        snapshot: the step of an earlier policy that is in the checkpoint: an opponent of the pool, or the policy of
            the beginning and of each third of the way; the checkpoint's own without it.
        deterministic: the likeliest actions are taken instead of drawn ones.
        seed: of what is drawn.

    Raises:
        RunError: there is no such run, behavior or snapshot.
        CheckpointError: its checkpoints are damaged, or not of this spec.
    """
    place = Path(run).resolve()
    folder = RunFolder.existing(place.parent, place.name)
    state = folder.checkpoints().load(checkpoint).state["collector"]
    kept = state["behaviors"].get(behavior)
    if kept is None:
        known = list(state["behaviors"])
        like = nearest(behavior, known)
        raise RunError(
            f"the run has no behavior {behavior!r}",
            where=str(place),
            expected=", ".join(known),
            cure=f"did you mean {like[0]!r}?" if like else "",
        )
    source = str(place / "configuration.yaml")
    settings = validate_settings(read_settings_text(folder.configuration() or "", source=source), source=source)
    plan = settings_for(settings, behavior)
    algorithm = find_algorithm(plan.trainer_type, where=source)
    learner = algorithm(behavior, spec, plan, device=torch.device("cpu"), seed=0, parallel=False)
    try:
        learner.restore(kept["learner"])
        policy = learner.policy.frozen_copy()
    finally:
        learner.close()
    if snapshot is not None:
        policy = policy.with_state(_earlier(state, behavior, snapshot, where=str(place)))
    return PolicyModel(policy, deterministic=deterministic, seed=seed)


def _earlier(state: Mapping[str, Any], behavior: str, step: int, *, where: str) -> dict[str, Any]:
    """The weights of an earlier policy in a checkpoint."""
    pool = state["lineup"]["pools"].get(behavior, {}).get("snapshots", {})
    weights: dict[int, dict[str, Any]] = {
        int(reached): each for reached, each in state["behaviors"][behavior]["milestones"].items()
    }
    weights |= {each["step"]: each["weights"] for each in pool.values()}
    if step not in weights:
        steps = ", ".join(str(each) for each in sorted(weights))
        raise RunError(f"the checkpoint holds no policy of step {step}", where=where, expected=f"one of {steps}")
    return weights[step]
