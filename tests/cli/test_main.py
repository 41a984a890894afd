"""The command line as a person meets it: a process with an exit code, a stdout and a stderr."""

import importlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sparring._version import __version__
from sparring.cli import main as cli
from sparring.cli._checks import all_checks
from sparring.cli.console import printable
from sparring.errors import Finding, GameError, RunError, SettingsError, SparringError
from sparring.runs.installation import required_packages
from sparring.training import device

HEAVY = {"torch", "numba", "pydantic", "ruamel", "rich", "onnx", "onnxruntime", "tensorboard", "safetensors"}


@pytest.fixture(autouse=True)
def no_wish_for_colors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs these tests may have asked for colors everywhere; here we look at what a pipe gets."""
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "PY_COLORS"):
        monkeypatch.delenv(name, raising=False)


def sparring(
    *arguments: str, cwd: Path | None = None, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs the command in a process of its own, away from a terminal."""
    return subprocess.run(
        [sys.executable, "-m", "sparring.cli.main", *arguments],
        check=False,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        cwd=cwd,
        env={**os.environ, **(environment or {})},
    )


def modules_after(*arguments: str) -> set[str]:
    """The modules a process has imported at its end."""
    result = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments], capture_output=True, text=True, timeout=60, check=True
    )
    return {line.rpartition("|")[2].strip() for line in result.stderr.splitlines() if line.startswith("import time:")}


def test_help_lists_the_commands_in_the_order_of_use() -> None:
    result = sparring("--help")
    assert result.returncode == 0
    listed = [line.split()[0] for line in result.stdout.partition("Commands:")[2].splitlines() if line.strip()]
    assert listed[0] == "train"
    assert {"evaluate", "worlds", "doctor"} < set(listed)
    assert sparring().stdout.strip() == result.stdout.strip()


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["nonsense"]])
def test_what_needs_no_command_imports_nothing_heavy(arguments: list[str]) -> None:
    run = "import sys; sys.argv[1:] = %r\ntry:\n from sparring.cli.main import main; main()\nexcept SystemExit: pass"
    imported = {name.partition(".")[0] for name in modules_after("-c", run % arguments)}
    assert not imported & HEAVY
    package = {name.partition(".")[0] for name in modules_after("-c", "import sparring")}
    assert "numpy" not in imported - package


def test_version_is_told() -> None:
    result = sparring("--version")
    assert (result.returncode, result.stdout) == (0, f"sparring {__version__}\n")


def test_an_unknown_command_names_the_nearest() -> None:
    result = sparring("trian")
    assert result.returncode == 2
    assert "there is no command 'trian'\n  did you mean train?" in result.stderr
    assert "commands: train, " in sparring("qqqqq").stderr


def test_an_unknown_option_names_the_nearest() -> None:
    result = sparring("doctor", "--results-dri", "x")
    assert result.returncode == 2
    assert "--results-dir" in result.stderr


def test_worlds_are_listed_one_a_line() -> None:
    result = sparring("worlds")
    assert result.returncode == 0
    assert [line.split()[0] for line in result.stdout.splitlines()][:2] == ["strikers_vs_goalie", "soccer_twos"]
    assert result.stdout.isascii() or result.stdout.replace("\n", "").isprintable()


def test_every_listed_command_exists_and_has_help() -> None:
    for name in cli.sparring.list_commands(None):  # type: ignore[arg-type]
        result = sparring(name, "--help")
        assert result.returncode == 0, result.stderr
        assert f"Usage: sparring {name}" in result.stdout


# --- mistakes -----------------------------------------------------------------------------------


def failing_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> int:
    """The exit code of a command that raises this."""

    def fail(*arguments: object, **options: object) -> None:
        raise error

    monkeypatch.setattr(cli.sparring, "invoke", fail)
    with pytest.raises(SystemExit) as caught:
        cli.main(["worlds"])
    assert isinstance(caught.value.code, int)
    return caught.value.code


def test_one_mistake_is_printed_with_its_cure_and_no_count(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    error = SettingsError("unknown key 'a[b]'", where="strikers.yaml:14", cure="did you mean [bold]c[/bold]?")
    assert failing_with(monkeypatch, error) == 2
    captured = capsys.readouterr()
    assert captured.err == "strikers.yaml:14: unknown key 'a[b]'\n  did you mean [bold]c[/bold]?\n"
    assert captured.out == ""


@pytest.mark.parametrize(
    ("kind", "last_line"),
    [
        (SettingsError, "2 mistakes; nothing was started."),
        (RunError, "2 mistakes; nothing was started."),
        (GameError, "2 mistakes."),
    ],
)
def test_several_mistakes_are_counted(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    kind: type[SparringError],
    last_line: str,
) -> None:
    long = "x" * 300
    assert failing_with(monkeypatch, kind([Finding("one"), Finding(long, where="there")])) == 2
    assert capsys.readouterr().err.splitlines() == ["one", f"there: {long}", last_line]


def test_a_name_from_a_file_does_not_steer_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert failing_with(monkeypatch, SettingsError("bad \x1b]0;owned\x07 name\r")) == 2
    assert capsys.readouterr().err == "bad \\x1b]0;owned\\x07 name\\r\n"
    assert printable("Größe 守\n\tx") == "Größe 守\n\tx"


def test_an_interrupt_outside_training_is_130(monkeypatch: pytest.MonkeyPatch) -> None:
    assert failing_with(monkeypatch, KeyboardInterrupt()) == 130


def test_a_missing_package_points_to_the_doctor_but_a_missing_module_of_ours_is_a_bug(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert failing_with(monkeypatch, ModuleNotFoundError("No module named 'torch'", name="torch")) == 2
    assert "'torch' cannot be loaded" in (said := capsys.readouterr().err)
    assert "sparring doctor" in said
    with pytest.raises(ModuleNotFoundError):
        failing_with(monkeypatch, ModuleNotFoundError("No module named 'sparring.x'", name="sparring.x"))


def test_a_bug_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ZeroDivisionError):
        failing_with(monkeypatch, ZeroDivisionError())
    with pytest.raises(FileNotFoundError):
        failing_with(monkeypatch, FileNotFoundError(2, "gone"))


@pytest.mark.skipif(os.name == "nt", reason="pipes end differently")
def test_a_reader_that_has_had_enough_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run(
        [sys.executable, "-m", "sparring.cli.main", "worlds"],
        stdout=writer,
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    os.close(writer)
    assert (result.returncode, result.stderr) == (0, b"")


def test_a_terminal_without_the_characters_gets_their_numbers() -> None:
    run = "from sparring.cli.main import *; from sparring.cli.main import survive_any_encoding as s; s(); print('守')"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    result = subprocess.run([sys.executable, "-c", run], capture_output=True, env=environment, timeout=60, check=True)
    assert result.stdout.strip() == b"\\u5b88"


# --- doctor -------------------------------------------------------------------------------------


def test_doctor_shows_every_piece_without_control_characters_and_leaves_nothing_behind(tmp_path: Path) -> None:
    result = sparring("doctor", cwd=tmp_path)
    rows = {line[7:27].strip(): line[:7].strip() for line in result.stdout.splitlines() if line[:1] in "onb"}
    assert {"python", "torch", "ruamel-yaml", "device", "export", "writer tensorboard", "disk"} <= set(rows)
    assert rows["torch"] == rows["device"] == rows["results folder"] == "ok"
    assert {name: rows[name] for name in required_packages()} == dict.fromkeys(required_packages(), "ok")
    assert result.returncode == (1 if "broken" in rows.values() else 0)
    assert "\x1b" not in result.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="permissions are set otherwise")
def test_doctor_finds_a_folder_that_cannot_be_written_and_says_so_as_json(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    result = sparring("doctor", "--json", "--results-dir", "/proc/results", environment=cache)
    report = json.loads(result.stdout)
    found = {check["name"]: check for check in report["checks"]}
    assert result.returncode == 1
    assert report["ok"] is False
    assert found["results folder"]["state"] == "broken"
    assert "--results-dir" in found["results folder"]["cure"]
    assert all(check["cure"] for check in report["checks"] if check["state"] != "ok")


def test_a_piece_that_breaks_while_it_is_checked_does_not_hide_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(name: str) -> object:
        raise OSError(f"{name}: cannot open shared object file\nand more")

    monkeypatch.setattr(device, "choose_device", broken)
    monkeypatch.setattr(shutil, "disk_usage", broken)
    monkeypatch.setattr(importlib, "import_module", broken)
    found = {check.name: check for check in all_checks(tmp_path)}
    assert {name for name in ("torch", "numba", "device", "disk") if found[name].state == "broken"} == {
        "torch",
        "numba",
        "device",
        "disk",
    }
    assert "cannot be loaded: OSError: torch: cannot open shared object file" in found["torch"].value
    assert found["torch"].cure == "python -m pip install --force-reinstall torch"
    assert "\n" not in found["device"].value
    assert found["results folder"].state == "ok"
