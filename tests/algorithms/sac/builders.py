"""Small SAC learners and replays they learn from, for the tests of this folder."""

from __future__ import annotations

from typing import Any

import torch

from sparring.algorithms.sac import SACLearner
from sparring.rollouts import Rollout
from sparring.specs import BehaviorSpec
from tests.algorithms.builders import experience_of, plan

__all__ = ["MEMORY", "fed", "make_sac", "sac_plan"]

MEMORY = {"memory": {"sequence_length": 4, "memory_size": 6}}


def sac_plan(*, network: dict[str, Any] | None = None, behavior: dict[str, Any] | None = None, **hyper: Any) -> Any:
    """Settings of a small learner that learns once for every 16 decisions."""
    hyper = {"steps_per_update": 16, "init_entcoef": 0.3, **hyper}
    return plan(network=network, behavior={"trainer_type": "sac", **(behavior or {})}, **hyper)


def make_sac(spec: BehaviorSpec, settings: Any = None, *, seed: int = 0) -> Any:
    device = torch.device("cpu")
    return SACLearner("Duel", spec, settings or sac_plan(), device=device, seed=seed, parallel=False)


def fed(learner: Any, spec: BehaviorSpec, **options: Any) -> Rollout:
    """Lets the learner's replay take in what agents experienced; gives the rollout."""
    rollout = experience_of(learner, spec, **options)
    learner._replay.add(rollout)
    return rollout
