"""Serving a game: any `Environment` behind the wire, as if it were a Unity build."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

import grpc

from sparring.channels import (
    EngineConfigurationChannel,
    EnvironmentParametersChannel,
    SideChannels,
    StatsAggregationMethod,
    StatsSideChannel,
    TrainingAnalyticsChannel,
)
from sparring.environments import Environment
from sparring.errors import GameError
from sparring.wire import Introduction, close_message
from sparring.wire.game_messages import (
    Answer,
    encoded_agents,
    introduction_request,
    read_answer,
    ready_request,
    step_request,
)
from sparring.wire.protocol import CAPABILITIES, COMMUNICATION_VERSION, EXCHANGE_METHOD, major_of

if TYPE_CHECKING:
    from sparring.specs import BehaviorSpec

__all__ = ["GameWithChannels", "ServedGame", "serve"]

_log = logging.getLogger(__name__)

ServedGame: TypeAlias = Callable[[int, int], Environment]
"""Makes the game from the trainer's seed and the number of areas it asks for."""

_CONNECT_S = 10.0
_ACADEMY = "AcademySingleton"


@runtime_checkable
class GameWithChannels(Protocol):
    """A game that has side channels of its own, and images that travel as PNG."""

    def hand_out_channels(self) -> SideChannels:
        """The game's ends of all channels, for whoever carries their messages from now on."""

    def compressed_sensors(self, behavior_name: str) -> frozenset[int]:
        """The sensors of a behavior whose images travel as PNG, by their place."""


class _TrainerGoneError(Exception):
    """The trainer said good-bye, or is not there any more."""


class _Line:
    """The connection to the trainer."""

    def __init__(self, port: int) -> None:
        self._channel = grpc.insecure_channel(
            f"localhost:{port}",
            options=[
                ("grpc.enable_http_proxy", 0),
                ("grpc.max_receive_message_length", -1),
                ("grpc.max_send_message_length", -1),
            ],
        )
        self._call = self._channel.unary_unary(EXCHANGE_METHOD)
        try:
            grpc.channel_ready_future(self._channel).result(timeout=_CONNECT_S)
        except grpc.FutureTimeoutError:
            self._channel.close()
            raise GameError(
                f"no trainer listens on port {port}",
                where="serving",
                found=f"nobody within {_CONNECT_S:g} s",
                cure="start the trainer first: it starts this game by itself when it is named with --env",
            ) from None

    def exchange(self, request: bytes) -> Answer:
        try:
            answer = read_answer(self._call(request))
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED:
                raise GameError(
                    "the trainer refused a message because of its size",
                    where="serving",
                    found=f"{len(request):,} bytes",
                    cure="serve fewer areas, or agents with smaller observations",
                ) from None
            raise _TrainerGoneError from None
        if answer.is_closing:
            raise _TrainerGoneError
        return answer

    def say_good_bye(self) -> None:
        try:
            self._call(close_message(), timeout=1.0)
        except grpc.RpcError:
            _log.debug("the trainer was gone before the good-bye")
        self.hang_up()

    def hang_up(self) -> None:
        """Ends the connection without a word."""
        self._channel.close()


def serve(make_game: ServedGame, *, port: int, should_stop: Callable[[], bool] = lambda: False) -> int:
    """Plays a game for a trainer until one of both leaves; gives the number of exchanges.

    Args:
        make_game: makes the game once the trainer has told its seed and how many areas it wants.
        port: where the trainer listens, on this machine.
        should_stop: asked at every exchange; True says good-bye.

    Raises:
        GameError: no trainer listens there, or it refuses the messages because of their size.
        WireError: the trainer sent malformed bytes or actions that don't fit.
    """
    line = _Line(port)
    exchanges = 0
    try:
        us = Introduction(COMMUNICATION_VERSION, "3.0.0", CAPABILITIES)
        first = line.exchange(introduction_request(us, name=_ACADEMY))
        with make_game(first.seed, first.num_areas) as game:
            session = _Session(game, first)
            answer = line.exchange(ready_request())
            while not should_stop():
                request = session.played(answer)
                if request is None:
                    break
                answer = line.exchange(request)
                exchanges += 1
    except _TrainerGoneError:
        pass
    except Exception:
        line.hang_up()  # without a good-bye: that the game broke, and how, is what the trainer is to tell
        raise
    except BaseException:
        line.say_good_bye()
        raise
    line.say_good_bye()
    return exchanges


class _Session:
    """One game between the trainer's answers and the next request."""

    def __init__(self, game: Environment, first: Answer) -> None:
        self._game = game
        self._announced: set[str] = set()
        major = None if first.introduction is None else major_of(first.introduction.package_version)
        self._channels_first = major is None or major >= 1
        known = frozenset[str]() if first.introduction is None else first.introduction.capabilities
        self._takes_pngs = {"concatenatedPngObservations", "compressedChannelMapping"} <= known
        self._given: tuple[dict[str, float], dict[str, tuple[int, int, list[float]]]] = ({}, {})
        if isinstance(game, GameWithChannels):
            self._channels = game.hand_out_channels()
        else:
            built_in = (EngineConfigurationChannel(), TrainingAnalyticsChannel())
            self._channels = SideChannels(built_in, keeps_unknown=True)
        self._parameters = self._channels.find_or_make(EnvironmentParametersChannel)
        self._stats = self._channels.find_or_make(StatsSideChannel)

    def played(self, answer: Answer) -> bytes | None:
        """Does what the trainer says and gives the next request; None when it wants the game to end."""
        if answer.command == "quit":
            return None
        self._channels.deliver(answer.side_channel)
        self._set_parameters()
        if answer.command == "reset":
            self._game.reset()
        else:
            self._act(answer)
            self._game.step()
        while not self._has_news():
            self._game.step()
        return self._request()

    def _set_parameters(self) -> None:
        """Hands on what the trainer has changed."""
        received = self._parameters
        if (received.values, received.samplers) != self._given:
            self._given = dict(received.values), dict(received.samplers)
            self._game.set_parameters(received.values)
            self._game.set_samplers(received.received_samplers())

    def _act(self, answer: Answer) -> None:
        for name, spec in self._game.behavior_specs.items():
            decision, _ = self._game.get_steps(name)
            if len(decision):
                self._game.set_actions(name, answer.actions_for(name, spec, len(decision)))

    def _has_news(self) -> bool:
        return any(len(steps) for name in self._game.behavior_specs for steps in self._game.get_steps(name))

    def _request(self) -> bytes:
        for reported in self._game.take_statistics():
            self._stats.add_stat(reported.key, reported.value, StatsAggregationMethod(reported.aggregation))
        agents: dict[str, bytes] = {}
        new: dict[str, BehaviorSpec] = {}
        for name, spec in self._game.behavior_specs.items():
            decision, terminal = self._game.get_steps(name)
            agents[name] = encoded_agents(
                spec,
                decision,
                terminal,
                channels_first=self._channels_first,
                compressed=self._compressed_sensors(name),
            )
            if agents[name] and name not in self._announced:
                self._announced.add(name)
                new[name] = spec
        return step_request(agents, new, self._channels.take_outgoing())

    def _compressed_sensors(self, name: str) -> frozenset[int]:
        if self._takes_pngs and isinstance(self._game, GameWithChannels):
            return self._game.compressed_sensors(name)
        return frozenset()
