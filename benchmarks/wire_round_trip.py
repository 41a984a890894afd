"""What an exchange over the wire costs beside a bare gRPC round trip of the same bytes.

    python benchmarks/wire_round_trip.py [--rounds 5] [--seconds 2]

A game in a process of its own sends the same step over and over: agents of 264 + 72 floats with three branches of
three. The bare server answers with ready-made bytes and looks at nothing. Ours is `UnityEnvironment.step`: it reads
the agents into columns, takes actions for all of them and writes the answer. Both take turns in one process; the ratio
of each turn's pair is taken and the median printed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import grpc
import numpy as np

from sparring.environments.unity import UnityEnvironment
from sparring.environments.unity.server import ExchangeServer
from sparring.specs import ActionSpec, BehaviorSpec, ObservationSpec
from sparring.steps import ActionBatch, DecisionSteps, TerminalSteps
from sparring.wire import Introduction, initialization_reply, reset_reply, step_reply
from sparring.wire.game_messages import encoded_agents, introduction_request, ready_request, step_request
from sparring.wire.protocol import EXCHANGE_METHOD

SPEC = BehaviorSpec((ObservationSpec.vector(264), ObservationSpec.vector(72)), ActionSpec(0, (3, 3, 3)))
NAME = "SoccerTwos?team=0"


def steps(agents: int) -> DecisionSteps:
    rng = np.random.default_rng(0)
    return DecisionSteps(
        [rng.standard_normal((agents, sensor.size), dtype=np.float32) for sensor in SPEC.observation_specs],
        np.zeros(agents, np.float32),
        np.arange(agents, dtype=np.int32),
        None,
        np.ones(agents, np.int32),
        np.zeros(agents, np.float32),
    )


def play(port: int, agents: int) -> None:
    """The game: the same step until the trainer says good-bye."""
    infos = encoded_agents(SPEC, steps(agents), TerminalSteps.empty(SPEC))
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        call = channel.unary_unary(EXCHANGE_METHOD)
        grpc.channel_ready_future(channel).result(timeout=30)
        call(introduction_request(Introduction("1.5.0", "3.0.0", frozenset()), name="bench"))
        call(ready_request())
        call(step_request({NAME: infos}, {NAME: SPEC}, b""))
        later = step_request({NAME: infos}, {}, b"")
        while True:
            call(later)


def started(port: int, agents: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, __file__, "--play", str(port), "--agents", str(agents)]
    return subprocess.Popen(command, stderr=subprocess.DEVNULL)


def free_port() -> int:
    probe = ExchangeServer()
    probe.close()
    return probe.port


def bare(agents: int, seconds: float) -> tuple[float, float]:
    """Exchanges and processor seconds a second of a server that looks at nothing."""
    server = ExchangeServer()
    game = started(server.port, agents)
    try:
        us = Introduction("1.5.0", "0.20.0", frozenset())
        reply = step_reply({NAME: ActionBatch.zeros(SPEC.action_spec, agents)}, b"")
        for first in (initialization_reply(us, seed=0, num_areas=1), reset_reply(b"")):
            assert server.receive(60) is not None
            server.answer(first)

        def exchange() -> None:
            assert server.receive(60) is not None
            server.answer(reply)

        return timed(exchange, seconds)
    finally:
        server.close()
        game.kill()
        game.wait()


def ours(agents: int, seconds: float) -> tuple[float, float]:
    """The same of `UnityEnvironment`."""
    port = free_port()
    game = started(port, agents)
    try:
        with UnityEnvironment(base_port=port) as environment:
            environment.reset()
            action = ActionBatch(np.zeros((agents, 0), np.float32), np.ones((agents, 3), np.int32))

            def exchange() -> None:
                environment.set_actions(NAME, action)
                environment.step()

            return timed(exchange, seconds)
    finally:
        game.kill()
        game.wait()


def timed(exchange: Callable[[], None], seconds: float) -> tuple[float, float]:
    for _ in range(200):
        exchange()
    count, start, used = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - start < seconds:
        exchange()
        count += 1
    wall = time.perf_counter() - start
    return count / wall, (time.process_time() - used) / count


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--agents", type=int)
    parser.add_argument("--play", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.play:
        play(options.play, options.agents)
        return 0
    for agents in [options.agents] if options.agents else [16, 32, 128]:
        pairs = [(bare(agents, options.seconds), ours(agents, options.seconds)) for _ in range(options.rounds)]
        result = {
            "agents": agents,
            "bare_exchanges_per_s": round(statistics.median(one[0] for one, _ in pairs)),
            "exchanges_per_s": round(statistics.median(two[0] for _, two in pairs)),
            "agent_steps_per_s": round(agents * statistics.median(two[0] for _, two in pairs)),
            "of_bare": round(statistics.median(two[0] / one[0] for one, two in pairs), 3),
            "bare_cpu_us": round(1e6 * statistics.median(one[1] for one, _ in pairs)),
            "cpu_us": round(1e6 * statistics.median(two[1] for _, two in pairs)),
        }
        print(json.dumps(result))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
