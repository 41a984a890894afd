"""All reward signals of one behavior together, and how they are found by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sparring.algorithms.signals.signal import RewardSignal, Transitions
from sparring.plug_ins import find_plug_in, plug_ins
from sparring.settings import BehaviorSettings
from sparring.specs import BehaviorSpec

__all__ = ["SIGNAL_GROUP", "SignalSet", "find_signal", "signal_settings"]

SIGNAL_GROUP = "sparring.reward_signals"

_ROWS_AT_ONCE = 4096

_BUILT_IN = MappingProxyType(
    {
        "extrinsic": "sparring.algorithms.signals.extrinsic:ExtrinsicSignal",
        "curiosity": "sparring.algorithms.signals.curiosity:CuriositySignal",
        "gail": "sparring.algorithms.signals.gail:GAILSignal",
        "rnd": "sparring.algorithms.signals.rnd:RNDSignal",
    }
)


def find_signal(name: str, *, where: str) -> type[RewardSignal]:
    """The class of a reward signal.

    Raises:
        SettingsError: no installed package offers it, or the one that does can't be loaded.
    """
    found = plug_ins(SIGNAL_GROUP, _BUILT_IN)
    signal: type[RewardSignal] = find_plug_in(
        name, found, RewardSignal, noun="reward signal", where=where, misfit="is none"
    )
    return signal


class SignalSet:
    """The reward signals of a behavior, in the order of its settings.

    Args:
        behavior: its name.
        spec: what the agents see and do.
        settings: of the behavior.
        device: where networks live.
        seed: of everything signals draw.

    Attributes:
        names: of the signals; the columns of values and rewards are in this order.
        gammas: their discounts.
        ignores_ends: whether each goes on after the end of an episode.
        needs_next: whether one of them looks at what followed a decision.
        needs_observations: whether one of them looks at more than the game's reward.
        learns: whether one of them learns.
        keeps_ends: whether the last observation of an ended episode is of use to one of them.
    """

    def __init__(
        self,
        behavior: str,
        spec: BehaviorSpec,
        settings: BehaviorSettings,
        *,
        device: torch.device,
        seed: np.random.SeedSequence,
    ) -> None:
        plans = signal_settings(settings)
        self.names = tuple(plans)
        self.gammas = tuple(float(plan.gamma) for plan in plans.values())
        self._strengths = torch.tensor([float(plan.strength) for plan in plans.values()], dtype=torch.float32)
        self._strengths = self._strengths.to(device)
        self._signals: dict[str, RewardSignal] = {}
        for name, plan in plans.items():
            kind = find_signal(name, where=f"behaviors.{behavior}.reward_signals.{name}")
            # By its own name, so that a signal's stream does not depend on which others there are.
            own = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *name.encode()))
            self._signals[name] = kind(behavior, spec, plan, device=device, seed=own)
        self.ignores_ends = tuple(signal.ignores_ends for signal in self._signals.values())
        self.needs_next = any(signal.needs_next for signal in self._signals.values())
        self.keeps_ends = self.needs_next or any(self.ignores_ends)
        self.needs_observations = any(name != "extrinsic" for name in self.names)
        self.learns = any(signal.optimizers() for signal in self._signals.values())

    @torch.inference_mode()
    def rewards(self, transitions: Transitions) -> Tensor:
        """Rewards `[rows, signals]`, each multiplied with its strength."""
        parts = []
        for start in range(0, len(transitions), _ROWS_AT_ONCE):
            part = transitions.rows(slice(start, start + _ROWS_AT_ONCE))
            parts.append(torch.stack([signal.reward(part) for signal in self._signals.values()], dim=1))
        return torch.cat(parts) * self._strengths

    def update(self, transitions: Transitions) -> dict[str, float]:
        """Lets every signal learn from a minibatch; gives statistics by tag."""
        report: dict[str, float] = {}
        for signal in self._signals.values():
            report |= signal.update(transitions)
        return report

    def modules(self) -> list[torch.nn.Module]:
        """Everything that learns."""
        return [module for signal in self._signals.values() for module in signal.modules()]

    def optimizers(self) -> list[torch.optim.Optimizer]:
        """The optimizers of all signals."""
        return [optimizer for signal in self._signals.values() for optimizer in signal.optimizers()]

    def state(self) -> dict[str, Any]:
        """Everything the signals' future depends on, by signal."""
        return {name: signal.state() for name, signal in self._signals.items()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Puts back what `state` gave."""
        for name, signal in self._signals.items():
            signal.restore(state[name])


def signal_settings(settings: BehaviorSettings) -> dict[str, Any]:
    """The sections of the signals a behavior has, by name."""
    plans = settings.reward_signals
    sections = {name: getattr(plans, name) for name in type(plans).model_fields}
    return {name: plan for name, plan in sections.items() if plan is not None}
