"""The example package: its names are found as plug-ins' are, it learns, and it is restored exactly."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from benchmarks.learning.tasks import GroupBandit
from sparring.algorithms import check_algorithms, find_algorithm, registry
from sparring.algorithms.signals import find_signal
from sparring.errors import ExportError, SettingsError, SpecError
from sparring.networks import Actor, CustomEncoder
from sparring.networks.export import export_policy, policy_bytes
from sparring.settings import BehaviorSettings, NetworkSettings
from sparring.specs import ActionSpec, BehaviorSpec, ObservationSpec
from tests.algorithms.builders import behavior, bits, experience_of
from tests.algorithms.playing import play
from tests.algorithms.signals.builders import SPEC, transitions_of

PACKAGE = Path(__file__).parents[2] / "examples" / "reinforce"


@pytest.fixture
def plug_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The package as if it were installed: importable, and its entry points announced as pyproject.toml says."""
    spec = importlib.util.spec_from_file_location(
        "sparring_reinforce", PACKAGE / "src" / "sparring_reinforce" / "__init__.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "sparring_reinforce", module)
    spec.loader.exec_module(module)
    project = (PACKAGE / "pyproject.toml").read_text(encoding="utf-8")

    def entry_points(*, group: str) -> list[EntryPoint]:
        declared = project.partition(f'[project.entry-points."{group}"]\n')[2].partition("\n\n")[0]
        pairs = (line.split(" = ") for line in declared.splitlines())
        return [EntryPoint(name, place.strip('"'), group) for name, place in pairs]

    monkeypatch.setattr("sparring.plug_ins.entry_points", entry_points)
    return module


def reinforce(**changes: Any) -> BehaviorSettings:
    return BehaviorSettings.model_validate(changes).model_copy(update={"trainer_type": "reinforce"})


def test_it_is_found_by_name_and_refuses_what_it_can_not_do(plug_in: ModuleType) -> None:
    assert find_algorithm("reinforce", where="here") is plug_in.ReinforceLearner
    check_algorithms({"Duel": reinforce()})
    with pytest.raises(SettingsError, match="reinforce has no memory"):
        check_algorithms({"Duel": reinforce(network_settings={"memory": {}})})


def test_it_learns(plug_in: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    hyper = {"buffer_size": 66, "batch_size": 1, "learning_rate": 0.02, "beta": 0.001}
    settings = {"hyperparameters": hyper, "network_settings": {"hidden_units": 16, "num_layers": 1}}
    found = {"ppo": EntryPoint("ppo", "sparring_reinforce:ReinforceLearner", "sparring.algorithms")}
    monkeypatch.setattr(registry, "_found", lambda: found)
    assert play(GroupBandit(agents=66, seed=1), settings, steps=15_000) > 0.9


def test_a_restored_learner_goes_on_as_if_it_had_never_stopped(plug_in: ModuleType) -> None:
    def make(seed: int) -> Any:
        plan = reinforce(network_settings={"hidden_units": 8})
        return plug_in.ReinforceLearner("Duel", HYBRID, plan, device=torch.device("cpu"), seed=seed, parallel=False)

    straight, restored = make(0), make(7)
    straight.update(experience_of(straight, HYBRID), step=0)
    restored.restore(straight.state())
    for learner in (straight, restored):
        learner.update(experience_of(learner, HYBRID, seed=3), step=10)
    assert bits(restored.state()) == bits(straight.state())


HYBRID = behavior()


def test_its_signal_pays_for_the_size_of_actions(plug_in: ModuleType) -> None:
    kind = find_signal("liveliness", where="here")
    assert kind is plug_in.LivelinessSignal
    signal = kind("Duel", SPEC, None, device=torch.device("cpu"), seed=np.random.SeedSequence(0))
    seen = transitions_of()
    np.testing.assert_allclose(signal.reward(seen), seen.continuous.abs().mean(1), atol=1e-6)


def test_an_encoder_is_found_by_name_learns_and_is_exported(plug_in: ModuleType, tmp_path: Path) -> None:
    spec = BehaviorSpec((ObservationSpec.image(3, 4, 5),), ActionSpec.create_discrete((2,)))
    plan = NetworkSettings.model_validate({"vis_encode_type": "mean_pool", "hidden_units": 8})
    network = Actor(spec, plan, generator=torch.Generator().manual_seed(0))
    assert isinstance(network.body.images[0], plug_in.MeanPoolEncoder)
    image = torch.rand(2, 3, 4, 5, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(network.body.images[0](image), network.body.images[0](image.flip(2, 3)))
    assert export_policy(network, tmp_path / "policy.onnx").rows > 0
    with pytest.raises(SpecError, match=r"too small for the encoder 'mean_pool'(?s:.*)at least 2 each"):
        Actor(BehaviorSpec((ObservationSpec.image(3, 1, 5),), spec.action_spec), plan, generator=torch.Generator())


def test_an_encoder_without_a_way_to_write_it_says_so(plug_in: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plug_in.MeanPoolEncoder, "write", CustomEncoder.write)
    spec = BehaviorSpec((ObservationSpec.image(3, 4, 5),), ActionSpec.create_discrete((2,)))
    plan = NetworkSettings.model_validate({"vis_encode_type": "mean_pool", "hidden_units": 8})
    with pytest.raises(ExportError, match="can't be written to a model file; found MeanPoolEncoder"):
        policy_bytes(Actor(spec, plan, generator=torch.Generator().manual_seed(0)))


def test_an_encoder_of_no_package_is_refused_with_the_nearest(plug_in: ModuleType) -> None:
    with pytest.raises(ValidationError, match="mean_pool"):
        NetworkSettings.model_validate({"vis_encode_type": "mean_pol"})
