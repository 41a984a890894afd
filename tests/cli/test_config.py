"""`train --dry-run`, `config`, `upgrade-config` and `completion` as a person types them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sparring.cli.main import main

OLD = "default:\n  trainer: ppo\n  max_steps: 5.0e5\n  # how fast\n  learning_rate: 1e-3\nDuel:\n  batch_size: 64\n"


def called(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    said = capsys.readouterr()
    return int(left.value.code or 0), said.out, said.err


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_dry_run_prints_what_would_be_used_with_its_origin_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--seed", "7", "--max-steps", "1e3", "--set", "behaviors.SoccerTwos.time_horizon=9"]
    code, out, err = called(capsys, "train", "soccer_twos", *options, "--dry-run")
    assert (code, err) == (0, "")
    assert "seed: 7 # --seed" in out
    assert "max_steps: 1000 # --max-steps" in out
    assert "time_horizon: 9 # --set" in out
    assert "batch_size: 1024 # preset soccer_twos:" in out
    assert list(tmp_path.iterdir()) == []


def test_every_value_is_shown_with_its_origin(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "duel.yaml").write_text("behaviors:\n  Duel:\n    max_steps: 5e4\n")
    code, out, _ = called(capsys, "config", "show", "duel.yaml", "--num-areas", "3")
    assert code == 0
    lines = {line.split(" = ")[0]: line.split(" = ")[1].split(maxsplit=1) for line in out.splitlines()}
    assert lines["behaviors.Duel.max_steps"] == ["50000", "duel.yaml:3:5"]
    assert lines["env_settings.num_areas"] == ["3", "--num-areas"]
    assert lines["behaviors.Duel.hyperparameters.batch_size"] == ["1024", "default"]


def test_the_command_line_beats_the_file_and_the_file_the_preset(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.yaml").write_text(
        "behaviors: {SoccerTwos: {max_steps: 5, time_horizon: 6}}\nenv_settings: {seed: 4}\n"
    )
    _, out, _ = called(capsys, "config", "show", "soccer_twos", "--config", "mine.yaml", "--max-steps", "8")
    lines = dict(line.split(" = ") for line in out.splitlines())
    assert lines["behaviors.SoccerTwos.max_steps"].split() == ["8", "--max-steps"]
    assert lines["behaviors.SoccerTwos.time_horizon"].split() == ["6", "mine.yaml:1:40"]
    assert lines["env_settings.seed"].split() == ["4", "mine.yaml:2:16"]
    assert lines["behaviors.SoccerTwos.network_settings.hidden_units"].split()[0] == "128"


def test_older_options_work_or_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--cpu", "--save-freq", "500", "--train", "--lesson", "2"]
    code, out, err = called(capsys, "train", "soccer_twos", *options, "--dry-run")
    assert code == 0
    assert "device: cpu # --cpu" in out
    assert "checkpoint_interval: 500 # --save-freq" in out
    for told in ("--cpu: now called", "--save-freq: now", "--train: not needed", "--lesson: left away"):
        assert told in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "soccer_twos", "--resume", "--force"), "--resume and --force contradict"),
        (("train", "soccer_twos", "--load", "--initialize-from", "x"), "--resume and --initialize-from contradict"),
        (("train", "soccer_twos", "--env", "game"), "a world and --env contradict"),
        (("train", "--dry-run"), "no game is named"),
        (("train", "soccer_twos", "--curriculum", "x.yaml"), "stand beside a settings file"),
        (("train", "soccer_twos", "--seed", "many"), "--seed: env_settings.seed has a wrong value; found many"),
        (("train", "soccer_twos", "--max-steps", "-4"), "--max-steps: behaviors.SoccerTwos.max_steps"),
        (("train", "socer_twos"), "soccer_twos"),
        (("train", "there.yaml"), "cannot be read"),
        (("train", "soccer_twos", "--set", "behaviors.SoccerTwos.self_play.windw=3"), "did you mean 'window'"),
        (("train", "soccer_twos", "--inference"), "sparring evaluate"),
        (("upgrade-config", "there.yaml", "new.yaml"), "cannot be read"),
    ],
)
def test_a_refusal_exits_2_without_a_traceback_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    code, _, err = called(capsys, *arguments)
    assert code == 2
    assert message in err
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


def test_refusals_and_help_do_not_load_torch(tmp_path: Path) -> None:
    for arguments in (["train", "--help"], ["train", "socer_twos"], ["train", "soccer_twos", "--seed", "x"]):
        code = (
            "import sys\nfrom sparring.cli.main import main\n"
            f"sys.argv = ['sparring', *{arguments!r}]\n"
            "try:\n    main()\nfinally:\n    print('torch' in sys.modules)\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.stdout.splitlines()[-1] == "False", arguments


def test_a_file_is_converted_once_and_never_written_over_unasked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "old.yaml").write_text(OLD)
    code, out, _ = called(capsys, "upgrade-config", "old.yaml", "new.yaml")
    assert (code, out) == (0, "new.yaml: written\n")
    new = (tmp_path / "new.yaml").read_bytes()
    code, _, err = called(capsys, "upgrade-config", "old.yaml", "new.yaml")
    assert code == 2
    assert "exists already" in err
    assert called(capsys, "upgrade-config", "new.yaml", "again.yaml")[0] == 0
    assert (tmp_path / "again.yaml").read_bytes() == new
    shown = [called(capsys, "config", "show", name)[1] for name in ("old.yaml", "new.yaml")]
    values = [[line.rsplit("  ", 1)[0].strip() for line in text.splitlines()] for text in shown]
    assert values[0] == values[1]


def test_schema_and_keys_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert "behaviors" in json.loads(called(capsys, "config", "schema")[1])["properties"]
    assert "| `max_steps` | `500000` |" in called(capsys, "config", "keys")[1]


def test_a_shell_is_told_how_to_complete_and_what_could_follow(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, script, _ = called(capsys, "completion", "bash")
    assert code == 0
    assert "_SPARRING_COMPLETE=bash_complete" in script
    monkeypatch.setenv("_SPARRING_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "sparring train --max")
    monkeypatch.setenv("COMP_CWORD", "2")
    assert called(capsys)[1].splitlines() == ["plain,--max-lifetime-restarts", "plain,--max-steps"]
