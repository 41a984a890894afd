"""The lessons of one environment parameter: which one is on, what is measured, and when it is learned."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from typing import Any

from sparring.errors import nearest
from sparring.settings import CompletionCriteria, Curriculum, EnvironmentParameter, Lesson

__all__ = ["Course"]

_OLD, _NEW = 0.25, 0.75
"""Weights of the last measure and the new one where the measure is smoothed."""
_BUILT_IN = frozenset({"reward", "progress", "rating", "win_rate"})


class Course:
    """The lessons of one parameter, one after the other; a number or a sampler is one lesson without an end.

    A measure is held against its threshold whenever it changes: `reward` with every episode of the lesson, `win_rate`
    with every match, `progress` and `rating` with every step, and a statistic with every summary. Means are those of
    the latest `min_lesson_length` episodes or matches, at least one; from the first whole one on they are smoothed, if
    so set, as statistics are: 0.25 of the last value and 0.75 of the new one.

    Attributes:
        lessons: all of them, in order.
        number: of the one that is on, from 0.
        is_passed: the lesson is learned, and the next one may begin.
    """

    def __init__(self, name: str, plan: EnvironmentParameter) -> None:
        self.name = name
        self.lessons = plan.curriculum if isinstance(plan, Curriculum) else (Lesson(name=name, value=plan),)
        self.number = 0
        self.measure_anew()

    @property
    def lesson(self) -> Lesson:
        """The lesson that is on."""
        return self.lessons[self.number]

    @property
    def criteria(self) -> CompletionCriteria | None:
        """When the lesson is learned; None in the last one, whatever it says."""
        is_last = self.number == len(self.lessons) - 1
        return None if is_last else self.lesson.completion_criteria

    @property
    def watched(self) -> set[str]:
        """The behaviors any of its lessons watches."""
        return {lesson.completion_criteria.behavior for lesson in self.lessons if lesson.completion_criteria}

    def begin_next(self) -> None:
        """The next lesson is on."""
        self.number += 1

    def measure_anew(self) -> None:
        """What was measured so far counts no more."""
        criteria = self.criteria
        self.is_passed = False
        self._count = 0  # episodes, or matches where those are measured
        self._recent: deque[float] = deque(maxlen=1 if criteria is None else max(1, criteria.min_lesson_length))
        self._smoothed: float | None = None
        self._measured: float | None = None

    # -- measures ------------------------------------------------------------------------------------------------

    def add_episode(self, behavior: str, own: float, group: float) -> None:
        """A learning agent's episode of the lesson ended with these returns, its own and its group's."""
        criteria = self._criteria_for(behavior)
        if criteria is None or criteria.measure == "win_rate":
            return
        self._count += 1
        if criteria.measure == "reward":
            self._average(criteria, {"sum": own + group, "own": own, "group": group}[criteria.reward])
        self._check(criteria)

    def add_match(self, behavior: str, score: float, *, is_against_oldest: bool) -> None:
        """The learner ended a match of the lesson against snapshots in the window: 1 won, 0.5 drawn, 0 lost."""
        criteria = self._criteria_for(behavior, "win_rate")
        if criteria is not None and (is_against_oldest or criteria.against == "snapshots"):
            self._count += 1
            self._average(criteria, score)
            self._check(criteria)

    def set_measure(self, behavior: str, measure: str, value: float) -> None:
        """`progress` or `rating` is this now."""
        criteria = self._criteria_for(behavior, measure)
        if criteria is not None:
            self._measured = value
            self._check(criteria)

    def add_summary(self, behavior: str, values: Mapping[str, float]) -> None:
        """The statistics of a window that began and ended in the lesson, by tag."""
        criteria = self._criteria_for(behavior)
        if criteria is not None and criteria.measure not in _BUILT_IN and criteria.measure in values:
            self._measured = self._smooth(criteria, values[criteria.measure])
            self._check(criteria)

    def _criteria_for(self, behavior: str, measure: str | None = None) -> CompletionCriteria | None:
        criteria = self.criteria
        is_meant = criteria is not None and criteria.behavior == behavior and measure in (None, criteria.measure)
        return criteria if is_meant else None

    def _average(self, criteria: CompletionCriteria, value: float) -> None:
        self._recent.append(value)
        mean = sum(self._recent) / len(self._recent)
        self._measured = self._smooth(criteria, mean) if len(self._recent) == self._recent.maxlen else mean

    def _smooth(self, criteria: CompletionCriteria, value: float) -> float:
        if criteria.signal_smoothing and self._smoothed is not None:
            value = _OLD * self._smoothed + _NEW * value
        self._smoothed = value
        return value

    def _check(self, criteria: CompletionCriteria) -> None:
        is_long_enough = self._count >= criteria.min_lesson_length
        if is_long_enough and self._measured is not None and self._measured > criteria.threshold:
            self.is_passed = True

    # -- telling -------------------------------------------------------------------------------------------------

    def waits_for(self, behaviors: Collection[str], tags: Mapping[str, Collection[str]]) -> str | None:
        """What the lesson still waits for, in words; None in the last one.

        Args:
            behaviors: that the game has announced.
            tags: of the statistics in the last summary, by behavior.
        """
        criteria = self.criteria
        if criteria is None:
            return None
        head = f"{self.name} is in lesson {self.number + 1} of {len(self.lessons)} ({self.lesson.name}) and waits for"
        if criteria.behavior not in behaviors:
            return (
                f"{head} the behavior {criteria.behavior}, which has not appeared{_near(criteria.behavior, behaviors)}"
            )
        missing = []
        if self._measured is None or self._measured <= criteria.threshold:
            missing.append(self._measure_in_words(criteria, tags.get(criteria.behavior, ())))
        left = criteria.min_lesson_length - self._count
        if left > 0:
            what = "match" if criteria.measure == "win_rate" else "episode"
            plural = "" if left == 1 else "es" if what == "match" else "s"
            missing.append(f"{left:,} more {what}{plural} of {criteria.behavior}")
        return f"{head} {' and '.join(missing) or 'the next step'}"

    def _measure_in_words(self, criteria: CompletionCriteria, tags: Collection[str]) -> str:
        what = f"{criteria.measure} of {criteria.behavior} above {criteria.threshold:g}"
        if self._measured is not None:
            return f"{what} (now {self._measured:.3f})"
        if criteria.measure not in _BUILT_IN and tags and criteria.measure not in tags:
            return f"{what} (no summary had {criteria.measure}{_near(criteria.measure, tags)})"
        return f"{what} (not measured yet)"

    # -- state ---------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Which lesson is on and all that was measured in it."""
        return {
            "lesson": self.lesson.name,
            "number": self.number,
            "count": self._count,
            "recent": list(self._recent),
            "smoothed": self._smoothed,
            "measured": self._measured,
            "is_passed": self.is_passed,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Puts back what `state` gave; lessons that were edited since are told by their name, else by their number."""
        names = [lesson.name for lesson in self.lessons]
        is_known = state["lesson"] in names
        self.number = names.index(state["lesson"]) if is_known else min(int(state["number"]), len(names) - 1)
        self.measure_anew()
        if is_known:
            self._count = int(state["count"])
            self._recent.extend(float(value) for value in state["recent"])
            self._smoothed = state["smoothed"]
            self._measured = state["measured"]
            self.is_passed = bool(state["is_passed"]) and self.criteria is not None


def _near(name: str, known: Collection[str]) -> str:
    like = nearest(name, known)
    return f"; did you mean {like[0]}?" if like else ""
