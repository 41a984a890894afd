"""A run that is killed twenty times, also while it saves, ends as if nothing had happened."""

from __future__ import annotations

import multiprocessing
import sys
import threading
from multiprocessing.context import BaseContext
from pathlib import Path

import numpy as np

from tests import games
from tests.training.killed_run import settings_to_be_killed, train_and_tell
from tests.training.run_comparison import curves, differences, final_state
from tests.training.runs_in_process import train_small

KILLS = 20


def _processes() -> BaseContext:
    """Where there can be one, a server that has imported everything forks the processes: 20 starts in little time."""
    if sys.platform == "win32":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    # torch imports the second by itself when the first optimizer is made, which takes seconds.
    context.set_forkserver_preload(["tests.training.killed_run", "torch._dynamo"])
    return context


def _run_and_kill(processes: BaseContext, folder: Path, *, resume: bool, after_steps: int, then_s: float) -> bool:
    """Starts a process and kills it a moment after it has made so many steps; True if it ended before."""
    told, steps = processes.Pipe(duplex=False)
    child = processes.Process(target=train_and_tell, args=(folder, resume, steps))  # type: ignore[attr-defined]
    child.start()
    steps.close()
    try:
        while told.recv() < after_steps:
            pass
        # Not a wait for something to happen: a moment of its own inside the step, where nobody expects a kill.
        threading.Event().wait(then_s)
    except EOFError:
        child.join()
        return bool(child.exitcode == 0)
    child.kill()
    child.join()
    return False


def test_a_run_killed_twenty_times_ends_with_the_same_bits(tmp_path: Path) -> None:
    straight, killed = tmp_path / "straight", tmp_path / "killed"
    train_small(settings_to_be_killed(straight), games.duel)
    processes = _processes()
    rng = np.random.default_rng(11)
    for kill in range(KILLS):
        steps, moment = int(rng.integers(3, 14)), float(rng.uniform(0.0, 0.02))
        ended = _run_and_kill(processes, killed, resume=kill > 0, after_steps=steps, then_s=moment)
        assert not ended, "the run was over before it had been killed often enough"
    train_small(settings_to_be_killed(killed), games.duel, resume=True)
    assert differences(final_state(straight), final_state(killed)) == []
    assert curves(straight) == curves(killed)
