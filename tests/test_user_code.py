"""Scripts of a person's own: what is found in them, and how mistakes are told."""

from pathlib import Path

import pytest

from sparring.errors import SettingsError
from sparring.user_code import load_function, run_name_of, script_path


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("game.py:world", Path("game.py")),
        ("some/where/my game.py:make_it", Path("some/where/my game.py")),
        (r"C:\games\tag.py:world", Path(r"C:\games\tag.py")),
        ("game.py", None),
        ("game.py:", None),
        ("game.py:a-b", None),
        ("world", None),
        (":world", None),
        ("game.txt:world", None),
    ],
)
def test_a_place_is_a_script_and_a_name(text: str, path: Path | None) -> None:
    assert script_path(text) == path


def test_a_run_is_called_like_its_world_or_its_script() -> None:
    assert run_name_of("some/where/tag.py:world") == "tag"
    assert run_name_of("soccer_twos") == "soccer_twos"


def test_a_function_is_found_with_what_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "beside_the_game.py").write_text("ANSWER = 42")
    (tmp_path / "game.py").write_text("from beside_the_game import ANSWER\ndef answer():\n    return ANSWER\n")
    assert load_function(f"{tmp_path / 'game.py'}:answer", where="--game")() == 42


def test_dataclasses_and_late_imports_work_as_in_any_script(tmp_path: Path) -> None:
    (tmp_path / "late_beside_it.py").write_text("ANSWER = 42")
    (tmp_path / "game.py").write_text(
        "from __future__ import annotations\nimport pickle\nfrom dataclasses import dataclass\n\n"
        "@dataclass\nclass Place:\n    x: int\n\n"
        "def answer():\n    from late_beside_it import ANSWER\n    return pickle.loads(pickle.dumps(Place(ANSWER)))\n"
    )
    assert load_function(f"{tmp_path / 'game.py'}:answer", where="--game")().x == 42


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (None, "world", "--game: there is no such script"),
        ("def wrld(): ...", "world", "nothing to call by the name 'world'\n  did you mean 'wrld'?"),
        ("world = 3", "world", "nothing to call by the name 'world'"),
        ("a = 1\n1 / 0", "world", "game.py:2: the script can't be run; found ZeroDivisionError: division by zero"),
        ("def (", "world", "the script can't be run; found SyntaxError"),
        ("import nothing_of_the_kind", "world", "found ModuleNotFoundError: No module named 'nothing_of_the_kind'"),
    ],
)
def test_mistakes_are_told(tmp_path: Path, content: str | None, name: str, message: str) -> None:
    path = tmp_path / "game.py"
    if content is not None:
        path.write_text(content)
    with pytest.raises(SettingsError) as told:
        load_function(f"{path}:{name}", where="--game")
    assert message in str(told.value)
