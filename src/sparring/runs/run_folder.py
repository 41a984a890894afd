"""The folder of one run: the only place that knows which file is where, and how a run may begin in it.

    <results>/<run id>/
    ├── configuration.yaml            the settings in force, written when the run starts
    ├── configuration-<n>.yaml        those of earlier starts, where a resume changed them
    ├── checkpoints/                  see `checkpoint_store`
    ├── statistics.jsonl
    ├── doctor.json                   what is installed
    ├── run_logs/                     timers.json, training_status.json, Player-<k>.log
    ├── <behavior>/                   event files, <behavior>-<step>.onnx
    ├── <behavior>.onnx               the final model
    └── run.lock                      who writes here now

Run ids and behavior names are data; `sparring.settings.names` turns them into names of folders.
"""

from __future__ import annotations

import contextlib
import json
import logging
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from sparring.errors import RunError, nearest
from sparring.runs._atomic import remove_leftovers, replace_file
from sparring.runs.checkpoint_names import has_checkpoint
from sparring.runs.run_lock import RunLock
from sparring.runs.training_status import BehaviorStatus, ExportedModel, models_of, training_status
from sparring.settings.names import distinct_name, folder_key, safe_name

if TYPE_CHECKING:
    from sparring.runs.checkpoint_store import CheckpointStore

__all__ = ["RunFolder", "StartMode", "run_ids"]

StartMode: TypeAlias = Literal["new", "resume", "force"]
"""How a run begins: in a folder of its own, where it stopped, or anew with the earlier run moved aside."""

_CONFIGURATION = "configuration.yaml"
_CHECKPOINTS = "checkpoints"
_LOGS = "run_logs"
_LOCK = "run.lock"
_STATUS = "training_status.json"
_OWN_FOLDERS = frozenset({_CHECKPOINTS, _LOGS})
_log = logging.getLogger(__name__)


class RunFolder:
    """Paths and small files of one run. A context manager where it was opened for writing."""

    def __init__(self, path: Path, run_id: str) -> None:
        """Use `open`, or `planned` and `begin`, to write a run and `existing` to read one."""
        self.path = path
        self.run_id = run_id
        self.notices: tuple[str, ...] = ()
        """What beginning did beside that, one line each: a run moved aside, a dead process's lock taken over."""
        self._lock: RunLock | None = None
        self._is_new = False
        self._made: list[Path] = []

    @classmethod
    def open(cls, results_dir: Path | str, run_id: str, mode: StartMode) -> RunFolder:
        """Makes, or finds again, the folder of a run that is about to be written, and locks it.

        Nothing is touched unless the run may begin.

        Raises:
            RunError: as `planned` and `begin`.
        """
        folder = cls.planned(results_dir, run_id, mode)
        folder.begin(mode)
        return folder

    @classmethod
    def planned(cls, results_dir: Path | str, run_id: str, mode: StartMode) -> RunFolder:
        """The folder of a run that may begin, of which nothing is touched yet; `begin` makes and locks it.

        Raises:
            RunError: the run exists (`new`), or is missing or has nothing to resume (`resume`).
        """
        results = Path(results_dir)
        path = _path_of(results, run_id)
        _check_start(results, path, run_id, mode)
        return cls(path, run_id)

    @property
    def is_begun(self) -> bool:
        """Whether it is locked, and so may be written."""
        return self._lock is not None

    def begin(self, mode: StartMode) -> None:
        """Locks the folder; makes it anew, after an earlier run was moved aside (`force`), or finds it (`resume`).

        Raises:
            RunError: the run is in use, or the disk refuses.
        """
        notices = []
        try:
            if mode == "force" and _has_content(self.path):
                notices.append(_move_aside(self.path))
            self._is_new = not _has_content(self.path)
            self._made = [place for place in (self.path, *self.path.parents) if not place.exists()]
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock, takeover = RunLock.acquire(self.path / _LOCK)
        except OSError as error:
            raise RunError(
                "the run's folder cannot be written",
                where=str(self.path),
                found=error.strerror or str(error),
                cure="give another --results-dir, or allow writing there",
            ) from None
        if takeover:
            notices.append(takeover)
        self.notices = tuple(notices)
        for place in (self.path, self.path / _CHECKPOINTS, self.path / _LOGS):
            remove_leftovers(place)

    @classmethod
    def existing(cls, results_dir: Path | str, run_id: str) -> RunFolder:
        """A run to read from, also while it is being written; takes no lock and changes nothing.

        Raises:
            RunError: there is no such run; names those most like it.
        """
        results = Path(results_dir)
        path = _path_of(results, run_id)
        if not _has_content(path):
            raise _missing(results, path, run_id)
        return cls(path, run_id)

    def checkpoints(self, *, keep: int = 5) -> CheckpointStore:
        """The store of this run's checkpoints."""
        from sparring.runs.checkpoint_store import CheckpointStore  # noqa: PLC0415 - brings in NumPy

        return CheckpointStore(self.path / _CHECKPOINTS, keep=keep)

    def copy_curves(self) -> Path | None:
        """Copies the curves into `checkpoints/set-aside-curves-<n>`, before going back cuts them; None without any.

        Raises:
            RunError: the disk refuses.
        """
        curves = [path for path in (self.statistics_path, *self.path.glob("*/events.out.*")) if path.is_file()]
        if not curves:
            return None
        target = _first_free(self.path / _CHECKPOINTS, "set-aside-curves-", "")
        try:
            for path in curves:
                copy = target / path.relative_to(self.path)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, copy)
        except OSError as error:
            raise RunError(
                "the curves cannot be copied before they are cut back",
                where=str(target),
                found=error.strerror or str(error),
                cure="make room, or resume from the newest checkpoint",
            ) from None
        return target

    @property
    def statistics_path(self) -> Path:
        """Where the JSON lines writer appends."""
        return self.path / "statistics.jsonl"

    def behavior_folder(self, behavior: str) -> Path:
        """The folder of one behavior's event files and models; it need not exist yet.

        Two behaviors never share one, even where their names differ only in case.
        """
        if folder_key(behavior) in _OWN_FOLDERS:
            return self.path / distinct_name(behavior)
        taken = [entry.name for entry in self.path.iterdir() if entry.is_dir()] if self.path.is_dir() else []
        return self.path / safe_name(behavior, taken=taken)

    def export_path(self, behavior: str, step: int) -> Path:
        """Where the model of a step goes."""
        folder = self.behavior_folder(behavior)
        return folder / f"{folder.name}-{step}.onnx"

    def final_export_path(self, behavior: str) -> Path:
        """Where the model at the end goes."""
        folder = self.behavior_folder(behavior)
        return folder.with_name(f"{folder.name}.onnx")

    @property
    def logs(self) -> Path:
        """Where games log, each as `Player-<worker>.log`."""
        return self.path / _LOGS

    def configuration(self) -> str | None:
        """The text of the settings the run was last started with."""
        path = self.path / _CONFIGURATION
        return path.read_text(encoding="utf-8") if path.is_file() else None

    def write_configuration(self, text: str) -> Path | None:
        """Writes the settings in force, at the start of the run; the earlier ones are kept if they differ.

        Where only the comments differ, the file stays as it is.

        Returns:
            Where the earlier settings were kept; None if there were none or they are the same.

        Raises:
            RunError: the disk refuses.
        """
        from sparring.runs.configuration import same_settings  # noqa: PLC0415 - brings in pydantic

        path, kept = self.path / _CONFIGURATION, None
        try:
            earlier = self.configuration()
            if earlier is not None and same_settings(earlier, text):
                return None
            if earlier is not None:
                kept = _first_free(self.path, "configuration-", ".yaml")
                replace_file(kept, earlier.encode())
            replace_file(path, text.encode())
        except (OSError, UnicodeDecodeError) as error:
            raise RunError("the settings cannot be written", where=str(path), found=str(error)) from None
        return kept

    def write_status(self, behaviors: Mapping[str, BehaviorStatus]) -> None:
        """Writes the status file; goes with every checkpoint, so that a kill loses nothing of it."""
        self._write_record(self.path / _LOGS / _STATUS, training_status(behaviors))

    def exported_models(self, behaviors: Iterable[str]) -> dict[str, list[ExportedModel]]:
        """The models that the status file lists for each behavior and that are still there."""
        try:
            status = json.loads((self.path / _LOGS / _STATUS).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        listed = models_of(status, behaviors)
        return {name: [model for model in models if Path(model.file_path).is_file()] for name, models in listed.items()}

    def write_timers(self, timers: Mapping[str, Any]) -> None:
        """Writes the tree of where the time went."""
        self._write_record(self.path / _LOGS / "timers.json", timers)

    def write_installation(self, installation: Mapping[str, Any]) -> None:
        """Writes what is installed, so that a report about the run can be understood later."""
        self._write_record(self.path / "doctor.json", installation)

    def discard(self) -> None:
        """Takes back what `begin` made, for a run that was refused before it did anything; what was there stays."""
        self.close()
        if not self._is_new:
            return
        for place in self.path.iterdir():
            if place.is_dir():
                shutil.rmtree(place, ignore_errors=True)
            else:
                place.unlink(missing_ok=True)
        for place in self._made:
            with contextlib.suppress(OSError):  # somebody else is using it by now
                place.rmdir()

    def close(self) -> None:
        """Lets other processes write the run; closing twice is harmless."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _write_record(self, path: Path, record: Mapping[str, Any]) -> None:
        """Writes a file that is there for people and tools; a full disk is told, and no reason to stop a run."""
        content = json.dumps(record, indent=4) + "\n"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, content.encode())
        except OSError as error:
            _log.warning("could not write %s (%s); the run goes on", path, error.strerror or error)


def run_ids(results_dir: Path | str) -> list[str]:
    """The folder names of the runs in a results folder, sorted."""
    results = Path(results_dir)
    if not results.is_dir():
        return []
    return sorted(entry.name for entry in results.iterdir() if entry.is_dir() and _is_run(entry))


def _path_of(results: Path, run_id: str) -> Path:
    taken = [entry.name for entry in results.iterdir()] if results.is_dir() else []
    return results / safe_name(run_id, taken=taken)


def _is_run(path: Path) -> bool:
    return (path / _CONFIGURATION).is_file() or (path / _CHECKPOINTS).is_dir()


def _has_content(path: Path) -> bool:
    """Whether there is anything of a run; a lock and logs are what a run refused at its start leaves."""
    return path.is_dir() and any(entry.name not in {_LOCK, _LOGS} for entry in path.iterdir())


def _check_start(results: Path, path: Path, run_id: str, mode: StartMode) -> None:
    """Refuses what may not begin, before anything is touched."""
    for place in (results, path):
        if place.exists() and not place.is_dir():
            raise RunError("a file stands where the run's folder should be", where=str(place), cure="rename it")
    exists = _has_content(path)
    is_resumable = has_checkpoint(path / _CHECKPOINTS)
    if mode == "new" and exists:
        resume = "--resume to go on with it, " if is_resumable else ""
        what = "exists already" if is_resumable else "exists already, but ended before its first checkpoint"
        raise RunError(
            f"the run {run_id!r} {what}",
            where=str(path),
            cure=f"choose: another --run-id, {resume}or --force to start anew (the old run is moved aside)",
        )
    if mode == "resume" and not exists:
        raise _missing(results, path, run_id)
    if mode == "resume" and not is_resumable:
        raise RunError(
            f"the run {run_id!r} has nothing to resume: it ended before its first checkpoint",
            where=str(path / _CHECKPOINTS),
            cure="start it anew with --force (the old folder is moved aside)",
        )


def _missing(results: Path, path: Path, run_id: str) -> RunError:
    known = run_ids(results)
    like = nearest(run_id, known)
    if like:
        cure = f"did you mean {' or '.join(like)}?"
    elif known:
        cure = f"runs there: {', '.join(known[:10])}{', …' if len(known) > 10 else ''}"
    else:
        cure = f"there are no runs in {results}; leave --resume away to start one"
    return RunError(f"there is no run {run_id!r}", where=str(path), cure=cure)


def _move_aside(path: Path) -> str:
    """Renames the folder of a run nobody writes; returns the line that says where it went."""
    lock, _ = RunLock.acquire(path / _LOCK)
    lock.release()  # before the rename: Windows moves no folder with an open file
    target = _first_free(path.parent, f"{path.name}.old-", "")
    try:
        path.rename(target)
    except OSError as error:
        raise RunError(
            "the earlier run cannot be moved aside",
            where=str(path),
            found=error.strerror or str(error),
            cure="close what has its files open (TensorBoard, say), or take another --run-id",
        ) from None
    notice = f"moved the earlier run to {target}"
    _log.warning("%s", notice)
    return notice


def _first_free(folder: Path, beginning: str, ending: str) -> Path:
    """The first path of this form, counted from 1, that does not exist."""
    number = 1
    while (path := folder / f"{beginning}{number}{ending}").exists():
        number += 1
    return path
