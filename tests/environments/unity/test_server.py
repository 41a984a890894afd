"""The trainer's server: ports, one game at a time, and games that go without a word."""

import socket
import threading
import time
from collections.abc import Callable, Iterator

import grpc
import psutil
import pytest

from sparring.environments.unity.server import ExchangeServer
from sparring.errors import GameError
from sparring.wire import close_message
from sparring.wire.protocol import EXCHANGE_METHOD


@pytest.fixture
def server() -> Iterator[ExchangeServer]:
    server = ExchangeServer()
    yield server
    server.close()


def called(channel: grpc.Channel, request: bytes) -> grpc.Future:
    return channel.unary_unary(EXCHANGE_METHOD).future(request, wait_for_ready=True)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.01)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_request_is_held_until_it_is_answered(server: ExchangeServer, host: str) -> None:
    with grpc.insecure_channel(f"{host}:{server.port}") as channel:
        call = called(channel, b"question")
        assert server.receive(10) == b"question"
        assert not call.done()
        server.answer(b"answer")
        assert call.result(timeout=10) == b"answer"
        assert server.receive(0) is None


def test_a_second_game_is_turned_away_and_the_first_plays_on(server: ExchangeServer) -> None:
    with grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        first = called(channel, b"first")
        assert server.receive(10) == b"first"
        assert called(channel, b"second").result(timeout=10) == close_message()
        server.answer(b"answer")
        assert first.result(timeout=10) == b"answer"


def test_an_answer_to_a_game_that_is_gone_never_reaches_the_next_one(server: ExchangeServer) -> None:
    with grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        gone = called(channel, b"gone")
        assert server.receive(10) == b"gone"
        gone.cancel()
        until(lambda: server._call is None)
        server.answer(b"for the one that is gone")
        later = called(channel, b"later")
        assert server.receive(10) == b"later"
        server.answer(b"for the later one")
        assert later.result(timeout=10) == b"for the later one"


def test_closing_says_good_bye_to_a_game_that_waits() -> None:
    server = ExchangeServer()
    with grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        call = called(channel, b"question")
        assert server.receive(10) == b"question"
        server.close()
        server.close()
        assert call.result(timeout=10) == close_message()


def test_one_port_can_be_opened_and_closed_twenty_times(free_port: int) -> None:
    for _ in range(20):
        server = ExchangeServer(free_port)
        assert server.port == free_port
        with grpc.insecure_channel(f"127.0.0.1:{free_port}") as channel:
            call = called(channel, b"question")
            assert server.receive(10) == b"question"
            server.answer(b"answer")
            assert call.result(timeout=10) == b"answer"
        server.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_foreign_listener_is_named_with_its_process(host: str) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as listener:
        try:
            listener.bind((host, 0))
        except OSError:
            pytest.skip("this machine has no such address")
        listener.listen()
        with pytest.raises(GameError, match=r"is in use; found (process \d+|another program)"):
            ExchangeServer(listener.getsockname()[1])


def test_nobody_but_this_machine_can_connect(server: ExchangeServer) -> None:
    listening = {
        str(connection.laddr[0:1])
        for connection in psutil.Process().net_connections("tcp")
        if connection.laddr[1:2] == (server.port,)
    }
    assert listening
    assert listening <= {"('127.0.0.1',)", "('::1',)", "('::ffff:127.0.0.1',)"}


def test_many_servers_opened_at_once_have_ports_of_their_own() -> None:
    servers: list[ExchangeServer] = []
    threads = [threading.Thread(target=lambda: servers.append(ExchangeServer())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({server.port for server in servers}) == 8
    for server in servers:
        server.close()
