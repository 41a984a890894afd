"""Runs a game and ends it when whoever started it is gone: `python guard.py COMMAND...`, with a pipe as standard input.

The pipe closes when the trainer ends, however it ends; then the game and all it started are killed. This works
alike on Linux, macOS and Windows. It is a program of its own and imports nothing that would make it slow to start.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading


def _kill(game: "subprocess.Popen[bytes]") -> None:
    if game.poll() is None:
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(game.pid, signal.SIGKILL)
            else:
                game.kill()


def main() -> int:
    """Gives the game's exit code; dies of the same signal."""
    try:
        # A session of its own, so that Ctrl-C doesn't reach the game and everything it starts can be killed with it.
        game = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, start_new_session=True)
    except OSError as error:
        sys.stderr.write(f"{sys.argv[1]} cannot be started: {error.strerror or error}\n")
        return 127

    def watch() -> None:
        while sys.stdin.buffer.read(4096):
            pass
        _kill(game)

    threading.Thread(target=watch, daemon=True).start()
    code = game.wait()
    if code < 0:
        with contextlib.suppress(OSError, ValueError):
            signal.signal(-code, signal.SIG_DFL)
        sys.stderr.flush()
        os.kill(os.getpid(), -code)
    return code


if __name__ == "__main__":
    os._exit(main())  # the watching thread may be blocked in a read, which a normal exit would wait for
