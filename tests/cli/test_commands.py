"""`train`, `evaluate` and `export` as a person runs them: real processes, a real world, a folder of their own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

SMALL = [
    "--seed",
    "1",
    "--num-areas",
    "2",
    "--matches",
    "2",
    *(
        part
        for name in ("Striker", "Goalie")
        for value in (
            "hyperparameters.buffer_size=64",
            "hyperparameters.batch_size=32",
            "network_settings.hidden_units=8",
        )
        for part in ("--set", f"behaviors.{name}.{value}")
    ),
]


def _sparring(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sparring.cli.main", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=240,
        check=False,
        env={**os.environ, "COLUMNS": "200"},
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    folder = tmp_path_factory.mktemp("commands")
    return folder, _sparring("train", "strikers_vs_goalie", "--max-steps", "200", *SMALL, folder=folder)


def test_training_ends_with_the_ratings_the_table_the_models_and_the_folder(
    trained: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    folder, ended = trained
    assert ended.returncode == 0, ended.stderr
    for expected in ("Ratings", "Matches", "95 % interval", "Striker (final)", "Goalie (random)", "first snapshot"):
        assert expected in ended.stdout
    run = Path("results") / "strikers_vs_goalie"
    assert f"model: {run / 'Goalie.onnx'}" in ended.stdout
    assert (folder / run / "Striker.onnx").is_file()
    assert f"run:   {run}" in ended.stdout


def test_an_existing_run_is_refused_with_the_choices_and_left_as_it_is(
    trained: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    folder, _ = trained
    before = sorted(path.name for path in (folder / "results").rglob("*"))
    refused = _sparring("train", "strikers_vs_goalie", folder=folder)
    assert refused.returncode == 2
    assert "--resume" in refused.stderr
    assert "--force" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert before == sorted(path.name for path in (folder / "results").rglob("*"))


@pytest.mark.parametrize("is_path", [False, True])
def test_evaluate_repeats_the_table_for_a_name_and_for_a_path(
    trained: tuple[Path, subprocess.CompletedProcess[str]], is_path: bool
) -> None:
    folder, _ = trained
    run = str(folder / "results" / "strikers_vs_goalie") if is_path else "strikers_vs_goalie"
    ended = _sparring("evaluate", run, "--matches", "2", folder=folder)
    assert ended.returncode == 0, ended.stderr
    assert "Striker (final)" in ended.stdout
    assert "first snapshot" in ended.stdout


def test_export_writes_the_same_bytes_again(trained: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, _ = trained
    model = folder / "results" / "strikers_vs_goalie" / "Striker.onnx"
    before = model.read_bytes()
    model.unlink()
    ended = _sparring("export", "strikers_vs_goalie", folder=folder)
    assert ended.returncode == 0, ended.stderr
    assert model.read_bytes() == before


def test_unknown_world_is_answered_with_the_nearest_and_leaves_nothing(tmp_path: Path) -> None:
    refused = _sparring("train", "strikers_v_goalie", folder=tmp_path)
    assert refused.returncode == 2
    assert "did you mean strikers_vs_goalie" in refused.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="a console's Ctrl-C can't be sent to one process there")
def test_one_interrupt_saves_exports_and_ends_well(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sparring.cli.main", "train", "strikers_vs_goalie", *SMALL]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8"
    ) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if "learns for" in line:  # the schedule is said after the first step
                child.send_signal(signal.SIGINT)
                break
        rest = child.stdout.read()
        assert child.wait(timeout=120) == 0, rest
    assert "go on with: sparring train strikers_vs_goalie --resume" in rest
    run = tmp_path / "results" / "strikers_vs_goalie"
    assert (run / "Goalie.onnx").is_file()
    assert list((run / "checkpoints").glob("checkpoint-*.safetensors"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--resume", "--config", "other.yaml"), "takes no settings file"),
        (("--resume", "--force"), "contradict each other"),
        (("--from", "100"), "--from needs --resume"),
        (("--env", "game"), "contradict each other"),
    ],
)
def test_switches_that_contradict_each_other_are_refused(
    tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    refused = _sparring("train", "strikers_vs_goalie", *options, folder=tmp_path)
    assert refused.returncode == 2
    assert message in refused.stderr
    assert "Traceback" not in refused.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_run_goes_on_from_a_step_and_under_its_own_world_only(
    trained: tuple[Path, subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    folder, _ = trained
    shutil.copytree(folder / "results" / "strikers_vs_goalie", tmp_path / "results" / "mine")
    other = _sparring("train", "soccer_twos", "--resume", "--run-id", "mine", folder=tmp_path)
    assert other.returncode == 2
    assert "is not of the world 'soccer_twos'" in other.stderr
    back = _sparring("train", "--resume", "--run-id", "mine", "--from", "0", *SMALL, "--matches", "0", folder=tmp_path)
    assert back.returncode == 0, back.stderr
    assert "at step 0" in back.stdout
    assert list((tmp_path / "results" / "mine" / "checkpoints").glob("set-aside-1/checkpoint-*"))
