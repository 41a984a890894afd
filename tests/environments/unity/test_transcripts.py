"""Recorded conversations: our trainer answers the recorded games, and our game's side reads the recorded trainers."""

import contextlib
import threading
from typing import Any

import grpc
import pytest

from sparring.environments.unity import UnityEnvironment
from sparring.errors import GameError
from sparring.wire.game_messages import read_answer
from sparring.wire.messages import message_class
from sparring.wire.protocol import EXCHANGE_METHOD
from tests.wire.golden_vectors import vectors

TRANSCRIPTS = {entry["name"]: entry for entry in vectors("transcripts")["transcripts"]}
PLAYED = [name for name, entry in TRANSCRIPTS.items() if "six steps" in entry["driver"]]


class RecordedGame(threading.Thread):
    """Sends recorded requests, one after each answer, and keeps the answers."""

    def __init__(self, port: int, exchanges: list[dict[str, Any]]) -> None:
        super().__init__(daemon=True)
        self.answers: list[bytes] = []
        self._requests = [bytes.fromhex(exchange["request_hex"]) for exchange in exchanges]
        self._port = port

    def run(self) -> None:
        with grpc.insecure_channel(f"127.0.0.1:{self._port}") as channel:
            grpc.channel_ready_future(channel).result(timeout=20)
            with contextlib.suppress(grpc.RpcError):  # the trainer closed: the recorded race
                for request in self._requests:
                    self.answers.append(channel.unary_unary(EXCHANGE_METHOD)(request))


def step_of(answer: bytes) -> tuple[Any, ...]:
    """Status, command and actions of an answer: what a game acts on."""
    message = message_class("UnityMessageProto").FromString(answer)
    actions = {
        name: [
            (list(entry.vector_actions_deprecated), list(entry.continuous_actions), list(entry.discrete_actions))
            for entry in entries.value
        ]
        for name, entries in message.unity_input.rl_input.agent_actions.items()
        if entries.value
    }
    return message.header.status, message.unity_input.rl_input.command, actions


def generation(answer: tuple[Any, ...], *, has_new_fields: bool) -> tuple[Any, ...]:
    """Trainers before 1.3.0 fill only the old field of an action; ours fills both."""
    if has_new_fields:
        return answer
    actions = {name: [entry[0] for entry in entries] for name, entries in answer[2].items()}
    return answer[0], answer[1], actions


@pytest.mark.parametrize("name", PLAYED)
def test_our_trainer_answers_a_recorded_game_as_its_own_did(name: str, free_port: int) -> None:
    entry = TRANSCRIPTS[name]
    game = RecordedGame(free_port, entry["exchanges"])
    game.start()
    version = "0.15.0" if entry["environment_api"] == "0.15.0" else "1.5.0"
    with UnityEnvironment(base_port=free_port, seed=1337, timeout_wait=20, communication_version=version) as ours:
        ours.reset()
        for _ in range(6):
            ours.step()
    game.join(20)
    recorded = [
        bytes.fromhex(exchange["response_hex"]) for exchange in entry["exchanges"] if exchange.get("response_hex")
    ]
    first, theirs = (message_class("UnityMessageProto").FromString(data[0]) for data in (game.answers, recorded))
    assert first.unity_input.rl_initialization_input.seed == theirs.unity_input.rl_initialization_input.seed
    assert first.unity_input.rl_initialization_input.HasField("capabilities")
    has_new = any(values[1] or values[2] for data in recorded for rows in step_of(data)[2].values() for values in rows)
    for index, (ours_, theirs_) in enumerate(zip(game.answers[1:-1], recorded[1:-1], strict=False)):
        assert generation(step_of(ours_), has_new_fields=has_new) == generation(
            step_of(theirs_), has_new_fields=has_new
        ), index
        assert message_class("UnityMessageProto").FromString(ours_).unity_input.HasField("rl_input")
    assert len(game.answers) >= 8


@pytest.mark.parametrize("name", ["llapi-110-major", "llapi-110-old"])
def test_our_trainer_refuses_the_versions_the_recorded_one_refused(name: str, free_port: int) -> None:
    game = RecordedGame(free_port, TRANSCRIPTS[name]["exchanges"])
    game.start()
    with pytest.raises(GameError, match="stage: version"):
        UnityEnvironment(base_port=free_port, timeout_wait=20)
    game.join(20)
    assert step_of(game.answers[-1])[0] == 400 or len(game.answers) == 1


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_our_games_side_reads_every_recorded_answer(name: str) -> None:
    answers = [
        read_answer(bytes.fromhex(exchange["response_hex"]))
        for exchange in TRANSCRIPTS[name]["exchanges"]
        if exchange.get("response_hex")
    ]
    assert answers[0].introduction is not None
    if len(answers) > 2:
        assert answers[1].command == "reset"
    assert all(answer.introduction is None for answer in answers[1:])
