"""Games as programs: behind the wire they are the same as in process; alone they play on their own."""

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sparring.academy import AcademyEnvironment
from sparring.academy.playing import trainer_port
from sparring.environments.unity import UnityEnvironment
from sparring.errors import GameError
from tests.academy.games import painters, walkers
from tests.academy.playing import play_side_by_side

ROOT = Path(__file__).parents[2]
PROGRAM = [sys.executable, str(Path(__file__).with_name("game_program.py"))]


@pytest.fixture(autouse=True)
def tests_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Game programs import the games of this folder."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))


@pytest.mark.parametrize("way", ["stepped", "loop"])
def test_behind_the_wire_a_game_shows_what_it_shows_in_process(way: str) -> None:
    command = shlex.join([*PROGRAM, "painters", way])
    with (
        UnityEnvironment(command, seed=5, timeout_wait=60, num_areas=2) as served,
        AcademyEnvironment(painters, seed=5, num_areas=2) as local,
    ):
        for game in (served, local):
            game.set_parameters({"pay": 0.125})
        play_side_by_side(local, served, steps=60, reset_at=25)


@pytest.mark.parametrize("way", ["stepped", "loop"])
def test_a_game_ends_when_its_trainer_leaves(way: str, tmp_path: Path) -> None:
    command = shlex.join([*PROGRAM, "walkers", way, "--tell", str(tmp_path / "told")])
    with UnityEnvironment(command, timeout_wait=60) as served:
        served.reset()
        served.step()
        served.step()
    deadline = time.monotonic() + 30
    while not (tmp_path / "told").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    is_trained, steps, _ = (tmp_path / "told").read_text().split()
    assert (is_trained, steps) == ("True", "3")


@pytest.mark.parametrize("way", ["stepped", "loop"])
def test_a_game_that_breaks_says_how_where_its_trainer_is(way: str) -> None:
    with UnityEnvironment(shlex.join([*PROGRAM, "breaking", way]), timeout_wait=60) as served:
        served.reset()
        for _ in range(3):
            served.step()
        with pytest.raises(GameError, match=r"exit code 1(?s:.*)ZeroDivisionError: the ball burst"):
            served.step()


@pytest.mark.parametrize("way", ["stepped", "loop"])
def test_an_interrupt_ends_a_game_in_good_order(way: str, tmp_path: Path, free_port: int) -> None:
    """Started by hand for a trainer that waits."""
    command = [*PROGRAM, "walkers", way, "--mlagents-port", str(free_port), "--tell", str(tmp_path / "told")]
    games: list[subprocess.Popen[str]] = []

    def start_by_hand() -> None:
        games.append(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))

    with UnityEnvironment(
        None, base_port=free_port, timeout_wait=60, on_wait=lambda text: None if games else start_by_hand()
    ) as served:
        served.reset()
        served.step()
        games[0].send_signal(signal.SIGINT)
        _, err = games[0].communicate(timeout=60)
        assert games[0].returncode == 0, err
        assert "Traceback" not in err


@pytest.mark.parametrize("way", ["stepped", "loop"])
@pytest.mark.parametrize("port", [["--mlagents-port", "{port}"], []])
def test_alone_a_game_plays_by_its_own_rules(way: str, port: list[str], free_port: int, tmp_path: Path) -> None:
    words = [word.format(port=free_port) for word in port]
    command = [*PROGRAM, "strollers", way, "--steps", "30", "--tell", str(tmp_path / "told"), *words]
    subprocess.run(command, check=True, timeout=60)
    assert (tmp_path / "told").read_text() == "False 30 10"


@pytest.mark.parametrize(
    ("arguments", "port"),
    [
        ([], 5004),
        (["--mlagents-port", "5"], 5),
        (["--mlagents-port", "5", "-batchmode", "--mlagents-port", "6"], 6),
        (["--mlagents-port"], 5004),
        (["--mlagents-port", "x"], 5004),
    ],
)
def test_the_port_is_the_last_one_named_and_else_where_trainers_wait(arguments: list[str], port: int) -> None:
    assert trainer_port(arguments) == port


def test_what_an_agent_sees_as_png_travels_as_png() -> None:
    sizes = AcademyEnvironment(painters).compressed_sensors("Painter?team=0")
    assert sizes == frozenset({1, 4})  # Entities, Gray, StackingSensor, Wide, WidePng
    assert AcademyEnvironment(walkers()).compressed_sensors("Walker?team=0") == frozenset()
