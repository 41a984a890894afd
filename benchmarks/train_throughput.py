"""How much of the machine's matrix-product limit training reaches, on the soccer-shaped job the peers were given.

    python benchmarks/train_throughput.py [--rounds 3] [--threads 2] [--profile]

The job: 8 arenas x 4 agents on two teams of one behavior, 264 + 72 floats, three branches of three, actor and critic
of 512 x 2, minibatches of 2,048 from 20,480 experiences, 3 epochs, self-play on. The game hands out ready-made random
batches, so what is measured is the trainer. Only the learning team's steps are counted.

The limit: every matrix product one learned step needs (its own two networks in the rollout, three epochs forward and
backward), each timed alone. Products of the opponents' policy are not in it; `limit_with_opponents` counts them too.
Limit and training take turns in the same process; the ratio of each turn's pair is taken, and the median printed.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sparring.environments import Environment
from sparring.runs import RunFolder
from sparring.settings import RunSettings
from sparring.specs import ActionSpec, BehaviorSpec, ObservationSpec
from sparring.statistics import Statistics
from sparring.steps import ActionBatch, DecisionSteps, TerminalSteps
from sparring.training.device import one_network_threads
from sparring.training.progress import SilentObserver
from sparring.training.run import TrainingRun

SENSORS = (264, 72)
BRANCHES = (3, 3, 3)
ARENAS, TEAM_SIZE = 8, 2
HIDDEN, BATCH, BUFFER, EPOCHS = 512, 2048, 20480, 3
EPISODE_STEPS, RING = 500, 64


class ReadyMadeGame(Environment):
    """A ring of random batches: stepping costs next to nothing. Arenas end one after another."""

    def __init__(self, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        sensors = tuple(ObservationSpec.vector(size, name=f"sensor {size}") for size in SENSORS)
        self._spec = BehaviorSpec(sensors, ActionSpec.create_discrete(BRANCHES))
        self._agents = ARENAS * TEAM_SIZE
        self._obs = [rng.standard_normal((RING, 2, self._agents, size), dtype=np.float32) for size in SENSORS]
        self._reward = (0.1 * rng.standard_normal((RING, 2, self._agents))).astype(np.float32)
        self._arena = np.repeat(np.arange(ARENAS, dtype=np.int32), TEAM_SIZE)
        self._zeros = np.zeros(self._agents, np.float32)
        self._phase = np.arange(ARENAS) * EPISODE_STEPS // ARENAS
        self._tick = 0

    @property
    def behavior_specs(self) -> Mapping[str, BehaviorSpec]:
        return {f"SoccerTwos?team={team}": self._spec for team in (0, 1)}

    def reset(self) -> None:
        self._tick = 0

    def step(self) -> None:
        self._tick += 1

    def get_steps(self, behavior_name: str) -> tuple[DecisionSteps, TerminalSteps]:
        team = int(behavior_name[-1])
        turn = self._tick % RING
        ids = np.arange(self._agents, dtype=np.int32) + team * self._agents
        group = self._arena + 1 + team * ARENAS
        decision = DecisionSteps(
            obs=[sensor[turn, team] for sensor in self._obs],
            reward=self._reward[turn, team],
            agent_id=ids,
            action_mask=None,
            group_id=group,
            group_reward=self._zeros,
            arena_id=self._arena,
        )
        ended = ((self._tick + self._phase) % EPISODE_STEPS == 0)[self._arena]
        if self._tick == 0 or not ended.any():
            return decision, TerminalSteps.empty(self._spec)
        terminal = TerminalSteps(
            obs=[sensor[turn, team][ended] for sensor in self._obs],
            reward=self._reward[turn, team][ended],
            interrupted=np.zeros(int(ended.sum()), np.bool_),
            agent_id=ids[ended],
            group_id=group[ended],
            group_reward=self._zeros[ended],
            arena_id=self._arena[ended],
        )
        return decision, terminal

    def set_actions(self, behavior_name: str, action: ActionBatch) -> None:
        del behavior_name, action

    def close(self) -> None:
        pass


def settings(folder: Path) -> RunSettings:
    return RunSettings.model_validate(
        {
            "behaviors": {
                "SoccerTwos": {
                    "hyperparameters": {
                        "batch_size": BATCH,
                        "buffer_size": BUFFER,
                        "num_epoch": EPOCHS,
                        "learning_rate_schedule": "constant",
                    },
                    "network_settings": {"hidden_units": HIDDEN, "num_layers": 2},
                    "time_horizon": 1000,
                    "max_steps": 10**9,
                    "summary_freq": 10_000,
                    "checkpoint_interval": 10**9,
                    "self_play": {"save_steps": 50_000, "team_change": 200_000, "swap_steps": 2_000},
                }
            },
            "env_settings": {"seed": 1},
            "checkpoint_settings": {"results_dir": str(folder), "run_id": "bench"},
            "writers": ["jsonl"],
        }
    )


def seconds(job: Callable[[], Any], budget_s: float) -> float:
    """Tenth percentile of the times of one call."""
    job()
    times: list[float] = []
    end = time.perf_counter() + budget_s
    while time.perf_counter() < end or len(times) < 3:
        start = time.perf_counter()
        job()
        times.append(time.perf_counter() - start)
    return float(np.percentile(times, 10))


def product(rows: int, inner: int, columns: int, *, budget_s: float) -> float:
    """Seconds of one product `[rows, inner] x [inner, columns]`, the second factor stored as layers store it."""
    left, right = torch.randn(rows, inner), torch.randn(columns, inner).t()
    out = torch.empty(rows, columns)
    return seconds(lambda: torch.mm(left, right, out=out), budget_s)


def limits(budget_s: float) -> tuple[float, float]:
    """Learned steps a second that the products alone allow: without and with those of the opponents' policy."""
    inputs, heads = sum(SENSORS), sum(BRANCHES)
    team = ARENAS * TEAM_SIZE
    learned = 0.0
    for outputs in (heads, 1):
        for rows, inner, columns in ((BATCH, inputs, HIDDEN), (BATCH, HIDDEN, HIDDEN), (BATCH, HIDDEN, outputs)):
            forward = product(rows, inner, columns, budget_s=budget_s)
            to_weights = product(columns, rows, inner, budget_s=budget_s)
            to_inputs = product(rows, columns, inner, budget_s=budget_s) if inner != inputs else 0.0
            learned += EPOCHS * (forward + to_weights + to_inputs) / BATCH
    layers = ((inputs, HIDDEN), (HIDDEN, HIDDEN))
    acting = sum(product(team, *layer, budget_s=budget_s) for layer in (*layers, (HIDDEN, heads))) / team
    valuing = sum(product(1000, *layer, budget_s=budget_s) for layer in (*layers, (HIDDEN, 1))) / 1000
    return 1.0 / (learned + acting + valuing), 1.0 / (learned + 2 * acting + valuing)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cycles", type=int, default=2, help="rollouts and updates a round")
    parser.add_argument("--profile", action="store_true", help="print where the Python time goes")
    options = parser.parse_args()
    rows = []
    with (
        tempfile.TemporaryDirectory() as folder,
        RunFolder.open(folder, "bench", "new") as run_folder,
        Statistics.open(run_folder.path, ["jsonl"]) as stats,
        one_network_threads(options.threads),
    ):
        run = TrainingRun(
            settings(Path(folder)),
            folder=run_folder,
            environment=ReadyMadeGame(),
            statistics=stats,
            observer=SilentObserver(),
            device=torch.device("cpu"),
            threads=options.threads,
        )
        profiler = cProfile.Profile()
        train_cycles(run, 1)
        for _ in range(options.rounds):
            torch.set_num_threads(options.threads)
            limit, with_opponents = limits(0.1)
            torch.set_num_threads(max(1, options.threads // 2))
            if options.profile:
                profiler.enable()
            speed = train_cycles(run, options.cycles)
            profiler.disable()
            rows.append((limit, with_opponents, speed))
            print(f"limit {limit:7.0f}  training {speed:7.0f}  {speed / limit:.1%}", file=sys.stderr)
        shares = run.progress().shares
        run.close()
    if options.profile:
        pstats.Stats(profiler, stream=sys.stderr).sort_stats("tottime").print_stats(25)
    result = {
        "threads": options.threads,
        "limit": round(statistics.median(row[0] for row in rows)),
        "limit_with_opponents": round(statistics.median(row[1] for row in rows)),
        "learned_steps_per_s": round(statistics.median(row[2] for row in rows)),
        "of_limit": round(statistics.median(row[2] / row[0] for row in rows), 3),
        "of_limit_with_opponents": round(statistics.median(row[2] / row[1] for row in rows), 3),
        "shares": {name: round(share, 3) for name, share in shares.items()},
    }
    print(json.dumps(result))
    return 0


def train_cycles(run: TrainingRun, cycles: int) -> float:
    """Learned steps a second over whole rollouts with their updates."""
    training = run.behaviors["SoccerTwos"]
    goal, before, start = training.updates + cycles, training.steps, time.perf_counter()
    while training.updates < goal:
        run.collector.step()
    return (training.steps - before) / (time.perf_counter() - start)


if __name__ == "__main__":
    raise SystemExit(main())
