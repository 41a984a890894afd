"""Demonstrations are read as they are, refused where they do not fit, and imitated."""

from __future__ import annotations

import logging
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sparring.algorithms.cloning import Cloning, cloning_loss
from sparring.algorithms.demonstrations import Demonstrations, load_demonstrations
from sparring.errors import SparringError
from sparring.networks import Actor
from sparring.settings import BehavioralCloningSettings, NetworkSettings
from sparring.specs import ActionSpec, BehaviorSpec, DimensionProperty, ObservationSpec
from sparring.steps import ActionBatch
from sparring.wire.demonstrations import read_demonstration
from tests.algorithms.builders import ACTIONS, behavior
from tests.algorithms.signals.builders import SPEC, record, slope_by_differences

each_kind = pytest.mark.parametrize("actions", ACTIONS.values(), ids=ACTIONS)


def stacked(size: int, times: int, branches: tuple[int, ...] = (3,)) -> BehaviorSpec:
    """What a stack of observations looks like in a recording."""
    sensor = ObservationSpec((size * times,), (DimensionProperty.NONE,), name=f"StackingSensor_size{times}_Rays")
    return BehaviorSpec((sensor,), ActionSpec.create_discrete(branches))


def cloning(path: Path, spec: BehaviorSpec, *, network: dict[str, Any] | None = None, **plan: Any) -> Cloning:
    settings = NetworkSettings.model_validate({"hidden_units": 16, "num_layers": 1, **(network or {})})
    actor = Actor(spec, settings, generator=torch.Generator().manual_seed(0))
    section = BehavioralCloningSettings.model_validate({"demo_path": str(path), **plan})
    return Cloning(
        "Duel",
        actor,
        section,
        learning_rate=1e-2,
        batch_size=8,
        sequence_length=1 if settings.memory is None else settings.memory.sequence_length,
        device=torch.device("cpu"),
        seed=np.random.SeedSequence(0),
    )


# -- reading ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("interrupted", [False, True])
def test_what_follows_a_decision_comes_from_the_next_record(interrupted: bool, tmp_path: Path) -> None:
    recording = read_demonstration(record(tmp_path / "d.demo", episodes=2, steps=3, interrupted=interrupted))
    shown = Demonstrations.of(recording)
    assert len(shown) == 6
    np.testing.assert_array_equal(shown.inputs[0], recording.obs[0][[0, 1, 2, 4, 5, 6]])
    np.testing.assert_array_equal(shown.next_inputs[0], recording.obs[0][[1, 2, 3, 5, 6, 7]])
    assert shown.reward.tolist() == [0.5, 0.5, 1.0] * 2
    assert shown.terminated.tolist() == [False, False, not interrupted] * 2
    assert shown.next_row.tolist() == [1, 2, -1, 4, 5, -1]
    assert shown.sequences(2).tolist() == [[0, 1], [2, -1], [3, 4], [5, -1]]


def test_all_demonstrations_of_a_folder_are_read_in_order_and_not_linked_to_each_other(tmp_path: Path) -> None:
    for name, seed in (("b", 1), ("a", 2)):
        record(tmp_path / f"{name}.demo", episodes=1, steps=3, seed=seed)
    (tmp_path / "notes.txt").write_text("not a demonstration")
    shown = load_demonstrations(str(tmp_path), SPEC, where="here")
    first = read_demonstration(tmp_path / "a.demo")
    np.testing.assert_array_equal(shown.inputs[0][:3], first.obs[0][:3])
    assert shown.next_row.tolist() == [1, 2, -1, 4, 5, -1]


def test_a_recording_without_any_end_is_one_unfinished_episode_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = record(tmp_path / "d.demo", episodes=3, steps=5, ends=False)
    with caplog.at_level(logging.WARNING):
        shown = load_demonstrations(str(path), SPEC, where="here")
    assert "no end of an episode was recorded" in caplog.text
    assert len(shown) == 14
    assert shown.next_row.tolist() == [*range(1, 14), -1]
    assert not shown.terminated.any()


def test_of_a_recording_that_ends_in_the_middle_the_whole_episodes_are_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = record(tmp_path / "d.demo", episodes=3, steps=5)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * 0.9)])
    with caplog.at_level(logging.WARNING):
        shown = load_demonstrations(str(path), SPEC, where="here")
    assert "its 2 whole episode(s) are read" in caplog.text
    assert len(shown) == 10


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (stacked(21, 2), ["StackingSensor_size5_Rays", "42 (2 x 21)", "90 (5 x 18)"]),
        (stacked(18, 5, (4,)), ["branches (4)", "branches (3)"]),
    ],
    ids=["sensor", "actions"],
)
def test_what_does_not_fit_is_told_side_by_side(shown: BehaviorSpec, words: list[str], tmp_path: Path) -> None:
    path = record(tmp_path / "d.demo", shown)
    with pytest.raises(SparringError) as caught:
        load_demonstrations(str(path), stacked(18, 5), where="here")
    assert all(word in str(caught.value) for word in words)
    assert str(path) in str(caught.value)


def test_every_wrong_file_of_a_folder_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "my demos"
    folder.mkdir()
    record(folder / "right.demo", stacked(18, 5))
    record(folder / "wrong.demo", stacked(21, 2))
    (folder / "empty.demo").write_bytes(b"")
    with pytest.raises(SparringError) as caught:
        load_demonstrations(str(folder), stacked(18, 5), where="here")
    assert {Path(finding.where.split(",")[0]).name for finding in caught.value.findings} == {"wrong.demo", "empty.demo"}


@pytest.mark.parametrize("kind", ["missing", "empty folder"])
def test_a_path_that_leads_nowhere_says_what_was_found(kind: str, tmp_path: Path) -> None:
    place = tmp_path / "nowhere"
    if kind == "empty folder":
        place.mkdir()
    with pytest.raises(SparringError, match="empty folder" if kind == "empty folder" else "nothing at"):
        load_demonstrations(str(place), SPEC, where="here")


# -- imitating -------------------------------------------------------------------------------------------------------


def parameters_of(actions: ActionSpec, rows: int) -> tuple[Any, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Parameters, noise and expert actions in double precision."""
    generator = torch.Generator().manual_seed(0)
    spec = behavior(actions)
    settings = NetworkSettings(hidden_units=4, num_layers=1)
    actor = Actor(spec, settings, generator=generator).double()
    seen = torch.randn(rows, 3, generator=generator, dtype=torch.float64)
    noise = torch.randn(rows, actions.continuous_size, generator=generator, dtype=torch.float64)
    continuous = torch.rand(rows, actions.continuous_size, generator=generator, dtype=torch.float64) * 2 - 1
    discrete = torch.stack(
        [torch.randint(size, (rows,), generator=generator) for size in actions.discrete_branches]
        or [noise[:, 0].long()],
        dim=1,
    )[:, : len(actions.discrete_branches)]
    return (actor, seen), noise, continuous, discrete


@each_kind
def test_the_loss_of_cloning_is_the_sum_written_out_and_its_gradient_that_of_finite_differences(
    actions: ActionSpec,
) -> None:
    (actor, seen), noise, continuous, discrete = parameters_of(actions, 6)

    def loss() -> torch.Tensor:
        parameters, _ = actor([seen])
        return cloning_loss(parameters, noise, continuous, discrete, actions, squash=False)

    parameters, _ = actor([seen])
    for row, found in enumerate(loss().tolist()):
        expected = 0.0
        if actions.continuous_size:
            errors = []
            for place in range(actions.continuous_size):
                drawn = parameters.mean[row, place].item() + noise[row, place].item() * math.exp(
                    parameters.log_std[place].item()
                )
                errors.append((drawn / 3 - continuous[row, place].item()) ** 2)
            expected += sum(errors) / len(errors)
        start, costs = 0, []
        for branch, size in enumerate(actions.discrete_branches):
            logits = parameters.logits[row, start : start + size].tolist()
            costs.append(math.log(sum(math.exp(v) for v in logits)) - logits[int(discrete[row, branch])])
            start += size
        expected += sum(costs) / len(costs) if costs else 0.0
        assert found == pytest.approx(expected, abs=1e-6)
    slope_by_differences(lambda: loss().mean(), list(actor.parameters()))


def test_a_constant_choice_is_cloned_within_two_hundred_updates(tmp_path: Path) -> None:
    spec = stacked(18, 5)
    always = ActionBatch(np.zeros((1, 0), np.float32), np.array([[2]], np.int32))
    path = record(tmp_path / "d.demo", spec, episodes=3, steps=5, action=always)
    learner = cloning(path, spec)
    report: dict[str, float] = {}
    for step in range(200):
        report = learner.update(step=step)
    assert report["Policy/Pretraining Accuracy"] > 0.99


@pytest.mark.parametrize("squash", [False, True])
def test_continuous_actions_are_cloned_on_the_scale_of_the_game(squash: bool, tmp_path: Path) -> None:
    spec = behavior(ACTIONS["continuous"])
    shown = ActionBatch(np.array([[0.6, -0.3]], np.float32), np.zeros((1, 0), np.int32))
    path = record(tmp_path / "d.demo", spec, episodes=10, action=shown)
    learner = cloning(path, spec)
    actor = Actor(spec, NetworkSettings(hidden_units=16), generator=torch.Generator().manual_seed(0), squash=squash)
    learner._actor = actor
    learner.optimizer = torch.optim.Adam(actor.parameters())
    for step in range(200):
        learner.update(step=step)
    mean = actor([torch.zeros(1, 3)])[0].mean
    sent = mean.tanh() if squash else mean / 3
    np.testing.assert_allclose(sent.detach()[0], [0.6, -0.3], atol=0.1)


def test_with_memory_whole_episodes_are_cloned(tmp_path: Path) -> None:
    learner = cloning(
        record(tmp_path / "d.demo", SPEC, steps=5),
        SPEC,
        network={"memory": {"sequence_length": 4, "memory_size": 8}},
    )
    assert learner._parts.shape == (6, 4)
    assert learner.update(step=0)["Losses/Pretraining Loss"] > 0


def test_cloning_fades_over_its_steps_and_then_leaves_the_actor_alone(tmp_path: Path) -> None:
    learner = cloning(record(tmp_path / "d.demo"), SPEC, steps=100, strength=0.5)
    assert [learner.rate(step) for step in (0, 50)] == pytest.approx([5e-3, 2.5e-3], abs=1e-9)
    before = [parameter.clone() for parameter in learner._actor.parameters()]
    assert learner.update(step=100) == {"Losses/Pretraining Loss": 0.0}
    assert all(torch.equal(old, new) for old, new in zip(before, learner._actor.parameters(), strict=True))
    assert cloning(tmp_path / "d.demo", SPEC).rate(10**9) == 1e-2


@pytest.mark.parametrize(("samples", "epochs", "batches"), [(0, None, 3), (8, 2, 2), (3, 1, 1)])
def test_as_much_is_shown_an_update_as_set(samples: int, epochs: int | None, batches: int, tmp_path: Path) -> None:
    path = record(tmp_path / "d.demo", episodes=3, steps=5)  # 15 decisions: one batch of 8, the rest left out
    learner = cloning(path, SPEC, samples_per_update=samples, num_epoch=epochs)
    assert len(learner._batches()) == batches
