"""Lessons in real runs: when they change, what is played in them, what of it is on disk, and how they are resumed."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sparring.environments import Environment
from sparring.errors import SettingsError
from sparring.selfplay import Lineup, MatchResult
from sparring.settings import RunSettings, Sampler
from sparring.specs import BehaviorId
from sparring.statistics import Statistics, Timers
from sparring.training.collector import Collector
from sparring.training.lessons import Lessons
from sparring.training.seeds import SeedStreams
from sparring.training.session import evaluate_run
from tests import games
from tests.builders import ScriptedGame
from tests.games import WalkGame
from tests.selfplay.builders import change_weights
from tests.statistics.builders import points
from tests.training.run_comparison import curves, differences, final_state
from tests.training.runs_in_process import Watcher, small_settings, train_small
from tests.training.test_collector import RecordingLearner
from tests.training.test_resume_without_state import ForgetfulGame

UNIFORM = {"sampler_type": "uniform", "sampler_parameters": {"min_value": 0.1, "max_value": 0.3}}


def curriculum(*lessons: tuple[Any, Mapping[str, Any]], end: Any) -> dict[str, Any]:
    """Lessons of a value and its criteria each, and a last value."""
    first = [
        {"name": f"L{number}", "value": value, "completion_criteria": dict(criteria)}
        for number, (value, criteria) in enumerate(lessons)
    ]
    return {"curriculum": [*first, {"name": "end", "value": end}]}


def collector_of(game: Environment, parameters: Mapping[str, Any], **plan: Any) -> Collector:
    """The real collector, with learners that do not learn."""
    hyper = {"batch_size": 1, "buffer_size": 64}
    behavior = {"hyperparameters": hyper, "network_settings": {"hidden_units": 4, "num_layers": 1}, **plan}
    settings = RunSettings.model_validate({"default_settings": behavior, "environment_parameters": parameters})
    lessons = Lessons(settings.environment_parameters, SeedStreams(0))
    lessons.tell(game)
    game.reset()
    return Collector(
        game,
        settings,
        make_learner=lambda name, spec, plan: RecordingLearner(spec, plan),
        lineup=Lineup(rng=np.random.default_rng(0)),
        statistics=Statistics({}),
        timers=Timers(),
        generator=torch.Generator().manual_seed(0),
        lessons=lessons,
    )


# -- when lessons change ---------------------------------------------------------------------------------------------


@dataclass
class Ledger:
    """Returns of all episodes, agent by agent, as the game sent them; and when each of them began."""

    began: dict[int, int] = field(default_factory=dict)
    returns: dict[int, float] = field(default_factory=dict)

    def ended(self, game: Environment, name: str, step: int) -> Iterator[tuple[int, float]]:
        """Beginning and return of the episodes that end in this step."""
        decision, terminal = game.get_steps(name)
        for agent, reward in zip(terminal.agent_id.tolist(), terminal.reward.tolist(), strict=True):
            yield self.began.pop(agent), self.returns.pop(agent) + reward
        for agent, reward in zip(decision.agent_id.tolist(), decision.reward.tolist(), strict=True):
            if agent in self.began:
                self.returns[agent] += reward
            else:
                self.began[agent], self.returns[agent] = step, 0.0


@pytest.mark.parametrize("smooths", [False, True])
def test_a_mean_return_ends_a_lesson_with_the_episode_that_passes_it(smooths: bool) -> None:
    criteria = {"behavior": "Left", "threshold": 0.3, "min_lesson_length": 4, "signal_smoothing": smooths}
    lessons = curriculum((0.0, criteria), (0.015625, criteria), (0.0, criteria), end=0.25)
    game = games.two_roles(num_arenas=3, seed=1)
    own = collector_of(game, {"cost": lessons})
    ledger, changed = Ledger(), -1
    recent: deque[float] = deque(maxlen=4)
    last: float | None = None
    passed: list[int] = []
    for step in range(400):
        is_over = False
        for began, value in ledger.ended(game, "Left?team=0", step):
            if began <= changed:
                continue
            recent.append(value)
            if len(recent) == 4:
                mean = sum(recent) / 4
                last = 0.25 * last + 0.75 * mean if smooths and last is not None else mean
                is_over |= last > 0.3
        is_over &= len(passed) < 3
        own.step()
        assert (own.advance is not None) == is_over
        if is_over:
            passed.append(step)
            changed, last = step, None
            recent.clear()
    assert len(passed) == 3


def test_every_episode_that_counts_was_played_in_its_lesson(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: dict[int, list[float]] = defaultdict(list)
    game = games.two_roles(num_arenas=5, seed=1)
    criteria = {"behavior": "Left", "measure": "progress", "threshold": 0.4}
    own = collector_of(game, {"cost": curriculum((0.25, criteria), end=0.0)}, max_steps=600)

    def count(behavior: str, returns: list[float], group: list[float]) -> None:
        counted[own.lessons.numbers["cost"]] += returns

    monkeypatch.setattr(own.lessons, "add_episodes", count)
    for _ in range(100):
        own.step()
    # Where a step costs nothing every return is whole; almost none is where it costs a quarter.
    assert len(counted[1]) > 20
    assert all(value in (0.0, 1.0) for value in counted[1])
    assert any(value not in (0.0, 1.0) for value in counted[0])


@pytest.mark.parametrize("measure", ["progress", "rating"])
def test_progress_and_rating_end_a_lesson_in_the_step_in_which_they_pass(measure: str) -> None:
    threshold = 0.3 if measure == "progress" else 1200.4
    criteria = {"behavior": "Duel", "measure": measure, "threshold": threshold}
    plan = {"save_steps": 50, "swap_steps": 40, "team_change": 100, "play_against_latest_model_ratio": 0.0}
    own = collector_of(
        games.duel(num_arenas=4), {"cost": curriculum((0.0, criteria), end=0.1)}, self_play=plan, max_steps=900
    )
    values = []
    while own.advance is None:
        own.step()
        steps = own.behaviors["Duel"].steps
        values.append(steps / 900 if measure == "progress" else own.lineup.ratings["Duel"].value)
    assert max(values[:-1]) <= threshold < values[-1]


class WatchedLineup(Lineup):
    """Keeps the results of the latest step."""

    latest: list[MatchResult]

    def record_finished(self) -> Any:
        found = super().record_finished()
        self.latest = found[1]
        return found


@pytest.mark.parametrize("against", ["snapshots", "oldest"])
def test_a_win_rate_ends_a_lesson_with_the_match_that_passes_it(against: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "Lineup", WatchedLineup)
    criteria = {
        "behavior": "Duel",
        "measure": "win_rate",
        "threshold": 0.55,
        "min_lesson_length": 6,
        "signal_smoothing": False,
        "against": against,
    }
    plan = {
        "window": 2,
        "save_steps": 60,
        "swap_steps": 20,
        "team_change": 10**6,
        "play_against_latest_model_ratio": 0.3,
    }
    lessons = curriculum((0.0, criteria), (0.1, criteria), end=0.2)
    own = collector_of(games.duel(num_arenas=3, seed=4), {"cost": lessons}, self_play=plan)
    began: dict[int, int] = {}
    recent: deque[float] = deque(maxlen=6)
    passed: list[int] = []
    met, others, changed = 0, 0, -1
    lineup = own.lineup
    assert isinstance(lineup, WatchedLineup)
    for step in range(400):
        if step % 10 == 0:  # so that the latest policy is none that was saved
            change_weights(own.behaviors["Duel"].policy)
        pool = lineup.pools["Duel"]
        saved = [held.number for held in pool.all if held.origin != "latest"]
        allowed = saved if against == "snapshots" else [number for number in saved if number <= pool.window[0].number]
        own.step()
        is_over = False
        for result in lineup.latest:
            is_of_now = began.get(result.arena, 0) > changed
            began[result.arena] = step
            players = {seats[0][1]: score for seats, score in zip(result.seats, result.scores or (), strict=True)}
            rival = next(player for player in players if player != "Duel")
            others += int(rival.partition("#")[2]) not in saved
            if is_of_now and int(rival.partition("#")[2]) in allowed:
                met += 1
                recent.append(0.5 + 0.5 * np.sign(players["Duel"] - players[rival]))
                is_over |= len(recent) == 6 and sum(recent) / 6 > 0.55
        is_over &= len(passed) < 2
        assert (own.advance is not None) == is_over
        if is_over:
            passed.append(step)
            changed = step
            recent.clear()
    assert len(passed) == 2
    assert met > 20
    assert others > 5


@pytest.mark.parametrize(("reward", "lesson"), [("sum", 1), ("own", 0), ("group", 1)])
def test_group_rewards_count_unless_they_are_left_out(reward: str, lesson: int) -> None:
    criteria = {"behavior": "Duel", "threshold": 1.5, "reward": reward}
    game = ScriptedGame({"Duel?team=0": ["D[1 G5]", "D[1 r=0.5 g=1 G5]", "T[1 r=0.5 g=1 G5 end]"]})
    own = collector_of(game, {"wind": curriculum((1.0, criteria), end=2.0)})
    for _ in range(4):
        own.step()
    assert own.lessons.numbers == {"wind": lesson}


def test_a_lesson_that_wants_it_begins_with_all_games_anew() -> None:
    criteria = {"behavior": "Left", "measure": "progress", "threshold": 0.25, "require_reset": True}
    game = games.two_roles(num_arenas=3, seed=1)
    own = collector_of(game, {"cost": curriculum((0.0, criteria), end=0.5)}, max_steps=100)
    while own.advance is None:
        own.step()
    assert own.environment_steps < 20
    for name, training in own.behaviors.items():
        table = training.tables[BehaviorId.parse(next(full for full in game.behavior_specs if full.startswith(name)))]
        assert len(table) == 0
        assert training.rollout.num_complete == training.steps  # what was decided last leads nowhere
    own.step()
    own.step()
    decision, terminal = game.get_steps("Left?team=0")
    assert (np.concatenate([decision.reward, terminal.reward]) != 0.0).any()
    assert set(decision.reward.tolist()) <= {-0.5, 0.0}  # all play with the new cost already


# -- whole runs ------------------------------------------------------------------------------------------------------


def lessons_for(behavior: str) -> dict[str, Any]:
    """Settings of a run with lessons of every kind, which all end within it, and a sampler."""
    measures: list[dict[str, Any]] = [
        {"measure": "reward", "threshold": -2.0, "min_lesson_length": 12},
        {"measure": "progress", "threshold": 0.35, "require_reset": True},
        {"measure": "Environment/Episode Length", "threshold": 1.0},
        {"measure": "win_rate", "threshold": 0.99, "min_lesson_length": 8},
    ]
    values: list[Any] = [0.05, UNIFORM, 0.1, UNIFORM]
    lessons = [(value, {"behavior": behavior, **each}) for value, each in zip(values, measures, strict=True)]
    wind = {"sampler_type": "gaussian", "sampler_parameters": {"mean": 1.0}}
    return {"environment_parameters": {"cost": curriculum(*lessons, end=UNIFORM), "unknown": wind}}


@pytest.fixture(scope="module", params=["two_roles", "duel"])
def straight(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, list[str]]:
    folder, watcher = tmp_path_factory.mktemp("straight"), Watcher()
    behavior = "Duel" if request.param == "duel" else "Left"
    train_small(small_settings(folder, run=lessons_for(behavior)), getattr(games, request.param), observer=watcher)
    return request.param, folder, watcher.messages


def test_stopping_in_the_middle_of_lessons_changes_no_bit(
    straight: tuple[str, Path, list[str]], tmp_path: Path
) -> None:
    game, folder, _ = straight
    settings = small_settings(tmp_path, run=lessons_for("Duel" if game == "duel" else "Left"))
    report = train_small(settings, getattr(games, game), stop_after=53)
    while report.was_interrupted:
        report = train_small(settings, getattr(games, game), resume=True, stop_after=53)
    assert differences(final_state(folder), final_state(tmp_path)) == []
    assert curves(folder) == curves(tmp_path)


def test_lessons_and_values_are_seen_in_the_curves_the_status_and_the_messages(
    straight: tuple[str, Path, list[str]],
) -> None:
    game, folder, messages = straight
    behaviors = ["Duel"] if game == "duel" else ["Left", "Right"]
    for behavior in behaviors:
        found = points(folder / "run", behavior)
        numbers = [value for _, value in found["Environment/Lesson Number/cost"]]
        assert numbers == sorted(numbers)
        assert numbers[-1] == 3.0
        assert {value for _, value in found["Environment/Lesson Number/unknown"]} == {0.0}
        assert {value for _, value in found["Environment/Parameter/unknown"]} == {1.0}
        values = dict(zip(numbers, (value for _, value in found["Environment/Parameter/cost"]), strict=True))
        assert values == {number: pytest.approx((0.05, 0.2, 0.1, 0.2)[int(number)]) for number in values}
        drawn = [value for _, value in found["Environment/Drawn Parameter/cost"]]
        assert all(0.1 < value < 0.3 for value in drawn)
        tags = {tag.partition("/")[2] for tag in curves(folder) if tag.startswith(f"{behavior}/")}
        assert {"Environment/Lesson Number/cost", "Environment/Parameter/cost"} <= tags
    status = json.loads((folder / "run" / "run_logs" / "training_status.json").read_text("utf-8"))
    assert (status["cost"], status["unknown"]) == ({"lesson_num": 3}, {"lesson_num": 0})
    said = [line for line in messages if line.startswith("Parameter 'cost'")]
    assert [line.partition("'L")[2][:1] for line in said] == ["0", "1", "2", "3"]
    assert said[1].endswith("has value 'Uniform sampler: min=0.1, max=0.3'.")
    waits = [line for line in messages if "cost is in lesson 4 of 5 (L3) and waits for win_rate of " in line]
    assert waits


def test_a_value_of_any_lesson_that_the_game_cannot_be_played_with_is_refused_before_anything(tmp_path: Path) -> None:
    criteria = {"behavior": "Duel", "measure": "progress", "threshold": 0.5}
    wide = {"sampler_type": "uniform", "sampler_parameters": {"max_value": 2.0}}
    own = {"cost": curriculum((0.0, criteria), (5.0, criteria), (0.1, criteria), end=wide)}
    with pytest.raises(SettingsError) as caught:
        train_small(small_settings(tmp_path, run={"environment_parameters": own}), games.duel)
    first, second = caught.value.findings
    assert (first.where, first.found) == ("environment_parameters.cost.curriculum.1.value", "5.0")
    assert (second.where, second.found) == ("environment_parameters.cost.curriculum.3.value", "0.0 to 2.0")
    assert not (tmp_path / "run").exists()


class ToldGame(WalkGame):
    """The duel, which remembers what it was told before each reset."""

    def __init__(self, *, num_arenas: int, seed: int) -> None:
        self.told: list[Any] = []
        roles = (games.Role("Duel?team=0", 1), games.Role("Duel?team=1", 1))
        super().__init__(roles, num_arenas=num_arenas, seed=seed, states_result=True)

    def reset(self) -> None:
        super().reset()
        self.told.append("reset")

    def set_parameters(self, parameters: Mapping[str, float]) -> None:
        super().set_parameters(parameters)
        self.told.append(dict(parameters))

    def set_samplers(self, samplers: Mapping[str, Sampler]) -> None:
        super().set_samplers(samplers)
        self.told.append({name: sampler.sampler_parameters for name, sampler in samplers.items()})


def test_the_table_is_played_in_the_lesson_the_run_is_in_with_draws_of_its_own(tmp_path: Path) -> None:
    made: list[ToldGame] = []

    def make(*, num_arenas: int, seed: int, threads: int) -> ToldGame:
        del threads
        made.append(ToldGame(num_arenas=num_arenas, seed=seed))
        return made[-1]

    criteria = {"behavior": "Duel", "measure": "progress", "threshold": 0.5}
    own = {"cost": curriculum((0.0, criteria), end=UNIFORM)}
    settings = small_settings(tmp_path, run={"environment_parameters": own, "evaluation": {"matches": 2}})
    train_small(settings, make)
    evaluate_run(settings, observer=Watcher(), make_game=make)
    # What is tried before the game begins is left out.
    trained, table, reopened, repeated = (game.told[game.told.index("reset") - 2 :] for game in made)
    assert trained[:3] == [{"cost": 0.0}, {}, "reset"]
    _, training = trained[3:5]
    _, evaluation = table[:2]
    assert training["cost"].max_value == evaluation["cost"].max_value == 0.3
    assert training["cost"].seed != evaluation["cost"].seed
    assert table[:2] == repeated[:2]
    assert reopened[1] == training


class ForgetfulToldGame(ForgetfulGame):
    """A game that cannot save its state and remembers what it was told."""

    told: list[list[Any]] = []  # noqa: RUF012 - one list a game, over all of them

    def __init__(self, *, num_arenas: int, seed: int, threads: int) -> None:
        super().__init__(num_arenas=num_arenas, seed=seed, threads=threads)
        self.told.append([])

    def reset(self) -> None:
        super().reset()
        self.told[-1].append("reset")

    def set_parameters(self, parameters: Mapping[str, float]) -> None:
        self.told[-1].append(dict(parameters))


def test_the_first_reset_after_a_resume_carries_the_lesson(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[list[Any]] = []
    monkeypatch.setattr(ForgetfulToldGame, "told", told)
    criteria = {"behavior": "Duel", "measure": "progress", "threshold": 0.1}
    own = {"cost": curriculum((0.0, criteria), end=0.5)}
    settings = small_settings(tmp_path, run={"environment_parameters": own})
    train_small(settings, ForgetfulToldGame, stop_after=40)
    train_small(settings, ForgetfulToldGame, resume=True, stop_after=3)
    first, second = (lines[lines.index("reset") - 1 :] for lines in told)  # without what is tried before
    assert first == [{"cost": 0.0}, "reset", {"cost": 0.5}]
    assert second == [{"cost": 0.5}, "reset"]
