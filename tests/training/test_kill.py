"""A run that is killed twenty times, also while it saves, ends as if nothing had happened."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import numpy as np

from tests import games
from tests.training.killed_run import settings_to_be_killed
from tests.training.run_comparison import curves, differences, final_state
from tests.training.runs_in_process import train_small

KILLS = 20
ROOT = Path(__file__).parents[2]


def _run_and_kill(folder: Path, *, resume: bool, after_steps: int, then_s: float) -> bool:
    """Starts a process and kills it a moment after it has made so many steps; True if it ended before."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.training.killed_run", str(folder), "resume" if resume else "new"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stderr is not None
    for line in child.stdout:
        if line.strip() == f"step {after_steps}":
            # Not a wait for something to happen: a moment of its own inside the step, where nobody expects a kill.
            threading.Event().wait(then_s)
            break
    child.kill()
    _, errors = child.communicate()
    assert child.returncode in {0, -9, 1 if sys.platform == "win32" else 0}, errors
    return child.returncode == 0


def test_a_run_killed_twenty_times_ends_with_the_same_bits(tmp_path: Path) -> None:
    straight, killed = tmp_path / "straight", tmp_path / "killed"
    train_small(settings_to_be_killed(straight), games.duel)
    rng = np.random.default_rng(11)
    for kill in range(KILLS):
        steps, moment = int(rng.integers(3, 14)), float(rng.uniform(0.0, 0.02))
        ended = _run_and_kill(killed, resume=kill > 0, after_steps=steps, then_s=moment)
        assert not ended, "the run was over before it had been killed often enough"
    train_small(settings_to_be_killed(killed), games.duel, resume=True)
    assert differences(final_state(straight), final_state(killed)) == []
    assert curves(straight) == curves(killed)
