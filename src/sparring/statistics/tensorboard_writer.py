"""Writes TensorBoard event files, one per category, that a resumed run goes on with.

The only module that knows tensorboard: its record format and its messages, not its writer, which opens a new file
for every start and keeps a thread.
"""

from __future__ import annotations

import io
import logging
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import HistogramProto, SummaryMetadata
from tensorboard.compat.proto.summary_pb2 import Summary as SummaryProto
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.types_pb2 import DT_STRING
from tensorboard.summary.writer.record_writer import RecordWriter

from sparring.settings.names import distinct_name, safe_name
from sparring.statistics._appended_file import AppendedFile, Mark, is_plain_name, set_aside
from sparring.statistics._hyperparameters import hyperparameter_text
from sparring.statistics._notices import Notices
from sparring.statistics._state import StateTree, in_order, numbered
from sparring.statistics.aggregation import Summary
from sparring.statistics.definitions import definition
from sparring.statistics.progress import Progress

__all__ = ["TensorBoardWriter"]

logger = logging.getLogger(__name__)

# Counters that users see as the axis and in the console line.
_HIDDEN = frozenset({"Is Training", "Step"})
_TEXT_TAG = "Hyperparameters/text_summary"
# The readers look for this word anywhere in a file's name.
_READ_BY_TENSORBOARD = "tfevents"
_OWN_FILES = "events.out.tfevents.*.sparring*"
# Scalars of an event are float32; beyond, they would become infinite.
_LARGEST = float(np.finfo(np.float32).max)


@dataclass(slots=True)
class _Curves:
    """The event file of one category."""

    folder: str
    """Its folder's name; differs from the category where a file system would refuse that."""
    file: AppendedFile | None = None
    earlier: tuple[str, ...] = ()
    """Files of this run that were damaged or cut short from outside; left to be read, never written again."""
    announced: int | None = None
    """Checksum of the settings last written, so that a resume does not repeat them."""
    last_step: int = 0
    described: set[str] = field(default_factory=set)
    """Keys whose definition is in the file."""


class TensorBoardWriter:
    """Keeps one event file per category in `<folder>/<category>`; tags are the keys as users know them.

    A histogram's values are also written as `<key>_hist`. A resumed run goes on in the same file after cutting off
    what lies behind the checkpoint: earlier points stay, and none is there twice. A viewer that was open during the
    cut has to be reloaded.
    """

    def __init__(
        self,
        folder: Path,
        *,
        resume_state: StateTree | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Writes below `folder`, from the first write on; `clock` gives the seconds since 1970 that events carry."""
        self._folder = folder
        self._clock = clock
        self._notices = Notices(logger)
        self._curves: dict[str, _Curves] = {}
        if resume_state is not None:
            self.restore(resume_state)

    def write(self, category: str, summaries: Mapping[str, Summary], progress: Progress) -> None:
        """Appends one event with all keys of the window; none if there are no keys to show.

        Raises:
            OSError: it does not fit; the file holds whole events only.
        """
        shown = {key: summary for key, summary in summaries.items() if key not in _HIDDEN}
        if not shown:
            return
        curves = self._open_curves(category)
        values = [value for key, summary in shown.items() for value in self._values(category, key, summary)]
        if values:
            self._append(curves, values, step=progress.step)
            curves.last_step = progress.step

    def announce(self, category: str, hyperparameters: Mapping[str, object]) -> None:
        """Appends the settings as text unless they are the ones written last.

        Raises:
            OSError: it does not fit.
        """
        text = _printable(hyperparameter_text(hyperparameters)).encode()
        checksum = zlib.crc32(text)
        curves = self._open_curves(category)
        if curves.announced == checksum:
            return
        shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)])
        metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))
        tensor = TensorProto(dtype=DT_STRING, tensor_shape=shape, string_val=[text])
        value = SummaryProto.Value(tag=_TEXT_TAG, metadata=metadata, tensor=tensor)
        self._append(curves, [value], step=curves.last_step)
        curves.announced = checksum

    def flush(self) -> None:
        """Does nothing: every event is handed to the system at once."""

    def close(self) -> None:
        """Closes the files."""
        for curves in self._curves.values():
            if curves.file is not None:
                curves.file.close()

    def state(self) -> StateTree:
        """The length of every category's file; all of them are on the disk."""
        return numbered(
            {
                "category": category,
                "folder": curves.folder,
                "file": None if curves.file is None else curves.file.mark().state(),
                "earlier": list(curves.earlier),
                "announced": curves.announced,
                "last_step": curves.last_step,
            }
            for category, curves in self._curves.items()
        )

    def restore(self, state: StateTree) -> None:
        """Cuts the files back to `state`; one that is not as `state` knows it stays, and a new one begins beside it."""
        self.close()
        self._curves = {}
        for record in in_order(state):
            category = str(record["category"])
            folder = str(record["folder"])
            if not is_plain_name(folder):  # a checkpoint is a file too: it does not choose paths outside the run
                folder = self._free_folder(category)
            curves = _Curves(
                folder,
                earlier=tuple(str(name) for name in record["earlier"]),
                announced=None if record["announced"] is None else int(record["announced"]),
                last_step=int(record["last_step"]),
            )
            self._curves[category] = curves
            if record["file"] is not None:
                self._go_on(category, curves, Mark.from_state(record["file"]))

    def _go_on(self, category: str, curves: _Curves, mark: Mark) -> None:
        curves.file = AppendedFile.cut_back(self._folder / curves.folder, mark)
        if curves.file is None:
            logger.warning(
                "%s: the event file %s is missing or not the one this run wrote up to its checkpoint; the curves go "
                "on in a new file.",
                category,
                self._folder / curves.folder / mark.name,
            )
            curves.earlier += (mark.name,)
            curves.announced = None

    def _values(self, category: str, key: str, summary: Summary) -> list[SummaryProto.Value]:
        if abs(summary.value) > _LARGEST:
            self._notices.warn(
                (category, key),
                "%s: %r is %r, beyond what an event file can hold; its points are left out.",
                category,
                key,
                summary.value,
            )
            return []
        tag = _printable(key)
        # TensorBoard shows the description behind the small "i" of the curve.
        # Once is enough, and a resume repeats it.
        described = self._curves[category].described
        description = definition(key) if key not in described else None
        described.add(key)
        metadata = SummaryMetadata(summary_description=description) if description else None
        values = [SummaryProto.Value(tag=tag, simple_value=summary.value, metadata=metadata)]
        if summary.histogram is not None:
            histogram = HistogramProto(
                min=summary.min,
                max=summary.max,
                num=summary.count,
                sum=summary.sum,
                sum_squares=summary.count * (summary.std**2 + summary.mean**2),
                bucket_limit=summary.histogram.edges[1:].tolist(),
                bucket=summary.histogram.counts.tolist(),
            )
            values.append(SummaryProto.Value(tag=f"{tag}_hist", histo=histogram))
        return values

    def _append(self, curves: _Curves, values: Iterable[SummaryProto.Value], *, step: int) -> None:
        assert curves.file is not None, curves
        now = self._clock()
        event = _record(Event(wall_time=now, step=step, summary=SummaryProto(value=values)))
        # The opening record goes in with the first event, so that a disk too full for both leaves an empty file.
        opening = b"" if curves.file.length else _record(Event(wall_time=now, file_version="brain.Event:2"))
        curves.file.append(opening + event)

    def _open_curves(self, category: str) -> _Curves:
        curves = self._curves.get(category)
        if curves is None:
            curves = self._curves[category] = _Curves(self._free_folder(category))
        if curves.file is None:
            curves.file = self._new_file(self._folder / curves.folder, known=curves.earlier)
        return curves

    def _free_folder(self, category: str) -> str:
        listing = list(self._folder.iterdir()) if self._folder.is_dir() else []
        name = safe_name(
            category, taken=[curves.folder for curves in self._curves.values()] + [e.name for e in listing]
        )
        # A category may be called like a file of the run.
        is_file = any(entry.name == name and not entry.is_dir() for entry in listing)
        return distinct_name(category) if is_file else name

    def _new_file(self, folder: Path, *, known: tuple[str, ...]) -> AppendedFile:
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(folder.glob(_OWN_FILES)):
            if path.name not in known:
                # Written behind the checkpoint by a run that was then stopped, or by an earlier run: a reader would
                # mix its points with ours.
                aside = set_aside(path, hide=_READ_BY_TENSORBOARD)
                logger.warning("%s does not belong to this run; it is now %s.", path, aside.name)
        stem = f"events.out.tfevents.{int(self._clock()):010d}.sparring"
        names = (stem if number == 0 else f"{stem}.{number}" for number in range(len(known) + 1))
        return AppendedFile.create(folder / next(name for name in names if not (folder / name).exists()))


def _record(event: Event) -> bytes:
    buffer = io.BytesIO()
    RecordWriter(buffer).write(event.SerializeToString())
    return buffer.getvalue()


def _printable(text: str) -> str:
    """The text as it is, but for halves of surrogate pairs: messages are UTF-8."""
    return text.encode("utf-8", "replace").decode()
