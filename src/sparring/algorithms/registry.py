"""Algorithms by the name users write as `trainer_type`, the built-in ones and those of plug-ins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint
from types import MappingProxyType

from sparring.algorithms.learner import Learner
from sparring.errors import Finding, SettingsError
from sparring.plug_ins import find_plug_in, plug_ins
from sparring.settings import BehaviorSettings

__all__ = ["ALGORITHM_GROUP", "available_algorithms", "check_algorithms", "find_algorithm"]

ALGORITHM_GROUP = "sparring.algorithms"

_BUILT_IN = MappingProxyType(
    {
        "ppo": "sparring.algorithms.ppo:PPOLearner",
        "poca": "sparring.algorithms.poca:POCALearner",
        "sac": "sparring.algorithms.sac:SACLearner",
    }
)


def available_algorithms() -> list[str]:
    """The names of all algorithms that are installed, sorted; nothing is imported."""
    return sorted(_found())


def find_algorithm(trainer_type: str, *, where: str) -> type[Learner]:
    """The learner class of an algorithm.

    Args:
        trainer_type: its name.
        where: the setting that names it, for messages.

    Raises:
        SettingsError: no installed package offers it, or the one that does can't be loaded.
    """
    found = _found()
    learner: type[Learner] = find_plug_in(
        trainer_type, found, Learner, noun="algorithm", where=where, misfit="is not a learner"
    )
    return learner


def check_algorithms(behaviors: Mapping[str, BehaviorSettings], default: BehaviorSettings | None = None) -> None:
    """Whether every behavior can be learned as its settings say; asked before a game is started.

    Args:
        behaviors: settings by behavior.
        default: those of behaviors that are not listed.

    Raises:
        SettingsError: with everything that can't.
    """
    listed = dict(behaviors) if default is None else {**behaviors, "default_settings": default}
    findings = [finding for name, settings in listed.items() for finding in _refusals(name, settings)]
    if findings:
        raise SettingsError(findings)


def _refusals(name: str, settings: BehaviorSettings) -> Sequence[Finding]:
    try:
        find_algorithm(settings.trainer_type, where=f"behaviors.{name}.trainer_type").check_settings(name, settings)
    except SettingsError as error:
        return error.findings
    return ()


def _found() -> dict[str, EntryPoint]:
    return plug_ins(ALGORITHM_GROUP, _BUILT_IN)
