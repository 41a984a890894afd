"""A game that misbehaves in one chosen way: `python fake_game.py WAY --mlagents-port N`. It speaks raw gRPC."""

import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc

from sparring.channels import EngineConfigurationChannel, EnvironmentParametersChannel, SideChannels
from sparring.wire.messages import message_class
from sparring.wire.protocol import EXCHANGE_METHOD

NAME = "Walker?team=0"


def port() -> int:
    return int(sys.argv[sys.argv.index("--mlagents-port") + 1])


def connected() -> Callable[[Any], Any]:
    options = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]
    channel = grpc.insecure_channel(f"localhost:{port()}", options=options)
    grpc.channel_ready_future(channel).result(timeout=20)
    call = channel.unary_unary(
        EXCHANGE_METHOD,
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=message_class("UnityMessageProto").FromString,
    )

    def exchange(message: Any) -> Any:
        message.header.status = message.header.status or 200
        return call(message)

    return exchange


def introduced(version: str = "1.5.0") -> Callable[[Any], Any]:
    exchange = connected()
    first = message_class("UnityMessageProto")()
    output = first.unity_output.rl_initialization_output
    output.name, output.communication_version, output.package_version = "AcademySingleton", version, "2.0.0"
    output.capabilities.baseRLCapabilities = True
    exchange(first)
    return exchange


def shown(*, agents: int = 1, size: int = 2, done: bool = False, announce: bool = True, first_id: int = 0) -> Any:
    message = message_class("UnityMessageProto")()
    if announce:
        brain = message.unity_output.rl_initialization_output.brain_parameters.add(brain_name=NAME)
        brain.action_spec.num_continuous_actions = 1
    infos = message.unity_output.rl_output.agentInfos[NAME]
    for agent in range(agents):
        info = infos.value.add(id=first_id + agent, done=done)
        info.observations.add(shape=[size]).float_data.data.extend([0.5] * size)
    return message


def play(exchange: Callable[[Any], Any], exchanges: int, **shape: Any) -> None:
    exchange(message_class("UnityMessageProto")())
    for count in range(exchanges):
        reply = exchange(shown(announce=count == 0, **shape))
        if reply.header.status != 200:
            return


def play_and_note(exchange: Callable[[Any], Any], exchanges: int, path: Path) -> None:
    """Writes every reset and every environment parameter it is told of into a file, a JSON line each."""
    request = message_class("UnityMessageProto")()
    with path.open("a", encoding="utf-8") as notes:
        for count in range(exchanges):
            reply = exchange(request)
            if reply.header.status != 200:
                return
            told, engine = EnvironmentParametersChannel(), EngineConfigurationChannel()
            SideChannels([told, engine]).deliver(reply.unity_input.rl_input.side_channel)
            if engine.config.time_scale is not None:
                notes.write(json.dumps(["time scale", engine.config.time_scale]) + "\n")
            for name, value in {**told.values, **told.samplers}.items():
                notes.write(json.dumps([name, value]) + "\n")
            if reply.unity_input.rl_input.command == 1:
                notes.write(json.dumps("reset") + "\n")
            notes.flush()
            request = shown(announce=count == 0)


def say_good_bye(exchange: Callable[[Any], Any]) -> None:
    message = message_class("UnityMessageProto")()
    message.header.status = 400
    exchange(message)


def main() -> None:
    way = sys.argv[1]
    print(f"a fake game that {way}", flush=True)
    if way == "exits":
        sys.stderr.write("no display\n")
        os._exit(139)
    elif way == "never-connects":
        time.sleep(60)
    elif way == "says-nothing":
        silent = socket.create_connection(("127.0.0.1", port()))
        time.sleep(60)
        silent.close()
    elif way == "speaks-2":
        introduced("2.0.0")(message_class("UnityMessageProto")())
        time.sleep(60)
    elif way == "falls-silent":
        introduced()
        time.sleep(60)
    elif way == "shows-no-agent":
        introduced()(message_class("UnityMessageProto")())
        time.sleep(60)
    elif way == "never-asks":
        exchange = introduced()
        exchange(message_class("UnityMessageProto")())
        for count in range(10_000):
            if exchange(shown(done=True, announce=count == 0, first_id=count)).header.status != 200:
                break
            time.sleep(0.05)
    elif way == "is-killed":  # once: the file tells the second life from the first
        mark = Path(sys.argv[2])
        exchange = introduced()
        if mark.exists():
            play(exchange, 10**6)
        else:
            mark.touch()
            play(exchange, 50)
            os.kill(os.getpid(), signal.SIGKILL)
    elif way == "dies-always":
        play(introduced(), 3)
        os._exit(3)
    elif way == "comes-back":
        for _ in range(6):
            exchange = introduced()
            play(exchange, 50)
            say_good_bye(exchange)
    elif way == "leaves":
        exchange = introduced()
        play(exchange, 50)
        say_good_bye(exchange)
        time.sleep(60)
    elif way == "is-large":
        play(introduced(), 10**6, agents=16, size=65_536)
    elif way == "notes":  # the second argument is a folder, in which every game has a file by its port
        play_and_note(introduced(), 10**6, Path(sys.argv[2]) / str(port()))
    elif way == "comes-back-noting":
        for _ in range(2):
            exchange = introduced()
            play_and_note(exchange, 5, Path(sys.argv[2]))
            say_good_bye(exchange)
    elif way == "plays":
        play(introduced(), 10**6)
    elif way == "ignores-good-bye":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        play(introduced(), 10**6)
        time.sleep(60)


if __name__ == "__main__":
    main()
