"""Two tasks of Gymnasium, against the scores published for well-tuned implementations and, if asked, against a peer.

    pip install "sparring[gymnasium]"
    python -m benchmarks.learning.control [--seeds 5] [--only SAC PPO] [--peer]

Prints the mean return of 20 deterministic episodes after training for every seed, mean and deviation over seeds.
`--peer` also trains stable-baselines3 (installed by hand) with the same budget, networks and hyperparameters.

The published scores are those of the RL Baselines3 Zoo, benchmark.md: SAC on Pendulum-v1 -156.995 ± 88.714, PPO on
CartPole-v1 500.000 ± 0.000, both over its own trained agents.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import torch
from numpy.typing import NDArray

from sparring.algorithms import Learner, find_algorithm
from sparring.environments import Environment
from sparring.networks.policy import Policy
from sparring.selfplay import Lineup
from sparring.settings import RunSettings
from sparring.specs import ActionSpec, BehaviorSpec, ObservationSpec
from sparring.statistics import Statistics, Timers
from sparring.steps import ActionBatch, DecisionSteps, TerminalSteps
from sparring.training.collector import Collector

EPISODES = 20
NAME = "Control?team=0"


class Copies(Environment):
    """Copies of one task side by side, an agent each; a time limit interrupts, with what was really seen last.

    Args:
        task: Gymnasium's id; one box observed, a box of equal limits in every dimension or a choice acted with.
        copies: how many.
        seed: of the first copy; the others count up from it.
    """

    def __init__(self, task: str, *, copies: int, seed: int) -> None:
        self._games: list[gymnasium.Env[Any, Any]] = [gymnasium.make(task) for _ in range(copies)]
        self._seed = seed
        self.spec = _spec_of(self._games[0])
        self._scale = getattr(self._games[0].action_space, "high", None)
        self._actions = ActionBatch.zeros(self.spec.action_spec, copies)
        self._steps = (DecisionSteps.empty(self.spec), TerminalSteps.empty(self.spec))

    @property
    def behavior_specs(self) -> Mapping[str, BehaviorSpec]:
        return {NAME: self.spec}

    def reset(self) -> None:
        seen = [game.reset(seed=self._seed + copy)[0] for copy, game in enumerate(self._games)]
        self._steps = (self._decisions(seen, np.zeros(len(seen))), TerminalSteps.empty(self.spec))

    def step(self) -> None:
        seen, rewards = [], np.zeros(len(self._games))
        ended: list[tuple[int, Any, float, bool]] = []
        for copy, game in enumerate(self._games):
            obs, reward, terminated, truncated, _ = game.step(self._action(copy))
            if terminated or truncated:
                ended.append((copy, obs, float(reward), not terminated))
                obs, _ = game.reset()
            else:
                rewards[copy] = reward
            seen.append(obs)
        self._steps = (self._decisions(seen, rewards), self._terminals(ended))

    def get_steps(self, behavior_name: str) -> tuple[DecisionSteps, TerminalSteps]:
        assert behavior_name == NAME, behavior_name
        return self._steps

    def set_actions(self, behavior_name: str, action: ActionBatch) -> None:
        action.validate(self.spec.action_spec, len(self._games), behavior=behavior_name)
        self._actions = action

    def close(self) -> None:
        for game in self._games:
            game.close()

    def _action(self, copy: int) -> Any:
        if self._scale is None:
            return int(self._actions.discrete[copy, 0])
        return self._actions.continuous[copy] * self._scale

    def _decisions(self, seen: list[Any], rewards: NDArray[np.float64]) -> DecisionSteps:
        count = len(seen)
        return DecisionSteps(
            obs=[np.stack(seen).astype(np.float32)],
            reward=rewards.astype(np.float32),
            agent_id=np.arange(count, dtype=np.int32),
            action_mask=None,
            group_id=np.zeros(count, np.int32),
            group_reward=np.zeros(count, np.float32),
            arena_id=np.arange(count, dtype=np.int32),
        )

    def _terminals(self, ended: list[tuple[int, Any, float, bool]]) -> TerminalSteps:
        if not ended:
            return TerminalSteps.empty(self.spec)
        copies = np.array([copy for copy, *_ in ended], np.int32)
        return TerminalSteps(
            obs=[np.stack([obs for _, obs, _, _ in ended]).astype(np.float32)],
            reward=np.array([reward for _, _, reward, _ in ended], np.float32),
            interrupted=np.array([truncated for *_, truncated in ended]),
            agent_id=copies,
            group_id=np.zeros(len(ended), np.int32),
            group_reward=np.zeros(len(ended), np.float32),
            arena_id=copies,
        )


def _spec_of(game: gymnasium.Env[Any, Any]) -> BehaviorSpec:
    seen = game.observation_space.shape
    assert seen is not None, game
    space = game.action_space
    if isinstance(space, gymnasium.spaces.Discrete):
        actions = ActionSpec.create_discrete((int(space.n),))
    else:
        assert space.shape is not None, game
        actions = ActionSpec.create_continuous(space.shape[0])
    return BehaviorSpec((ObservationSpec.vector(seen[0]),), actions)


@dataclass(frozen=True)
class Row:
    """A task, how it is learned, and the published score.

    Attributes:
        published: mean and deviation.
        peer: arguments of the peer's class that say the same as `settings`.
    """

    task: str
    steps: int
    copies: int
    settings: dict[str, Any]
    published: tuple[float, float]
    peer: dict[str, Any]


NETWORK = {"hidden_units": 64, "num_layers": 2}

ROWS = {
    "SAC": Row(
        "Pendulum-v1",
        20_000,
        1,
        {
            "trainer_type": "sac",
            "hyperparameters": {
                "batch_size": 256,
                "buffer_size": 20_000,
                "learning_rate": 1e-3,
                "buffer_init_steps": 100,
            },
            "network_settings": NETWORK,
        },
        (-156.995, 88.714),
        {"learning_rate": 1e-3, "learning_starts": 100, "buffer_size": 20_000},
    ),
    "PPO": Row(
        "CartPole-v1",
        100_000,
        8,
        {
            "trainer_type": "ppo",
            "hyperparameters": {
                "batch_size": 256,
                "buffer_size": 256,
                "learning_rate": 1e-3,
                "num_epoch": 20,
                "lambd": 0.8,
                "beta": 0.0,
            },
            "network_settings": NETWORK,
            # Returns of about 1: values are clipped with the same epsilon as ratios, so larger ones are learned slowly.
            "reward_signals": {"extrinsic": {"gamma": 0.98, "strength": 0.02}},
            "time_horizon": 32,
        },
        (500.0, 0.0),
        {
            "learning_rate": lambda left: 1e-3 * left,
            "clip_range": lambda left: 0.2 * left,
            "n_steps": 32,
            "batch_size": 256,
            "n_epochs": 20,
            "gamma": 0.98,
            "gae_lambda": 0.8,
            "ent_coef": 0.0,
        },
    ),
}


def train(row: Row, *, seed: int) -> Policy:
    """Lets a learner play; gives its policy."""
    run = RunSettings.model_validate({"default_settings": {"max_steps": row.steps, **row.settings}})

    def make_learner(name: str, spec: BehaviorSpec, plan: Any) -> Learner:
        algorithm = find_algorithm(plan.trainer_type, where=row.task)
        return algorithm(name, spec, plan, device=torch.device("cpu"), seed=seed, parallel=False)

    with Copies(row.task, copies=row.copies, seed=1000 * seed) as game:
        game.reset()
        collector = Collector(
            game,
            run,
            make_learner=make_learner,
            lineup=Lineup(rng=np.random.default_rng(seed)),
            statistics=Statistics({}),
            timers=Timers(),
            generator=torch.Generator().manual_seed(seed),
        )
        while not collector.roster.is_finished:
            collector.step()
    return collector.behaviors["Control"].policy


def score_of(policy: Policy, task: str, *, seed: int) -> float:
    """Mean return of deterministic episodes."""
    returns = []
    with Copies(task, copies=EPISODES, seed=500_000 + seed) as game:
        game.reset()
        total, is_over = np.zeros(EPISODES), np.zeros(EPISODES, np.bool_)
        while not is_over.all():
            decision, terminal = game.get_steps(NAME)
            total[decision.agent_id] += decision.reward
            for agent, reward in zip(terminal.agent_id.tolist(), terminal.reward.tolist(), strict=True):
                if not is_over[agent]:
                    returns.append(total[agent] + reward)
                is_over[agent] = True
            output = policy.act(policy.layout.inputs(decision.obs), None, torch.Generator(), deterministic=True)
            game.set_actions(NAME, policy.actions(output))
            game.step()
    return float(np.mean(returns))


def peer_score(name: str, row: Row, *, seed: int) -> float:
    """The same by stable-baselines3."""
    import stable_baselines3  # noqa: PLC0415 - only where it is asked for
    from stable_baselines3.common.env_util import make_vec_env  # noqa: PLC0415
    from stable_baselines3.common.evaluation import evaluate_policy  # noqa: PLC0415

    games = make_vec_env(row.task, n_envs=row.copies, seed=1000 * seed)
    kind = getattr(stable_baselines3, name)
    learner = kind("MlpPolicy", games, seed=seed, device="cpu", policy_kwargs={"net_arch": [64, 64]}, **row.peer)
    learner.learn(row.steps)
    mean, _ = evaluate_policy(learner, make_vec_env(row.task, n_envs=EPISODES, seed=500_000 + seed), EPISODES)
    return float(mean)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=list(ROWS), choices=list(ROWS))
    parser.add_argument("--peer", action="store_true", help="train stable-baselines3 as well")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name in options.only:
        row = ROWS[name]
        for who in ("sparring", "stable-baselines3") if options.peer else ("sparring",):
            began = time.perf_counter()
            scores = [
                score_of(train(row, seed=seed), row.task, seed=seed)
                if who == "sparring"
                else peer_score(name, row, seed=seed)
                for seed in range(1, options.seeds + 1)
            ]
            spread = statistics.stdev(scores) if len(scores) > 1 else 0.0
            each = ", ".join(f"{score:.1f}" for score in scores)
            print(
                f"{name} {row.task} {row.steps:,} decisions, {who}: {statistics.mean(scores):.1f} ± {spread:.1f} "
                f"({each}), published {row.published[0]} ± {row.published[1]}, "
                f"{(time.perf_counter() - began) / len(scores):.0f} s a seed",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
