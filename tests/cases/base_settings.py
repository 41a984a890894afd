"""The settings the cases call *base*, and what `sparring` answers to them."""

from typing import NamedTuple

import pytest

from sparring.cli.main import main

BASE = """\
behaviors:
  Duel:
    trainer_type: ppo
    hyperparameters: {batch_size: 32, buffer_size: 128, learning_rate: 0.001, num_epoch: 2}
    network_settings: {hidden_units: 16, num_layers: 1}
    time_horizon: 16
    max_steps: 400
    summary_freq: 100
    checkpoint_interval: 200
    self_play: {window: 3, save_steps: 50, swap_steps: 40, team_change: 100, play_against_latest_model_ratio: 0.5}
"""


class Answer(NamedTuple):
    """How a command ended and what it printed."""

    code: object
    out: str
    err: str


def sparring(*arguments: str, capsys: pytest.CaptureFixture[str]) -> Answer:
    """Runs a command in this process, in the working folder; a traceback fails the test."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return Answer(ended.value.code, *capsys.readouterr())
