"""Every way a game can get stuck or end, each with a real child process and its own message."""

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from sparring.channels import EngineConfigurationChannel
from sparring.environments.unity import UnityEnvironment
from sparring.errors import GameError
from sparring.settings import Sampler

FAKE = f"{shlex.quote(sys.executable)} -m tests.environments.unity.fake_game"
STUCK = {
    "never-connects": ("stage: connect", "has not connected"),
    "says-nothing": ("stage: speak", "says nothing"),
    "falls-silent": ("stage: handshake", "fell silent"),
    "shows-no-agent": ("stage: agents", "no agent"),
    "never-asks": ("stage: decisions", "must request decisions"),
}


MARK = "SPARRING_TEST_OF"
"""Children inherit it, so that the games of this process are told from those of other tests."""


@pytest.fixture(autouse=True)
def no_child_is_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(MARK, str(os.getpid()))
    yield
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and games():
        time.sleep(0.05)
    assert games() == []


def games() -> list[str]:
    found = []
    for process in psutil.process_iter(["cmdline", "environ"]):
        words, environ = process.info["cmdline"] or [], process.info["environ"] or {}
        if "tests.environments.unity.fake_game" in words and environ.get(MARK) == str(os.getpid()):
            found.append(" ".join(words))
    return found


def started(way: str, *, timeout: float = 20, **options: object) -> UnityEnvironment:
    return UnityEnvironment(f"{FAKE} {way}", timeout_wait=timeout, **options)  # type: ignore[arg-type]


def play(game: UnityEnvironment, steps: int) -> None:
    for _ in range(steps):
        game.step()


def test_a_game_that_exits_is_told_with_its_code_in_words_and_its_log(tmp_path: Path) -> None:
    with pytest.raises(GameError) as caught:
        started("exits", log_folder=tmp_path)
    message = str(caught.value)
    assert "stage: start" in message
    assert "exit code 139, SIGSEGV" in message
    assert "a fake game that exits\nno display" in message
    assert "a fake game that exits" in (tmp_path / "Player-0.output.log").read_text()


@pytest.mark.parametrize("way", STUCK)
def test_each_way_to_get_stuck_has_its_own_message(way: str) -> None:
    with pytest.raises(GameError) as caught, started(way, timeout=3) as game:
        play(game, 200)
    stage, what = STUCK[way]
    assert stage in str(caught.value)
    assert what in str(caught.value)
    others = [word for other, (word, _) in STUCK.items() if other != way]
    assert not any(word in str(caught.value) for word in others)


def test_another_version_names_both_and_the_side_to_change() -> None:
    with pytest.raises(GameError) as caught:
        started("speaks-2")
    for part in ("stage: version", "2.0.0", "1.5.0", "the game is newer"):
        assert part in str(caught.value)


def test_a_game_that_dies_while_playing_is_told() -> None:
    with (
        started("dies-always") as game,
        pytest.raises(GameError, match=r"the game ended \(stage: play\); found exit code 3"),
    ):
        play(game, 10)


def test_the_editor_may_leave_and_come_back_five_times() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    editor = subprocess.Popen([*shlex.split(FAKE), "comes-back", "--mlagents-port", str(port)])
    try:
        with UnityEnvironment(base_port=port, timeout_wait=20) as game:
            for _ in range(290):
                game.step()
                assert len(game.get_steps("Walker?team=0")[0]) == 1
            assert game.restarts == 5
    finally:
        editor.kill()
        editor.wait()


def test_an_editor_that_comes_back_is_told_its_parameters_and_speed_again(tmp_path: Path, free_port: int) -> None:
    sampler = {"sampler_type": "uniform", "sampler_parameters": {"seed": 9}}
    notes = tmp_path / "notes"
    editor = subprocess.Popen([*shlex.split(FAKE), "comes-back-noting", str(notes), "--mlagents-port", str(free_port)])
    try:
        engine = EngineConfigurationChannel()
        engine.set_configuration_parameters(time_scale=20.0)
        engine.set_configuration_parameters(time_scale=3.0)
        with UnityEnvironment(base_port=free_port, timeout_wait=20, side_channels=[engine]) as game:
            game.set_parameters({"gravity": 9.5, "size": 2.0})
            game.set_samplers({"size": Sampler.model_validate(sampler)})
            game.reset()
            while game.restarts == 0:
                game.step()
    finally:
        editor.kill()
        editor.wait()
    told = [json.loads(line) for line in notes.read_text("utf-8").splitlines()]
    assert told[:4] == [["time scale", 3.0], ["gravity", 9.5], ["size", [0, 9, [0.0, 1.0]]], "reset"]
    assert told[4:8] == told[:4]


def test_agents_with_more_than_the_usual_message_size_come_through() -> None:
    with started("is-large") as game:
        for _ in range(3):
            game.step()
        decision, _ = game.get_steps("Walker?team=0")
        assert decision.obs[0].shape == (16, 65_536)
        assert (decision.obs[0] == 0.5).all()


def test_a_game_that_ignores_the_good_bye_is_ended() -> None:
    game = started("ignores-good-bye")
    game.reset()
    game._timeout_s = 0.5
    game.close()
    game.close()
    with pytest.raises(GameError, match="closed"):
        game.step()


def test_a_killed_trainer_leaves_no_game_behind() -> None:
    script = textwrap.dedent(f"""
        from sparring.environments.unity import UnityEnvironment
        game = UnityEnvironment({f"{FAKE} plays"!r})
        game.reset()
        print("playing", flush=True)
        import time
        time.sleep(60)
    """)
    trainer = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert trainer.stdout is not None
    assert trainer.stdout.readline() == b"playing\n"
    assert games()
    os.kill(trainer.pid, signal.SIGKILL)
    trainer.wait()
    trainer.stdout.close()


def test_a_port_can_be_used_again_and_again() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    for _ in range(3):
        with started("plays", base_port=port) as game:
            assert game.port == port
            game.reset()


def test_a_foreign_listener_on_an_explicit_port_is_an_error() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        with pytest.raises(GameError, match="in use"):
            started("plays", base_port=listener.getsockname()[1])


def test_two_games_without_a_port_do_not_meet() -> None:
    with started("plays") as one, started("plays") as two:
        assert one.port != two.port
        one.step()
        two.step()


def test_a_missing_game_names_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "Soccer.x86_64").touch()
    with pytest.raises(GameError, match=r"Soccer\.x86_64"):
        UnityEnvironment(str(tmp_path / "Socer"))
    with pytest.raises(GameError, match="chmod"):
        UnityEnvironment(str(tmp_path / "Soccer"))
