"""The line per window, as users of ML-Agents know it."""

import logging
from pathlib import Path

import pytest

from sparring.statistics import Progress
from sparring.statistics.console_writer import ConsoleWriter, console_line
from tests.statistics.builders import summary_of

AT_500 = Progress(step=500, environment_steps=250, episodes=9, updates=3, wall_time_s=2.95)


def test_line_of_self_play() -> None:
    summaries = {
        "Environment/Cumulative Reward": summary_of(-0.59, 1.41),
        "Is Training": summary_of(1.0),
        "Self-play/ELO": summary_of(1200.716),
        "Losses/Policy Loss": summary_of(0.3),
    }
    assert console_line("Duel", summaries, AT_500) == (
        "Duel. Step: 500. Time Elapsed: 2.950 s. Mean Reward: 0.410. Std of Reward: 1.000. Training. ELO: 1200.716."
    )


def test_group_reward_takes_the_place_of_the_deviation() -> None:
    summaries = {
        "Environment/Cumulative Reward": summary_of(0.586),
        "Environment/Group Cumulative Reward": summary_of(0.5),
        "Is Training": summary_of(1.0),
    }
    assert console_line("Coop", summaries, AT_500) == (
        "Coop. Step: 500. Time Elapsed: 2.950 s. Mean Reward: 0.586. Mean Group Reward: 0.500. Training."
    )


def test_window_without_an_episode_says_so_and_shows_no_number() -> None:
    assert console_line("Duel", {"Is Training": summary_of(0.0)}, AT_500) == (
        "Duel. Step: 500. Time Elapsed: 2.950 s. No episode was completed since last summary. Not Training."
    )


def test_lines_go_to_the_logger_and_never_to_the_screen(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    writer = ConsoleWriter(tmp_path, resume_state=None)
    with caplog.at_level(logging.INFO, logger="sparring.statistics.console"):
        writer.announce("100 %s", {"batch_size": 32, "network": {"layers": 2}})
        writer.write("100 %s", {}, AT_500)
    messages = [record.getMessage() for record in caplog.records]
    assert messages[0].endswith("100 %s:\n\tbatch_size:\t32\n\tnetwork:\n\t  layers:\t2")
    assert messages[1].startswith("100 %s. Step: 500.")
    assert capsys.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []
