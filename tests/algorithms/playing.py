"""Lets a learner play one of the small tasks for a number of steps, through the real collector."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from benchmarks.learning.tasks import Task
from sparring.algorithms import find_algorithm
from sparring.selfplay import Lineup
from sparring.settings import RunSettings
from sparring.statistics import Statistics, Timers
from sparring.training.collector import Collector

__all__ = ["play"]


def play(task: Task, settings: dict[str, Any], *, steps: int, seed: int = 0, last: int = 10) -> float:
    """Trains for `steps` agent decisions; gives the mean score of the `last` episodes of all agents."""
    run = RunSettings.model_validate({"default_settings": {"max_steps": steps, **settings}})

    def make_learner(name: str, spec: Any, plan: Any) -> Any:
        learner = find_algorithm(plan.trainer_type, where="the test")
        return learner(name, spec, plan, device=torch.device("cpu"), seed=seed, parallel=False)

    task.reset()
    collector = Collector(
        task,
        run,
        make_learner=make_learner,
        lineup=Lineup(rng=np.random.default_rng(seed)),
        statistics=Statistics({}),
        timers=Timers(),
        generator=torch.Generator().manual_seed(seed),
    )
    while not collector.roster.is_finished:
        collector.step()
    return float(np.mean(task.scores[-last:]))
