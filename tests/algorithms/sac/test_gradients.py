"""The gradients of SAC's losses against finite differences, in double precision on a tiny learner."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch

from sparring.specs import ActionSpec
from tests.algorithms.builders import ACTIONS, behavior
from tests.algorithms.sac.builders import MEMORY, fed, make_sac, sac_plan
from tests.algorithms.signals.builders import doubled, slope_by_differences


class Tiny:
    """A learner and a batch in double precision; every call of a loss draws the same actions."""

    def __init__(self, actions: ActionSpec, network: dict[str, Any]) -> None:
        spec = behavior(actions)
        self.learner = make_sac(spec, sac_plan(network={"hidden_units": 4, **network}))
        fed(self.learner, spec, steps=8, end_rate=0.2, masked=bool(actions.discrete_size))
        batch = self.learner._replay.sample(8, rng=np.random.default_rng(2), device=torch.device("cpu"))
        self.batch = dataclasses.replace(
            batch,
            inputs=[column.double() for column in batch.inputs],
            memory=None if batch.memory is None else batch.memory.double(),
            transitions=doubled(batch.transitions),
        )
        for module in self.learner._modules():
            module.double()
        for name in ("_gammas",):
            setattr(self.learner, name, getattr(self.learner, name).double())
        self.stream = self.learner._noise.get_state()

    def loss(self, name: str) -> torch.Tensor:
        self.learner._noise.set_state(self.stream)
        loss: torch.Tensor = getattr(self.learner._losses(self.batch), name)
        return loss


@pytest.mark.parametrize("network", [{}, MEMORY], ids=["plain", "memory"])
@pytest.mark.parametrize("actions", ACTIONS.values(), ids=ACTIONS)
def test_the_gradients_are_those_of_finite_differences(actions: ActionSpec, network: dict[str, Any]) -> None:
    tiny = Tiny(actions, network)
    learner = tiny.learner
    for name, module in (
        ("policy", learner._actor),
        ("q1", learner._q1),
        ("q2", learner._q2),
        ("value", learner._value),
        ("temperature", learner._temperatures),
    ):
        slope_by_differences(lambda name=name: tiny.loss(name), list(module.parameters()))


def test_only_the_actor_learns_from_the_policy_loss() -> None:
    spec = behavior(ACTIONS["hybrid"])
    learner = make_sac(spec)
    fed(learner, spec)
    loss = learner._losses(learner._draw()).policy
    learner._descend(learner._optimizers[0], loss, "policy loss")
    for module in (learner._q1, learner._q2, learner._value, learner._target, learner._temperatures):
        assert all(parameter.grad is None for parameter in module.parameters())
    assert all(parameter.grad is not None for parameter in learner._actor.parameters())
