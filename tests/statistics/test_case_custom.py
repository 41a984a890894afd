"""Case statistics-01: statistics of a game's own, through the real writers, with an empty window and a resume."""

import logging
import math
from pathlib import Path

import pytest

from sparring.environments import EnvironmentStatistic
from sparring.statistics import Aggregation, Statistics
from sparring.statistics._state import StateTree
from tests.statistics.builders import curves, event_file, events, lines, points, progress_at

WRITERS = ["tensorboard", "jsonl", "console"]
AVERAGE, RECENT, SUM, HISTOGRAM = 0, 1, 2, 3
HITS, BROKEN = "Hits/Left wall %", "Bot(Clone)/über"


def sent(*values: tuple[str, float, int], worker: int = 0) -> list[EnvironmentStatistic]:
    return [EnvironmentStatistic(*value, worker) for value in values]


def first_window(statistics: Statistics) -> None:
    """What the two environments of the case send, in order."""
    statistics.add_environment(["Duel"], sent((HITS, 2, AVERAGE), (HITS, 4, AVERAGE), worker=0))
    statistics.add_environment(["Duel"], sent((HITS, 6, AVERAGE), worker=1))
    for worker, goals in ((0, 3), (1, 2)):
        statistics.add_environment(["Duel"], sent(*[("Goals", 1, SUM)] * goals, worker=worker))
    for worker, level in ((0, 3), (1, 5), (0, 4)):
        statistics.add_environment(["Duel"], sent(("Level", level, RECENT), worker=worker))
    speeds = [("Speed", value, HISTOGRAM) for value in (1, 2, 3, 4)]
    statistics.add_environment(["Duel"], sent(*speeds, (BROKEN, math.nan, AVERAGE), (BROKEN, math.nan, AVERAGE)))


def play(folder: Path) -> StateTree:
    """The case up to its checkpoint, and then a window that a kill leaves behind the checkpoint."""
    statistics = Statistics.open(folder, WRITERS)
    first_window(statistics)
    statistics.write("Duel", progress_at(100))
    statistics.write("Duel", progress_at(200))
    checkpoint = statistics.state()
    statistics.add("Duel", "Goals", 77, Aggregation.SUM)
    statistics.write("Duel", progress_at(300))
    statistics.close()
    # A kill: closing has added nothing, and one more record is torn.
    for path in (folder / "statistics.jsonl", event_file(folder / "Duel")):
        with path.open("ab") as file:
            file.write(b"torn")
    return checkpoint


def resume(folder: Path, checkpoint: StateTree) -> None:
    with Statistics.open(folder, WRITERS, state=checkpoint) as statistics:
        statistics.add_environment(["Duel"], sent(("Goals", 1, SUM)))
        statistics.write("Duel", progress_at(300))


EXPECTED = {
    HITS: [(100, 4.0)],
    "Goals": [(100, 5.0), (300, 1.0)],
    "Level": [(100, 4.0)],
    "Speed": [(100, 2.5)],
}


def test_event_file_holds_exactly_the_expected_points(tmp_path: Path) -> None:
    resume(tmp_path, play(tmp_path))
    assert curves(tmp_path / "Duel") == EXPECTED


def test_json_lines_hold_exactly_the_expected_points(tmp_path: Path) -> None:
    resume(tmp_path, play(tmp_path))
    assert points(tmp_path, "Duel") == EXPECTED


def test_resumed_run_goes_on_in_the_same_event_file(tmp_path: Path) -> None:
    checkpoint = play(tmp_path)
    before = event_file(tmp_path / "Duel")
    resume(tmp_path, checkpoint)
    assert list((tmp_path / "Duel").iterdir()) == [before]


def test_counts_and_workers_are_in_the_json_lines(tmp_path: Path) -> None:
    resume(tmp_path, play(tmp_path))
    keys = lines(tmp_path)[0]["keys"]
    assert (keys[HITS]["count"], keys[HITS]["mean"]) == (3, 4.0)
    assert (keys["Goals"]["count"], keys["Goals"]["sum"]) == (5, 5.0)
    assert keys["Level"]["per_worker"] == {"0": 4.0, "1": 5.0}
    assert (keys["Speed"]["count"], keys["Speed"]["min"], keys["Speed"]["max"]) == (4, 1.0, 4.0)
    assert BROKEN not in keys


def test_distribution_is_in_the_event_file(tmp_path: Path) -> None:
    resume(tmp_path, play(tmp_path))
    found = events(tmp_path / "Duel")
    assert found.Tags()["histograms"] == ["Speed_hist"]
    (speed,) = found.Histograms("Speed_hist")
    histogram = speed.histogram_value
    assert (speed.step, histogram.num, histogram.min, histogram.max, histogram.sum) == (100, 4, 1, 4, 10)
    assert histogram.sum_squares == pytest.approx(1 + 4 + 9 + 16)
    assert sum(histogram.bucket) == 4


def test_value_that_is_no_number_has_one_notice_with_its_key(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    play(tmp_path)
    notices = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(notices) == 1
    assert BROKEN in notices[0]
    assert "Duel" in notices[0]
    assert "nan" in notices[0]


def test_window_without_values_writes_no_key(tmp_path: Path) -> None:
    statistics = Statistics.open(tmp_path, WRITERS)
    first_window(statistics)
    statistics.write("Duel", progress_at(100))
    assert statistics.write("Duel", progress_at(200)) == {}
    statistics.close()
    assert [record["keys"] == {} for record in lines(tmp_path)] == [False, True]
    assert {step for steps in curves(tmp_path / "Duel").values() for step, _ in steps} == {100}
