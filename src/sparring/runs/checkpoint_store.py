"""The checkpoints of one run: the newest ones, and the best one kept apart from them."""

from __future__ import annotations

import json
import logging
import shutil
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Literal, TypeAlias

from sparring.environments import StateTree
from sparring.errors import CheckpointError, Finding
from sparring.runs._atomic import replace_file
from sparring.runs.checkpoint_file import encode_checkpoint, read_checkpoint, read_label
from sparring.runs.checkpoint_names import best_checkpoint, has_checkpoint, rolling_checkpoint, rolling_checkpoints

__all__ = ["CheckpointChoice", "CheckpointStore", "LoadedCheckpoint"]

CheckpointChoice: TypeAlias = Literal["newest", "best"] | int
"""Which checkpoint to load; a number is a step."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LoadedCheckpoint:
    """A checkpoint that was read and found whole."""

    path: Path
    step: int
    state: StateTree
    notices: tuple[str, ...] = ()
    """One line for each newer checkpoint that was skipped because it is damaged; also logged."""


class CheckpointStore:
    """Saves, keeps, finds and loads the checkpoints in one folder.

    The files of the newest `keep` steps are kept, and `best.safetensors` beside them, which rolling never removes.
    Only files that a store wrote are ever removed.
    """

    def __init__(self, folder: Path, *, keep: int = 5) -> None:
        """A store in `folder`, which need not exist yet; `keep` 0 keeps every checkpoint."""
        self._folder = folder
        self._keep = keep

    @property
    def best_path(self) -> Path:
        """Where the best checkpoint is, once there is one."""
        return best_checkpoint(self._folder)

    def steps(self) -> list[int]:
        """The steps with a checkpoint of their own, oldest first; whether it is whole shows only when it is loaded."""
        return sorted(rolling_checkpoints(self._folder))

    def is_empty(self) -> bool:
        """Whether there is nothing to resume from."""
        return not has_checkpoint(self._folder)

    def save(self, state: StateTree, step: int, *, measure: float | None = None) -> Path | None:
        """Writes the checkpoint of a step, and keeps it as the best too if its measure is the highest so far.

        Checkpoints of later steps are of a future that was given up by resuming from an earlier one; they are moved
        to a folder `set-aside-N`, so that the newest checkpoint is always the one written last.

        A disk that is full or refuses is no reason to lose a run: it is logged with the space left, what is on disk
        stays as it is, and None is returned.

        Raises:
            NonFiniteError: the state holds a NaN or an infinity; nothing was written.
        """
        content = encode_checkpoint(state, step=step, measure=measure)
        path = rolling_checkpoint(self._folder, step)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self.set_aside_after(step)
            replace_file(path, content)
        except OSError as error:
            self._warn_unwritten(path, error, len(content))
            return None
        if measure is not None:
            self._keep_if_best(content, step, measure)
        self._prune()
        return path

    def newest(self) -> LoadedCheckpoint:
        """The newest complete checkpoint. Damaged ones are skipped, named in the notices, and stay on disk.

        Raises:
            CheckpointError: there is none, or none is complete; names every one that was tried.
        """
        rolling = rolling_checkpoints(self._folder)
        candidates = [rolling[step] for step in sorted(rolling, reverse=True)]
        candidates += [self.best_path] if self.best_path.is_file() else []
        if not candidates:
            raise CheckpointError("there is no checkpoint yet", where=str(self._folder))
        skipped: list[Finding] = []
        for path in candidates:
            try:
                step, state = read_checkpoint(path)
            except CheckpointError as error:
                skipped.extend(error.findings)
                continue
            notices = tuple(f"skipped {finding.where}: {finding.what} ({finding.found})" for finding in skipped)
            for notice in notices:
                _log.warning("%s", notice)
            return LoadedCheckpoint(path, step, state, notices)
        raise CheckpointError(skipped)

    def load(self, which: CheckpointChoice) -> LoadedCheckpoint:
        """The checkpoint asked for.

        Raises:
            CheckpointError: it does not exist or is damaged; says which steps there are and which is the newest whole.
        """
        if which == "newest":
            return self.newest()
        path = self.best_path if which == "best" else rolling_checkpoint(self._folder, which)
        if not path.is_file():
            there = ", ".join(str(step) for step in self.steps()) or "none"
            has_best = "; best is there too" if self.best_path.is_file() else ""
            raise CheckpointError(
                "there is no such checkpoint", where=str(path), expected=f"one of these steps: {there}{has_best}"
            )
        try:
            step, state = read_checkpoint(path)
        except CheckpointError as error:
            raise CheckpointError([self._with_newest_as_cure(finding) for finding in error.findings]) from None
        return LoadedCheckpoint(path, step, state)

    def _with_newest_as_cure(self, finding: Finding) -> Finding:
        try:
            newest = self.newest()
        except CheckpointError:
            cure = "no other checkpoint of this run is complete"
        else:
            cure = f"the newest complete checkpoint is of step {newest.step}: {newest.path}"
        return Finding(finding.what, finding.where, finding.found, finding.expected, cure)

    def set_aside_after(self, step: int) -> None:
        """Moves what is later than a step, the best included, to a folder `set-aside-N`.

        Raises:
            OSError: the disk refuses.
        """
        later = [path for other, path in rolling_checkpoints(self._folder).items() if other > step]
        if self.best_path.is_file() and self._best_step() > step:
            later += [path for path in (self.best_path, self.best_path.with_suffix(".json")) if path.is_file()]
        if not later:
            return
        number = 1
        while (folder := self._folder / f"set-aside-{number}").exists():
            number += 1
        folder.mkdir()
        for path in later:
            path.replace(folder / path.name)
        _log.warning("moved %d files of checkpoints later than step %d to %s", len(later), step, folder)

    def _keep_if_best(self, content: bytes, step: int, measure: float) -> None:
        best = self._best_measure()
        if best is not None and best >= measure:
            return
        why = {
            "step": step,
            "measure": measure,
            "previous_measure": best,
            "written": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        }
        try:
            replace_file(self.best_path, content)
            replace_file(self.best_path.with_suffix(".json"), (json.dumps(why, indent=2) + "\n").encode())
        except OSError as error:
            self._warn_unwritten(self.best_path, error, len(content))

    def _best_step(self) -> int:
        """The best's step; 0 where it cannot be read, so that a damaged file stays where it is."""
        try:
            return read_label(self.best_path).step
        except CheckpointError:
            return 0

    def _best_measure(self) -> float | None:
        """The best's measure, from the file itself: the text beside it may be of the one before, after a kill."""
        if not self.best_path.is_file():
            return None
        try:
            return read_label(self.best_path).measure
        except CheckpointError as error:
            _log.warning("the best checkpoint so far is damaged and will be replaced: %s", error)
            return None

    def _prune(self) -> None:
        rolling = rolling_checkpoints(self._folder)
        surplus = sorted(rolling)[: -self._keep] if self._keep else []
        for step in surplus:
            _remove(rolling[step])

    def _warn_unwritten(self, path: Path, error: OSError, size: int) -> None:
        try:
            free = f"{shutil.disk_usage(self._folder).free / 1e6:,.1f} MB free"
        except OSError:
            free = "free space unknown"
        _log.warning(
            "could not write %s (%s; needs %.1f MB, %s); the run goes on, earlier checkpoints are untouched",
            path,
            error.strerror or error,
            size / 1e6,
            free,
        )


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        _log.warning("could not remove the old checkpoint %s: %s", path, error.strerror or error)
