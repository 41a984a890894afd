"""A game that sends scripted exchanges over the real wire, in the notation of the cases."""

import threading
from collections.abc import Mapping, Sequence

import grpc

from sparring.specs import BehaviorSpec
from sparring.steps import DecisionSteps, TerminalSteps
from sparring.wire import Introduction
from sparring.wire.game_messages import encoded_agents, introduction_request, ready_request, step_request
from sparring.wire.protocol import CAPABILITIES, EXCHANGE_METHOD
from tests.builders import TRACED, exchange

Columns = tuple[DecisionSteps, TerminalSteps]


class WireScript(threading.Thread):
    """Sends one exchange after the other; a behavior is announced in the first one in which it has agents.

    Args:
        scripts: by full behavior name, the exchanges as text (see `exchange`) or as columns.
        port: where the trainer listens.
    """

    def __init__(self, scripts: Mapping[str, Sequence[str | Columns]], port: int) -> None:
        super().__init__(daemon=True)
        self._port = port
        self.length = max(len(script) for script in scripts.values())
        self._scripts = {
            name: [exchange(entry, time=time) if isinstance(entry, str) else entry for time, entry in enumerate(script)]
            for name, script in scripts.items()
        }

    def run(self) -> None:
        with grpc.insecure_channel(f"127.0.0.1:{self._port}") as channel:
            grpc.channel_ready_future(channel).result(timeout=20)
            call = channel.unary_unary(EXCHANGE_METHOD)
            try:
                call(introduction_request(Introduction("1.5.0", "2.0.0", CAPABILITIES), name="Academy"))
                call(ready_request())
                announced: set[str] = set()
                for time in range(self.length):
                    call(self._request(time, announced))
                while True:
                    call(step_request(dict.fromkeys(announced, b""), {}, b""))
            except grpc.RpcError:
                return

    def _request(self, time: int, announced: set[str]) -> bytes:
        agents: dict[str, bytes] = {}
        new: dict[str, BehaviorSpec] = {}
        for name, script in self._scripts.items():
            agents[name] = encoded_agents(TRACED, *script[time]) if time < len(script) else b""
            if agents[name] and name not in announced:
                announced.add(name)
                new[name] = TRACED
        return step_request(agents, new, b"")
