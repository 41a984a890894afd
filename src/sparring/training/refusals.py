"""What the settings may say but a run can't do: refused before anything is started."""

from __future__ import annotations

from collections.abc import Iterator

from sparring.algorithms import check_algorithms
from sparring.errors import Finding, SettingsError, nearest
from sparring.settings import Curriculum, RunSettings

__all__ = ["check_can_run"]


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
        if isinstance(value, Curriculum):
            yield from _of_lessons(f"environment_parameters.{name}.curriculum", value, settings)


def _of_lessons(where: str, plan: Curriculum, settings: RunSettings) -> Iterator[Finding]:
    """Lessons that could never be learned."""
    for number, lesson in enumerate(plan.curriculum[:-1]):
        criteria = lesson.completion_criteria
        assert criteria is not None, "every lesson but the last has criteria"
        behavior = settings.behaviors.get(criteria.behavior, settings.default_settings)
        at = f"{where}.{number}.completion_criteria"
        if behavior is None:
            near = nearest(criteria.behavior, settings.behaviors)
            yield Finding(
                "the lesson watches a behavior that is not there",
                where=f"{at}.behavior",
                found=criteria.behavior,
                expected=", ".join(settings.behaviors) or "a behavior of the settings",
                cure=f"did you mean {near[0]!r}?" if near else "",
            )
        elif criteria.measure in ("rating", "win_rate") and behavior.self_play is None:
            yield Finding(
                f"{criteria.measure} is measured in self-play, which {criteria.behavior} does not have",
                where=f"{at}.measure",
                found=criteria.measure,
                cure=f"give {criteria.behavior} a self_play section, or measure reward",
            )
