"""The environment parameters of a run: the lessons each of them is in, and what the game is told of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sparring.environments import Environment
from sparring.environments.samplers import in_words, moments
from sparring.errors import Finding, SettingsError
from sparring.settings import ConstantParameters, EnvironmentParameter, Sampler
from sparring.statistics import Aggregation, Statistics, Summary
from sparring.training.course import Course
from sparring.training.seeds import SeedStreams

__all__ = ["Advance", "Lessons"]


@dataclass(frozen=True, slots=True)
class Advance:
    """What began: the parameters whose next lesson is on, and whether all games begin anew with it."""

    parameters: tuple[str, ...]
    requires_reset: bool


class Lessons:
    """All environment parameters of a run.

    When any parameter comes to its next lesson the game is another one: what was measured so far counts no more for
    any of them, and neither do episodes, matches and summaries that began before.

    Args:
        parameters: of the settings.
        seeds: streams of the run, from which samplers without a seed of their own get one.
    """

    def __init__(self, parameters: Mapping[str, EnvironmentParameter], seeds: SeedStreams) -> None:
        self._courses = {name: Course(name, plan) for name, plan in parameters.items()}
        self._seeds = seeds
        self._earlier_matches: set[int] = set()
        self._mixed_windows: set[str] = set()
        self._tags: dict[str, list[str]] = {}

    @property
    def numbers(self) -> dict[str, int]:
        """The number of the lesson each parameter is in, from 0."""
        return {name: course.number for name, course in self._courses.items()}

    def value(self, name: str, *, purpose: str = "parameter") -> float | Sampler:
        """What a parameter is in its lesson; seeds of samplers are numbers.

        Args:
            name: the parameter.
            purpose: streams of another purpose draw other values.
        """
        course = self._courses[name]
        return self._seeded(course.lesson.value, f"{purpose} {name} lesson {course.number}")

    def _seeded(self, value: float | Sampler, stream: str) -> float | Sampler:
        if not isinstance(value, Sampler):
            return value
        plan = value.sampler_parameters
        if isinstance(plan, ConstantParameters):
            return plan.value
        if plan.seed >= 0:
            return value
        seed = self._seeds.number(stream) >> 32  # games take 31 bits
        return value.model_copy(update={"sampler_parameters": plan.model_copy(update={"seed": seed})})

    def tell(self, environment: Environment, names: Iterable[str] | None = None, *, purpose: str = "parameter") -> None:
        """Sets parameters, all unless some are named, to what they are in their lessons.

        Raises:
            SettingsError: the game can't be played with them.
        """
        names = self._courses if names is None else names
        _set(environment, {name: self.value(name, purpose=purpose) for name in names})

    def rehearse(self, environment: Environment) -> None:
        """Sets every value of every lesson once, so that none is refused in the middle of a run.

        Raises:
            SettingsError: with all values the game can't be played with.
        """
        findings: list[Finding] = []
        for name, course in self._courses.items():
            for number, lesson in enumerate(course.lessons):
                place = f".curriculum.{number}.value" if len(course.lessons) > 1 else ""
                where = f"environment_parameters.{name}{place}"
                refused = _refusals(environment, {name: self._seeded(lesson.value, "rehearsal")})
                findings += [replace(finding, where=where) for finding in refused]
        if findings:
            raise SettingsError(findings)

    # -- what is measured ----------------------------------------------------------------------------------------

    def add_episodes(self, behavior: str, own: Iterable[float], group: Iterable[float]) -> None:
        """Episodes of learning agents that began in the lessons of now have ended, in this order."""
        for own_return, group_return in zip(own, group, strict=True):
            for course in self._courses.values():
                course.add_episode(behavior, own_return, group_return)

    def end_match(self, arena: int) -> bool:
        """The match of an arena is over; whether it was played in the lessons of now."""
        is_of_now = arena not in self._earlier_matches
        self._earlier_matches.discard(arena)
        return is_of_now

    def add_match(self, behavior: str, score: float, *, is_against_oldest: bool) -> None:
        """As `Course.add_match`, for a match of the lessons of now."""
        for course in self._courses.values():
            course.add_match(behavior, score, is_against_oldest=is_against_oldest)

    def set_measures(self, behavior: str, *, progress: float, rating: float | None) -> None:
        """How far a behavior has come, from 0 to 1, and its rating, if it has one."""
        for course in self._courses.values():
            course.set_measure(behavior, "progress", progress)
            if rating is not None:
                course.set_measure(behavior, "rating", rating)

    def add_summary(self, behavior: str, summaries: Mapping[str, Summary]) -> None:
        """The summary of a window; one that began before the lessons of now is left out."""
        self._tags[behavior] = list(summaries)
        if behavior in self._mixed_windows:
            self._mixed_windows.discard(behavior)
            return
        values = {tag: summary.value for tag, summary in summaries.items()}
        for course in self._courses.values():
            course.add_summary(behavior, values)

    def advance(self, arenas: Iterable[int]) -> Advance | None:
        """Begins the next lesson of the parameters whose lesson is learned; None if there are none.

        Args:
            arenas: where a match is under way, which began in the old lesson.
        """
        learned = [course for course in self._courses.values() if course.is_passed]
        if not learned:
            return None
        requires_reset = any(course.criteria is not None and course.criteria.require_reset for course in learned)
        for course in learned:
            course.begin_next()
        for course in self._courses.values():
            course.measure_anew()
        self._earlier_matches = set(arenas)
        self._mixed_windows = {behavior for course in self._courses.values() for behavior in course.watched}
        return Advance(tuple(course.name for course in learned), requires_reset)

    def forget_matches(self, arenas: Iterable[int] | None = None) -> None:
        """Some arenas, or all, began anew: no match is under way there."""
        self._earlier_matches.difference_update(list(self._earlier_matches) if arenas is None else arenas)

    # -- telling -------------------------------------------------------------------------------------------------

    def said(self, name: str) -> str:
        """Which lesson a parameter is in, as users of ML-Agents are told it."""
        lesson = self._courses[name].lesson
        return f"Parameter '{name}' is in lesson '{lesson.name}' and has value '{in_words(lesson.value)}'."

    def waits(self, behaviors: Collection[str], *, watching: str | None = None) -> list[str]:
        """What each lesson that ends still waits for.

        Args:
            behaviors: that the game has announced.
            watching: only lessons that watch this behavior, or one the game does not have.
        """
        others = set() if watching is None else set(behaviors) - {watching}
        lines = (
            course.waits_for(behaviors, self._tags)
            for course in self._courses.values()
            if course.criteria is not None and course.criteria.behavior not in others
        )
        return [line for line in lines if line is not None]

    def report(self, statistics: Statistics, category: str) -> None:
        """Adds lessons and parameters to the statistics; of a sampler the mean and the standard deviation."""
        for name, course in self._courses.items():
            value = course.lesson.value
            mean, deviation = moments(value) if isinstance(value, Sampler) else (value, 0.0)
            keys = {f"Environment/Lesson Number/{name}": float(course.number), f"Environment/Parameter/{name}": mean}
            if deviation > 0.0:
                keys[f"Environment/Parameter Deviation/{name}"] = deviation
            for key, number in keys.items():
                statistics.add(category, key, number, Aggregation.MOST_RECENT)

    # -- state ---------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Everything the lessons to come depend on."""
        return {
            "courses": {name: course.state() for name, course in self._courses.items()},
            "earlier_matches": sorted(self._earlier_matches),
            "mixed_windows": sorted(self._mixed_windows),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Puts back what `state` gave; parameters that are new in the settings begin with their first lesson."""
        for name, course in self._courses.items():
            if name in state["courses"]:
                course.restore(state["courses"][name])
        self._earlier_matches = {int(arena) for arena in state["earlier_matches"]}
        self._mixed_windows = {str(behavior) for behavior in state["mixed_windows"]}


def _set(environment: Environment, values: Mapping[str, float | Sampler]) -> None:
    environment.set_parameters({name: value for name, value in values.items() if not isinstance(value, Sampler)})
    environment.set_samplers({name: value for name, value in values.items() if isinstance(value, Sampler)})


def _refusals(environment: Environment, values: Mapping[str, float | Sampler]) -> tuple[Finding, ...]:
    try:
        _set(environment, values)
    except SettingsError as error:
        return error.findings
    return ()
