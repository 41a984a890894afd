"""What is reported of self-play, read back from the file that users read: learner and opponents apart, sums once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from sparring.environments import EnvironmentStatistic
from sparring.statistics import Statistics
from sparring.training.collector import Collector
from tests import games
from tests.selfplay.builders import Ask, End, ScriptedGame, collector_of, plan, run_plan
from tests.statistics.builders import lines, progress_at
from tests.training.runs_in_process import Watcher, small_settings, train_small

Summary = dict[str, dict[str, Any]]
FAR = {"save_steps": 10**6, "swap_steps": 10**6, "team_change": 10**6}
GOAL = EnvironmentStatistic("Goals", 1.0, 2)

TEAM_MATES = 2


def match_of(quick: str, slow: str) -> ScriptedGame:
    """Matches of four exchanges: both of `quick` win at once, both of `slow` lose after three decisions."""
    quick_one, quick_two, slow_one, slow_two = 1, 2, 3, 4
    return ScriptedGame(
        {quick: [Ask(quick_one), Ask(quick_two)], slow: [Ask(slow_one), Ask(slow_two)]},
        {quick: [End(quick_one, 1.0), End(quick_two, 1.0)], slow: [Ask(slow_one, -0.25), Ask(slow_two, -0.25)]},
        {quick: [], slow: [Ask(slow_one, -0.25), Ask(slow_two, -0.25)]},
        {quick: [], slow: [End(slow_one, -0.5), End(slow_two, -0.5)]},
        statistics=[GOAL],
    )


EXCHANGES = 4


class Desk:
    """A collector whose statistics are written when asked for and read back from the file."""

    def __init__(self, folder: Path, statistics: Statistics, game: ScriptedGame, **self_play: Any) -> None:
        self._folder = folder
        self._statistics = statistics
        settings = run_plan(**dict.fromkeys(("Duel", "Left", "Right"), plan(**{**FAR, **self_play})))
        self.collector: Collector = collector_of(game, settings, statistics=statistics)

    def play(self, matches: int) -> Summary:
        """Plays whole matches and gives what every category was told meanwhile, by category."""
        for _ in range(EXCHANGES * matches):
            self.collector.step()
        for name in self.collector.behaviors:
            self._statistics.write(name, progress_at(1))
        self._statistics.flush()
        newest = lines(self._folder)[-len(self.collector.behaviors) :]
        return {record["category"]: record["keys"] for record in newest}


MakeDesk = Callable[..., Desk]


@pytest.fixture
def make_desk(tmp_path: Path) -> Iterator[MakeDesk]:
    with ExitStack() as stack:
        folders = map(tmp_path.joinpath, "abc")

        def make(game: ScriptedGame, **self_play: Any) -> Desk:
            folder = next(folders)
            return Desk(folder, stack.enter_context(Statistics.open(folder, ["jsonl"])), game, **self_play)

        yield make


def both(summary: dict[str, Any]) -> tuple[float, float, int]:
    """The least, the greatest and the number of values."""
    return summary["min"], summary["max"], summary["count"]


def test_returns_and_lengths_of_learner_and_opponents_are_apart(make_desk: MakeDesk) -> None:
    told = make_desk(match_of("Duel?team=0", "Duel?team=1")).play(10)["Duel"]
    assert both(told["Environment/Cumulative Reward"]) == (1.0, 1.0, 20)
    assert both(told["Environment/Episode Length"]) == (1.0, 1.0, 20)
    assert both(told["Self-play/Opponent Cumulative Reward"]) == (-1.0, -1.0, 20)
    assert both(told["Self-play/Opponent Episode Length"]) == (3.0, 3.0, 20)


def test_entropy_is_of_the_learners_decisions_only(make_desk: MakeDesk) -> None:
    quick_learns = make_desk(match_of("Duel?team=0", "Duel?team=1")).play(10)
    slow_learns = make_desk(match_of("Duel?team=1", "Duel?team=0")).play(10)
    assert quick_learns["Duel"]["Policy/Entropy"]["count"] == 10 * TEAM_MATES
    assert slow_learns["Duel"]["Policy/Entropy"]["count"] == 10 * TEAM_MATES * 3


def test_side_that_is_not_learning_is_told_nothing(make_desk: MakeDesk) -> None:
    told = make_desk(match_of("Left?team=0", "Right?team=1")).play(10)
    assert told["Right"] == {}
    assert both(told["Left"]["Environment/Cumulative Reward"]) == (1.0, 1.0, 20)
    assert both(told["Left"]["Self-play/Opponent Cumulative Reward"]) == (-1.0, -1.0, 20)


def test_roles_in_the_report_change_with_the_turn(make_desk: MakeDesk) -> None:
    desk = make_desk(match_of("Left?team=0", "Right?team=1"), team_change=20)
    desk.play(11)
    assert desk.collector.roster.learning_names() == ["Right"]
    told = desk.play(2)
    assert told["Left"] == {}
    assert both(told["Right"]["Environment/Cumulative Reward"])[:2] == (-1.0, -1.0)
    assert both(told["Right"]["Self-play/Opponent Cumulative Reward"])[:2] == (1.0, 1.0)


@pytest.mark.parametrize("seats", [("Duel?team=0", "Duel?team=1"), ("Left?team=0", "Right?team=1")])
def test_sum_of_the_game_is_counted_once(make_desk: MakeDesk, seats: tuple[str, str]) -> None:
    told = make_desk(match_of(*seats)).play(10)
    goals = [keys["Goals"]["sum"] for keys in told.values() if "Goals" in keys]
    assert goals == [10 * EXCHANGES]


def test_match_is_rated_once_whatever_the_number_of_team_mates(make_desk: MakeDesk) -> None:
    told = make_desk(match_of("Duel?team=0", "Duel?team=1"), rating_k=16.0).play(1)["Duel"]
    assert told["Self-play/Matches"]["sum"] == 1
    assert told["Self-play/ELO"]["value"] == 1208.0
    assert told["Self-play/Score"]["value"] == 1.0


def test_uncertainty_is_that_of_now(make_desk: MakeDesk) -> None:
    desk = make_desk(match_of("Duel?team=0", "Duel?team=1"))
    told = desk.play(10)["Duel"]["Self-play/Rating Uncertainty"]["value"]
    assert told == pytest.approx(desk.collector.lineup.ratings["Duel"].uncertainty)


def test_run_says_its_schedule_and_warns_of_what_will_not_work(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    watcher = Watcher()
    self_play = {"window": 3, "save_steps": 50, "swap_steps": 1000, "team_change": 500}
    train_small(small_settings(tmp_path, self_play=self_play), games.two_roles, stop_after=1, observer=watcher)
    said = [message for message in watcher.messages if "learns for" in message or "It meets" in message]
    assert [message.split(",")[0] for message in said] == [
        "Left (team 0",
        "  It meets Right (team 1)",
        "Right (team 1",
        "  It meets Left (team 0)",
    ]
    warned = [record.getMessage().split(" (")[0] for record in caplog.records if record.levelname == "WARNING"]
    assert sorted(warned) == ["Left: swap_steps", "Left: team_change", "Right: swap_steps", "Right: team_change"]


class CountingGame(games.WalkGame):
    """Reports one tick every step."""

    def take_statistics(self) -> Sequence[EnvironmentStatistic]:
        return [EnvironmentStatistic("Ticks", 1.0, 2)]


def counting(*seats: str) -> Any:
    def make(*, num_arenas: int, seed: int, threads: int) -> CountingGame:
        del threads
        roles = tuple(games.Role(seat, 1 if index else -1) for index, seat in enumerate(seats))
        return CountingGame(roles, num_arenas=num_arenas, seed=seed, states_result=True)

    return make


@pytest.mark.parametrize("seats", [("Duel?team=0", "Duel?team=1"), ("Left?team=0", "Right?team=1")])
def test_whole_run_counts_every_step_once_and_every_decision_of_the_learner(
    tmp_path: Path, seats: tuple[str, str]
) -> None:
    train_small(small_settings(tmp_path, run={"writers": ["jsonl"]}), counting(*seats))
    records = lines(tmp_path / "run")
    last = {record["category"]: record for record in records}
    ticks = sum(record["keys"]["Ticks"]["sum"] for record in records if "Ticks" in record["keys"])
    assert max(record["environment_steps"] for record in records) == ticks
    for category, record in last.items():
        entropies = sum(
            own["keys"]["Policy/Entropy"]["count"]
            for own in records
            if own["category"] == category and "Policy/Entropy" in own["keys"]
        )
        # A decision counts as a step when its outcome is there; those that are pending at the end are not.
        assert record["step"] <= entropies
