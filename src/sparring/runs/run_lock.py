"""Keeps two processes from writing one run: a lock the system takes back by itself when its holder dies.

The operating system's file lock decides. Beside it the file says who holds it, for the message, and for disks
that know no locks, where the holder counts while its process (number and start time) lives on this machine.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import socket
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from sparring.errors import RunError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ["RunLock"]

_LOCKED_BYTE = 2**30  # far behind the text: Windows' locks keep others from reading what they cover
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Holder:
    pid: int
    started: float
    """Seconds since the epoch; tells a process from a later one with the same number."""
    host: str

    @staticmethod
    def this_process() -> _Holder:
        import psutil  # noqa: PLC0415 - a run that may not begin is refused without

        return _Holder(os.getpid(), psutil.Process().create_time(), socket.gethostname())

    def is_alive_here(self) -> bool:
        import psutil  # noqa: PLC0415 - a run that may not begin is refused without

        if self.host != socket.gethostname():
            return False
        try:
            # A second of tolerance: the clock a start time is told by may be set meanwhile.
            return abs(psutil.Process(self.pid).create_time() - self.started) < 1.0
        except (psutil.Error, ValueError, OverflowError):
            return False


class RunLock:
    """Held from `acquire` to `release`; also released when the process ends, however it ends."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor: int | None = descriptor

    @staticmethod
    def acquire(path: Path) -> tuple[RunLock, str | None]:
        """Takes the lock; also returns a line to say if it was left by a process that died.

        Raises:
            RunError: a living process holds it.
        """
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o644)
        try:
            is_free = _try_system_lock(descriptor)
            holder = _read_holder(descriptor)
            if not is_free or (holder is not None and holder.is_alive_here()):
                raise _in_use(path, holder)
            me = _Holder.this_process()
            os.ftruncate(descriptor, 0)
            os.lseek(descriptor, 0, os.SEEK_SET)
            os.write(descriptor, json.dumps(asdict(me)).encode())
        except BaseException:
            os.close(descriptor)
            raise
        notice = None
        if holder is not None:
            notice = f"process {holder.pid} on {holder.host} ended without leaving the run; took it over"
            _log.warning("%s", notice)
        return RunLock(path, descriptor), notice

    def release(self) -> None:
        """Gives the lock back; the empty file stays, since removing it could unlock another process's lock."""
        if self._descriptor is not None:
            os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = None


def _try_system_lock(descriptor: int) -> bool:
    """Whether the lock was free; also true where the disk knows no locks."""
    try:
        if sys.platform == "win32":
            os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
    return True


def _read_holder(descriptor: int) -> _Holder | None:
    os.lseek(descriptor, 0, os.SEEK_SET)
    try:
        fields = json.loads(os.read(descriptor, 4096))
        return _Holder(int(fields["pid"]), float(fields["started"]), str(fields["host"]))
    except (ValueError, TypeError, LookupError, OverflowError):
        return None  # released properly, or cut short by a kill: nobody to name


def _in_use(path: Path, holder: _Holder | None) -> RunError:
    who = f"process {holder.pid} on {holder.host}" if holder else "another process"
    return RunError(
        "the run is in use",
        where=str(path.parent),
        found=f"{who} writing it",
        cure="wait for it, stop it with an interrupt, or take another --run-id",
    )
