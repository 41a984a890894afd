"""Writing a policy as a model file, proven before it takes its place."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import numpy as np
import torch

from sparring.errors import ExportError, Finding
from sparring.networks._actor import Actor
from sparring.networks._hash import weights_hash
from sparring.settings.network import NetworkSettings
from sparring.specs import ActionSpec, BehaviorSpec, ObservationSpec

from ._model import NEWEST_OPSET, OLDEST_OPSET, to_bytes
from ._policy_graph import write_policy
from ._samples import sample_masks, sample_observations
from ._verify import TOLERANCE, ExportReport, Masks, Observations, verify_bytes

__all__ = ["DEFAULT_OPSET", "HASH_KEY", "export_policy", "exporter_available", "policy_bytes"]

DEFAULT_OPSET = 9
"""One file of this opset loads in every version of Unity that reads ONNX."""
HASH_KEY = "sparring_weights_hash"
"""Under this name a file states the hash of the weights it was made from."""

_SAMPLED_ROWS = 32
_SAMPLED_STEPS_WITH_MEMORY = 4


def policy_bytes(actor: Actor, *, opset: int = DEFAULT_OPSET) -> bytes:
    """The model file of an actor, checked by onnx; equal weights give equal bytes.

    Raises:
        ExportError: onnx is missing or refuses the model, or the opset is not one of 9 to 20.
    """
    if not OLDEST_OPSET <= opset <= NEWEST_OPSET:
        raise ExportError(
            "this opset cannot be written",
            found=str(opset),
            expected=f"{OLDEST_OPSET} to {NEWEST_OPSET}",
            cure=f"{DEFAULT_OPSET} loads in every Unity version, 15 in Sentis and the Inference Engine",
        )
    with torch.no_grad():
        graph = write_policy(actor, opset=opset)
    return to_bytes(graph, {HASH_KEY: weights_hash(actor)})


def export_policy(
    actor: Actor,
    path: Path,
    *,
    opset: int = DEFAULT_OPSET,
    observations: Observations | None = None,
    masks: Masks | None = None,
    expected_hash: str | None = None,
    tolerance: float = TOLERANCE,
) -> ExportReport:
    """Writes the model file of an actor and proves that it does what the actor does.

    The file is written beside its place, flushed, proven by `verify_export`'s comparison and only then renamed: what
    lies at `path` is either the file from before or a proven one.

    Args:
        actor: what to export; on any device.
        path: the file; its folder is made if need be.
        opset: 9 to 20. 9 loads in every Unity version.
        observations: steps to compare on; see `verify_export`. None makes some up.
        masks: see `verify_export`.
        expected_hash: hash of the learner's weights; None to leave that check out.
        tolerance: largest difference allowed; see `TOLERANCE`.

    Raises:
        ExportError: the packages are missing, the file cannot be written, it differs from the actor, or the actor's
            weights are not those of `expected_hash`. Nothing lies at `path` that did not before.
    """
    if expected_hash is not None and weights_hash(actor) != expected_hash:
        raise ExportError(
            "the actor to export does not have the learner's weights",
            where=str(path),
            found=weights_hash(actor),
            expected=expected_hash,
        )
    model = policy_bytes(actor, opset=opset)
    if observations is None:
        observations, masks = _made_up(actor)
    beside = path.with_name(f".{path.name}.unproven")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_flushed(beside, model)
        report = verify_bytes(beside.read_bytes(), path, actor, observations, masks, tolerance=tolerance)
        beside.replace(path)
        _flush_folder(path.parent)
    except OSError as error:
        raise ExportError("the exported file cannot be written", where=str(path), found=str(error)) from error
    finally:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
    return report


def exporter_available() -> Finding | None:
    """Tries a tiny export in memory; None if it works, else what is wrong and how to mend it. Never raises.

    Meant for the first seconds of a run: whatever is wrong here would otherwise be met at the first checkpoint.
    """
    spec = BehaviorSpec((ObservationSpec.vector(2),), ActionSpec.create_hybrid(1, (2,)))
    try:
        settings = NetworkSettings(hidden_units=4, num_layers=1, normalize=True)
        actor = Actor(spec, settings, generator=torch.Generator().manual_seed(0))
        observations, masks = _made_up(actor)
        verify_bytes(policy_bytes(actor), Path("trial.onnx"), actor, observations, masks)
    except ExportError as error:
        return error.findings[0]
    except Exception as error:
        # Packages that do not fit each other fail in ways nobody can list; a run must not end because of them.
        return Finding("the exporter does not work here", found=f"{type(error).__name__}: {error}")
    return None


def _made_up(actor: Actor) -> tuple[Observations, Masks]:
    rng = np.random.default_rng(0)
    steps = _SAMPLED_STEPS_WITH_MEMORY if actor.memory_size else 1
    observations = [sample_observations(actor, rows=_SAMPLED_ROWS, rng=rng) for _ in range(steps)]
    return observations, [sample_masks(actor, rows=_SAMPLED_ROWS, rng=rng) for _ in range(steps)]


def _write_flushed(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _flush_folder(folder: Path) -> None:
    """Makes a rename survive a power cut; Windows neither needs nor allows it."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
