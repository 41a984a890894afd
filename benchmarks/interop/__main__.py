"""Sparring and the published packages of the known toolkit at the two ends of one wire.

    python -m benchmarks.interop [--folder .interop]

Their packages go into a virtual environment of their own, in the folder. Three checks, each with real processes:

1. their `UnityEnvironment`, of two releases, plays the worlds that `sparring serve` serves and a game written with
   `sparring.academy`, and sees what these show in process;
2. their `mlagents-learn` trains a served world and that game by self-play, and writes models;
3. `sparring train` does the same with the same games and the same settings files.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sparring.environments import Environment
from sparring.steps import ActionBatch
from sparring.worlds.registry import find_world

SEED, STEPS, PORT = 5, 1000, 5400
OLDER_CLIENT = "mlagents-envs==0.28.0"
TAG = Path(__file__).parents[2] / "examples" / "tag" / "tag.py"
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
# What torch's exporter wants besides, in versions that know NumPy 1.23.
PEERS = (
    "mlagents==1.1.0",
    "mlagents-envs==1.1.0",
    "pettingzoo==1.15.0",
    "onnxscript",
    "onnx-ir",
    "ml-dtypes>=0.5.1,<0.6",
)
SETTINGS = """\
behaviors:
  {}: &own
    trainer_type: ppo
    hyperparameters: {{batch_size: 64, buffer_size: 512}}
    network_settings: {{hidden_units: 32, num_layers: 1}}
    max_steps: 1000
    time_horizon: 64
    summary_freq: 500
    self_play: {{save_steps: 250, team_change: 500, swap_steps: 100}}
  {}: *own
"""


@dataclass(frozen=True)
class Game:
    """A game that is served: its two behaviors if it is trained, how it is served, and how it is made in process."""

    name: str
    behaviors: tuple[str, ...]
    command: tuple[str, ...]
    make: Callable[[], Environment]

    def executable(self, folder: Path) -> Path:
        """A file that starts it as if it were a Unity build."""
        path = folder / f"{self.name}.x86_64"
        path.write_text(f'#!/bin/sh\nexec {shlex.join(self.command)} "$@"\n')
        path.chmod(0o755)
        return path


def _world(name: str) -> Callable[[], Environment]:
    return lambda: find_world(name).create(num_arenas=1, seed=SEED, threads=1)


SERVE = (sys.executable, "-m", "sparring.cli.main", "serve")
GAMES = (
    Game("soccer_twos", (), (*SERVE, "soccer_twos"), _world("soccer_twos")),
    Game("strikers_vs_goalie", ("Striker", "Goalie"), (*SERVE, "strikers_vs_goalie"), _world("strikers_vs_goalie")),
    Game("tag", ("Chaser", "Runner"), (sys.executable, str(TAG)), _world(f"{TAG}:world")),
)


def peer_python(folder: Path) -> Path:
    """The Python with the peers' packages; made at the first call."""
    binaries = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
    stamp = folder / "venv" / ".installed"
    if not stamp.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
        pip = [str(binaries / "python"), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, *PACKAGES], check=True)
        unchecked = [*pip, "--ignore-requires-python", "--no-deps"]
        subprocess.run([*unchecked, *PEERS], check=True)
        subprocess.run([*unchecked, "--target", str(folder / "venv" / "older"), OLDER_CLIENT], check=True)
        stamp.touch()
    return binaries / "python"


def seen_in_process(game: Game) -> dict[str, Any]:
    """What a game shows without a wire, in the words of `client.py`."""
    digest, asked, ended = hashlib.sha256(), 0, 0
    with game.make() as environment:
        environment.reset()
        for _ in range(STEPS):
            for name in sorted(environment.behavior_specs):
                spec = environment.behavior_specs[name]
                decision, terminal = environment.get_steps(name)
                for column in (*decision.obs, decision.reward, *terminal.obs, terminal.reward):
                    digest.update(np.ascontiguousarray(column, np.float32).tobytes())
                asked, ended = asked + len(decision), ended + len(terminal)
                if len(decision):
                    actions = ActionBatch.zeros(spec.action_spec, len(decision))
                    actions.discrete[:] = 1
                    actions.continuous[:] = 0.5
                    environment.set_actions(name, actions)
            environment.step()
        names = sorted(environment.behavior_specs)
    return {"digest": digest.hexdigest(), "asked": asked, "ended": ended, "names": names}


def seen_by_peer(game: Game, folder: Path, *, is_older: bool) -> dict[str, Any]:
    """What their client sees of the same game over the wire."""
    client = Path(__file__).with_name("client.py")
    command = [str(peer_python(folder)), str(client), str(game.executable(folder)), str(PORT), str(SEED), str(STEPS)]
    older = {"PYTHONPATH": str(folder / "venv" / "older")} if is_older else {}
    surroundings = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | older
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=900, env=surroundings)
    found: dict[str, Any] = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    return found


def trained(game: Game, folder: Path, command: list[str], run_id: str) -> list[str]:
    """The models a trainer leaves of a game and a settings file."""
    settings = folder / f"{game.name}.yaml"
    settings.write_text(SETTINGS.format(*game.behaviors))
    options = ["--env", str(game.executable(folder)), "--run-id", run_id, "--results-dir", str(folder / "results")]
    options += ["--force", "--seed", "1", "--base-port", str(PORT + 10), "--no-graphics"]
    done = subprocess.run(
        [*command, str(settings), *options], capture_output=True, text=True, timeout=1200, check=False
    )
    if done.returncode:
        print(done.stdout[-4000:], done.stderr[-4000:], file=sys.stderr)
    run = folder / "results" / run_id
    return sorted(path.name for path in run.iterdir() if path.suffix == ".onnx") if run.exists() else []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path(".interop"))
    folder = parser.parse_args().folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    learn = [str(peer_python(folder).with_name("mlagents-learn"))]
    train = [sys.executable, "-m", "sparring.cli.main", "train", "--matches", "0"]
    is_good = True
    for game in GAMES:
        ours = seen_in_process(game)
        newer, older = (seen_by_peer(game, folder, is_older=is_older) for is_older in (False, True))
        result: dict[str, Any] = {
            "game": game.name,
            "agents that asked, ended": [ours["asked"], ours["ended"]],
            "their newest client sees every bit": newer == ours,
            "their client of 0.28 sees every bit": older == ours,
        }
        is_good &= newer == ours and older == ours
        if game.behaviors:
            result["models of mlagents-learn"] = trained(game, folder, learn, f"{game.name}-theirs")
            result["models of sparring train"] = trained(game, folder, train, f"{game.name}-ours")
            is_good &= all(len(result[f"models of {who}"]) == 2 for who in ("mlagents-learn", "sparring train"))
        print(json.dumps(result, indent=2), flush=True)
    return 0 if is_good else 1


if __name__ == "__main__":
    raise SystemExit(main())
