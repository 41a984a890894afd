"""How writers are found, what all of them promise, and that none of them stops a run."""

import importlib
import logging
import subprocess
import sys
from pathlib import Path

import pytest

from sparring.errors import SettingsError
from sparring.statistics import Statistics, Writer, available_writers, load_writers
from sparring.statistics._state import StateTree
from tests.statistics.builders import RecordingWriter, progress_at, summary_of

BUILT_IN = ["console", "jsonl", "tensorboard"]
every_writer = pytest.mark.parametrize("name", BUILT_IN)


@pytest.fixture
def plug_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package whose writers are `good`, `broken` and one that can not be imported."""
    (tmp_path / "sparring_test_plugin.py").write_text(
        "from tests.statistics.builders import RecordingWriter\n"
        "def good(folder, *, resume_state):\n"
        "    writer = RecordingWriter()\n"
        "    writer.made_with = (folder, resume_state)\n"
        "    return writer\n"
        "def broken(folder, *, resume_state):\n"
        "    raise RuntimeError('no account')\n"
    )
    metadata = tmp_path / "sparring_test_plugin-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: sparring-test-plugin\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[sparring.writers]\n"
        "good = sparring_test_plugin:good\n"
        "broken = sparring_test_plugin:broken\n"
        "absent = sparring_test_no_such_module:writer\n"
        "console = sparring_test_plugin:broken\n"
    )
    # Behind all others: the last one of a name would win if names were not guarded.
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    importlib.invalidate_caches()
    monkeypatch.delitem(sys.modules, "sparring_test_plugin", raising=False)
    return tmp_path


def test_built_in_writers_are_available() -> None:
    assert set(BUILT_IN) <= set(available_writers())


def test_plug_in_is_made_for_the_folder_and_with_its_state(plug_ins: Path) -> None:
    made = [
        load_writers(plug_ins, ["good"]),
        load_writers(plug_ins, ["good"], states={"good": {"a": 1}}),
        load_writers(plug_ins, ["good"], states={}),
    ]
    assert [getattr(writers["good"], "made_with", None) for writers in made] == [
        (plug_ins, None),
        (plug_ins, {"a": 1}),
        (plug_ins, {}),
    ]


@pytest.mark.parametrize(("name", "reason"), [("broken", "no account"), ("absent", "sparring_test_no_such_module")])
def test_broken_plug_in_is_named_and_the_others_are_loaded(
    plug_ins: Path, caplog: pytest.LogCaptureFixture, name: str, reason: str
) -> None:
    assert list(load_writers(plug_ins, [name, "good", "jsonl"])) == ["good", "jsonl"]
    (notice,) = caplog.records
    assert notice.levelno == logging.WARNING
    assert repr(name) in notice.getMessage()
    assert reason in notice.getMessage()


def test_plug_in_can_not_take_the_name_of_a_built_in_writer(plug_ins: Path) -> None:
    (writer,) = load_writers(plug_ins, ["console"]).values()
    assert type(writer).__module__ == "sparring.statistics.console_writer"


def test_unknown_name_is_a_mistake_with_the_nearest_known_one(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="did you mean 'tensorboard'"):
        load_writers(tmp_path, ["tensorbord", "jsonl"])


def test_writer_named_twice_is_one(tmp_path: Path) -> None:
    assert list(load_writers(tmp_path, ["jsonl", "console", "jsonl"])) == ["jsonl", "console"]


def load(name: str, folder: Path, resume_state: StateTree | None = None) -> Writer:
    states = None if resume_state is None else {name: resume_state}
    return load_writers(folder, [name], states=states)[name]


@every_writer
def test_every_writer_takes_an_empty_window_flushes_and_closes_twice(name: str, tmp_path: Path) -> None:
    writer = load(name, tmp_path)
    writer.write("Duel", {}, progress_at(1))
    writer.announce("Duel", {})
    writer.flush()
    writer.close()
    writer.close()


@every_writer
def test_every_writer_is_back_at_its_state_however_often_it_is_restored(name: str, tmp_path: Path) -> None:
    def contents() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    writer = load(name, tmp_path)
    writer.write("Duel", {"Speed": summary_of(1.0)}, progress_at(10))
    state, before = writer.state(), contents()
    writer.write("Duel", {"Speed": summary_of(2.0)}, progress_at(20))
    writer.restore(state)
    assert contents() == before
    writer.restore(state)
    writer.close()
    load(name, tmp_path, state).close()
    assert contents() == before
    assert writer.state() == state


@every_writer
def test_every_writer_starts_empty_where_a_resumed_run_had_none(name: str, tmp_path: Path) -> None:
    writer = load(name, tmp_path, {})
    writer.write("Duel", {"Speed": summary_of(1.0)}, progress_at(10))
    writer.close()


def run_windows(statistics: Statistics, *steps: int) -> None:
    for step in steps:
        statistics.add("Duel", "Speed", float(step))
        statistics.write("Duel", progress_at(step))


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), RuntimeError("bug in a plug-in")])
def test_failing_writer_is_reported_once_and_the_others_go_on(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    ill, well = RecordingWriter(), RecordingWriter()
    statistics = Statistics({"ill": ill, "well": well})
    ill.error = error
    statistics.announce("Duel", {"beta": 1})
    run_windows(statistics, 1, 2, 3)
    statistics.flush()
    statistics.state()
    statistics.close()
    assert [progress.step for _, _, progress in well.written] == [1, 2, 3]
    assert (len(well.announced), well.flushed, well.closed) == (1, 1, 1)
    (notice,) = caplog.records
    assert "'ill'" in notice.getMessage()
    assert str(error) in notice.getMessage()


def test_writer_that_recovers_goes_on_and_says_what_is_missing(caplog: pytest.LogCaptureFixture) -> None:
    writer = RecordingWriter()
    statistics = Statistics({"disk": writer})
    for failing, steps in ((True, (1, 2)), (False, (3, 4)), (True, (5,)), (False, (6,))):
        writer.error = OSError(28, "No space left on device") if failing else None
        run_windows(statistics, *steps)
    assert [progress.step for _, _, progress in writer.written] == [3, 4, 6]
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 4
    assert "summaries lost: 2" in messages[1]
    assert "summaries lost: 1" in messages[3]


def test_checkpoint_keeps_the_last_state_a_failing_writer_gave() -> None:
    writer = RecordingWriter()
    statistics = Statistics({"disk": writer})
    run_windows(statistics, 1)
    before = statistics.state()["writers"]
    writer.error = OSError(28, "No space left on device")
    assert statistics.state()["writers"] == before == {"0": {"name": "disk", "state": {"written": 1}}}


def test_restoring_hands_each_writer_its_own_state() -> None:
    first = Statistics({"one": RecordingWriter(), "two": RecordingWriter()})
    run_windows(first, 1)
    one, new = RecordingWriter(), RecordingWriter()
    Statistics({"new": new, "one": one}).restore(first.state())
    assert one.restored == [{"written": 1}]
    assert new.restored == [{}]


def test_importing_the_package_loads_neither_tensorboard_nor_torch() -> None:
    program = (
        "import sys, sparring.statistics\n"
        "heavy = ('torch', 'tensorboard', 'google.protobuf', 'rich', 'pydantic')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
