"""Event files as TensorBoard itself reads them back."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tensorboard import data_compat
from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader

from sparring.statistics import Aggregation
from sparring.statistics._state import StateTree
from sparring.statistics.tensorboard_writer import TensorBoardWriter
from tests.statistics.builders import ClockOfOne, curves, event_file, events, progress_at, summary_of

SPEED = {"Speed": summary_of(1.5)}


def writer_in(folder: Path, *, resume_state: StateTree | None = None, start: float = 1000.0) -> TensorBoardWriter:
    return TensorBoardWriter(folder, resume_state=resume_state, clock=ClockOfOne(start))


def write_steps(writer: TensorBoardWriter, *steps: int, category: str = "Duel") -> None:
    for step in steps:
        writer.write(category, SPEED, progress_at(step))


def points(*steps: int) -> dict[str, list[tuple[int, float]]]:
    return {"Speed": [(step, 1.5) for step in steps]}


@pytest.mark.parametrize(
    "key", ["Hits/Left wall %", "Bot(Clone)/über", "a//b", " ", "", "守门员", "x" * 300, "Environment/Episode Length"]
)
def test_tag_is_the_key_exactly(tmp_path: Path, key: str) -> None:
    writer = writer_in(tmp_path)
    writer.write("Duel", {key: summary_of(2.0)}, progress_at(7))
    writer.close()
    assert curves(tmp_path / "Duel") == {key: [(7, 2.0)]}


def test_broken_text_of_a_game_does_not_stop_the_file(tmp_path: Path) -> None:
    writer = writer_in(tmp_path)
    writer.announce("Duel", {"name": "\ud800"})
    writer.write("Duel", {"half \ud800": summary_of(2.0)}, progress_at(7))
    writer.close()
    assert curves(tmp_path / "Duel") == {"half ?": [(7, 2.0)]}


def test_steps_beyond_32_bits_are_exact(tmp_path: Path) -> None:
    steps = (2**31 - 1, 2**31, 2**40 + 1)
    writer = writer_in(tmp_path)
    write_steps(writer, *steps)
    writer.close()
    assert curves(tmp_path / "Duel") == points(*steps)


def test_is_training_and_step_are_hidden(tmp_path: Path) -> None:
    writer = writer_in(tmp_path)
    writer.write("Duel", {"Is Training": summary_of(1.0), "Step": summary_of(5.0), **SPEED}, progress_at(5))
    writer.write("Keeper", {"Is Training": summary_of(1.0)}, progress_at(5))
    writer.close()
    assert curves(tmp_path / "Duel") == points(5)
    assert not (tmp_path / "Keeper").exists()


def test_events_carry_the_time_of_the_clock(tmp_path: Path) -> None:
    writer = writer_in(tmp_path, start=5000.0)
    write_steps(writer, 1, 2)
    writer.close()
    times = [point.wall_time for point in events(tmp_path / "Duel").Scalars("Speed")]
    assert times == sorted(times)
    assert all(5000 <= at < 5010 for at in times)


def test_settings_are_a_text_at_step_zero(tmp_path: Path) -> None:
    writer = writer_in(tmp_path)
    writer.announce("Duel", {"batch_size": 32, "network_settings": {"num_layers": 1}})
    writer.close()
    (text,) = events(tmp_path / "Duel").Tensors("Hyperparameters/text_summary")
    assert text.step == 0
    assert text.tensor_proto.string_val[0].decode() == "\tbatch_size:\t32\n\tnetwork_settings:\n\t  num_layers:\t1"


def test_settings_are_repeated_after_a_resume_only_if_they_changed(tmp_path: Path) -> None:
    writer = writer_in(tmp_path)
    writer.announce("Duel", {"beta": 1})
    write_steps(writer, 10)
    state = writer.state()
    writer.close()
    for beta in (1, 2):
        writer = writer_in(tmp_path, resume_state=state)
        writer.announce("Duel", {"beta": beta})
        state = writer.state()
        writer.close()
    texts = events(tmp_path / "Duel").Tensors("Hyperparameters/text_summary")
    assert [(text.step, text.tensor_proto.string_val[0]) for text in texts] == [(0, b"\tbeta:\t1"), (10, b"\tbeta:\t2")]


def test_histogram_is_beside_the_scalar(tmp_path: Path) -> None:
    writer = writer_in(tmp_path)
    writer.write("Duel", {"Speed": summary_of(1, 2, 2, 9, aggregation=Aggregation.HISTOGRAM)}, progress_at(3))
    writer.close()
    found = events(tmp_path / "Duel")
    assert curves(tmp_path / "Duel") == {"Speed": [(3, 3.5)]}
    (histogram,) = found.Histograms("Speed_hist")
    content = histogram.histogram_value
    assert (content.num, content.min, content.max, content.sum, content.sum_squares) == (4, 1, 9, 14, 90)
    assert len(content.bucket_limit) == len(content.bucket)
    # Values below each limit, counted by hand.
    reached = [sum(content.bucket[: index + 1]) for index in range(len(content.bucket))]
    assert reached == [sum(value < limit for value in (1, 2, 2, 9)) for limit in content.bucket_limit]


def test_known_curves_carry_their_definition(tmp_path: Path) -> None:
    writer = writer_in(tmp_path)
    for step in (1, 2):
        writer.write("Duel", {"Policy/Extrinsic Reward": summary_of(1.0), **SPEED}, progress_at(step))
    writer.close()
    descriptions: dict[str, list[str]] = {"Policy/Extrinsic Reward": [], "Speed": []}
    for event in LegacyEventFileLoader(str(event_file(tmp_path / "Duel"))).Load():
        for value in data_compat.migrate_event(event).summary.value:
            descriptions[value.tag].append(value.metadata.summary_description)
    assert "multiplied by the signal's strength" in descriptions["Policy/Extrinsic Reward"][0]
    assert descriptions["Policy/Extrinsic Reward"][1:] == [""]
    assert descriptions["Speed"] == ["", ""]


def test_value_beyond_float32_is_left_out_with_a_notice(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    writer = writer_in(tmp_path)
    for step in (1, 2):
        writer.write("Duel", {"Huge": summary_of(1e39), **SPEED}, progress_at(step))
    writer.close()
    assert curves(tmp_path / "Duel") == points(1, 2)
    (notice,) = caplog.records
    assert "'Huge'" in notice.getMessage()


def test_categories_that_a_file_system_would_mix_up_stay_apart(tmp_path: Path) -> None:
    categories = [
        "Duel",
        "duel",
        "../Duel",
        "a/b",
        "a%2Fb",
        "CON",
        ".",
        "",
        "x" * 300,
        "x" * 300 + "y",
        "statistics.jsonl",
    ]
    (tmp_path / "statistics.jsonl").touch()
    writer = writer_in(tmp_path / ".")
    for step, category in enumerate(categories):
        write_steps(writer, step, category=category)
    state = writer.state()
    writer.close()
    folders = [path for path in tmp_path.iterdir() if path.is_dir()]
    assert len({folder.name.casefold() for folder in folders}) == len(categories)
    assert sorted(curves(folder)["Speed"][0][0] for folder in folders) == list(range(len(categories)))
    assert curves(tmp_path / "Duel") == points(0)
    # And after a resume each goes on in its own.
    resumed = writer_in(tmp_path, resume_state=state)
    for step, category in enumerate(categories):
        write_steps(resumed, 100 + step, category=category)
    resumed.close()
    assert all(
        [step % 100 for step, _ in curves(folder)["Speed"]] == [curves(folder)["Speed"][0][0]] * 2 for folder in folders
    )


KILLED = """
import os, pickle, sys
from pathlib import Path
from tests.statistics.builders import ClockOfOne, progress_at, summary_of
from sparring.statistics.tensorboard_writer import TensorBoardWriter
writer = TensorBoardWriter(Path(sys.argv[1]), clock=ClockOfOne())
for step in (10, 20):
    writer.write("Duel", {"Speed": summary_of(1.5)}, progress_at(step))
print(writer.state())
writer.write("Duel", {"Speed": summary_of(1.5)}, progress_at(30))
sys.stdout.flush()
os._exit(9)
"""


def test_killed_run_goes_on_in_the_same_file_without_a_gap_or_a_double(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path) + os.pathsep + "."}
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)], capture_output=True, text=True, check=False, env=environment
    )
    assert killed.returncode == 9, killed.stderr
    path = event_file(tmp_path / "Duel")
    assert curves(tmp_path / "Duel") == points(10, 20, 30)
    writer = writer_in(tmp_path, resume_state=eval(killed.stdout))
    write_steps(writer, 25, 35)
    writer.close()
    assert event_file(tmp_path / "Duel") == path
    assert curves(tmp_path / "Duel") == points(10, 20, 25, 35)


def test_resuming_again_and_again_keeps_every_point_once(tmp_path: Path) -> None:
    state: StateTree | None = None
    for part in range(4):
        writer = writer_in(tmp_path, resume_state=state)
        write_steps(writer, 10 * part, 10 * part + 5)
        state = writer.state()
        write_steps(writer, 10 * part + 7)
        writer.close()
    assert curves(tmp_path / "Duel") == points(0, 5, 10, 15, 20, 25, 30, 35, 37)


def test_file_opens_with_its_version_once_over_all_resumes(tmp_path: Path) -> None:
    writer = writer_in(tmp_path)
    write_steps(writer, 10)
    state = writer.state()
    writer.close()
    resumed = writer_in(tmp_path, resume_state=state)
    write_steps(resumed, 20)
    resumed.close()
    versions = [event.file_version for event in LegacyEventFileLoader(str(event_file(tmp_path / "Duel"))).Load()]
    assert versions == ["brain.Event:2", "", ""]


def test_older_checkpoint_takes_the_curve_back_to_it(tmp_path: Path) -> None:
    writer = writer_in(tmp_path)
    write_steps(writer, 10)
    old = writer.state()
    write_steps(writer, 20)
    writer.state()
    writer.close()
    resumed = writer_in(tmp_path, resume_state=old)
    write_steps(resumed, 15)
    resumed.close()
    assert curves(tmp_path / "Duel") == points(10, 15)


def test_restoring_twice_is_the_same_as_once(tmp_path: Path) -> None:
    writer = writer_in(tmp_path)
    write_steps(writer, 10)
    state = writer.state()
    write_steps(writer, 20)
    writer.restore(state)
    writer.restore(state)
    write_steps(writer, 30)
    writer.close()
    assert curves(tmp_path / "Duel") == points(10, 30)


@pytest.mark.parametrize("damage", ["missing", "shorter", "other"])
def test_curve_goes_on_in_a_new_file_where_the_old_one_is_not_as_it_was(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    writer = writer_in(tmp_path)
    write_steps(writer, 10, 20)
    state = writer.state()
    writer.close()
    path = event_file(tmp_path / "Duel")
    content = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(content[:-1] if damage == "shorter" else content[::-1])
    left = path.read_bytes() if path.exists() else None
    for steps in ((30,), (40,)):
        writer = writer_in(tmp_path, resume_state=state)
        write_steps(writer, *steps)
        state = writer.state()
        writer.close()
    assert [record.levelno for record in caplog.records if record.name.startswith("sparring")] == [logging.WARNING]
    assert path.name in caplog.text
    # What was left is untouched, and the new file holds both later parts.
    if left is not None and damage != "missing":
        assert path.read_bytes() == left
    found = curves(tmp_path / "Duel")["Speed"]
    expected = {"missing": [30, 40], "shorter": [10, 30, 40], "other": [30, 40]}[damage]
    assert [step for step, _ in found] == expected


def test_points_of_a_category_that_the_checkpoint_does_not_know_are_set_aside(tmp_path: Path) -> None:
    writer = writer_in(tmp_path)
    write_steps(writer, 10, category="Duel")
    state = writer.state()
    write_steps(writer, 20, category="Keeper")
    writer.close()
    stale = event_file(tmp_path / "Keeper").read_bytes()
    resumed = writer_in(tmp_path, resume_state=state)
    write_steps(resumed, 20, 30, category="Keeper")
    resumed.close()
    assert curves(tmp_path / "Keeper") == points(20, 30)
    assert stale in [path.read_bytes() for path in (tmp_path / "Keeper").iterdir()]


def test_event_files_of_other_programs_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "Duel").mkdir()
    foreign = tmp_path / "Duel" / "events.out.tfevents.1600000000.host.1.0"
    foreign.write_bytes(b"theirs")
    writer = writer_in(tmp_path)
    write_steps(writer, 10)
    writer.close()
    assert foreign.read_bytes() == b"theirs"


@pytest.mark.parametrize("folder", ["../outside", "..", "/tmp/outside", ""])
def test_checkpoint_can_not_choose_a_folder_outside_the_run(tmp_path: Path, folder: str) -> None:
    run = tmp_path / "run"
    writer = writer_in(run)
    write_steps(writer, 10)
    state = writer.state()
    writer.close()
    state["0"]["folder"] = folder
    resumed = writer_in(run, resume_state=state)
    write_steps(resumed, 20)
    resumed.close()
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert curves(run / "Duel") == points(10, 20)


def test_moved_run_folder_resumes(tmp_path: Path) -> None:
    writer = writer_in(tmp_path / "here")
    write_steps(writer, 10)
    state = writer.state()
    writer.close()
    (tmp_path / "here").rename(tmp_path / "there")
    resumed = writer_in(tmp_path / "there", resume_state=state)
    write_steps(resumed, 20)
    resumed.close()
    assert curves(tmp_path / "there" / "Duel") == points(10, 20)


def test_nothing_is_made_before_the_first_write(tmp_path: Path) -> None:
    writer = writer_in(tmp_path / "run")
    writer.flush()
    assert writer.state() == {}
    writer.close()
    assert not (tmp_path / "run").exists()
