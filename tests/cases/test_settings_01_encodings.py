"""Case settings-01: four encodings of one file, and a tab."""

from pathlib import Path

import pytest

from tests.cases.base_settings import BASE, sparring


def test_marks_and_line_ends_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    contents = {
        "a.yaml": BASE.encode(),
        "b.yaml": BASE.encode("utf-8-sig"),
        "c.yaml": b"\xff\xfe" + BASE.replace("\n", "\r\n").encode("utf-16-le"),
    }
    answers = []
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
        answer = sparring("train", name, "--dry-run", capsys=capsys)
        assert answer.code == 0, answer.err
        answers.append(answer.out.replace(name, "FILE"))
    assert "Duel" in answers[0]
    assert answers[0] == answers[1] == answers[2]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(contents)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (
            "# Größe\n".encode("latin-1") + BASE.encode(),
            ["base.yaml:1:5", "the file is not UTF-8", "byte 0xf6 at position 4"],
        ),
        (
            BASE.replace(
                "    self_play: {window: 3, save_steps: 50, ", "    self_play:\n\t  window: 3\n    x: {save_steps: 50, "
            ).encode(),
            ["base.yaml:11", "a tab is used for indentation"],
        ),
    ],
    ids=["latin-1", "tab"],
)
def test_other_bytes_and_tabs_are_refused_with_their_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], content: bytes, says: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base.yaml").write_bytes(content)
    answer = sparring("train", "base.yaml", capsys=capsys)
    assert answer.code == 2
    assert all(piece in answer.err for piece in says), answer.err
    assert "KeyError" not in answer.err
    assert [path.name for path in tmp_path.iterdir()] == ["base.yaml"]
