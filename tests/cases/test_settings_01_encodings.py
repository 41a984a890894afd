"""Case settings-01: four encodings of one file, and a tab."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparring.cli.main import main
from tests.cases.settings_base import BASE

COMMENT = "# Größe\n"
ENCODED = {
    "plain": BASE.encode(),
    "marked": b"\xef\xbb\xbf" + BASE.encode(),
    "wide": BASE.replace("\n", "\r\n").encode("utf-16"),
}


def called(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    said = capsys.readouterr()
    return int(left.value.code or 0), said.out, said.err


def test_all_readable_encodings_give_the_same_settings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = []
    for content in ENCODED.values():
        (tmp_path / "duel.yaml").write_bytes(content)
        code, out, err = called(capsys, "train", str(tmp_path / "duel.yaml"), "--dry-run")
        assert (code, err) == (0, "")
        shown.append(out)
    assert shown[0] == shown[1] == shown[2]
    assert "batch_size: 32" in shown[0]
    assert [entry.name for entry in tmp_path.iterdir()] == ["duel.yaml"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ((COMMENT + BASE).encode("latin-1"), ["duel.yaml:1:5", "the file is not UTF-8", "byte 0xf6 at position 4"]),
        (BASE.replace("    self_play", "\tself_play").encode(), ["duel.yaml:10", "a tab is used for indentation"]),
    ],
    ids=["latin", "tab"],
)
def test_what_can_not_be_read_is_refused_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, told: list[str]
) -> None:
    (tmp_path / "duel.yaml").write_bytes(content)
    code, _, err = called(capsys, "train", str(tmp_path / "duel.yaml"), "--results-dir", str(tmp_path / "results"))
    assert code == 2
    for words in told:
        assert words in err
    assert "Traceback" not in err
    assert "KeyError" not in err
    assert [entry.name for entry in tmp_path.iterdir()] == ["duel.yaml"]
