"""Models that choose actions where no trainer does: exported files, run by onnxruntime (wire spec 8)."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparring.errors import Finding, SpecError
from sparring.specs import BehaviorSpec
from sparring.steps import ActionBatch, DecisionSteps

__all__ = ["Chosen", "Model", "ModelShelf", "OnnxModel"]

FloatArray: TypeAlias = NDArray[np.float32]

_VERSION = 3.0


class Chosen(NamedTuple):
    """What a model chose.

    Attributes:
        actions: a row for each agent.
        memory: float32 `[agents, memory size]` to give back at the agents' next decision.
    """

    actions: ActionBatch
    memory: FloatArray


class Model(Protocol):
    """What chooses actions; anything with these methods may be given to an agent."""

    @property
    def memory_size(self) -> int:
        """Numbers remembered of each agent; 0 for none."""
        ...

    def check(self, spec: BehaviorSpec, *, where: str) -> None:
        """Makes sure that the model sees and does what an agent does.

        Args:
            spec: of the agent.
            where: the agent, in words.

        Raises:
            SpecError: it does not; says all that differs.
        """
        ...

    def choose(self, spec: BehaviorSpec, steps: DecisionSteps, memory: FloatArray) -> Chosen:
        """Chooses for all agents that ask.

        Args:
            spec: of their behavior.
            steps: what they see.
            memory: `[agents, memory size]`, zeros where an episode begins.
        """
        ...


class OnnxModel:
    """An exported model: one of ours, or of any trainer that writes Unity's format of version 3.

    Args:
        path: the file.
        deterministic: the likeliest actions are taken instead of drawn ones.

    Raises:
        SpecError: the file can't be read or loaded, or is no model of this format.
    """

    def __init__(self, path: Path | str, *, deterministic: bool = False) -> None:
        import onnxruntime  # noqa: PLC0415 - a game that only talks to a trainer does not need it

        self.path = Path(path)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = False  # gives memory back when models are switched
        options.log_severity_level = 3
        try:
            data = self.path.read_bytes()
        except OSError as error:
            raise SpecError("a model can't be read", where=str(path), found=error.strerror or str(error)) from None
        try:
            self._session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime has no base class of its own for a damaged file
            raise SpecError("onnxruntime can't load a model", where=str(path), found=str(error)) from None
        self._inputs = {port.name: list(port.shape) for port in self._session.get_inputs()}
        names = [port.name for port in self._session.get_outputs()]
        constants = self._constants(names)
        self.memory_size = int(constants["memory_size"].reshape(-1)[0])
        self._continuous = int(constants.get("continuous_action_output_shape", np.zeros(1)).reshape(-1)[0])
        branches = constants.get("discrete_action_output_shape", np.zeros(0)).reshape(-1)
        self._branches = tuple(int(size) for size in branches)
        prefix = "deterministic_" if deterministic else ""
        wanted = {"continuous": self._continuous > 0, "discrete": len(self._branches) > 0}
        self._outputs = {kind: f"{prefix}{kind}_actions" for kind, is_there in wanted.items() if is_there}
        missing = [output for output in self._outputs.values() if output not in names]
        if missing:
            raise SpecError("a model lacks outputs", where=str(path), found=", ".join(names), expected=missing[0])

    def check(self, spec: BehaviorSpec, *, where: str) -> None:
        """Makes sure that the file's inputs and outputs are those of an agent.

        Raises:
            SpecError: they are not; says all that differs.
        """
        findings = []
        sensors = {f"obs_{index}": sensor for index, sensor in enumerate(spec.observation_specs)}
        for name, shape in self._inputs.items():
            if name.startswith("obs_") and name not in sensors:
                findings.append(Finding(f"the model has an input {name} for which there is no sensor", where=where))
            elif name.startswith("obs_") and tuple(shape[1:]) != sensors[name].shape:
                findings.append(
                    Finding(
                        f"sensor {sensors[name].name!r} does not fit the model's input {name}",
                        where=where,
                        found=str(sensors[name].shape),
                        expected=str(tuple(shape[1:])),
                    )
                )
        findings += [
            Finding(f"the model has no input for sensor {sensor.name!r}", where, f"no {name}")
            for name, sensor in sensors.items()
            if name not in self._inputs
        ]
        actions = spec.action_spec
        for what, found, expected in (
            ("number of continuous actions is", actions.continuous_size, self._continuous),
            ("sizes of discrete branches are", actions.discrete_branches, self._branches),
        ):
            if found != expected:
                findings.append(Finding(f"the agent's {what} not the model's", where, str(found), str(expected)))
        if findings:
            raise SpecError(findings)

    def choose(self, spec: BehaviorSpec, steps: DecisionSteps, memory: FloatArray) -> Chosen:
        """Runs the model once for all agents."""
        feeds: dict[str, NDArray[Any]] = {
            f"obs_{index}": sensor for index, sensor in enumerate(steps.obs) if f"obs_{index}" in self._inputs
        }
        if "action_masks" in self._inputs:
            feeds["action_masks"] = _allowed(spec, steps)
        if "recurrent_in" in self._inputs:
            feeds["recurrent_in"] = memory[:, None, :]
        wanted = list(self._outputs.values())
        if self.memory_size:
            wanted.append("recurrent_out")
        values = dict(zip(wanted, self._session.run(wanted, feeds), strict=True))
        chosen = ActionBatch.zeros(spec.action_spec, len(steps))
        if "continuous" in self._outputs:
            chosen.continuous[:] = values[self._outputs["continuous"]]
        if "discrete" in self._outputs:
            chosen.discrete[:] = values[self._outputs["discrete"]]
        after = values["recurrent_out"].reshape(len(steps), self.memory_size) if self.memory_size else memory
        return Chosen(chosen, after)

    def _constants(self, names: Sequence[str]) -> Mapping[str, NDArray[Any]]:
        """The outputs that describe the model; they need inputs of some size, though no value depends on them."""
        known = (
            "version_number",
            "memory_size",
            "continuous_action_output_shape",
            "discrete_action_output_shape",
        )
        wanted = [name for name in known if name in names]
        feeds = {
            name: np.zeros([size if isinstance(size, int) else 1 for size in shape], np.float32)
            for name, shape in self._inputs.items()
        }
        found = dict(zip(wanted, self._session.run(wanted, feeds), strict=True)) if wanted else {}
        version = float(found.get("version_number", np.zeros(1)).reshape(-1)[0])
        if version != _VERSION or "memory_size" not in found:
            raise SpecError(
                "a file is no model of the format that agents run",
                where=str(self.path),
                found=f"version {version:g}" if version else f"outputs {', '.join(names)}",
                expected=f"version {_VERSION:g}, as sparring and mlagents-learn from 0.28 on export it",
            )
        return found


class ModelShelf:
    """The models in use, by file: agents share one, and it goes with the last of them."""

    def __init__(self) -> None:
        self._models: weakref.WeakValueDictionary[tuple[Path, int], OnnxModel] = weakref.WeakValueDictionary()

    def load(self, path: Path | str) -> OnnxModel:
        """The model of a file as it is on disk now.

        Raises:
            SpecError: see `OnnxModel`.
        """
        place = Path(path).resolve()
        try:
            key = place, place.stat().st_mtime_ns
        except OSError as error:
            raise SpecError("a model can't be read", where=str(path), found=error.strerror or str(error)) from None
        model = self._models.get(key)
        if model is None:
            model = self._models[key] = OnnxModel(path)
        return model


def _allowed(spec: BehaviorSpec, steps: DecisionSteps) -> FloatArray:
    """Masks as models take them: 1 where a choice is available."""
    if steps.action_mask is None:
        return np.ones((len(steps), spec.action_spec.total_choices), np.float32)
    return (~np.concatenate(list(steps.action_mask), axis=1)).astype(np.float32)
