"""A file of whole appends, cut back to a mark."""

import errno
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparring.statistics._appended_file import AppendedFile, Mark, set_aside


class FullDisk:
    """Stands in for the open file: takes `room` bytes, then fails like a full disk; `truncate` can fail as well."""

    def __init__(self, file: AppendedFile, room: int, *, can_truncate: bool = True) -> None:
        self._real = file._file
        self._room = room
        self._can_truncate = can_truncate
        self.closed = False

    def write(self, content: bytes) -> int:
        if not self._room:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = self._real.write(content[: self._room])
        self._room -= written
        return written

    def truncate(self, length: int) -> None:
        if not self._can_truncate:
            raise OSError(errno.EIO, "Input/output error")
        self._real.truncate(length)


def start(folder: Path, *contents: bytes) -> AppendedFile:
    file = AppendedFile.create(folder / "log")
    for content in contents:
        file.append(content)
    return file


@pytest.mark.parametrize("can_truncate", [True, False])
def test_append_that_does_not_fit_leaves_nothing_behind(tmp_path: Path, can_truncate: bool) -> None:
    file = start(tmp_path, b"one.")
    real = file._file
    file._file = FullDisk(file, 3, can_truncate=can_truncate)  # type: ignore[assignment]
    with pytest.raises(OSError, match="No space"):
        file.append(b"two.")
    # Readers see no torn part meanwhile, unless the disk refuses even that.
    assert file.path.read_bytes() == (b"one." if can_truncate else b"one.two")
    file._file = real
    file.append(b"three.")
    assert file.path.read_bytes() == b"one.three."
    assert file.mark().length == 10
    file.close()


def test_mark_taken_while_the_disk_is_full_does_not_count_the_torn_part(tmp_path: Path) -> None:
    file = start(tmp_path, b"one.")
    real = file._file
    file._file = FullDisk(file, 3)  # type: ignore[assignment]
    with pytest.raises(OSError, match="No space"):
        file.append(b"two.")
    file._file = real
    assert file.mark().length == 4
    assert file.path.read_bytes() == b"one."
    file.close()


@given(st.lists(st.binary(max_size=20), max_size=6), st.lists(st.binary(max_size=20), max_size=6))
@settings(max_examples=30)
def test_what_lies_behind_the_mark_is_cut_off(
    tmp_path_factory: pytest.TempPathFactory, kept: list[bytes], dropped: list[bytes]
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    file = start(folder, *kept)
    mark = Mark.from_state(file.mark().state())
    for content in dropped:
        file.append(content)
    file.close()
    again = AppendedFile.cut_back(folder, mark)
    assert again is not None
    again.append(b"end")
    again.close()
    assert again.path.read_bytes() == b"".join(kept) + b"end"
    # The checksum goes on over the cut.
    once_more = AppendedFile.cut_back(folder, again.mark())
    assert once_more is not None
    once_more.close()


@pytest.mark.parametrize("content", [None, b"", b"one.tw", b"eno.two.", b"eno.two.three."])
def test_file_that_is_not_the_marked_one_is_left_alone(tmp_path: Path, content: bytes | None) -> None:
    file = start(tmp_path, b"one.", b"two.")
    mark = file.mark()
    file.close()
    file.path.unlink() if content is None else file.path.write_bytes(content)
    assert AppendedFile.cut_back(tmp_path, mark) is None
    assert content == (file.path.read_bytes() if file.path.exists() else None)


@pytest.mark.parametrize("name", ["../log", "inside/log", "..", ".", "", "inside\\log", "C:log", "log\0"])
def test_mark_can_not_lead_out_of_its_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "run"
    (folder / "inside").mkdir(parents=True)
    for path in (tmp_path / "log", folder / "inside" / "log"):
        path.write_bytes(b"precious")
    assert AppendedFile.cut_back(folder, Mark(name, 0, 0)) is None
    assert (tmp_path / "log").read_bytes() == b"precious"
    assert (folder / "inside" / "log").read_bytes() == b"precious"


def test_files_set_aside_are_all_kept(tmp_path: Path) -> None:
    path = tmp_path / "statistics.jsonl"
    for content in ("a", "b"):
        path.write_text(content)
        set_aside(path)
    assert {found.name: found.read_text() for found in tmp_path.iterdir()} == {
        "statistics.earlier-1.jsonl": "a",
        "statistics.earlier-2.jsonl": "b",
    }


def test_closing_twice_is_allowed_and_the_mark_stays(tmp_path: Path) -> None:
    file = start(tmp_path, b"one.")
    file.close()
    file.close()
    assert file.mark().length == 4
