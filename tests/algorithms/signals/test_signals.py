"""Signals learn what they should, are restored exactly, and pay each agent on the learner's terms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sparring.algorithms.signals import RewardSignal, SignalSet
from sparring.algorithms.signals.curiosity import CuriositySignal
from sparring.algorithms.signals.gail import GAILSignal
from sparring.algorithms.signals.rnd import RNDSignal
from sparring.errors import NonFiniteError, SettingsError
from sparring.runs import read_checkpoint, write_checkpoint
from tests.algorithms.builders import behavior, bits, experience_of, judged, make_learner, plan
from tests.algorithms.signals.builders import SPEC, record, signal_of, transitions_of

HYBRID = behavior()
CLASSES: dict[str, type[RewardSignal]] = {"curiosity": CuriositySignal, "rnd": RNDSignal, "gail": GAILSignal}
each_kind = pytest.mark.parametrize("name", CLASSES)


def made(name: str, folder: Path, **options: Any) -> Any:
    more: dict[str, Any] = {}
    if name == "gail":
        demo = folder / "expert.demo"
        more = {"demo_path": str(demo if demo.exists() else record(demo)), "use_actions": True, "use_vail": True}
    return signal_of(CLASSES[name], name, **more, **options)


@each_kind
def test_a_signal_restored_from_disk_goes_on_as_if_it_had_never_stopped(name: str, tmp_path: Path) -> None:
    straight = made(name, tmp_path)
    for number in range(3):
        straight.update(transitions_of(seed=number))
    write_checkpoint(tmp_path / "s.safetensors", straight.state(), step=0)
    restored = made(name, tmp_path, seed=9)
    restored.restore(read_checkpoint(tmp_path / "s.safetensors")[1])
    assert bits(restored.state()) == bits(straight.state())
    for number in range(3, 6):
        assert straight.update(transitions_of(seed=number)) == restored.update(transitions_of(seed=number))
    assert bits(restored.state()) == bits(straight.state())
    with torch.no_grad():
        assert torch.equal(restored.reward(transitions_of(seed=8)), straight.reward(transitions_of(seed=8)))


@each_kind
def test_equal_seeds_give_equal_signals(name: str, tmp_path: Path) -> None:
    first, same, other = (made(name, tmp_path, seed=seed) for seed in (1, 1, 2))
    assert bits(first.state()) == bits(same.state()) != bits(other.state())


def test_what_is_seen_often_is_paid_less_than_what_is_new() -> None:
    signal = signal_of(RNDSignal, "rnd", learning_rate=3e-3)
    often, new = transitions_of(seed=1), transitions_of(seed=2)
    for _ in range(150):
        signal.update(often)
    with torch.no_grad():
        assert signal.reward(often).mean() < 0.3 * signal.reward(new).mean()


def test_what_follows_from_an_action_as_ever_is_paid_less_than_what_does_not() -> None:
    signal = signal_of(CuriositySignal, "curiosity", learning_rate=3e-3, strength=0.01)
    known, odd = transitions_of(seed=1), transitions_of(seed=2)
    for _ in range(150):
        signal.update(known)
    with torch.no_grad():
        assert signal.reward(known).mean() < 0.5 * signal.reward(odd).mean()


@pytest.mark.parametrize("use_vail", [False, True])
def test_what_looks_like_the_expert_is_paid_more(use_vail: bool, tmp_path: Path) -> None:
    demo = record(tmp_path / "e.demo", episodes=20)
    signal = signal_of(GAILSignal, "gail", demo_path=str(demo), use_vail=use_vail, learning_rate=3e-3)
    others = transitions_of(rows=100)
    for column in others.inputs:
        column.add_(3.0)
    report = {}
    for number in range(250):
        rows = torch.from_numpy(np.random.default_rng(number).integers(0, 100, 32))
        report = signal.update(others.rows(rows))
    with torch.no_grad():
        assert signal.reward(signal._expert).mean() > 1.3 * signal.reward(others).mean()
    assert ("Policy/GAIL Beta" in report) == use_vail


# -- in a learner ----------------------------------------------------------------------------------------------------


def paid(name: str, folder: Path, **more: Any) -> dict[str, Any]:
    """Settings of a behavior that is paid by the game and by one other signal."""
    own: dict[str, Any] = {"strength": 0.5, "gamma": 0.8, "network_settings": {"hidden_units": 6, "num_layers": 1}}
    if name == "gail":
        own["demo_path"] = str(record(folder / "learner.demo", HYBRID, episodes=4))
    return {"reward_signals": {"extrinsic": {"strength": 2.0}, name: {**own, **more}}}


@each_kind
@pytest.mark.parametrize("memory", [False, True])
def test_a_learner_has_a_value_for_each_signal_and_returns_of_its_own(name: str, memory: bool, tmp_path: Path) -> None:
    network = {"memory": {"sequence_length": 4, "memory_size": 6}} if memory else {}
    learner = make_learner(HYBRID, plan(behavior=paid(name, tmp_path), network=network))
    rollout = experience_of(learner, HYBRID, steps=30)
    assert rollout.keeps_ends == (name != "gail")
    report = learner.update(rollout, step=0)
    title = name.capitalize()
    assert {f"Policy/{title} Value Estimate", f"Policy/{title} Reward", "Policy/Extrinsic Value Estimate"} <= set(
        report
    )
    experience, values = judged(learner, rollout)
    rewards = learner._rewards(rollout, learner._transitions(rollout))
    assert values.shape == experience.returns.shape == (len(rollout.complete_rows()), 2)
    rows = rollout.complete_rows()
    np.testing.assert_allclose(rewards[rows, 0], 2.0 * rollout.reward[rows], atol=1e-6)
    assert np.abs(rewards[rows, 1]).max() > 0
    raw = (experience.returns.numpy() - values).mean(axis=1)  # the advantage is the mean over the signals
    np.testing.assert_allclose(experience.advantage, (raw - raw.mean()) / (raw.std() + 1e-10), atol=1e-4)
    end = rows[rollout.terminated[rows]][0]
    place = int(np.flatnonzero(rows == end)[0])
    assert experience.returns[place, 0].item() == pytest.approx(rewards[end, 0], abs=1e-5)
    is_end = experience.returns[place, 1].item() == pytest.approx(rewards[end, 1], abs=1e-5)
    assert is_end == (name == "gail")  # the others go on behind the end of an episode


@each_kind
def test_a_learner_with_a_signal_is_restored_exactly(name: str, tmp_path: Path) -> None:
    settings = plan(behavior=paid(name, tmp_path))
    straight = make_learner(HYBRID, settings)
    straight.update(experience_of(straight, HYBRID), step=0)
    restored = make_learner(HYBRID, settings, seed=77)
    restored.restore(straight.state())
    for learner in (straight, restored):
        learner.update(experience_of(learner, HYBRID, seed=3), step=10)
    assert bits(restored.state()) == bits(straight.state())


@each_kind
def test_a_signal_that_blows_up_undoes_the_whole_update(name: str, tmp_path: Path) -> None:
    learner = make_learner(HYBRID, plan(behavior=paid(name, tmp_path, learning_rate=1e30)))
    kept: list[bool] = []
    for number in range(4):
        before = weights(learner)
        rollout = experience_of(learner, HYBRID, seed=number)
        try:
            learner.update(rollout, step=0)
        except NonFiniteError:
            kept.append(weights(learner) == before)
    assert kept
    assert all(kept)


def weights(learner: Any) -> dict[str, str]:
    return {path: part for path, part in bits(learner.state()).items() if "/network" in path or "/optimizer" in path}


def test_a_signal_draws_the_same_whichever_others_there_are(tmp_path: Path) -> None:
    both = plan(behavior={"reward_signals": {"extrinsic": {}, "curiosity": {}, "rnd": {}}})
    one = plan(behavior={"reward_signals": {"extrinsic": {}, "rnd": {}}})
    sets = [
        SignalSet("Duel", SPEC, settings, device=torch.device("cpu"), seed=np.random.SeedSequence(4))
        for settings in (both, one)
    ]
    assert bits(sets[0].state()["rnd"]) == bits(sets[1].state()["rnd"])
    assert sets[0].names == ("extrinsic", "curiosity", "rnd")


def test_demonstrations_that_are_missing_are_told_with_their_setting(tmp_path: Path) -> None:
    settings = {"reward_signals": {"gail": {"demo_path": str(tmp_path / "none.demo")}}}
    with pytest.raises(Exception, match=r"Duel\.reward_signals\.gail\.demo_path") as caught:
        make_learner(HYBRID, plan(behavior=settings))
    assert "nothing at" in str(caught.value)
    assert not isinstance(caught.value, SettingsError)
