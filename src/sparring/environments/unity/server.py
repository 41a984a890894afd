"""The trainer's end of the wire: a gRPC server on the loopback interface that one game at a time calls."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import grpc
import psutil

from sparring.errors import GameError
from sparring.wire import close_message

__all__ = ["ExchangeServer"]

_METHOD = "/communicator_objects.UnityToExternalProto/Exchange"
_UNLIMITED = -1


class _Handler(grpc.GenericRpcHandler):  # type: ignore[misc]
    def __init__(self, exchange: Callable[[bytes, grpc.ServicerContext], bytes]) -> None:
        self._handler = grpc.unary_unary_rpc_method_handler(exchange)  # no serializers: bytes in, bytes out

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        return self._handler if details.method == _METHOD else None


class ExchangeServer:
    """Receives a game's requests one by one; each is held until it is answered (wire spec 1.3).

    Args:
        port: where to listen; 0 takes a free one.

    Raises:
        GameError: somebody else listens there.
    """

    def __init__(self, port: int = 0) -> None:
        self._requests: queue.Queue[bytes] = queue.Queue()
        self._replies: queue.Queue[bytes] = queue.Queue()
        self._closing = threading.Event()
        self._is_held = False
        self._server = grpc.server(
            ThreadPoolExecutor(4, "game"),
            options=[
                ("grpc.max_receive_message_length", _UNLIMITED),
                ("grpc.max_send_message_length", _UNLIMITED),
                ("grpc.so_reuseport", 0),  # with it two trainers would share a port and each other's games
            ],
        )
        self._server.add_generic_rpc_handlers((_Handler(self._exchange),))
        try:
            self.port: int = self._server.add_insecure_port(f"127.0.0.1:{port}")
        except RuntimeError:
            self.port = 0
        if self.port == 0:
            raise GameError(
                f"the port {port} is in use",
                where="listening for the game",
                cure="end the other trainer or editor that uses it, or leave the port away: a free one is taken",
            )
        with contextlib.suppress(RuntimeError):  # games connect to `localhost`, which may mean either
            self._server.add_insecure_port(f"[::1]:{self.port}")
        self._server.start()

    def _exchange(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        """One call of the game: waits until the trainer has something to say."""
        if self._closing.is_set():
            return close_message()
        self._requests.put(request)
        while context.is_active() and not self._closing.is_set():
            with contextlib.suppress(queue.Empty):
                return self._replies.get(timeout=1.0)
        return close_message()

    def receive(self, timeout_s: float) -> bytes | None:
        """The next request, None if none came in time."""
        with contextlib.suppress(queue.Empty):
            request = self._requests.get(timeout=timeout_s)
            self._is_held = True
            return request
        return None

    def answer(self, reply: bytes) -> None:
        """Answers the request that was received last."""
        self._is_held = False
        self._replies.put(reply)

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
        if self._closing.is_set():
            return
        if self._is_held:
            self.answer(close_message())
        self._closing.set()
        # A little grace lets the good-bye through; a game that calls again is told too.
        self._server.stop(grace=0.2).wait()
