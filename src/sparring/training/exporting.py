"""Exports during a run: weights are on disk first, and a model that can't be written never costs a run."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sparring.environments import Environment
from sparring.errors import ExportError
from sparring.networks.export import export_policy, exporter_available
from sparring.runs import ExportedModel, RunFolder
from sparring.training.acting import joined_mask
from sparring.training.behavior import BehaviorTraining

__all__ = ["ModelExporter"]

_log = logging.getLogger(__name__)

_ROWS_COMPARED = 64


class ModelExporter:
    """Writes the models of a run's behaviors and proves them on observations of the game.

    Attributes:
        written: the models of each behavior, oldest first.
    """

    def __init__(self, folder: RunFolder, *, opset: int = 9) -> None:
        self._folder = folder
        self._opset = opset
        self.written: dict[str, list[ExportedModel]] = {}
        self._noticed: set[tuple[str, str]] = set()
        self.fault = exporter_available()
        if self.fault is not None:
            _log.warning("models will not be exported: %s", self.fault)
            _log.warning("training goes on; run `sparring export` later to write them from the checkpoint")

    def export(self, training: BehaviorTraining, environment: Environment, *, is_final: bool) -> Path | None:
        """Writes one behavior's model; None if that failed, which is logged."""
        if self.fault is not None:
            return None
        name = training.name
        path = self._folder.final_export_path(name) if is_final else self._folder.export_path(name, training.steps)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            observations, masks = _real_steps(training, environment)
            report = export_policy(
                training.policy.actor,
                path,
                opset=self._opset,
                observations=observations or None,
                masks=masks,
                expected_hash=training.policy.weights_hash(),
            )
            for notice in report.notices:
                self._notice_once(name, str(notice))
            _log.info("%s: written; outputs differ from the policy's by at most %.1e", path, report.worst)
        except (ExportError, OSError) as error:
            _log.warning("%s: the model was not exported: %s; the checkpoint is safe", name, error)
            return None
        self.written.setdefault(name, []).append(
            ExportedModel(training.steps, str(path), training.mean_return, time.time())
        )
        return path

    def _notice_once(self, name: str, notice: str) -> None:
        if (name, notice) not in self._noticed:
            self._noticed.add((name, notice))
            _log.warning("%s: %s", name, notice)


def _real_steps(
    training: BehaviorTraining, environment: Environment
) -> tuple[list[list[NDArray[np.float32]]], list[NDArray[np.bool_] | None]]:
    """What agents of the behavior see at this moment, one entry a team that asks for actions."""
    decisions = [environment.get_steps(str(behavior))[0] for behavior in training.tables]
    asking = [decision for decision in decisions if len(decision)]
    rows = slice(_ROWS_COMPARED)
    observations = [[sensor[rows] for sensor in decision.obs] for decision in asking]
    masks = [joined_mask(decision) for decision in asking]
    return observations, [None if mask is None else mask[rows] for mask in masks]
