"""How well, and how surely, every ability is learned: small games with a known best score, several seeds each.

    python -m benchmarks.learning [--seeds 5] [--only NAME ...]

Prints a line for each game and learner: mean score of the last 200 episodes of all agents (1 is the best), the worst
and the best seed, the score asked for and the decisions it was given. A row that misses its score ends the program
with exit code 1.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from dataclasses import dataclass, field
from typing import Any

import torch

from benchmarks.learning.tasks import Aim, FallenMate, GroupBandit, PickEntity, Pointing, Recall, Task
from tests.algorithms.playing import play

MEMORY = {"memory": {"sequence_length": 8, "memory_size": 32}}


@dataclass(frozen=True)
class Row:
    """A game, how it is learned, and the scores that show it was or, for an ability that is missing, was not."""

    name: str
    task: type[Task]
    steps: int
    least: float = 0.0
    most: float = 1.0
    trainer: str = "ppo"
    network: dict[str, Any] = field(default_factory=dict)
    agents: int = 66


ROWS = (
    Row("group reward", GroupBandit, 20_000, least=0.95),
    Row("group reward", GroupBandit, 20_000, least=0.95, trainer="poca"),
    Row("group reward", GroupBandit, 20_000, least=0.95, trainer="sac"),
    Row("aim", Aim, 20_000, least=0.85, trainer="sac"),
    Row("recall, memory", Recall, 60_000, least=0.95, network=MEMORY),
    Row("recall, memory", Recall, 60_000, least=0.95, network=MEMORY, trainer="poca"),
    Row("recall, memory", Recall, 20_000, least=0.95, trainer="sac", network=MEMORY),
    Row("recall, no memory", Recall, 60_000, most=0.6),
    Row("pointing, 20 x 20", Pointing, 40_000, least=0.95),
    Row("picking an entity", PickEntity, 40_000, least=0.95),
    Row("fallen mate", FallenMate, 30_000, least=0.95, trainer="poca"),
    Row("fallen mate, memory", FallenMate, 30_000, least=0.95, trainer="poca", network=MEMORY),
    Row("fallen mate", FallenMate, 30_000, most=0.65),
)


HYPERPARAMETERS: dict[str, dict[str, Any]] = {
    "ppo": {
        "batch_size": 256,
        "buffer_size": 1024,
        "learning_rate": 3e-3,
        "learning_rate_schedule": "linear",
        "num_epoch": 4,
        "beta": 1e-2,
    },
    "sac": {
        "batch_size": 256,
        "buffer_size": 10_000,
        "learning_rate": 3e-3,
        "learning_rate_schedule": "linear",
        "buffer_init_steps": 256,
        "steps_per_update": 16,
        "init_entcoef": 0.1,
    },
}
HYPERPARAMETERS["poca"] = HYPERPARAMETERS["ppo"]


def scores_of(row: Row, *, seeds: int) -> list[float]:
    settings = {
        "trainer_type": row.trainer,
        "hyperparameters": HYPERPARAMETERS[row.trainer],
        "network_settings": {"hidden_units": 32, "num_layers": 1, **row.network},
    }
    return [
        play(row.task(agents=row.agents, seed=seed), settings, steps=row.steps, seed=seed, last=20)
        for seed in range(1, seeds + 1)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="rows whose name begins like this")
    options = parser.parse_args()
    torch.set_num_threads(1)
    missed = 0
    print(f"{'game':<22}{'learner':<9}{'decisions':>10}{'mean':>8}{'worst':>8}{'best':>8}   asked for")
    for row in ROWS:
        if options.only and not any(row.name.startswith(name) for name in options.only):
            continue
        began = time.perf_counter()
        scores = scores_of(row, seeds=options.seeds)
        mean, worst, best = statistics.mean(scores), min(scores), max(scores)
        is_met = worst >= row.least and best <= row.most
        missed += not is_met
        asked = f"every seed at least {row.least}" if row.least else f"no seed above {row.most}"
        took = time.perf_counter() - began
        print(
            f"{row.name:<22}{row.trainer:<9}{row.steps:>10,}{mean:>8.3f}{worst:>8.3f}{best:>8.3f}   {asked}"
            f"{'' if is_met else ' MISSED'} ({took:.0f} s)",
            flush=True,
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
