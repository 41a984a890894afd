"""All parameters of a run: what is told to the game, whose draws nobody shares, and what counts after a change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from sparring.errors import SettingsError
from sparring.settings import RunSettings, Sampler
from sparring.statistics import Statistics
from sparring.training.lessons import Advance, Lessons
from sparring.training.refusals import check_can_run
from sparring.training.seeds import SeedStreams
from tests.builders import ScriptedGame
from tests.statistics.builders import progress_at, summary_of

UNIFORM = {"sampler_type": "uniform", "sampler_parameters": {"min_value": 1.0, "max_value": 3.0}}


def lesson(name: str, value: Any, **criteria: Any) -> dict[str, Any]:
    return {"name": name, "value": value, "completion_criteria": {"behavior": "Duel", "threshold": 0.5, **criteria}}


def lessons(seed: int = 0, /, **parameters: Any) -> Lessons:
    settings = RunSettings.model_validate({"environment_parameters": parameters})
    return Lessons(settings.environment_parameters, SeedStreams(seed))


def taught(own: Lessons, value: float = 1.0) -> Advance | None:
    own.add_episodes("Duel", [value], [0.0])
    return own.advance(range(2))


class Listener(ScriptedGame):
    """Remembers what it was told."""

    def __init__(self) -> None:
        super().__init__({"Duel?team=0": []})
        self.told: list[dict[str, Any]] = []

    def set_parameters(self, parameters: Mapping[str, float]) -> None:
        self.told.append(dict(parameters))

    def set_samplers(self, samplers: Mapping[str, Sampler]) -> None:
        self.told.append(dict(samplers))


def test_the_game_is_told_all_and_then_what_changes() -> None:
    own, game = (
        lessons(fixed=3.0, drawn=UNIFORM, wind={"curriculum": [lesson("a", 1.0), lesson("b", UNIFORM)]}),
        Listener(),
    )
    own.tell(game)
    numbers, samplers = game.told
    assert numbers == {"fixed": 3.0, "wind": 1.0}
    assert list(samplers) == ["drawn"]
    advance = taught(own)
    assert advance == Advance(("wind",), requires_reset=False)
    assert own.numbers == {"fixed": 0, "drawn": 0, "wind": 1}
    own.tell(game, advance.parameters)
    assert game.told[2] == {}
    assert list(game.told[3]) == ["wind"]
    assert taught(own) is None


def test_samplers_have_streams_by_run_parameter_lesson_and_purpose_unless_a_seed_is_given() -> None:
    def seed(own: Lessons, name: str = "wind", **how: str) -> int:
        value = own.value(name, **how)
        assert isinstance(value, Sampler)
        return value.sampler_parameters.seed

    own = lessons(wind={"curriculum": [lesson("a", UNIFORM), lesson("b", UNIFORM)]}, size=UNIFORM)
    seeds = {seed(own), seed(own, "size"), seed(own, purpose="evaluation"), seed(lessons(1, wind=UNIFORM))}
    taught(own)
    seeds.add(seed(own))
    assert len(seeds) == 5
    assert all(0 <= each < 2**31 for each in seeds)
    given = {"sampler_type": "uniform", "sampler_parameters": {"seed": 7}}
    assert seed(lessons(wind=given)) == seed(lessons(wind=given), purpose="evaluation") == 7


def test_a_constant_sampler_is_a_number() -> None:
    assert lessons(wind={"sampler_type": "constant", "sampler_parameters": {"value": 4.0}}).value("wind") == 4.0


def test_a_reset_is_wanted_if_any_lesson_that_ends_wants_one() -> None:
    first = [lesson("a", 1.0), lesson("b", 2.0)]
    second = [lesson("a", 1.0, require_reset=True), lesson("b", 2.0)]
    assert taught(lessons(x={"curriculum": first}, y={"curriculum": second})) == Advance(
        ("x", "y"), requires_reset=True
    )
    assert taught(lessons(x={"curriculum": first})) == Advance(("x",), requires_reset=False)


def test_an_advance_of_one_parameter_makes_all_measure_anew() -> None:
    own = lessons(
        x={"curriculum": [lesson("a", 1.0), lesson("b", 2.0)]},
        y={"curriculum": [lesson("a", 1.0, threshold=0.0, min_lesson_length=2), lesson("b", 2.0)]},
    )
    assert taught(own) == Advance(("x",), requires_reset=False)
    assert taught(own) is None  # of the two episodes one was before the change
    assert taught(own) == Advance(("y",), requires_reset=False)


def test_matches_that_began_before_a_change_do_not_count_and_later_ones_do() -> None:
    own = lessons(x={"curriculum": [lesson("a", 1.0), lesson("b", 2.0)]})
    assert own.end_match(0)
    taught(own)  # with two arenas
    assert [own.end_match(arena) for arena in (0, 0, 5, 1, 1)] == [False, True, True, False, True]


def test_matches_count_where_the_game_began_anew() -> None:
    own = lessons(x={"curriculum": [lesson("a", 1.0), lesson("b", 2.0), lesson("c", 3.0)]})
    taught(own)
    own.forget_matches([0])
    assert [own.end_match(arena) for arena in (0, 1)] == [True, False]
    taught(own)
    own.forget_matches()
    assert [own.end_match(arena) for arena in (0, 1)] == [True, True]


def test_a_summary_whose_window_began_before_a_change_does_not_count() -> None:
    own = lessons(
        x={"curriculum": [lesson("a", 1.0, measure="Goal"), lesson("b", 2.0, measure="Goal"), lesson("c", 3.0)]}
    )
    summaries = {"Goal": summary_of(1.0)}
    own.add_summary("Duel", summaries)
    assert own.advance(()) is not None
    own.add_summary("Duel", summaries)
    assert own.advance(()) is None
    own.add_summary("Duel", summaries)
    assert own.advance(()) is not None


def test_a_restored_run_knows_what_was_before_the_change() -> None:
    plan = {"x": {"curriculum": [lesson("a", 1.0), lesson("b", 2.0, measure="Goal"), lesson("c", 3.0)]}}
    own, other = lessons(**plan), lessons(**plan, new=4.0)
    taught(own)
    other.restore(own.state())
    assert other.numbers == {"x": 1, "new": 0}
    assert not other.end_match(1)
    other.add_summary("Duel", {"Goal": summary_of(1.0)})
    assert other.advance(()) is None


def test_lessons_and_values_are_in_the_statistics_of_every_behavior() -> None:
    own = lessons(fixed=3.0, wind={"curriculum": [lesson("a", 1.0), lesson("b", UNIFORM)]})
    taught(own)
    statistics = Statistics({})
    own.report(statistics, "Duel")
    written = {tag: summary.value for tag, summary in statistics.write("Duel", progress_at(1)).items()}
    assert written == {
        "Environment/Lesson Number/fixed": 0.0,
        "Environment/Parameter/fixed": 3.0,
        "Environment/Lesson Number/wind": 1.0,
        "Environment/Parameter/wind": 2.0,
        "Environment/Parameter Deviation/wind": pytest.approx(2.0 / 12.0**0.5),
    }
    assert own.said("wind") == "Parameter 'wind' is in lesson 'b' and has value 'Uniform sampler: min=1.0, max=3.0'."


def test_lines_are_those_of_lessons_that_watch_the_behavior_or_one_that_is_not_there() -> None:
    plan = {
        name: {"curriculum": [lesson("a", 1.0, behavior=behavior), lesson("b", 2.0)]}
        for name, behavior in (("x", "Left"), ("y", "Right"), ("z", "Nobody"))
    }
    own = lessons(**plan)
    behaviors = ["Left", "Right"]
    assert [line[0] for line in own.waits(behaviors)] == ["x", "y", "z"]
    assert [line[0] for line in own.waits(behaviors, watching="Left")] == ["x", "z"]


def refused(criteria: dict[str, Any], **plan: Any) -> str:
    own = {"curriculum": [lesson("a", 1.0, **criteria), lesson("b", 2.0)]}
    settings = RunSettings.model_validate({"behaviors": {"Duel": plan}, "environment_parameters": {"wind": own}})
    with pytest.raises(SettingsError) as caught:
        check_can_run(settings)
    return str(caught.value)


def test_a_lesson_that_could_never_be_learned_is_refused() -> None:
    said = refused({"behavior": "Dual"})
    assert "environment_parameters.wind.curriculum.0.completion_criteria.behavior" in said
    assert "found Dual, expected Duel" in said
    assert "did you mean 'Duel'?" in said
    for measure in ("rating", "win_rate"):
        assert f"{measure} is measured in self-play, which Duel does not have" in refused({"measure": measure})


def test_lessons_that_can_be_learned_are_not_refused() -> None:
    for measure in ("reward", "progress", "rating", "win_rate", "Match/Goal"):
        own = {"curriculum": [lesson("a", 1.0, measure=measure), {"name": "b", "value": 2.0}]}
        plan = {"behaviors": {"Duel": {"self_play": {}}}, "environment_parameters": {"wind": own}}
        check_can_run(RunSettings.model_validate(plan))
