"""Settings on the command line: what would be used, where it comes from, older files and options, and refusals."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from sparring.cli.main import main
from sparring.cli.train import train
from sparring.settings.reading import read_settings_file, read_settings_text, validate_settings

FILE = """\
behaviors:
  Striker:
    max_steps: 7e3  # few
    network_settings:
      hidden_units: 64
"""
OLDER = """\
default:
  trainer: ppo
  batch_size: 64
  buffer_size: 1024
  hidden_units: 32  # small
  max_steps: 5e3
  use_recurrent: false
  sequence_length: 16
  memory_size: 32
  reward_signals:
    extrinsic:
      strength: 1.0
      gamma: 0.99
Duel:
  self_play:
    play_against_current_best_ratio: 0.8
"""
CURRICULUM = """\
Duel:
  measure: progress
  thresholds: [0.5]
  min_lesson_length: 5
  signal_smoothing: true
  parameters:
    mass: [1.0, 2.0]
"""


class Answer(NamedTuple):
    code: object
    out: str
    err: str


class Shell:
    """Runs `sparring` in this process and an empty folder of its own; a traceback fails the test."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Answer:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        return Answer(ended.value.code, *self._capsys.readouterr())

    def has(self, *names: str) -> bool:
        """Whether the folder holds these and nothing else."""
        return sorted(path.name for path in self.folder.iterdir()) == sorted(names)


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return Shell(tmp_path, capsys)


# -- what would be used ----------------------------------------------------------------------------------------------


def test_a_dry_run_prints_a_file_that_trains_the_same_and_writes_nothing(shell: Shell) -> None:
    (shell.folder / "mine.yaml").write_text(FILE)
    answer = shell("train", "strikers_vs_goalie", "--config", "mine.yaml", "--seed", "4", "--dry-run")
    assert answer.code == 0
    found = validate_settings(read_settings_text(answer.out, source="printed"))
    assert (found.env_settings.world, found.env_settings.seed) == ("strikers_vs_goalie", 4)
    assert found.behaviors["Striker"].max_steps == 7000
    assert "seed: 4 # --seed" in answer.out
    assert "max_steps: 7000 # mine.yaml:3:5" in answer.out
    assert shell.has("mine.yaml")


def test_every_value_is_shown_with_its_origin_and_the_later_layer_wins(shell: Shell) -> None:
    (shell.folder / "mine.yaml").write_text(FILE)
    answer = shell(
        *("config", "show", "strikers_vs_goalie", "--config", "mine.yaml", "--max-steps", "9e3"),
        *("--set", "behaviors.Goalie.time_horizon=3", "--no-graphics"),
    )
    assert answer.code == 0
    shown = dict(line.split(" = ", 1) for line in answer.out.splitlines())
    split = {path: tuple(text.rsplit("  ", 1)) for path, text in shown.items()}
    origins = {path: (json.loads(value), origin.strip()) for path, (value, origin) in split.items()}
    assert origins["behaviors.Striker.max_steps"] == (9000, "--max-steps")
    assert origins["behaviors.Striker.network_settings.hidden_units"] == (64, "mine.yaml:5:7")
    assert origins["behaviors.Goalie.time_horizon"] == (3, "--set")
    assert origins["behaviors.Goalie.trainer_type"][1].startswith("preset strikers_vs_goalie:")
    assert origins["engine_settings.no_graphics"] == (True, "--no-graphics")
    assert origins["engine_settings.width"] == (84, "default")
    assert shell.has("mine.yaml")


def test_a_switch_of_the_file_is_overruled_by_set(shell: Shell) -> None:
    (shell.folder / "mine.yaml").write_text("debug: true\nengine_settings: {no_graphics: true}\n")
    answer = shell("config", "show", "mine.yaml", "--set", "engine_settings.no_graphics=no")
    assert "engine_settings.no_graphics = false" in answer.out
    assert "debug = true" in answer.out


# -- options ---------------------------------------------------------------------------------------------------------

CURRENT = {
    *("--env", "--env-args", "--num-envs", "--num-areas", "--base-port", "--timeout-wait", "--seed", "--debug"),
    *("--max-lifetime-restarts", "--restarts-rate-limit-n", "--restarts-rate-limit-period-s"),
    *("--resume", "--force", "--run-id", "--results-dir", "--initialize-from", "--inference", "--deterministic"),
    *("--width", "--height", "--quality-level", "--time-scale", "--target-frame-rate", "--capture-frame-rate"),
    *("--no-graphics", "--no-graphics-monitor", "--torch-device", "--torch", "--tensorflow", "--load", "--train"),
}
OLD = {
    *("--curriculum", "--sampler", "--lesson", "--keep-checkpoints", "--save-freq", "--load", "--train"),
    *("--docker-target-name", "--cpu"),
}


def test_every_option_of_both_generations_is_known() -> None:
    known = {flag for parameter in train.params for flag in parameter.opts}
    assert known >= CURRENT | OLD


@pytest.mark.parametrize(
    ("option", "place", "value"),
    [
        (("--width", "12"), "engine_settings.width", "12"),
        (("--height", "12"), "engine_settings.height", "12"),
        (("--quality-level", "1"), "engine_settings.quality_level", "1"),
        (("--time-scale", "2"), "engine_settings.time_scale", "2.0"),
        (("--target-frame-rate", "30"), "engine_settings.target_frame_rate", "30"),
        (("--capture-frame-rate", "0"), "engine_settings.capture_frame_rate", "0"),
        (("--no-graphics-monitor",), "engine_settings.no_graphics_monitor", "true"),
        (("--env-args", "-a 'b c'"), "env_settings.env_args", '["-a", "b c"]'),
        (("--num-areas", "3"), "env_settings.num_areas", "3"),
        (("--timeout-wait", "5"), "env_settings.timeout_wait", "5.0"),
        (("--max-lifetime-restarts", "-1"), "env_settings.max_lifetime_restarts", "-1"),
        (("--restarts-rate-limit-n", "2"), "env_settings.restarts_rate_limit_n", "2"),
        (("--restarts-rate-limit-period-s", "9"), "env_settings.restarts_rate_limit_period_s", "9.0"),
        (("--torch-device", "cpu"), "torch_settings.device", '"cpu"'),
        (("--debug",), "debug", "true"),
        (("--deterministic",), "behaviors.Goalie.network_settings.deterministic", "true"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_options_set_what_they_are_named_after(shell: Shell, option: tuple[str, ...], place: str, value: str) -> None:
    answer = shell("config", "show", "strikers_vs_goalie", *option)
    (line,) = [line for line in answer.out.splitlines() if line.startswith(f"{place} = ")]
    assert line.removeprefix(f"{place} = ").split("  ")[0] == value
    assert line.endswith(f"  {option[0]}")
    assert answer.err == ""


@pytest.mark.parametrize(
    ("option", "place", "value"),
    [
        (("--save-freq", "1234"), "behaviors.Goalie.checkpoint_interval", "1234"),
        (("--keep-checkpoints", "2"), "behaviors.Goalie.keep_checkpoints", "2"),
        (("--cpu",), "torch_settings.device", '"cpu"'),
        (("--load",), "checkpoint_settings.resume", "true"),
        (("--train",), "", ""),
        (("--torch",), "", ""),
        (("--tensorflow",), "", ""),
        (("--lesson", "2"), "", ""),
        (("--docker-target-name", "x"), "", ""),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_older_options_work_where_they_mean_something_and_say_so_once(
    shell: Shell, option: tuple[str, ...], place: str, value: str
) -> None:
    answer = shell("config", "show", "strikers_vs_goalie", *option)
    assert answer.code == 0
    assert answer.err.count(f"{option[0]}: ") == 1
    if place:
        (line,) = [line for line in answer.out.splitlines() if line.startswith(f"{place} = ")]
        assert line.removeprefix(f"{place} = ").split("  ")[0] == value
    assert shell.has()


# -- older files -----------------------------------------------------------------------------------------------------


def test_an_older_file_trains_directly_with_one_notice(shell: Shell, caplog: pytest.LogCaptureFixture) -> None:
    (shell.folder / "old.yaml").write_text(OLDER)
    (shell.folder / "lessons.yaml").write_text(CURRICULUM)
    answer = shell("train", "old.yaml", "--curriculum", "lessons.yaml", "--dry-run")
    assert answer.code == 0, answer.err
    notices = [message for message in caplog.messages if "old.yaml" in message]
    assert len(notices) == 1
    assert "sparring upgrade-config" in notices[0]
    found = validate_settings(read_settings_text(answer.out, source="printed"))
    duel = found.behaviors["Duel"]
    assert duel.self_play is not None
    assert duel.self_play.play_against_latest_model_ratio == 0.8
    assert list(found.environment_parameters) == ["mass"]


def test_upgrading_is_asked_for_twice_before_it_overwrites_and_changes_nothing_the_second_time(shell: Shell) -> None:
    old, new, again = (shell.folder / name for name in ("old.yaml", "new.yaml", "again.yaml"))
    old.write_text(OLDER)
    assert shell("upgrade-config", "old.yaml", "new.yaml").code == 0
    assert "# small" in new.read_text()
    first = new.read_bytes()
    refused = shell("upgrade-config", "old.yaml", "new.yaml")
    assert refused.code == 2
    assert "new.yaml: the file exists already\n  name another one, or give --force" in refused.err
    assert new.read_bytes() == first
    assert shell("upgrade-config", "old.yaml", "new.yaml", "--force").code == 0
    assert shell("upgrade-config", "new.yaml", "again.yaml").code == 0
    assert new.read_bytes() == again.read_bytes() == first
    assert validate_settings(read_settings_file(old)) == validate_settings(read_settings_file(new))


# -- refusals --------------------------------------------------------------------------------------------------------

REFUSALS: dict[str, tuple[tuple[str, ...], str]] = {
    "resume-and-force": (("train", "soccer_twos", "--resume", "--force"), "contradict each other"),
    "world-and-game": (("train", "soccer_twos", "--env", "game"), "contradict each other"),
    "load-and-force": (("train", "soccer_twos", "--load", "--force"), "contradict each other"),
    "resume-and-weights": (("train", "soccer_twos", "--resume", "--initialize-from", "x"), "contradict each other"),
    "resume-and-file": (("train", "soccer_twos", "--config", "bad.yaml", "--resume"), "takes no settings file"),
    "from-alone": (("train", "soccer_twos", "--from", "best"), "--from needs --resume"),
    "two-files": (("train", "bad.yaml", "--config", "bad.yaml"), "two settings files"),
    "no-game": (("train",), "no game is named"),
    "lessons-alone": (("train", "soccer_twos", "--curriculum", "bad.yaml"), "beside a settings file"),
    "games-without-a-game": (("train", "soccer_twos", "--num-envs", "2"), "num_envs 2"),
    "unknown-world": (("train", "soccer_too"), "did you mean soccer_twos?"),
    "unknown-option": (("train", "soccer_twos", "--max-stps", "5"), "--max-steps"),
    "unknown-key": (("train", "soccer_twos", "--set", "env_settings.sed=1"), "did you mean 'seed'?"),
    "bad-number": (("train", "soccer_twos", "--seed", "many"), "--seed: env_settings.seed has a wrong value"),
    "bad-file": (("train", "bad.yaml"), "did you mean 'behaviors'?"),
    "missing-file": (("train", "bed.yaml"), "did you mean bad.yaml?"),
    "missing-run": (("train", "soccer_twos", "--resume"), "there is no run"),
    "show-bad-file": (("config", "show", "bad.yaml"), "did you mean 'behaviors'?"),
    "upgrade-bad-file": (("upgrade-config", "bad.yaml", "bad.yaml"), "exists already"),
    "upgrade-missing-file": (("upgrade-config", "bed.yaml", "new.yaml"), "did you mean bad.yaml?"),
    "inference": (("train", "soccer_twos", "--inference"), "sparring evaluate"),
    "inference-tried": (("train", "soccer_twos", "--inference", "--dry-run"), "sparring evaluate"),
    "weights-of-nobody": (("train", "soccer_twos", "--initialize-from", "x"), "there is no run 'x'"),
    "evaluate-nobody": (("evaluate", "x"), "there is no run 'x'"),
    "export-nobody": (("export", "x"), "there is no run 'x'"),
    "record-nowhere": (("record", "soccer_too", "a.demo"), "did you mean soccer_twos?"),
    "record-nobody": (("record", "soccer_twos", "a.demo", "--run", "x"), "there is no run 'x'"),
    "serve-nothing": (("serve", "soccer_too", "--mlagents-port", "5"), "did you mean soccer_twos?"),
}

NEEDS_SETTINGS = {"bad-number", "bad-file", "unknown-key", "inference", "inference-tried", "weights-of-nobody"}
"""Refusals that only the settings themselves can tell."""


@pytest.mark.parametrize("case", REFUSALS)
def test_a_refusal_leaves_no_folder_and_no_traceback(shell: Shell, case: str) -> None:
    (shell.folder / "bad.yaml").write_text("behaviours: {}\n")
    arguments, says = REFUSALS[case]
    answer = shell(*arguments)
    assert answer.code == 2
    assert says in answer.err
    assert shell.has("bad.yaml")
    assert (shell.folder / "bad.yaml").read_text() == "behaviours: {}\n"


def loaded_after(arguments: tuple[str, ...], folder: Path) -> str:
    """The exit code of a command, and what takes long to load and was loaded."""
    program = (
        "import sys\nfrom sparring.cli.main import main\n"
        f"try:\n    main({list(arguments)!r})\nexcept SystemExit as ended:\n"
        "    heavy = {'torch', 'numba', 'onnx', 'numpy', 'pydantic', 'ruamel', 'grpc', 'psutil'}\n"
        "    print(ended.code, *sorted(heavy & set(sys.modules)))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, timeout=60, check=True
    )
    return ended.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    "case",
    ["unknown-world", "resume-and-force", "missing-run", "evaluate-nobody", "export-nobody", "record-nowhere"],
)
def test_a_refusal_that_needs_no_settings_waits_for_nothing(tmp_path: Path, case: str) -> None:
    assert loaded_after(REFUSALS[case][0], tmp_path) == "2"


def test_a_run_that_exists_is_refused_without_waiting(tmp_path: Path) -> None:
    (tmp_path / "results" / "soccer_twos").mkdir(parents=True)
    (tmp_path / "results" / "soccer_twos" / "configuration.yaml").touch()
    assert loaded_after(("train", "soccer_twos", "--seed", "3"), tmp_path) == "2"


@pytest.mark.parametrize("case", sorted(NEEDS_SETTINGS))
def test_a_refusal_that_needs_settings_waits_for_them_alone(tmp_path: Path, case: str) -> None:
    (tmp_path / "bad.yaml").write_text("behaviours: {}\n")
    code, *heavy = loaded_after(REFUSALS[case][0], tmp_path).split()
    assert code == "2"
    assert set(heavy) <= {"pydantic", "ruamel"}


# -- for editors and shells ------------------------------------------------------------------------------------------


def test_the_schema_is_printed_for_editors(shell: Shell) -> None:
    schema = json.loads(shell("config", "schema").out)
    assert schema["title"] == "Sparring settings"
    assert "behaviors" in schema["properties"]


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_shells_get_a_script(shell: Shell, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("click.shell_completion.BashComplete._check_version", lambda *_: None)
    answer = shell("completion", name)
    assert answer.code == 0
    assert "_SPARRING_COMPLETE" in answer.out
