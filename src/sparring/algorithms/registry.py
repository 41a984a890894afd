"""Algorithms by the name users write as `trainer_type`, the built-in ones and those of plug-ins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType

from sparring.algorithms.learner import Learner
from sparring.errors import Finding, SettingsError, nearest
from sparring.settings import BehaviorSettings

__all__ = ["ALGORITHM_GROUP", "available_algorithms", "check_algorithms", "find_algorithm"]

ALGORITHM_GROUP = "sparring.algorithms"

# Declared in pyproject.toml as well; named here so that they are also found where the package's metadata is missing
# (a source tree on the path, a frozen program).
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
    if trainer_type not in found:
        near = nearest(trainer_type, found, limit=1)
        raise SettingsError(
            f"no algorithm is called {trainer_type!r}",
            where=where,
            expected=f"one of {', '.join(sorted(found))}",
            cure=f"did you mean {near[0]!r}?" if near else "install the package that offers it",
        )
    try:
        learner = found[trainer_type].load()
    except Exception as error:  # a plug-in may raise anything while it is imported
        raise SettingsError(
            f"the algorithm {trainer_type!r} can't be loaded",
            where=where,
            found=f"{type(error).__name__}: {error}",
            cure=f"reinstall the package that offers {found[trainer_type].value}",
        ) from error
    if not (isinstance(learner, type) and issubclass(learner, Learner)):
        raise SettingsError(
            f"the algorithm {trainer_type!r} is not a learner",
            where=where,
            found=found[trainer_type].value,
            expected="a class made from sparring.algorithms.Learner",
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
    """Entry points by name; a built-in name can't be taken over by another package."""
    found = {entry.name: entry for entry in entry_points(group=ALGORITHM_GROUP)}
    built_in = {name: EntryPoint(name, value, ALGORITHM_GROUP) for name, value in _BUILT_IN.items()}
    return {**found, **built_in}
