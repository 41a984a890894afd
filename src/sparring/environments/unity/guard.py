"""Runs a game and ends it when whoever started it is gone: `python guard.py COMMAND...`, with a pipe as standard input.

The pipe closes when the trainer ends, however it ends; then the game and all it started are killed. This works
alike on Linux, macOS and Windows. Should the guard itself be killed, the system ends the game where it can: Linux by
a signal tied to the guard, Windows by a job. It is a program of its own and imports nothing that is slow to start.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading

_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG
_KILL_ON_CLOSE = 0x2000  # JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
_EXTENDED_LIMITS = 9  # JobObjectExtendedLimitInformation


def _kill(game: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(game.pid, signal.SIGKILL)  # also what a game left behind when it ended
        elif game.poll() is None:
            game.kill()


def _follow(guard: int) -> None:
    """In the game, before it starts (Linux): it dies when the guard does."""
    import ctypes  # noqa: PLC0415 - only where it is used

    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != guard:  # it is gone already
        os._exit(1)


def _join_job() -> None:
    """Puts this process, and so all it starts, into a job that ends with it (Windows)."""
    import ctypes  # noqa: PLC0415

    kernel = ctypes.WinDLL("kernel32", use_last_error=True)  # type: ignore[attr-defined]
    kernel.CreateJobObjectW.restype = kernel.GetCurrentProcess.restype = ctypes.c_void_p
    job = ctypes.c_void_p(kernel.CreateJobObjectW(None, None))
    # JOBOBJECT_EXTENDED_LIMIT_INFORMATION: the flags lie behind two 64-bit times, the rest stays zero.
    limits = (ctypes.c_ubyte * (144 if ctypes.sizeof(ctypes.c_void_p) == 8 else 112))()
    ctypes.c_uint32.from_buffer(limits, 16).value = _KILL_ON_CLOSE
    kernel.SetInformationJobObject(job, _EXTENDED_LIMITS, ctypes.byref(limits), ctypes.sizeof(limits))
    kernel.AssignProcessToJobObject(job, ctypes.c_void_p(kernel.GetCurrentProcess()))


def main() -> int:
    """Gives the game's exit code; dies of the same signal."""
    guard = os.getpid()
    if sys.platform == "win32":
        _join_job()
    else:
        import resource  # noqa: PLC0415

        _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    try:
        # A session of its own, so that Ctrl-C doesn't reach the game and everything it starts can be killed with it.
        game = subprocess.Popen(
            sys.argv[1:],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            # Safe: no thread has been started yet.
            preexec_fn=(lambda: _follow(guard)) if sys.platform == "linux" else None,  # noqa: PLW1509
        )
    except OSError as error:
        sys.stderr.write(f"{sys.argv[1]} cannot be started: {error.strerror or error}\n")
        return 127

    def watch() -> None:
        while sys.stdin.buffer.read(4096):
            pass
        _kill(game)

    threading.Thread(target=watch, daemon=True).start()
    code = game.wait()
    _kill(game)
    if code < 0:
        sys.stderr.flush()
        if sys.platform != "win32":
            resource.setrlimit(resource.RLIMIT_CORE, (0, hard))  # the game's own memory image is enough
        with contextlib.suppress(OSError, ValueError):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code if code < 1 << 31 else code - (1 << 32)  # Windows counts crashes from 3221225477 on


if __name__ == "__main__":
    os._exit(main())  # the watching thread may be blocked in a read, which a normal exit would wait for
