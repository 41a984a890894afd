"""Demonstrations to learn from: files of experts as columns, compared with the game they are to teach."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sparring.algorithms.signals.signal import Transitions
from sparring.errors import Finding, SparringError, SpecError
from sparring.networks import ObservationLayout
from sparring.rollouts import RowStatus, cut_sequences
from sparring.specs import ActionSpec, BehaviorSpec, ObservationSpec
from sparring.wire.demonstrations import Demonstration, read_demonstration

__all__ = ["Demonstrations", "Summary", "demonstration_files", "load_demonstrations", "spec_findings", "summary_of"]

_log = logging.getLogger(__name__)

_STACKED = re.compile(r"StackingSensor_size(\d+)")


@dataclass(frozen=True)
class Demonstrations:
    """Decisions of experts, leading axis `[rows]`; the last record of an episode only ends it and is no row.

    Attributes:
        inputs, next_inputs: of the networks, at the decision and at what followed.
        continuous: float32, as sent to the game.
        discrete: int64.
        reward: float32, what followed the decision.
        terminated: bool, the rules ended the episode after it.
        next_row: int64, the next decision of the same episode, -1 after the last.
    """

    inputs: list[NDArray[np.float32]]
    next_inputs: list[NDArray[np.float32]]
    continuous: NDArray[np.float32]
    discrete: NDArray[np.int64]
    reward: NDArray[np.float32]
    terminated: NDArray[np.bool_]
    next_row: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.reward)

    def transitions(self, device: torch.device) -> Transitions:
        """All rows as tensors."""

        def tensor(column: NDArray[np.generic]) -> Tensor:
            return torch.from_numpy(column).to(device)

        return Transitions(
            [tensor(column) for column in self.inputs],
            [tensor(column) for column in self.next_inputs],
            tensor(self.continuous),
            tensor(self.discrete),
            tensor(self.terminated),
            tensor(self.reward),
        )

    def sequences(self, length: int) -> NDArray[np.int64]:
        """Rows that follow each other, as `cut_sequences` gives them."""
        return cut_sequences(self.next_row, np.full(len(self), RowStatus.COMPLETE, np.int8), length=length)

    @classmethod
    def of(cls, recording: Demonstration) -> Demonstrations:
        """The decisions of a recording."""
        rows = recording.samples()
        layout = ObservationLayout(recording.spec)
        columns = layout.inputs(recording.obs)
        ends = recording.done[rows + 1]
        return cls(
            inputs=[column[rows] for column in columns],
            next_inputs=[column[rows + 1] for column in columns],
            continuous=recording.actions.continuous[rows].astype(np.float32),
            discrete=recording.actions.discrete[rows].astype(np.int64),
            reward=recording.reward[rows + 1].astype(np.float32),
            terminated=ends & ~recording.interrupted[rows + 1],
            # The last record of all is no row, whether or not it ends its episode.
            next_row=np.where(ends | (rows + 1 == len(recording) - 1), -1, np.arange(len(rows)) + 1),
        )

    @classmethod
    def joined(cls, parts: list[Demonstrations]) -> Demonstrations:
        """Several files as one."""
        starts = np.cumsum([0, *(len(part) for part in parts[:-1])])
        links = [
            np.where(part.next_row < 0, -1, part.next_row + start) for part, start in zip(parts, starts, strict=True)
        ]
        return cls(
            [np.concatenate(columns) for columns in zip(*(part.inputs for part in parts), strict=True)],
            [np.concatenate(columns) for columns in zip(*(part.next_inputs for part in parts), strict=True)],
            np.concatenate([part.continuous for part in parts]),
            np.concatenate([part.discrete for part in parts]),
            np.concatenate([part.reward for part in parts]),
            np.concatenate([part.terminated for part in parts]),
            np.concatenate(links),
        )


def demonstration_files(path: str, *, where: str) -> list[Path]:
    """The file, or all files of a folder that end in `.demo`, sorted.

    Raises:
        SpecError: there is nothing; says what was found.
    """
    place = Path(path).expanduser()
    if place.is_file():
        return [place]
    if not place.exists():
        raise SpecError("the demonstrations are missing", where=where, found=f"nothing at {place}")
    files = sorted(entry for entry in place.iterdir() if entry.suffix == ".demo" and entry.is_file())
    if not files:
        others = sorted(entry.name for entry in place.iterdir())
        found = f"{len(others)} other entries, {others[0]} among them" if others else "an empty folder"
        raise SpecError("the folder has no demonstrations", where=where, found=f"{place}: {found}", expected="*.demo")
    return files


def load_demonstrations(path: str, spec: BehaviorSpec, *, where: str) -> Demonstrations:
    """What the files at a path show, for a behavior.

    Args:
        path: a file, or a folder of files.
        spec: of the behavior that is to learn.
        where: the setting that names the path, for messages.

    Raises:
        SparringError: a file is missing, damaged or of another behavior; every one that is.
    """
    parts: list[Demonstrations] = []
    findings: list[Finding] = []
    for file in demonstration_files(path, where=where):
        read = _read(file, spec)
        if isinstance(read, Demonstrations):
            parts.append(read)
        else:
            findings += read
    if findings:
        raise SpecError(findings)
    found = Demonstrations.joined(parts)
    if len(found) == 0:
        raise SpecError("the demonstrations show no decision", where=where, found=path)
    return found


def _read(file: Path, spec: BehaviorSpec) -> Demonstrations | list[Finding]:
    try:
        recording = read_demonstration(file, keeps_whole_episodes=True)
    except SparringError as error:
        return list(error.findings)
    findings = spec_findings(recording.spec, spec, where=str(file))
    if findings:
        return findings
    if not recording.done.any():
        _log.warning("%s: no end of an episode was recorded; it is taken as one unfinished episode", file)
    return Demonstrations.of(recording)


def spec_findings(shown: BehaviorSpec, needed: BehaviorSpec, *, where: str) -> list[Finding]:
    """What of a recorded behavior differs from the one that is to learn from it, sensor by sensor."""
    findings = []
    for index, (theirs, ours) in enumerate(zip_longest(shown.observation_specs, needed.observation_specs)):
        if theirs is None or ours is None or theirs.shape != ours.shape:
            name = next((sensor.name for sensor in (ours, theirs) if sensor is not None and sensor.name), str(index))
            findings.append(
                Finding(
                    f"the demonstration shows another sensor {name!r} than the game has",
                    where=where,
                    found=_shape(theirs),
                    expected=_shape(ours),
                    cure="record it anew with this build, or set the sensor up as it was when it was recorded",
                )
            )
    if shown.action_spec != needed.action_spec:
        findings.append(
            Finding(
                "the demonstration shows other actions than the game has",
                where=where,
                found=_actions(shown.action_spec),
                expected=_actions(needed.action_spec),
                cure="record it anew with this build",
            )
        )
    return findings


def _shape(sensor: ObservationSpec | None) -> str:
    if sensor is None:
        return "no such sensor"
    shape = " x ".join(str(size) for size in sensor.shape)
    stacked = _STACKED.search(sensor.name)
    if stacked and len(sensor.shape) == 1 and sensor.size % int(stacked[1]) == 0:
        return f"{shape} ({stacked[1]} x {sensor.size // int(stacked[1])})"
    return shape


def _actions(spec: ActionSpec) -> str:
    branches = ", ".join(str(size) for size in spec.discrete_branches)
    return f"{spec.continuous_size} continuous, branches ({branches})"


@dataclass(frozen=True)
class Summary:
    """What a recording holds, for a person to read.

    Attributes:
        sensors: name and shape of each.
        actions: in words.
        steps: decisions that can be learned from.
        returns: of each episode, the last unfinished one included.
        ended, interrupted, unfinished: episodes by how they ended.
        histograms: for each branch and each continuous action a title and counts by label.
    """

    sensors: list[tuple[str, str]]
    actions: str
    steps: int
    returns: list[float]
    ended: int
    interrupted: int
    unfinished: int
    histograms: list[tuple[str, list[tuple[str, int]]]]


_BINS = 8


def summary_of(recording: Demonstration) -> Summary:
    """Counts what is in a recording."""
    spec = recording.spec
    rows = recording.samples()
    ends = np.flatnonzero(recording.done)
    starts = np.concatenate(([0], ends + 1))
    returns = [float(part.sum()) for part in np.split(recording.reward, ends + 1) if len(part)]
    histograms = []
    for branch, size in enumerate(spec.action_spec.discrete_branches):
        counts = np.bincount(recording.actions.discrete[rows, branch], minlength=size)
        named = [(f"choice {choice}", int(count)) for choice, count in enumerate(counts)]
        histograms.append((f"branch {branch}", named))
    for place in range(spec.action_spec.continuous_size):
        values = recording.actions.continuous[rows, place]
        counts, edges = np.histogram(values.clip(-1, 1), bins=_BINS, range=(-1, 1))
        labels = [f"{low:+.2f} to {high:+.2f}" for low, high in pairwise(edges)]
        histograms.append((f"continuous {place}", [(label, int(c)) for label, c in zip(labels, counts, strict=True)]))
    return Summary(
        sensors=[(sensor.name or str(index), _shape(sensor)) for index, sensor in enumerate(spec.observation_specs)],
        actions=_actions(spec.action_spec),
        steps=len(rows),
        returns=returns,
        ended=int(np.count_nonzero(recording.done & ~recording.interrupted)),
        interrupted=int(np.count_nonzero(recording.interrupted)),
        unfinished=int(starts[-1] < len(recording)),
        histograms=histograms,
    )
