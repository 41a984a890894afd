"""A game over the wire: a Unity build, the Unity editor, or anything that speaks the same protocol."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparring.channels import EnvironmentParametersChannel, SideChannel, SideChannels, StatsSideChannel
from sparring.environments.environment import Environment, EnvironmentStatistic
from sparring.environments.unity.commands import find_command, game_arguments, in_virtual_display
from sparring.environments.unity.launching import GameProcess, exit_in_words
from sparring.environments.unity.server import ExchangeServer
from sparring.environments.unity.stages import Stage, ended, stuck, waiting
from sparring.environments.unity.versions import LEGACY_VERSION, check_version
from sparring.errors import Finding, GameError, SpecError, nearest
from sparring.settings import Sampler
from sparring.specs import BehaviorSpec
from sparring.steps import ActionBatch, DecisionSteps, TerminalSteps
from sparring.wire import (
    Introduction,
    Request,
    WireBehavior,
    behavior_of,
    close_message,
    decoded_agents,
    initialization_reply,
    read_request,
    reset_reply,
    step_reply,
)
from sparring.wire.agents import parsed
from sparring.wire.protocol import CAPABILITIES, COMMUNICATION_VERSION, major_of

__all__ = ["UnityEnvironment"]

_log = logging.getLogger(__name__)

EDITOR_PORT = 5004
_POLL_S = 0.2
_SAY_AFTER_S = 5.0
_SAY_EVERY_S = 15.0


class UnityEnvironment(Environment):
    """A game that runs in another process and calls this one over gRPC.

    Arguments, methods and their meaning are those users of the low-level API know. What differs: without `base_port`
    a free port is taken, only the loopback interface listens, and every failure says how far the game had come.

    Args:
        file_name: an executable, possibly with arguments, the folder of a build or a macOS bundle; None waits for the
            Unity editor.
        worker_id: the number of this game among several; added to `base_port` and to the name of its log.
        base_port: where to listen; None takes a free port for an executable and 5004 for the editor.
        seed: sent to the game.
        no_graphics: starts the game without a window.
        timeout_wait: seconds to wait for the first contact and for every exchange.
        additional_args: further arguments for the game.
        side_channels: channels of the user's own.
        log_folder: where the game's logs go.
        num_areas: how many copies of its training area the game should make.
        no_graphics_monitor: starts every game but the one of worker 0 without a window.
        docker_training: gives the game a virtual display of its own, for containers without one.
        package_version: what the trainer says it is; games of the 1.0 packages want 0.16.1 to 0.20.0.
        communication_version: 1.5.0, or 0.15.0 for games of that generation.
        on_wait: is told what is waited for, after some seconds and then again and again.
        should_stop: asked while it waits; True gives up.

    Attributes:
        restarts: how often the editor left and came back, with the episodes under way lost.

    Raises:
        GameError: there is no such game, it did not start or connect, or speaks another version; nothing is left
            running.
    """

    def __init__(
        self,
        file_name: str | None = None,
        worker_id: int = 0,
        base_port: int | None = None,
        seed: int = 0,
        no_graphics: bool = False,
        timeout_wait: float = 60,
        additional_args: Sequence[str] | None = None,
        side_channels: Sequence[SideChannel] | None = None,
        log_folder: str | Path | None = None,
        num_areas: int = 1,
        *,
        no_graphics_monitor: bool = False,
        docker_training: bool = False,
        package_version: str = "0.20.0",
        communication_version: str = COMMUNICATION_VERSION,
        on_wait: Callable[[str], None] = _log.info,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self._is_editor = file_name is None
        if self._is_editor and worker_id != 0:
            raise GameError("the editor is one game", where="worker_id", found=str(worker_id), expected="0")
        executable = None if file_name is None else find_command(file_name)
        self._where = "the editor" if executable is None else " ".join(executable)
        self._timeout_s = float(timeout_wait)
        self._seed, self._num_areas = seed, num_areas
        self._us = Introduction(communication_version, package_version, CAPABILITIES)
        self._on_wait = on_wait
        self._should_stop = should_stop
        self._channels = SideChannels(side_channels or ())
        self._stats = self._channels.find_or_make(StatsSideChannel)
        self._parameters = self._channels.find_or_make(EnvironmentParametersChannel)
        self._told: dict[str, float | Sampler] = {}
        self._behaviors: dict[str, WireBehavior] = {}
        self._specs: dict[str, BehaviorSpec] = {}
        self._steps: dict[str, tuple[DecisionSteps, TerminalSteps]] = {}
        self._actions: dict[str, ActionBatch] = {}
        self._ended: dict[str, NDArray[np.bool_]] = {}
        self._package_major: int | None = None
        self._stage = Stage.CONNECT
        self._asked_since: float | None = None
        self._has_reset = self._is_closed = False
        self._is_blind = no_graphics or (no_graphics_monitor and worker_id > 0)
        self._process: GameProcess | None = None
        self.restarts = self._told_restarts = 0
        port = base_port + worker_id if base_port is not None else EDITOR_PORT if executable is None else 0
        # Listening comes first: a game whose first call finds nobody plays on without a trainer.
        self._server = ExchangeServer(port)
        try:
            if executable is not None:
                folder = None if log_folder is None else Path(log_folder)
                command = game_arguments(
                    executable,
                    port=self._server.port,
                    worker=worker_id,
                    no_graphics=self._is_blind,
                    log_folder=folder,
                    additional=additional_args or (),
                )
                if docker_training:
                    command = in_virtual_display(command)
                self._process = GameProcess(command, log_folder=folder, worker=worker_id)
            else:  # the words other programs look for
                on_wait(
                    f"Listening on port {self.port}. Start training by pressing the Play button in the Unity Editor."
                )
            self._shake_hands(self._receive())
        except BaseException:
            self._end(grace_s=0.0)
            raise

    # -- the contract of a game --------------------------------------------------------------------------------------

    @property
    def port(self) -> int:
        """Where the game connects."""
        return self._server.port

    @property
    def behavior_specs(self) -> Mapping[str, BehaviorSpec]:
        """The specs of the behaviors the game has announced so far, by full name."""
        return self._specs

    def reset(self) -> None:
        """Starts every episode anew; what was under way ends without a word (wire spec 1.3).

        Raises:
            GameError: the game ended, fell silent or sent what it should not.
        """
        self._check_open()
        self._take_in(self._exchange(reset_reply(self._channels.take_outgoing())))
        self._has_reset = True

    def step(self) -> None:
        """Sends the actions and waits until the game has news; agents without an action get zeros.

        Raises:
            GameError: as `reset`.
        """
        if not self._has_reset:
            self.reset()
            return
        self._check_open()
        actions = {}
        for name, (decision, _) in self._steps.items():
            spec = self._specs[name].action_spec
            action = self._actions.get(name) or ActionBatch.zeros(spec, len(decision))
            actions[name] = _spread(action, self._ended[name]) if name in self._ended else action
        self._actions = {}
        self._take_in(self._exchange(step_reply(actions, self._channels.take_outgoing())))

    def get_steps(self, behavior_name: str) -> tuple[DecisionSteps, TerminalSteps]:
        """The agents of one behavior that ask for an action, and those whose episode ended."""
        self._check_known(behavior_name)
        empty = self._specs[behavior_name]
        return self._steps.get(behavior_name) or (DecisionSteps.empty(empty), TerminalSteps.empty(empty))

    def set_actions(self, behavior_name: str, action: ActionBatch) -> None:
        """Sets the actions of all agents of the behavior that asked, in the order of `get_steps`."""
        self._check_known(behavior_name)
        decision, _ = self.get_steps(behavior_name)
        action.validate(self._specs[behavior_name].action_spec, len(decision), behavior=behavior_name)
        self._actions[behavior_name] = action

    def set_action_for_agent(self, behavior_name: str, agent_id: int, action: ActionBatch) -> None:
        """Sets the action of one agent that asked; `action` has one row.

        Raises:
            SpecError: the agent did not ask, or the action does not fit.
        """
        self._check_known(behavior_name)
        decision, _ = self.get_steps(behavior_name)
        spec = self._specs[behavior_name].action_spec
        action.validate(spec, 1, behavior=behavior_name)
        if agent_id not in decision.agent_id_to_index:
            raise SpecError("the agent did not ask for an action", where=behavior_name, found=f"agent {agent_id}")
        row = decision.agent_id_to_index[agent_id]
        batch = self._actions.setdefault(behavior_name, ActionBatch.zeros(spec, len(decision)))
        batch.continuous[row], batch.discrete[row] = action.continuous[0], action.discrete[0]

    def set_parameters(self, parameters: Mapping[str, float]) -> None:
        """Sends environment parameters with the next exchange."""
        self._tell(parameters)

    def set_samplers(self, samplers: Mapping[str, Sampler]) -> None:
        """Sends samplers with the next exchange; the game draws from them, and begins anew with each that is sent."""
        self._tell(samplers)

    def _tell(self, values: Mapping[str, float | Sampler]) -> None:
        self._told = {**self._told, **values}
        for key, value in values.items():
            if isinstance(value, Sampler):
                self._parameters.set_sampler(key, value)
            else:
                self._parameters.set_float_parameter(key, value)

    def take_statistics(self) -> Sequence[EnvironmentStatistic]:
        """What the game reported since the last call."""
        return [EnvironmentStatistic(key, value, int(kind)) for key, value, kind in self._stats.take()]

    def take_lost_arenas(self) -> NDArray[np.int64]:
        """Arena 0, if the editor left and came back since the last call."""
        lost = np.zeros(min(1, self.restarts - self._told_restarts), np.int64)
        self._told_restarts = self.restarts
        return lost

    def close(self) -> None:
        """Says good-bye, waits until the game has ended, and ends it if it does not; twice is allowed."""
        self._end(grace_s=self._timeout_s)

    def _end(self, *, grace_s: float) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._server.close()
        if self._process is not None:
            self._process.end(grace_s=grace_s)

    def _check_open(self) -> None:
        if self._is_closed:
            raise GameError("the game is closed", where=self._where)

    def _check_known(self, name: str) -> None:
        if name not in self._specs:
            near = nearest(name, self._specs)
            raise GameError(
                f"the game has no behavior {name!r}",
                where=self._where,
                found=", ".join(self._specs) or "no behavior yet",
                cure=f"did you mean {near[0]!r}?" if near else "",
            )

    # -- the exchange ------------------------------------------------------------------------------------------------

    def _exchange(self, reply: bytes) -> Request:
        """Answers and waits for the next request; an editor that left, politely or not, may come back."""
        self._server.answer(reply)
        request = self._receive()
        while request.is_closing or request.introduction is not None:
            if not self._is_editor:
                what = "said good-bye" if request.is_closing else "introduced itself a second time"
                raise GameError(f"the game {what}", where=self._where, found=f"(stage: {self._stage.value})")
            self.restarts += 1
            self._steps, self._actions = {}, {}
            self._stage = Stage.CONNECT
            if request.is_closing:
                self._server.answer(close_message())
                self._on_wait(f"The editor stopped. Press Play to go on; listening on port {self.port}.")
                request = self._receive(timeout_s=float("inf"))
            if request.introduction is not None:
                self._shake_hands(request)
                self._tell(self._told)  # the game that is there now knows nothing of it, nor of its engine's settings
                self._channels.say_again()
                self._server.answer(reset_reply(self._channels.take_outgoing()))
                request = self._receive()
        return request

    def _shake_hands(self, first: Request) -> None:
        """Introduces both sides; ends with the game waiting for its first reset."""
        if first.introduction is None:
            raise GameError(
                "the game did not introduce itself", where=self._where, cure="restart the game or the editor"
            )
        self._stage = Stage.HANDSHAKE
        self._server.answer(initialization_reply(self._us, seed=self._seed, num_areas=self._num_areas))
        self._receive()
        check_version(first.introduction, trainer=self._us.communication_version)
        self._package_major = major_of(first.introduction.package_version)
        _log.info(
            "connected to a game with package %s and protocol %s",
            first.introduction.package_version or "of unknown version",
            first.introduction.communication_version,
        )
        self._stage = Stage.AGENTS
        self._asked_since = None

    def _receive(self, timeout_s: float | None = None) -> Request:
        """The next request.

        Raises:
            GameError: the game's process ended, or nothing came in time.
            WireError: the request is malformed.
        """
        limit = self._timeout_s if timeout_s is None else timeout_s
        start = time.monotonic()
        say_at = _SAY_AFTER_S
        while True:
            request = self._server.receive(_POLL_S)
            if request is not None:
                return read_request(request)
            if self._is_closed or self._should_stop():
                raise GameError(f"nobody waits for the game any more (stage: {self._stage.value})", where=self._where)
            code = None if self._process is None else self._process.poll()
            waited = time.monotonic() - start
            if code is not None:
                request = self._server.receive(0.0)  # its last word may have come meanwhile
                if request is not None:
                    return read_request(request)
                raise GameError([ended(self._stage, where=self._where, how=exit_in_words(code), log=self._log_tail())])
            if waited >= limit:
                finding = self._stuck(limit)
                self._end(grace_s=0.0)  # a game that is stuck won't listen to a good-bye
                raise GameError([finding])
            if waited >= say_at:
                say_at += _SAY_EVERY_S
                self._on_wait(
                    waiting(self._reached(), where=self._where, port=self.port, waited_s=waited, limit_s=limit)
                )

    def _reached(self) -> Stage:
        """How far the game has come, as exactly as it can be told."""
        if self._stage is Stage.CONNECT and self._server.has_connection():
            return Stage.SPEAK
        if self._stage is Stage.AGENTS and self._specs:
            return Stage.DECISIONS
        return self._stage

    def _stuck(self, waited_s: float) -> Finding:
        return stuck(
            self._reached(), where=self._where, waited_s=waited_s, is_editor=self._is_editor, log=self._log_tail()
        )

    def _log_tail(self) -> str:
        return "" if self._process is None else self._process.log_tail()

    def _take_in(self, request: Request) -> None:
        """Reads what a request brings: new behaviors, agents, side channels."""
        for parameters in request.brain_parameters:
            self._announce(parameters, request)
        self._steps, self._ended = {}, {}
        for name, data in request.agents.items():
            if data and name in self._behaviors:
                self._steps[name] = decoded_agents(data, self._behaviors[name], name=name)
                if self._us.communication_version == LEGACY_VERSION:
                    infos = parsed("UnityRLOutputProto.ListAgentInfoProto", data, where=name).value
                    self._ended[name] = np.array([info.done for info in infos], np.bool_)
        self._channels.deliver(request.side_channel)
        if self._stage is Stage.PLAY:
            return
        if any(len(decision) for decision, _ in self._steps.values()):
            self._stage = Stage.PLAY
            return
        now = time.monotonic()
        self._asked_since = self._asked_since or now
        if now - self._asked_since > self._timeout_s:  # it talks, but about nothing to decide
            finding = self._stuck(self._timeout_s)
            self._end(grace_s=0.0)
            raise GameError([finding])

    def _announce(self, parameters: Any, request: Request) -> None:  # noqa: ANN401 - a run-time message class
        name = parameters.brain_name
        data = request.agents.get(name, b"")
        infos = parsed("UnityRLOutputProto.ListAgentInfoProto", data, where=name).value
        if not infos:  # worthless without an agent: the observations are read from the first one
            return
        behavior = behavior_of(parameters, infos[0], package_major=self._package_major)
        known = self._behaviors.get(name)
        if known is not None and known.spec != behavior.spec:
            raise GameError("a behavior changed while the game was running", where=name, cure="restart the training")
        self._behaviors[name] = behavior
        self._specs[name] = behavior.spec
        if known is None:
            _log.info("Connected new brain: %s", name)
            images = [
                sensor.name or str(index)
                for index, sensor in enumerate(self._specs[name].observation_specs)
                if len(sensor.shape) == 3
            ]
            if images and self._is_blind:
                _log.warning(
                    "%s sees images (sensor %s), but the game runs without graphics: cameras may show nothing but gray",
                    name,
                    ", ".join(images),
                )


def _spread(action: ActionBatch, ended: NDArray[np.bool_]) -> ActionBatch:
    """Actions for every agent of a message: games of 0.15 want them for those whose episode ended too."""
    continuous = np.zeros((len(ended), action.continuous.shape[1]), np.float32)
    discrete = np.zeros((len(ended), action.discrete.shape[1]), np.int32)
    continuous[~ended], discrete[~ended] = action.continuous, action.discrete
    return ActionBatch(continuous, discrete)
