"""What the settings may say but a run can't do: refused before anything is started."""

from __future__ import annotations

from collections.abc import Iterator

from sparring.algorithms import check_algorithms
from sparring.errors import Finding, SettingsError
from sparring.settings import RunSettings

__all__ = ["check_can_run", "constants"]


def check_can_run(settings: RunSettings) -> None:
    """Whether everything the settings ask for is built.

    Raises:
        SettingsError: with everything that isn't.
    """
    findings = list(_findings(settings))
    try:
        check_algorithms(settings.behaviors, settings.default_settings)
    except SettingsError as error:
        findings += error.findings
    if findings:
        raise SettingsError(findings)


def constants(settings: RunSettings) -> dict[str, float]:
    """The environment parameters that are numbers."""
    return {name: value for name, value in settings.environment_parameters.items() if isinstance(value, float)}


def _findings(settings: RunSettings) -> Iterator[Finding]:
    listed = {f"behaviors.{name}": plan for name, plan in settings.behaviors.items()}
    if settings.default_settings is not None:
        listed["default_settings"] = settings.default_settings
    for where, plan in listed.items():
        if plan.init_path is not None:
            yield Finding(
                "files of other toolkits are not read",
                where=f"{where}.init_path",
                found=plan.init_path,
                cure="name a run of Sparring in checkpoint_settings.initialize_from (--initialize-from)",
            )
    if settings.checkpoint_settings.inference:
        yield Finding(
            "a run trains",
            where="checkpoint_settings.inference",
            cure="let its policies play with `sparring evaluate`",
        )
    for name, value in settings.environment_parameters.items():
        if not isinstance(value, float):
            yield Finding("samplers and curricula are not played yet", where=f"environment_parameters.{name}")
