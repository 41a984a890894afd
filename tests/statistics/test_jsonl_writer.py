"""Lines that any strict reader of JSON takes."""

from pathlib import Path

import pytest

from sparring.statistics import Aggregation
from sparring.statistics.jsonl_writer import JsonLinesWriter
from tests.statistics.builders import lines, progress_at, summary_of


def steps(folder: Path) -> list[int]:
    return [record["step"] for record in lines(folder)]


def write_steps(writer: JsonLinesWriter, *at: int) -> None:
    for step in at:
        writer.write("Duel", {"Speed": summary_of(1.5)}, progress_at(step))


def test_line_has_the_five_counters_and_every_number(tmp_path: Path) -> None:
    writer = JsonLinesWriter(tmp_path, resume_state=None)
    writer.write("Duel", {"Goals": summary_of(1, 2, 3, aggregation=Aggregation.SUM)}, progress_at(2**33))
    writer.close()
    assert lines(tmp_path) == [
        {
            "category": "Duel",
            "step": 2**33,
            "environment_steps": 2**34,
            "episodes": 2**33 // 10,
            "updates": 2**33 // 50,
            "wall_time_s": 2**30,
            "keys": {
                "Goals": {
                    "value": 6,
                    "mean": 2,
                    "count": 3,
                    "std": pytest.approx((2 / 3) ** 0.5),
                    "min": 1,
                    "max": 3,
                    "sum": 6,
                    "aggregation": "sum",
                }
            },
        }
    ]


def test_names_stay_readable_and_lines_whole(tmp_path: Path) -> None:
    names = ["Bot(Clone)/über", "Hits/Left wall %", "two\nlines", "\u2028", '"', "half \ud800", ""]
    writer = JsonLinesWriter(tmp_path, resume_state=None)
    for name in names:
        writer.write(name, {name: summary_of(1.0)}, progress_at(1))
    writer.close()
    assert [record["category"] for record in lines(tmp_path)] == names
    assert [list(record["keys"]) for record in lines(tmp_path)] == [[name] for name in names]
    assert "über" in (tmp_path / "statistics.jsonl").read_text("utf-8")


def test_number_that_json_does_not_know_is_never_written(tmp_path: Path) -> None:
    writer = JsonLinesWriter(tmp_path, resume_state=None)
    with pytest.raises(ValueError, match="not JSON compliant"):
        writer.write("Duel", {"Speed": summary_of(float("nan"))}, progress_at(1))
    write_steps(writer, 2)
    writer.close()
    assert steps(tmp_path) == [2]


def test_resumed_run_drops_the_lines_behind_the_checkpoint(tmp_path: Path) -> None:
    writer = JsonLinesWriter(tmp_path, resume_state=None)
    write_steps(writer, 10, 20)
    state = writer.state()
    write_steps(writer, 30)
    writer.close()
    resumed = JsonLinesWriter(tmp_path, resume_state=state)
    write_steps(resumed, 25)
    resumed.close()
    assert steps(tmp_path) == [10, 20, 25]


def test_file_that_was_changed_from_outside_is_set_aside(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    writer = JsonLinesWriter(tmp_path, resume_state=None)
    write_steps(writer, 10)
    state = writer.state()
    writer.close()
    path = tmp_path / "statistics.jsonl"
    changed = path.read_text().replace("Speed", "Tempo")
    path.write_text(changed)
    resumed = JsonLinesWriter(tmp_path, resume_state=state)
    write_steps(resumed, 20)
    resumed.close()
    assert steps(tmp_path) == [20]
    assert (tmp_path / "statistics.earlier-1.jsonl").read_text() == changed
    assert "statistics.earlier-1.jsonl" in caplog.text


def test_new_run_never_writes_into_the_file_of_another(tmp_path: Path) -> None:
    for step in (10, 20):
        writer = JsonLinesWriter(tmp_path, resume_state=None)
        write_steps(writer, step)
        writer.close()
    assert steps(tmp_path) == [20]
    assert len(list(tmp_path.iterdir())) == 2


def test_settings_make_no_line(tmp_path: Path) -> None:
    writer = JsonLinesWriter(tmp_path / "run", resume_state=None)
    writer.announce("Duel", {"batch_size": 32})
    writer.flush()
    writer.close()
    assert not (tmp_path / "run").exists()
