"""What the settings may say but a run can't do: refused before anything is started.

What needs no algorithm is refused without waiting for torch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sparring.errors import Finding, SettingsError, nearest
from sparring.runs import RunFolder, StartMode
from sparring.settings import Curriculum, RunSettings

__all__ = ["check_announced", "check_can_run", "check_plan", "check_start", "start_mode", "unlisted"]


def start_mode(settings: RunSettings) -> StartMode:
    """How a run with these settings begins."""
    start = settings.checkpoint_settings
    return "resume" if start.resume or start.load_model else "force" if start.force else "new"


def check_start(settings: RunSettings) -> None:
    """Whether a run may begin in its folder, and whether the one it takes its networks from is there.

    Raises:
        RunError: it may not; nothing was touched.
    """
    start, mode = settings.checkpoint_settings, start_mode(settings)
    RunFolder.planned(start.results_dir, start.run_id, mode)
    if start.initialize_from and mode != "resume":
        RunFolder.existing(start.results_dir, start.initialize_from)


def check_plan(settings: RunSettings) -> None:
    """Whether what the settings ask for can be had at all, as far as no algorithm is asked.

    Raises:
        SettingsError: with everything that can't.
    """
    findings = list(_findings(settings))
    if findings:
        raise SettingsError(findings)


def check_can_run(settings: RunSettings) -> None:
    """Whether everything the settings ask for is built, algorithms included.

    Raises:
        SettingsError: with everything that isn't.
    """
    from sparring.algorithms import check_algorithms  # noqa: PLC0415 - brings in torch

    findings = list(_findings(settings))
    try:
        check_algorithms(settings.behaviors, settings.default_settings)
    except SettingsError as error:
        findings += error.findings
    if findings:
        raise SettingsError(findings)


def check_announced(settings: RunSettings, announced: Iterable[str]) -> list[str]:
    """Whether the settings fit the behaviors a game announces at its start.

    Args:
        settings: of the run.
        announced: names of behaviors, without teams.

    Returns:
        What is to be told: who gets the default settings, and who is still awaited.

    Raises:
        SettingsError: a behavior has no settings, or has the default ones although its name is so much like that of a
            section with self_play, which nothing would use, that one of the two must be misspelt.
    """
    names = sorted(set(announced))
    by_default = [name for name in names if name not in settings.behaviors]
    awaited = [name for name in settings.behaviors if name not in names]
    unused = [name for name in awaited if settings.behaviors[name].self_play is not None]
    if by_default and settings.default_settings is None:
        raise SettingsError([unlisted(settings, name, unused=unused) for name in by_default])
    findings = [
        Finding(
            f"nothing uses the self_play section of {like[0]!r}, for the game has a behavior {name!r}",
            where="behaviors",
            cure="give both the same name; as it stands, the game's would learn with default_settings",
        )
        for name in by_default
        if (like := nearest(name, unused, limit=1))
    ]
    if findings:
        raise SettingsError(findings)
    notices = [f"{name} is not listed and learns with default_settings" for name in by_default]
    return notices + [f"the settings list {name}, which the game has not announced yet" for name in awaited if names]


def unlisted(settings: RunSettings, name: str, *, unused: Iterable[str] = ()) -> Finding:
    """What is said of a behavior without settings; `unused` are sections with self_play that nothing uses so far."""
    like = nearest(name, settings.behaviors, limit=1)
    cures = [f"did you mean {like[0]!r}?"] if like else []
    cures += [f"The self_play section of {like[0]!r} would be unused."] if like and like[0] in unused else []
    cures += [f"{'Else add' if like else 'add'} a section behaviors.{name}, or default_settings for all not listed"]
    return Finding(
        f"the game has a behavior {name!r} that the settings do not list",
        where="behaviors",
        found=", ".join(settings.behaviors) or "none",
        cure=" ".join(cures),
    )


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
