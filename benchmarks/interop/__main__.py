"""Sparring and the published packages of the known toolkit at the two ends of one wire.

    python -m benchmarks.interop [--folder .interop]

Their packages go into a virtual environment of their own, in the folder. Three checks, each with real processes:

1. their `UnityEnvironment` plays a world that `sparring serve` serves, and sees what the world in process shows;
2. their `mlagents-learn` trains it and writes a model;
3. `sparring train` does the same with the same game and the same settings file.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from sparring.steps import ActionBatch
from sparring.worlds.registry import create_world

WORLD, SEED, STEPS, PORT = "soccer_twos", 5, 300, 5400
PACKAGES = [
    "setuptools<81",
    "numpy==1.23.5",
    "protobuf==3.20.3",
    "attrs",
    "cattrs>=1.1,<1.7",
    "grpcio",
    "cloudpickle",
    "Pillow",
    "pyyaml",
    "h5py",
    "six",
    "tensorboard",
    "gym==0.26.2",
    "filelock",
    "onnx<1.17",
    "torch==2.13.0",
]
PEERS = ("mlagents==1.1.0", "mlagents-envs==1.1.0", "pettingzoo==1.15.0")
SETTINGS = """\
behaviors:
  SoccerTwos:
    trainer_type: ppo
    hyperparameters: {batch_size: 64, buffer_size: 512}
    network_settings: {hidden_units: 32, num_layers: 1}
    max_steps: 2000
    time_horizon: 64
    summary_freq: 1000
    self_play: {save_steps: 500, team_change: 1000, swap_steps: 200}
"""


def peer_python(folder: Path) -> Path:
    """The Python with the peers' packages; made at the first call."""
    binaries = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
    stamp = folder / "venv" / ".installed"
    if not stamp.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
        pip = [str(binaries / "python"), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, *PACKAGES], check=True)
        subprocess.run([*pip, "--ignore-requires-python", "--no-deps", *PEERS], check=True)
        stamp.touch()
    return binaries / "python"


def game(folder: Path) -> Path:
    """An executable that serves the world as if it were a Unity build."""
    path = folder / "game.x86_64"
    path.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m sparring.cli.main serve {WORLD} "$@"\n')
    path.chmod(0o755)
    return path


def seen_in_process() -> dict[str, Any]:
    """What the world shows without a wire, in the words of `client.py`."""
    digest, asked, ended = hashlib.sha256(), 0, 0
    with create_world(WORLD, num_arenas=1, seed=SEED) as world:
        world.reset()
        for _ in range(STEPS):
            for name in sorted(world.behavior_specs):
                spec = world.behavior_specs[name]
                decision, terminal = world.get_steps(name)
                for column in (*decision.obs, decision.reward, *terminal.obs, terminal.reward):
                    digest.update(np.ascontiguousarray(column, np.float32).tobytes())
                asked, ended = asked + len(decision), ended + len(terminal)
                if len(decision):
                    actions = ActionBatch.zeros(spec.action_spec, len(decision))
                    actions.discrete[:, 0] = 1
                    world.set_actions(name, actions)
            world.step()
        names = sorted(world.behavior_specs)
    return {"digest": digest.hexdigest(), "asked": asked, "ended": ended, "names": names}


def seen_by_peer(folder: Path) -> dict[str, Any]:
    """What their client sees of the same world over the wire."""
    client = Path(__file__).with_name("client.py")
    command = [str(peer_python(folder)), str(client), str(game(folder)), str(PORT), str(SEED), str(STEPS)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
    found: dict[str, Any] = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    return found


def trained(folder: Path, command: list[str], run_id: str) -> list[str]:
    """The models a trainer leaves of the same game and the same settings file."""
    settings = folder / "soccer.yaml"
    settings.write_text(SETTINGS)
    options = ["--env", str(game(folder)), "--run-id", run_id, "--results-dir", str(folder / "results"), "--force"]
    options += ["--seed", "1", "--base-port", str(PORT + 10), "--no-graphics"]
    done = subprocess.run(
        [*command, str(settings), *options], capture_output=True, text=True, timeout=1200, check=False
    )
    if done.returncode:
        print(done.stdout[-4000:], done.stderr[-4000:], file=sys.stderr)
    run = folder / "results" / run_id
    return sorted(
        path.relative_to(run).as_posix() for path in run.rglob("SoccerTwos*") if path.suffix in {".onnx", ".pt"}
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path(".interop"))
    folder = parser.parse_args().folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    python = peer_python(folder)
    ours, theirs = seen_in_process(), seen_by_peer(folder)
    learn = trained(folder, [str(python.with_name("mlagents-learn"))], "theirs")
    train = trained(folder, [sys.executable, "-m", "sparring.cli.main", "train", "--matches", "0"], "ours")
    result = {
        "their client sees the world as it is in process": ours == theirs,
        "agents that asked, ended": [theirs["asked"], theirs["ended"]],
        "models of mlagents-learn": learn,
        "models of sparring train": train,
    }
    print(json.dumps(result, indent=2))
    return 0 if ours == theirs and learn and train else 1


if __name__ == "__main__":
    raise SystemExit(main())
