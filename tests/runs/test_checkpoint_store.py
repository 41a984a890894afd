"""The store keeps the newest and the best, and what is on disk can always be loaded."""

import errno
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparring.errors import CheckpointError, NonFiniteError
from sparring.runs import CheckpointStore, _atomic, read_checkpoint, write_checkpoint
from sparring.runs._atomic import remove_leftovers


def saved(folder: Path, *steps: int, keep: int = 5) -> CheckpointStore:
    store = CheckpointStore(folder, keep=keep)
    for step in steps:
        assert store.save({"step": step, "w": np.full(4, float(step))}, step) is not None
    return store


def damage(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


def test_the_newest_steps_are_kept_and_loaded(tmp_path: Path) -> None:
    store = saved(tmp_path, 1, 2, 3, 10, keep=2)
    assert store.steps() == [3, 10]
    assert names(tmp_path) == {"checkpoint-000000000003.safetensors", "checkpoint-000000000010.safetensors"}
    newest = store.newest()
    assert (newest.step, newest.state["step"], newest.notices) == (10, 10, ())


def test_keeping_zero_keeps_all(tmp_path: Path) -> None:
    assert saved(tmp_path, *range(8), keep=0).steps() == list(range(8))


def test_steps_beyond_twelve_digits_still_sort_as_numbers(tmp_path: Path) -> None:
    assert saved(tmp_path, 999_999_999_999, 1_000_000_000_000, keep=1).newest().step == 1_000_000_000_000


def test_only_own_files_are_pruned(tmp_path: Path) -> None:
    foreign = ["checkpoint-1.safetensors", "notes.txt", "checkpoint-000000000001.safetensors.bak", "model.safetensors"]
    for name in foreign:
        (tmp_path / name).write_text("mine")
    saved(tmp_path, *range(5), keep=1)
    assert names(tmp_path) == {*foreign, "checkpoint-000000000004.safetensors"}


def test_the_best_is_kept_apart_and_says_why(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, keep=1)
    for step, measure in [(1, 1200.0), (2, 1300.0), (3, 1250.0), (4, None), (5, 1300.0)]:
        store.save({"step": step}, step, measure=measure)
    assert store.steps() == [5]
    assert store.load("best").state == {"step": 2}
    why = json.loads((tmp_path / "best.json").read_text())
    assert (why["step"], why["measure"], why["previous_measure"]) == (2, 1300.0, 1200.0)


def test_the_best_of_an_earlier_process_still_counts_even_if_the_text_beside_it_is_old(tmp_path: Path) -> None:
    CheckpointStore(tmp_path).save({}, 1, measure=5.0)
    (tmp_path / "best.json").write_text('{"step": 0, "measure": -1.0}')
    again = CheckpointStore(tmp_path)
    again.save({}, 2, measure=4.0)
    assert again.load("best").step == 1
    again.save({}, 3, measure=6.0)
    assert again.load("best").step == 3


def test_a_damaged_best_is_replaced(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = CheckpointStore(tmp_path)
    store.save({}, 1, measure=5.0)
    store.best_path.write_bytes(b"rubbish")
    store.save({}, 2, measure=1.0)
    assert store.load("best").step == 2
    assert "damaged and will be replaced" in caplog.text


def test_damaged_ones_are_skipped_named_and_left_on_disk(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = saved(tmp_path, 1, 2, 3)
    for step in (2, 3):
        damage(tmp_path / f"checkpoint-{step:012d}.safetensors")
    newest = store.newest()
    assert newest.step == 1
    assert [f"{step:012d}" in notice for step, notice in zip((3, 2), newest.notices, strict=True)] == [True, True]
    assert all(notice in caplog.messages for notice in newest.notices)
    assert store.steps() == [1, 2, 3]


def test_the_best_is_the_last_resort_and_without_it_every_damage_is_told(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path)
    store.save({}, 1, measure=1.0)
    store.save({}, 2)
    for step in (1, 2):
        damage(tmp_path / f"checkpoint-{step:012d}.safetensors")
    assert store.newest().path == store.best_path
    damage(store.best_path)
    with pytest.raises(CheckpointError) as caught:
        store.newest()
    assert len(caught.value.findings) == 3


def test_a_step_or_the_best_can_be_asked_for(tmp_path: Path) -> None:
    store = saved(tmp_path, 1, 2, 3)
    assert store.load(2).state["step"] == 2
    assert store.load("newest").step == 3
    with pytest.raises(CheckpointError, match="one of these steps: 1, 2, 3"):
        store.load(7)
    with pytest.raises(CheckpointError, match="no such checkpoint"):
        store.load("best")


def test_asking_for_a_damaged_one_names_the_newest_good_one(tmp_path: Path) -> None:
    store = saved(tmp_path, 1, 2, 3)
    damage(tmp_path / "checkpoint-000000000003.safetensors")
    with pytest.raises(CheckpointError, match="newest complete checkpoint is of step 2") as caught:
        store.load(3)
    assert "checkpoint-000000000003" in caught.value.findings[0].where


def test_an_empty_store_says_there_is_none_yet(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path / "none")
    assert store.is_empty()
    with pytest.raises(CheckpointError, match="no checkpoint yet"):
        store.newest()


def test_resuming_from_an_earlier_step_moves_the_given_up_future_aside(tmp_path: Path) -> None:
    store = saved(tmp_path, 1, 2, 3)
    store.save({"branch": "new"}, 2)
    assert store.newest().state == {"branch": "new"}
    assert names(tmp_path / "set-aside-1") == {"checkpoint-000000000003.safetensors"}
    saved(tmp_path, 1)
    assert names(tmp_path / "set-aside-2") == {"checkpoint-000000000002.safetensors"}


def test_a_non_finite_state_changes_nothing_on_disk(tmp_path: Path) -> None:
    store = saved(tmp_path, 1, 2)
    with pytest.raises(NonFiniteError):
        store.save({"w": np.array([np.nan])}, 1, measure=3.0)
    assert names(tmp_path) == {"checkpoint-000000000001.safetensors", "checkpoint-000000000002.safetensors"}


@settings(deadline=None, max_examples=30)
@given(
    saves=st.lists(st.tuples(st.integers(0, 30), st.none() | st.floats(-5, 5)), min_size=1, max_size=12),
    keep=st.integers(0, 3),
)
def test_any_order_of_saves_leaves_the_last_written_newest_and_the_highest_of_its_past_best(
    tmp_path_factory: pytest.TempPathFactory, saves: list[tuple[int, float | None]], keep: int
) -> None:
    logging.disable()
    store = CheckpointStore(tmp_path_factory.mktemp("store"), keep=keep)
    for number, (step, measure) in enumerate(saves):
        store.save({"number": number}, step, measure=measure)
    logging.disable(logging.NOTSET)
    assert store.newest().state == {"number": len(saves) - 1}
    best: tuple[int, int, float] | None = None
    for number, (step, measure) in enumerate(saves):
        if best is not None and best[1] > step:
            best = None
        if measure is not None and (best is None or measure > best[2]):
            best = number, step, measure
    assert store.best_path.is_file() == (best is not None)
    if best is not None:
        assert store.load("best").state == {"number": best[0]}
    if keep:
        assert len(store.steps()) <= keep


# --- a full disk --------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
def test_a_disk_that_refuses_is_told_and_costs_only_this_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, code: int
) -> None:
    store = saved(tmp_path, 1, 2, keep=2)
    before = {name: (tmp_path / name).read_bytes() for name in names(tmp_path)}

    def refuse(descriptor: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", refuse)
    assert store.save({"w": np.ones(1000)}, 3, measure=1.0) is None
    monkeypatch.undo()
    assert {name: (tmp_path / name).read_bytes() for name in names(tmp_path)} == before
    assert os.strerror(code) in caplog.text
    assert "MB free" in caplog.text
    assert store.save({}, 4) is not None


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MB; needs the right to mount one."""
    place = tmp_path / "tiny"
    place.mkdir()
    if not sys.platform.startswith("linux"):
        pytest.skip("mounts a tmpfs")
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(place)]
    if not shutil.which("mount") or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("may not mount a tmpfs here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_really_full_disk_leaves_the_earlier_checkpoint_and_no_leftover(tiny_disk: Path) -> None:
    store = CheckpointStore(tiny_disk, keep=5)
    state = {"w": np.arange(80_000, dtype=np.float64)}  # 640 kB: the second does not fit
    assert store.save(state, 1) is not None
    assert store.save(state, 2) is None
    assert names(tiny_disk) == {"checkpoint-000000000001.safetensors"}
    assert store.newest().step == 1


def test_an_old_checkpoint_that_cannot_be_removed_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = saved(tmp_path, 1, keep=1)

    def refuse(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(errno.EACCES, "held open", str(path))

    monkeypatch.setattr(Path, "unlink", refuse)
    assert store.save({}, 2) is not None
    assert "could not remove" in caplog.text


# --- kills --------------------------------------------------------------------------------------

WRITER = """
import sys, itertools, numpy as np
from pathlib import Path
from sparring.runs import CheckpointStore
store = CheckpointStore(Path(sys.argv[1]), keep=3)
start = 0 if store.is_empty() else store.newest().step
print("ready", flush=True)
for step in itertools.count(start + 1):
    store.save({"w": np.full(40_000, float(step)), "step": step}, step, measure=float(step % 7))
"""


def test_a_kill_at_any_instant_leaves_a_complete_newest_checkpoint(tmp_path: Path) -> None:
    rng = np.random.default_rng(20)
    last, killed_while_writing = 0, 0
    for number in range(10):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        assert writer.stdout.readline().strip() == b"ready"
        deadline = time.monotonic() + 20
        while CheckpointStore(tmp_path).is_empty() and time.monotonic() < deadline:
            pass
        time.sleep(rng.uniform(0.0, 0.15))  # not a wait for something: the instant of the kill is drawn
        while number % 2 and not list(tmp_path.glob(".*.part")) and time.monotonic() < deadline:
            pass  # every second kill is aimed at a write
        writer.send_signal(signal.SIGKILL if os.name != "nt" else signal.SIGTERM)
        writer.wait(20)
        writer.stdout.close()
        killed_while_writing += len(list(tmp_path.glob(".*.part")))
        newest = CheckpointStore(tmp_path).newest()
        assert newest.notices == ()
        assert newest.step >= last
        assert newest.state["step"] == newest.step
        np.testing.assert_array_equal(newest.state["w"], float(newest.step))
        last = newest.step
        for path in tmp_path.glob("*.safetensors"):
            read_checkpoint(path)
        remove_leftovers(tmp_path)
        assert not list(tmp_path.glob(".*"))
    assert last > 10
    assert killed_while_writing > 0, "no kill fell into a write: the test saw nothing"


def test_leftovers_are_removed_only_if_they_are_ours_by_name(tmp_path: Path) -> None:
    ours = tmp_path / ".checkpoint-000000000001.safetensors.0123456789ab.part"
    others = [tmp_path / name for name in (".notes.part", ".x.0123456789AB.part", "movie.0123456789ab.part")]
    for path in (ours, *others):
        path.write_text("x")
    assert remove_leftovers(tmp_path) == [ours]
    assert names(tmp_path) == {path.name for path in others}


def test_an_interrupt_while_writing_leaves_nothing_beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_checkpoint(tmp_path / "c", {}, step=1)
    assert names(tmp_path) == set()


def test_windows_waits_for_a_reader_to_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts: list[float] = []
    monkeypatch.setattr(time, "sleep", attempts.append)

    def busy_twice(source: Path, target: Path, *, is_last_try: bool) -> bool:
        return len(attempts) == 2

    monkeypatch.setattr(_atomic, "_renamed", busy_twice)
    _atomic._rename(tmp_path / "a", tmp_path / "b")
    assert len(attempts) == 2
