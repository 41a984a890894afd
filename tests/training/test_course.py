"""A lesson ends exactly when its measure says so: against a reference that computes everything anew at every event."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparring.settings import CompletionCriteria, Curriculum
from sparring.training.course import Course

TAG = "Match/Goal"
Event = tuple[str, Any]


def course(*criteria: dict[str, Any]) -> Course:
    """Lessons 0, 1, … with these criteria, and a last one."""
    lessons = [
        {"name": f"L{number}", "value": float(number), "completion_criteria": {"behavior": "Duel", **each}}
        for number, each in enumerate(criteria)
    ]
    plan = {"curriculum": [*lessons, {"name": "end", "value": 9.0}]}
    return Course("wind", Curriculum.model_validate(plan))


def passed(own: Course) -> bool:
    return own.is_passed


def happen(own: Course, event: Event, behavior: str = "Duel") -> None:
    kind, value = event
    if kind == "episode":
        own.add_episode(behavior, *value)
    elif kind == "match":
        own.add_match(behavior, value[0], is_against_oldest=value[1])
    elif kind == "summary":
        own.add_summary(behavior, {TAG: value, "Other": 100.0})
    else:
        own.set_measure(behavior, kind, value)


# -- the reference -------------------------------------------------------------------------------------------------


def smoothed(values: Sequence[float], criteria: CompletionCriteria) -> float:
    """0.25 of what was and 0.75 of what is, from the first on; the last value where nothing is smoothed."""
    found = values[0]
    for value in values[1:]:
        found = 0.25 * found + 0.75 * value if criteria.signal_smoothing else value
    return found


def whole_means(values: Sequence[float], length: int) -> list[float]:
    return [sum(values[end - length : end]) / length for end in range(length, len(values) + 1)]


def is_learned(events: Sequence[Event], criteria: CompletionCriteria) -> bool:
    """Whether the lesson would be over after these events, if nothing before had ended it."""
    shortest, measure = criteria.min_lesson_length, criteria.measure
    episodes = [value for kind, value in events if kind == "episode"]
    values: list[float]
    if measure in ("reward", "win_rate"):
        if measure == "reward":
            part: Callable[[Any], float] = {"sum": sum, "own": lambda v: v[0], "group": lambda v: v[1]}[criteria.reward]
            counted = [part(value) for value in episodes]
        else:
            met = [value for kind, value in events if kind == "match"]
            counted = [score for score, oldest in met if oldest or criteria.against == "snapshots"]
        means = whole_means(counted, max(1, shortest))
        return bool(means) and smoothed(means, criteria) > criteria.threshold
    kind = measure if measure in ("progress", "rating") else "summary"
    values = [value for each, value in events if each == kind]
    if not values or len(episodes) < shortest:
        return False
    return (smoothed(values, criteria) if kind == "summary" else values[-1]) > criteria.threshold


def moment(events: Sequence[Event], criteria: CompletionCriteria) -> int | None:
    """The event with which the lesson is learned."""
    return next((end for end in range(len(events)) if is_learned(events[: end + 1], criteria)), None)


numbers = st.integers(-4, 4).map(lambda number: number / 4.0)  # sums and means of these are exact
scores = st.sampled_from([0.0, 0.5, 1.0])
events = st.lists(
    st.one_of(
        st.tuples(st.just("episode"), st.tuples(numbers, numbers)),
        st.tuples(st.just("match"), st.tuples(scores, st.booleans())),
        st.tuples(st.just("progress"), scores),
        st.tuples(st.just("rating"), numbers),
        st.tuples(st.just("summary"), numbers),
    ),
    max_size=40,
)


@given(
    events,
    st.fixed_dictionaries(
        {
            "measure": st.sampled_from(["reward", "progress", "rating", "win_rate", TAG]),
            "threshold": st.sampled_from([0.0, 0.2, 0.55]),
            "min_lesson_length": st.integers(0, 5),
            "signal_smoothing": st.booleans(),
            "reward": st.sampled_from(["sum", "own", "group"]),
            "against": st.sampled_from(["snapshots", "oldest"]),
        }
    ),
)
def test_a_lesson_ends_with_the_event_the_reference_names(history: list[Event], plan: dict[str, Any]) -> None:
    criteria = CompletionCriteria.model_validate({"behavior": "Duel", **plan})
    own = course(plan)
    found = None
    for number, event in enumerate(history):
        happen(own, event, behavior="Other")  # another behavior's
        assert not passed(own)
        happen(own, event)
        if passed(own):
            found = number
            break
    assert found == moment(history, criteria)


@given(events, events, st.sampled_from(["reward", "win_rate", TAG]), st.integers(0, 4))
def test_a_restored_lesson_goes_on_exactly(
    before: list[Event], after: list[Event], measure: str, shortest: int
) -> None:
    plan = {"measure": measure, "threshold": 0.3, "min_lesson_length": shortest}
    straight, first, second = course(plan), course(plan), course(plan)
    for event in before:
        happen(straight, event)
        happen(first, event)
    second.restore(first.state())
    assert second.state() == straight.state()
    for event in after:
        happen(straight, event)
        happen(second, event)
    assert second.state() == straight.state()


# -- by hand -------------------------------------------------------------------------------------------------------


def test_the_smoothed_mean_by_hand() -> None:
    # Means of two: (0 + 0.4) / 2 = 0.2, then (0.4 + 1) / 2 = 0.7: 0.25 · 0.2 + 0.75 · 0.7 = 0.575, then
    # (1 + 0.2) / 2 = 0.6: 0.25 · 0.575 + 0.75 · 0.6 = 0.59375.
    own = course({"threshold": 0.59, "min_lesson_length": 2})
    for value, is_passed in ((0.0, False), (0.4, False), (1.0, False), (0.2, True)):
        own.add_episode("Duel", value, 0.0)
        assert passed(own) is is_passed
    assert own.state()["measured"] == pytest.approx(0.59375)


def test_the_threshold_itself_does_not_pass() -> None:
    own = course({"threshold": 0.5, "signal_smoothing": False})
    own.add_episode("Duel", 0.5, 0.0)
    assert not passed(own)
    own.add_episode("Duel", 0.25, 0.5)
    assert passed(own)


def test_nothing_passes_before_anything_was_measured() -> None:
    own = course({"threshold": -5.0})
    own.set_measure("Duel", "progress", 0.5)
    own.add_summary("Duel", {"reward": 1.0})
    assert not passed(own)


def test_the_next_lesson_measures_anew_and_the_last_one_never_ends() -> None:
    own = course({"threshold": 0.5}, {"threshold": 0.6, "min_lesson_length": 2})
    own.add_episode("Duel", 9.0, 0.0)
    own.begin_next()
    own.measure_anew()
    assert (own.number, own.lesson.value, passed(own)) == (1, 1.0, False)
    own.add_episode("Duel", 0.7, 0.0)
    assert not passed(own)  # of two episodes one is there, and the nine of before is forgotten
    own.add_episode("Duel", 0.4, 0.0)
    assert not passed(own)  # their mean, 0.55, is no pass, and the 0.7 was never smoothed in
    own.add_episode("Duel", 0.9, 0.0)
    assert passed(own)  # 0.25 · 0.55 + 0.75 · 0.65 = 0.625
    own.begin_next()
    own.measure_anew()
    own.add_episode("Duel", 9.0, 0.0)
    assert (own.number, own.criteria, passed(own)) == (2, None, False)


def test_a_number_is_one_lesson_without_an_end() -> None:
    own = Course("wind", 3.0)
    own.add_episode("Duel", 9.0, 0.0)
    assert (own.lesson.name, own.lesson.value, passed(own)) == ("wind", 3.0, False)
    assert own.waits_for(["Duel"], {}) is None


def test_lessons_that_were_edited_are_found_by_name_else_by_number() -> None:
    own = course({"threshold": 1.0}, {"threshold": 2.0})
    own.begin_next()
    own.measure_anew()
    own.add_episode("Duel", 0.5, 0.0)
    state = own.state()

    def restored(*names: str) -> tuple[int, Any]:
        ends = {"completion_criteria": {"behavior": "Duel", "threshold": 1.0}}
        lessons = [{"name": name, "value": 0.0, **ends} for name in names]
        other = Course("wind", Curriculum.model_validate({"curriculum": lessons}))
        other.restore(state)
        return other.number, other.state()["measured"]

    assert restored("new", "L0", "L1", "end") == (2, 0.5)
    assert restored("a", "b", "c") == (1, None)
    assert restored("only") == (0, None)


# -- what is said --------------------------------------------------------------------------------------------------


def test_a_lesson_says_what_it_still_waits_for() -> None:
    own = course({"threshold": 0.5, "min_lesson_length": 3})
    head = "wind is in lesson 1 of 2 (L0) and waits for "

    def said() -> str | None:
        return own.waits_for(["Duel"], {})

    assert said() == head + "reward of Duel above 0.5 (not measured yet) and 3 more episodes of Duel"
    own.add_episode("Duel", 0.25, 0.0)
    own.add_episode("Duel", 0.0, 0.0)
    assert said() == head + "reward of Duel above 0.5 (now 0.125) and 1 more episode of Duel"
    own.add_episode("Duel", 2.0, 0.0)
    assert said() == head + "the next step"
    own.begin_next()
    own.measure_anew()
    assert said() is None


def test_matches_are_counted_where_they_are_measured() -> None:
    own = course({"measure": "win_rate", "threshold": 0.5, "min_lesson_length": 2})
    own.add_episode("Duel", 1.0, 0.0)
    own.add_match("Duel", 1.0, is_against_oldest=False)
    assert own.waits_for(["Duel"], {}) == "wind is in lesson 1 of 2 (L0) and waits for 1 more match of Duel"


def test_misspelt_behaviors_and_tags_are_named_with_the_nearest_ones() -> None:
    own = course({"measure": "Match/Gaol", "threshold": 0.5})
    head = "wind is in lesson 1 of 2 (L0) and waits for "
    assert own.waits_for(["Due1"], {}) == head + "the behavior Duel, which has not appeared; did you mean Due1?"
    assert own.waits_for(["Duel"], {"Duel": [TAG, "Step"]}) == (
        head + "Match/Gaol of Duel above 0.5 (no summary had Match/Gaol; did you mean Match/Goal?)"
    )
    assert own.waits_for(["Duel"], {}) == head + "Match/Gaol of Duel above 0.5 (not measured yet)"
