"""The known asymmetric pair: with the latest opponents both sides learn, with snapshots only the frozen one does not.

One turn lasts as long as a whole run, and nothing is saved or drawn within it: first Left learns against untrained
Right, then Right learns against frozen Left. How well Left plays then tells who sits there: the policy it has become
(ratio 1), or the only snapshot there is, its untrained self (ratio 0). The reward of a match is 1 for who arrives
first, less 0.05 a step: about 0.85 against nobody, 0.5 among equals and -0.1 for who does not know how.
Over ten seeds none of the numbers below came nearer than 0.12 to its bound; a faulty draw moves them by 0.2 to 0.9.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import games
from tests.statistics.builders import points
from tests.training.runs_in_process import small_settings, train_small

pytestmark = pytest.mark.learn

STEPS = 4096
FAR = 10**6

Curves = dict[str, dict[str, list[float]]]
"""The values of every key, by behavior."""


def curves_of(folder: Path, ratio: float) -> Curves:
    """Trains both sides."""
    settings = small_settings(
        folder,
        max_steps=STEPS,
        summary_freq=STEPS // 8,
        checkpoint_interval=FAR,
        time_horizon=16,
        hyperparameters={
            "batch_size": 64,
            "buffer_size": 512,
            "learning_rate": 0.003,
            "learning_rate_schedule": "constant",
            "num_epoch": 4,
        },
        network_settings={"hidden_units": 16, "num_layers": 1},
        self_play={
            "save_steps": FAR,
            "swap_steps": FAR,
            "team_change": STEPS,
            "play_against_latest_model_ratio": ratio,
        },
        run={"writers": ["jsonl"], "env_settings": {"seed": 1, "num_areas": 8}},
    )
    train_small(settings, games.two_roles)
    return {
        name: {key: [value for _, value in curve] for key, curve in points(folder / "run", name).items()}
        for name in ("Left", "Right")
    }


LEARNER, OPPONENT = "Environment/Cumulative Reward", "Self-play/Opponent Cumulative Reward"


@pytest.fixture(scope="module")
def latest(tmp_path_factory: pytest.TempPathFactory) -> Curves:
    return curves_of(tmp_path_factory.mktemp("latest"), 1.0)


@pytest.fixture(scope="module")
def snapshots(tmp_path_factory: pytest.TempPathFactory) -> Curves:
    return curves_of(tmp_path_factory.mktemp("snapshots"), 0.0)


def test_first_side_learns_whatever_the_ratio(latest: Curves, snapshots: Curves) -> None:
    assert latest["Left"][LEARNER][0] < 0.2
    assert latest["Left"][LEARNER][-1] > 0.6
    assert snapshots["Left"] == latest["Left"]


def test_against_the_latest_the_second_side_meets_what_the_first_has_become(
    latest: Curves,
) -> None:
    assert latest["Right"][OPPONENT][0] > 0.6
    assert latest["Right"][OPPONENT][-1] > 0.25


def test_against_the_latest_the_second_side_learns_too(latest: Curves) -> None:
    assert latest["Right"][LEARNER][0] < 0.2
    assert latest["Right"][LEARNER][-1] > 0.3


def test_against_snapshots_the_frozen_side_plays_as_if_it_had_never_learned(
    snapshots: Curves,
) -> None:
    assert max(snapshots["Right"][OPPONENT]) < 0.3


def test_against_snapshots_the_second_side_wins_as_against_nobody(
    snapshots: Curves,
) -> None:
    assert snapshots["Right"][LEARNER][-1] > 0.7
