"""The stored settings train the same run again, and say where each value came from."""

from pathlib import Path

import pytest

from sparring.runs import RunFolder, configuration_text
from sparring.settings import RunSettings
from sparring.settings.reading import assignment, layered, preset, read_settings_file, validate_settings


@pytest.mark.parametrize("run_id", ["ppo", "no # x", "007", "null", "a: b", "'", "x" * 300, "Größe 守"])
def test_what_is_written_reads_back_as_the_same_settings(tmp_path: Path, run_id: str) -> None:
    settings = validate_settings(
        layered(
            preset("strikers_vs_goalie"),
            {
                "behaviors": {"a: # b": {"self_play": None, "max_steps": 2**40}, "off": {}},
                "checkpoint_settings": {"run_id": run_id, "initialize_from": "on"},
                "environment_parameters": {"gravity": 1e-9},
                "default_settings": {},
            },
        )
    )
    (tmp_path / "c.yaml").write_text(configuration_text(settings), encoding="utf-8")
    assert validate_settings(read_settings_file(tmp_path / "c.yaml")) == settings


def test_each_value_that_was_set_says_where(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("env_settings:\n  seed: 4\n", encoding="utf-8")
    tree = layered(preset("soccer_twos"), read_settings_file(tmp_path / "a.yaml"), assignment("writers=[jsonl]"))
    lines = configuration_text(validate_settings(tree), tree.origins).splitlines()
    assert f"  seed: 4 # {tmp_path / 'a.yaml'}:2:3" in lines
    assert "writers: [jsonl] # --set" in lines
    assert any("batch_size: 1024 # preset soccer_twos:" in line for line in lines)
    assert "  num_threads: 1" in lines


@pytest.mark.parametrize("way", ["resume", "force"])
def test_the_stored_settings_neither_resume_nor_force(way: str) -> None:
    settings = validate_settings({"checkpoint_settings": {way: True}})
    assert configuration_text(settings) == configuration_text(RunSettings())


def test_other_comments_are_no_other_settings_but_another_value_is(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path, "ppo", "new") as folder:
        folder.write_configuration(configuration_text(RunSettings()))
        commented = configuration_text(RunSettings(), {("env_settings", "seed"): "--seed"})
        assert "# --seed" in commented
        assert folder.write_configuration(commented) is None
        other = validate_settings({"env_settings": {"seed": 5}})
        assert folder.write_configuration(configuration_text(other)) == folder.path / "configuration-1.yaml"
