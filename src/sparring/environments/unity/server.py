"""The trainer's end of the wire: a gRPC server on the loopback interface that one game at a time calls."""

from __future__ import annotations

import contextlib
import os
import queue
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import grpc
import psutil

from sparring.errors import GameError
from sparring.wire import close_message
from sparring.wire.protocol import EXCHANGE_METHOD

__all__ = ["ExchangeServer"]

_UNLIMITED = -1
_ATTEMPTS = 20
_GRACE_S = 0.2


class _Call:
    """A call of the game that waits for its answer; what is put into `replies` first is the answer."""

    __slots__ = ("replies", "request")

    def __init__(self, request: bytes) -> None:
        self.request = request
        self.replies: queue.SimpleQueue[bytes] = queue.SimpleQueue()


class _Handler(grpc.GenericRpcHandler):  # type: ignore[misc]
    def __init__(self, exchange: Callable[[bytes, grpc.ServicerContext], bytes]) -> None:
        self._handler = grpc.unary_unary_rpc_method_handler(exchange)  # no serializers: bytes in, bytes out

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        return self._handler if details.method == EXCHANGE_METHOD else None


class ExchangeServer:
    """Receives a game's requests one by one; each is held until it is answered (wire spec 1.3).

    Args:
        port: where to listen; 0 takes a free one.

    Raises:
        GameError: somebody else listens there.
    """

    def __init__(self, port: int = 0) -> None:
        self._calls: queue.SimpleQueue[_Call] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._call: _Call | None = None
        self._held: _Call | None = None
        self._closing = False
        self._server = grpc.server(
            ThreadPoolExecutor(4, "game"),
            options=[
                ("grpc.max_receive_message_length", _UNLIMITED),
                ("grpc.max_send_message_length", _UNLIMITED),
                ("grpc.so_reuseport", 0),  # with it two trainers would share a port and each other's games
            ],
        )
        self._server.add_generic_rpc_handlers((_Handler(self._exchange),))
        self.port = self._listen(port)
        self._server.start()

    def _listen(self, port: int) -> int:
        """Binds both loopback addresses: games connect to `localhost`, which may mean either."""
        for _ in range(_ATTEMPTS):
            bound = self._bind("127.0.0.1", port)
            if bound and (not _has_ipv6() or self._bind("[::1]", bound)):
                return bound
            if port:
                break
        self._server.stop(grace=None)
        raise GameError(
            f"the port {port} is in use" if port else "there is no free port",
            where="listening for the game",
            found=_holder_of(port) if port else "",
            cure="end the other trainer or editor that uses it, or leave the port away: a free one is taken",
        )

    def _bind(self, host: str, port: int) -> int:
        """The port that was bound, 0 if it is taken; asked of a socket first, for gRPC complains on the terminal."""
        if port == 0:
            any_port: int = self._server.add_insecure_port(f"{host}:0")
            return any_port
        family = socket.AF_INET6 if host.startswith("[") else socket.AF_INET
        with socket.socket(family) as probe:
            if os.name == "posix":  # what lingers of a closed connection does no harm; on Windows this means to share
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host.strip("[]"), port))
            except OSError:
                return 0
        with contextlib.suppress(RuntimeError):
            bound: int = self._server.add_insecure_port(f"{host}:{port}")
            return bound
        return 0

    def _exchange(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        """One call of the game: waits until the trainer has something to say."""
        call = _Call(request)
        with self._lock:
            if self._closing or self._call is not None:  # a second game is turned away
                return close_message()
            self._call = call
        if not context.add_callback(lambda: call.replies.put(b"")):  # the game is gone: nobody waits any more
            call.replies.put(b"")
        self._calls.put(call)
        reply = call.replies.get()
        with self._lock:
            self._call = None
        return reply

    def receive(self, timeout_s: float) -> bytes | None:
        """The next request, None if none came in time."""
        try:
            self._held = self._calls.get(timeout=timeout_s) if timeout_s > 0 else self._calls.get_nowait()
        except queue.Empty:
            return None
        return self._held.request

    def answer(self, reply: bytes) -> None:
        """Answers the request that was received last; it goes nowhere if the game is gone meanwhile."""
        assert self._held is not None, "only a request that was received is answered"
        self._held.replies.put(reply)

    def has_connection(self) -> bool:
        """Whether anybody is connected, even without a call; False where the system does not tell."""
        with contextlib.suppress(psutil.Error, OSError):
            return any(
                bool(connection.laddr)
                and connection.laddr.port == self.port
                and connection.status == psutil.CONN_ESTABLISHED
                for connection in psutil.Process().net_connections("tcp")
            )
        return False

    def close(self) -> None:
        """Says good-bye to a game that waits, and stops listening; twice is allowed."""
        with self._lock:
            if self._closing:
                return
            self._closing = True
            call = self._call
        if call is not None:
            call.replies.put(close_message())
        # A little grace lets the good-bye through; a game that calls again is told too.
        self._server.stop(grace=_GRACE_S).wait()


def _has_ipv6() -> bool:
    if not socket.has_ipv6:
        return False
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET6) as probe:
        probe.bind(("::1", 0))
        return True
    return False


def _holder_of(port: int) -> str:
    """Who listens on a port, as far as the system tells."""
    with contextlib.suppress(psutil.Error, OSError):
        for connection in psutil.net_connections("tcp"):
            is_there = getattr(connection.laddr, "port", None) == port and connection.status == psutil.CONN_LISTEN
            if is_there and connection.pid:
                return f"process {connection.pid} ({psutil.Process(connection.pid).name()})"
    return "another program"
