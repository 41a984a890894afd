"""Demonstration files: what somebody saw and did, step by step (wire spec 7)."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparring.errors import SpecError, WireError
from sparring.specs import BehaviorSpec
from sparring.steps import ActionBatch, DecisionSteps, TerminalSteps
from sparring.wire.actions import decoded_actions
from sparring.wire.agents import decoded_agents, parsed
from sparring.wire.behaviors import behavior_of, brain_parameters
from sparring.wire.framing import delimited, read_varint, with_length
from sparring.wire.game_messages import encoded_agents
from sparring.wire.messages import message_class

__all__ = ["Demonstration", "DemonstrationWriter", "read_demonstration"]

_log = logging.getLogger(__name__)

_HEADER = 33
"""Where the brain parameters begin: a length byte and 32 bytes for the metadata."""
_VERSIONS = (0, 1)
_LONGEST_NAME = 16


@dataclass(frozen=True, slots=True)
class Demonstration:
    """The experiences of a file, in order.

    Attributes:
        name: of the recording.
        behavior_name: full name of the behavior that was recorded.
        spec: what it sees and does; images are channels first whatever the recorder sent.
        obs: one float32 array `[experiences, *sensor shape]` a sensor.
        actions: what was done at each.
        reward: float32 `[experiences]`, since the experience before; group rewards are added.
        done, interrupted: bool `[experiences]`; one that is done ends an episode, and its action means nothing.
        declared_steps, declared_episodes: what the header says; 0 steps in a recording that was never closed.
    """

    name: str
    behavior_name: str
    spec: BehaviorSpec
    obs: tuple[NDArray[np.float32], ...]
    actions: ActionBatch
    reward: NDArray[np.float32]
    done: NDArray[np.bool_]
    interrupted: NDArray[np.bool_]
    declared_steps: int
    declared_episodes: int

    def __len__(self) -> int:
        return len(self.reward)

    def samples(self) -> NDArray[np.int64]:
        """The experiences that show a choice: all but the last, and but those that only end an episode."""
        return np.flatnonzero(~self.done[:-1])


def read_demonstration(path: Path | str, *, keeps_whole_episodes: bool = False) -> Demonstration:
    """A file from disk.

    Args:
        path: the file.
        keeps_whole_episodes: of a file that ends in the middle, the episodes that are whole are read, and a warning
            says so; without, it is refused.

    Raises:
        WireError: it is missing, damaged, of another version, or holds no experience; says where in the file.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise WireError(
            "the demonstration cannot be read", where=str(path), found=error.strerror or str(error)
        ) from None
    meta_bytes, _ = _framed(data, 0, path)
    meta = parsed("DemonstrationMetaProto", meta_bytes, where=str(path))
    if meta.api_version not in _VERSIONS:
        raise WireError(
            "the demonstration is of another version", where=str(path), found=str(meta.api_version), expected="0 or 1"
        )
    brain_bytes, at = _framed(data, _HEADER, path)
    brain = parsed("BrainParametersProto", brain_bytes, where=f"{path}, byte {_HEADER}")
    pairs: list[Any] = []
    while at < len(data) and (meta.number_steps == 0 or len(pairs) < meta.number_steps):
        try:
            pair_bytes, after = _framed(data, at, path)
        except WireError as error:
            pairs = _whole_episodes(pairs) if keeps_whole_episodes else []
            if not pairs:
                raise
            episodes = sum(pair.agent_info.done for pair in pairs)
            _log.warning("%s: %s; its %d whole episode(s) are read", path, error.findings[0].what, episodes)
            break
        pairs.append(parsed("AgentInfoActionPairProto", pair_bytes, where=f"{path}, byte {at}"))
        at = after
    if not pairs:
        raise WireError("the demonstration holds no experience", where=str(path))
    return _columns(meta, brain, pairs, path)


def _whole_episodes(pairs: list[Any]) -> list[Any]:
    """Everything up to the last end of an episode."""
    ends = [index for index, pair in enumerate(pairs) if pair.agent_info.done]
    return pairs[: ends[-1] + 1] if ends else []


def _columns(meta: Any, brain: Any, pairs: list[Any], path: Path | str) -> Demonstration:  # noqa: ANN401 - messages
    infos = [pair.agent_info for pair in pairs]
    behavior = behavior_of(brain, infos[0])
    done = np.array([info.done for info in infos], np.bool_)
    interrupted = np.array([info.done and info.max_step_reached for info in infos], np.bool_)
    for info in infos:  # all as if they asked, so that they stay in the order of the file
        info.done = False
    data = b"".join(delimited(1, info.SerializeToString()) for info in infos)
    steps, _ = decoded_agents(data, behavior, name=str(path))
    actions = decoded_actions(
        [pair.action_info for pair in pairs], behavior.spec.action_spec, behavior=str(path), agents=len(pairs)
    )
    return Demonstration(
        meta.demonstration_name,
        brain.brain_name,
        behavior.spec,
        tuple(steps.obs),
        actions,
        steps.reward + steps.group_reward,
        done,
        interrupted,
        meta.number_steps,
        meta.number_episodes,
    )


def _framed(data: bytes, at: int, path: Path | str) -> tuple[bytes, int]:
    """A message with its length before it, and the place behind it."""
    size, begin = read_varint(data, at, f"{path}, byte {at}")
    if size > len(data) - begin:
        raise WireError(
            "the demonstration ends in the middle",
            where=f"{path}, byte {at}",
            found=f"a length of {size} with {len(data) - begin} bytes left",
        )
    return data[begin : begin + size], begin + size


class DemonstrationWriter:
    """Writes one agent's experiences; a context manager, and whole only when it was closed.

    Left with an error before anything was recorded, it leaves no file.

    Args:
        path: the file, which must not exist.
        name: of the recording; other characters than letters, digits, spaces and hyphens are left out.
        behavior_name: full name of the behavior.
        spec: what it sees and does.

    Raises:
        SpecError: the file exists.
    """

    def __init__(self, path: Path | str, *, name: str, behavior_name: str, spec: BehaviorSpec) -> None:
        self._name = re.sub(r"[^A-Za-z0-9 \-]", "", name)[:_LONGEST_NAME]
        self._spec = spec
        self._steps = self._episodes = 0
        self._reward = 0.0
        try:
            self._file = Path(path).open("xb")  # noqa: SIM115 - open as long as it is recorded
        except FileExistsError:
            raise SpecError("the demonstration exists already", where=str(path), cure="choose another name") from None
        self._file.write(self._header())
        brain = brain_parameters(behavior_name, spec.action_spec, is_training=False).SerializeToString()
        self._file.write(with_length(brain))

    def add(self, steps: DecisionSteps | TerminalSteps, row: int, actions: ActionBatch | None = None) -> None:
        """Appends what the agent of a row saw and did; nothing was done where its episode ended."""
        is_end = isinstance(steps, TerminalSteps)
        part = slice(row, row + 1)
        if isinstance(steps, TerminalSteps):
            ended = TerminalSteps(
                [sensor[part] for sensor in steps.obs],
                steps.reward[part],
                steps.interrupted[part],
                steps.agent_id[part],
                steps.group_id[part],
                steps.group_reward[part],
            )
            infos = encoded_agents(self._spec, DecisionSteps.empty(self._spec), ended)
        else:
            mask = None if steps.action_mask is None else [branch[part] for branch in steps.action_mask]
            asking = DecisionSteps(
                [sensor[part] for sensor in steps.obs],
                steps.reward[part],
                steps.agent_id[part],
                mask,
                steps.group_id[part],
                steps.group_reward[part],
            )
            infos = encoded_agents(self._spec, asking, TerminalSteps.empty(self._spec))
        done, own = (ActionBatch.zeros(self._spec.action_spec, 1), 0) if actions is None else (actions, row)
        pair = message_class("AgentInfoActionPairProto")()
        pair.agent_info.CopyFrom(parsed("UnityRLOutputProto.ListAgentInfoProto", infos, where="demonstration").value[0])
        pair.action_info.continuous_actions.extend(done.continuous[own].tolist())
        pair.action_info.discrete_actions.extend(done.discrete[own].tolist())
        self._file.write(with_length(pair.SerializeToString()))
        self._steps += 1
        self._episodes += is_end
        self._reward += float(steps.reward[row] + steps.group_reward[row])

    def close(self) -> None:
        """Writes the counts into the header; twice is allowed."""
        if not self._file.closed:
            self._episodes += 1  # as every known writer counts: one more than ended
            self._file.seek(0)
            self._file.write(self._header())
            self._file.close()

    def __enter__(self) -> DemonstrationWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if error is not None and self._steps == 0:
            Path(self._file.name).unlink(missing_ok=True)

    def _header(self) -> bytes:
        name = self._name
        while True:
            meta = message_class("DemonstrationMetaProto")(
                api_version=1,
                demonstration_name=name,
                number_steps=self._steps,
                number_episodes=self._episodes,
                mean_reward=self._reward / self._episodes if self._episodes else 0.0,
            )
            framed = with_length(meta.SerializeToString())
            if len(framed) <= _HEADER:
                return framed.ljust(_HEADER, b"\0")
            name = name[:-1]  # large counts need its room
