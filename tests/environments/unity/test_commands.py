"""What is started for what a user names."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from sparring.environments.unity.commands import find_command, find_executable, game_arguments, in_virtual_display
from sparring.errors import GameError


def build(path: Path, *, may_run: bool = True) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    path.chmod(0o755 if may_run else 0o644)
    return path


@pytest.mark.parametrize(
    ("platform", "file", "named"),
    [
        ("linux", "My Game/Soccer.x86_64", "My Game/Soccer.x86_64"),
        ("linux", "My Game/Soccer.x86_64", "My Game/Soccer"),
        ("linux", "My Game/Soccer.x86_64", "My Game/Soccer.exe"),
        ("linux", "My Game/Soccer.x86_64", "My Game"),
        ("linux", "My.x86 Game/Soccer", "My.x86 Game/Soccer"),
        ("linux", "Folder/Soccer", "Folder"),
        ("darwin", "Soccer.app/Contents/MacOS/Soccer", "Soccer.app"),
        ("darwin", "Soccer.app/Contents/MacOS/Soccer", "Soccer"),
        ("darwin", "Builds/Soccer.app/Contents/MacOS/Product", "Builds"),
        ("win32", "Build/Soccer.exe", "Build"),
        ("win32", "Build/Soccer.exe", "Build/Soccer"),
    ],
)
def test_a_build_is_found_by_file_folder_or_bundle_with_or_without_ending(
    tmp_path: Path, platform: str, file: str, named: str
) -> None:
    wanted = build(tmp_path / file)
    assert find_executable(str(tmp_path / named), platform=platform) == wanted


def test_the_crash_handler_and_builds_for_other_systems_are_passed_over(tmp_path: Path) -> None:
    build(tmp_path / "UnityCrashHandler64.exe")
    wanted = build(tmp_path / "Soccer.exe")
    linux = build(tmp_path / "Soccer.x86_64")
    assert find_executable(str(tmp_path), platform="win32") == wanted
    assert find_executable(str(tmp_path), platform="linux") == linux


def test_of_several_games_in_a_folder_the_one_named_like_it_is_taken_or_all_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "Soccer"
    build(folder / "Tennis.x86_64")
    build(folder / "Walker.x86_64")
    with pytest.raises(GameError, match=r"holds several games; found Tennis\.x86_64, Walker\.x86_64"):
        find_executable(str(folder), platform="linux")
    wanted = build(folder / "Soccer.x86_64")
    assert find_executable(str(folder), platform="linux") == wanted


def test_a_build_for_another_system_is_named_as_one(tmp_path: Path) -> None:
    build(tmp_path / "Soccer.exe", may_run=False)
    with pytest.raises(GameError, match="built for another system"):
        find_executable(str(tmp_path / "Soccer"), platform="linux")


@pytest.mark.skipif(os.name != "posix", reason="other systems have no such bit")
def test_a_file_that_may_not_be_executed_says_how_to_mend_it(tmp_path: Path) -> None:
    build(tmp_path / "Soccer.x86_64", may_run=False)
    with pytest.raises(GameError, match=r"chmod \+x"):
        find_executable(str(tmp_path / "Soccer"))


def test_a_missing_game_names_what_lies_there(tmp_path: Path) -> None:
    build(tmp_path / "Soccer.x86_64")
    with pytest.raises(GameError, match=r"holds: Soccer\.x86_64"):
        find_executable(str(tmp_path / "Socer"))


def test_a_script_runs_with_the_trainers_python_and_a_path_with_spaces_is_one_word(tmp_path: Path) -> None:
    script = build(tmp_path / "my game.py", may_run=False)
    assert find_command(str(script)) == [sys.executable, str(script)]
    assert find_command(f"'{script}' --level 'two words'") == [sys.executable, str(script), "--level", "two words"]


def test_a_command_that_cannot_be_read_is_a_mistake() -> None:
    with pytest.raises(GameError, match="cannot be read"):
        find_command("game --name 'unclosed")
    with pytest.raises(GameError, match="no such game"):
        find_command("")


def test_arguments_have_the_order_games_know(tmp_path: Path) -> None:
    log = str((tmp_path / "Player-2.log").resolve())
    command = game_arguments(
        ["game"], port=5007, worker=2, no_graphics=True, log_folder=tmp_path, additional=["--level", "a b; rm"]
    )
    assert command == [
        *("game", "-nographics", "-batchmode", "--mlagents-port", "5007", "-logFile", log, "--level", "a b; rm"),
    ]


@pytest.mark.parametrize("spelling", ["-logfile", "-logFile", "-LOGFILE"])
def test_a_log_file_of_the_users_own_is_left_to_them(tmp_path: Path, spelling: str) -> None:
    command = game_arguments(["game"], port=1, worker=0, log_folder=tmp_path, additional=[spelling, "mine.log"])
    assert command == ["game", "--mlagents-port", "1", spelling, "mine.log"]


def test_a_virtual_display_goes_around_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    command = in_virtual_display(["game", "--mlagents-port", "1"])
    assert command[0] == "/usr/bin/xvfb-run"
    assert command[-3:] == ["game", "--mlagents-port", "1"]
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(GameError, match="apt-get install xvfb"):
        in_virtual_display(["game"])
