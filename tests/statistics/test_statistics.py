"""The windows of a run: what counts, what is refused, what survives a resume."""

import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparring.environments import EnvironmentStatistic
from sparring.statistics import Aggregation, Statistics, Summary
from sparring.statistics.aggregation import MAX_MAGNITUDE
from tests.statistics.builders import RecordingWriter, progress_at

unfit = pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 2 * MAX_MAGNITUDE])


def summaries_of(statistics: Statistics, category: str = "Duel") -> dict[str, Summary]:
    return statistics.write(category, progress_at(1))


@unfit
def test_value_that_can_not_be_plotted_changes_nothing(value: float) -> None:
    statistics = Statistics({})
    statistics.add("Duel", "Speed", 3.0)
    statistics.add("Duel", "Speed", value)
    statistics.add_many("Duel", "Speed", np.array([5.0, value]))
    statistics.add("Duel", "Only wrong", value)
    statistics.add_many("Duel", "Only wrong", np.array([value]), Aggregation.SUM)
    summaries = summaries_of(statistics)
    assert list(summaries) == ["Speed"]
    assert (summaries["Speed"].count, summaries["Speed"].mean) == (2, 4.0)


@unfit
def test_notice_of_a_wrong_value_comes_once_per_key(value: float, caplog: pytest.LogCaptureFixture) -> None:
    statistics = Statistics({})
    for _ in range(3):
        statistics.add("Duel", "Speed", value)
        statistics.add_many("Duel", "Speed", np.array([value]))
        statistics.add("Duel", "Height", value)
        summaries_of(statistics)
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 2
    assert "Duel" in messages[0]
    assert "'Speed'" in messages[0]
    assert "'Height'" in messages[1]


def test_notices_come_to_an_end(caplog: pytest.LogCaptureFixture) -> None:
    statistics = Statistics({})
    for number in range(1100):
        statistics.add("Duel", f"key {number}", math.nan)
    assert len(caplog.records) == 1001
    assert "not shown" in caplog.records[-1].getMessage()


def test_keys_of_a_window_are_bounded(caplog: pytest.LogCaptureFixture) -> None:
    statistics = Statistics({})
    for number in range(10_050):
        statistics.add("Duel", f"Hit {number}", 1.0)
    assert len(summaries_of(statistics)) == 10_000
    (notice,) = caplog.records
    assert "'Hit 10000'" in notice.getMessage()


@given(st.text(), st.text())
def test_names_are_shown_exactly_as_sent(category: str, key: str) -> None:
    statistics = Statistics({})
    statistics.add(category, key, 1.0)
    assert list(statistics.write(category, progress_at(1))) == [key]


def test_first_aggregation_of_a_window_holds_with_one_notice(caplog: pytest.LogCaptureFixture) -> None:
    statistics = Statistics({})
    statistics.add("Duel", "Goals", 1.0, Aggregation.SUM)
    statistics.add("Duel", "Goals", 5.0, Aggregation.AVERAGE)
    statistics.add("Duel", "Goals", 6.0, Aggregation.MOST_RECENT)
    first = summaries_of(statistics)["Goals"]
    statistics.add("Duel", "Goals", 5.0, Aggregation.AVERAGE)
    second = summaries_of(statistics)["Goals"]
    assert (first.aggregation, first.value, first.count) == (Aggregation.SUM, 12.0, 3)
    assert (second.aggregation, second.value) == (Aggregation.AVERAGE, 5.0)
    (notice,) = caplog.records
    assert "'Goals'" in notice.getMessage()


def test_teams_of_one_behavior_do_not_multiply_what_the_game_sends() -> None:
    statistics = Statistics({})
    sent = [EnvironmentStatistic("Goals", 1.0, 2)] * 3
    statistics.add_environment(["Duel", "Duel", "Keeper"], sent)
    assert summaries_of(statistics, "Duel")["Goals"].value == 3.0
    assert summaries_of(statistics, "Keeper")["Goals"].value == 3.0


def test_unknown_aggregation_number_is_dropped_with_a_notice(caplog: pytest.LogCaptureFixture) -> None:
    statistics = Statistics({})
    sent = [EnvironmentStatistic("Goals", 1.0, 9), EnvironmentStatistic("Saves", 1.0, 0)]
    for _ in range(2):
        statistics.add_environment(["Duel"], sent)
    assert list(summaries_of(statistics)) == ["Saves"]
    (notice,) = caplog.records
    assert "'Goals'" in notice.getMessage()


def test_values_of_the_wire_keep_their_float32_bits() -> None:
    value = struct.unpack("<f", struct.pack("<f", 0.1))[0]
    statistics = Statistics({})
    statistics.add("Duel", "Speed", float(np.float32(0.1)))
    assert summaries_of(statistics)["Speed"].value == value


def test_arrays_of_any_shape_and_kind_count_every_value() -> None:
    statistics = Statistics({})
    statistics.add_many("Duel", "Hit", np.array([[True, False], [True, True]]))
    statistics.add_many("Duel", "Steps", np.arange(6, dtype=np.int32).reshape(1, 2, 3), Aggregation.SUM)
    statistics.add_many("Duel", "None", np.zeros((0, 3)))
    summaries = summaries_of(statistics)
    assert (summaries["Hit"].value, summaries["Hit"].count) == (0.75, 4)
    assert summaries["Steps"].value == 15.0
    assert "None" not in summaries


def test_writing_empties_the_window_of_its_category_only() -> None:
    writer = RecordingWriter()
    statistics = Statistics({"recording": writer})
    statistics.add("Duel", "Speed", 1.0)
    statistics.add("Keeper", "Speed", 2.0)
    statistics.write("Duel", progress_at(100))
    statistics.write("Duel", progress_at(200))
    statistics.write("Keeper", progress_at(300))
    assert [
        (category, {key: summary.value for key, summary in summaries.items()}, progress.step)
        for category, summaries, progress in writer.written
    ] == [("Duel", {"Speed": 1.0}, 100), ("Duel", {}, 200), ("Keeper", {"Speed": 2.0}, 300)]


additions = st.lists(
    st.tuples(
        st.sampled_from(["Duel", "Bot/a.b"]),
        st.sampled_from(["0", "Hits/Left wall %", "über", "a.b"]),
        st.floats(-1e6, 1e6) | st.just(math.nan),
        st.sampled_from(Aggregation),
        st.integers(0, 2),
    ),
    max_size=40,
)


@given(additions, st.integers(0, 40))
def test_stopping_and_resuming_gives_the_same_summaries_bit_for_bit(
    values: list[tuple[str, str, float, Aggregation, int]], cut: int
) -> None:
    whole, part = Statistics({}), Statistics({})
    for target, portion in ((whole, values), (part, values[:cut])):
        for category, key, value, aggregation, worker in portion:
            target.add(category, key, value, aggregation, worker=worker)
    resumed = Statistics({})
    resumed.restore(part.state())
    for category, key, value, aggregation, worker in values[cut:]:
        resumed.add(category, key, value, aggregation, worker=worker)
    for category in ("Duel", "Bot/a.b"):
        ours, theirs = summaries_of(resumed, category), summaries_of(whole, category)
        assert list(ours.items()).__repr__() == list(theirs.items()).__repr__()


def test_state_keeps_names_out_of_its_keys() -> None:
    # Whoever stores the tree may flatten it by slashes or dots.
    statistics = Statistics({})
    statistics.add("Bot/a.b", "Hits/Left wall %", 1.0)

    def keys_of(tree: object) -> list[str]:
        if not isinstance(tree, dict):
            return []
        return [*tree, *(key for value in tree.values() for key in keys_of(value))]

    assert all("/" not in key and "." not in key for key in keys_of(statistics.state()))


def test_settings_go_to_every_writer() -> None:
    writer = RecordingWriter()
    Statistics({"recording": writer}).announce("Duel", {"batch_size": 32})
    assert writer.announced == [("Duel", {"batch_size": 32})]


def test_leaving_the_context_closes_the_writers() -> None:
    writer = RecordingWriter()
    with pytest.raises(KeyError), Statistics({"recording": writer}):
        raise KeyError
    assert writer.closed == 1
