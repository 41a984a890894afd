"""Algorithms are found by name, those of plug-ins too, and what can't be learned is refused before a game starts."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from sparring.algorithms import Learner, PPOLearner, available_algorithms, check_algorithms, find_algorithm, registry
from sparring.errors import SettingsError
from sparring.settings import BehaviorSettings, PPOHyperparameters


class PickyLearner(PPOLearner):
    """Refuses to learn with a shared critic."""

    @classmethod
    def check_settings(cls, name: str, settings: BehaviorSettings) -> None:
        assert isinstance(settings.hyperparameters, PPOHyperparameters)
        if settings.hyperparameters.shared_critic:
            raise SettingsError("picky learns without a shared critic", where=f"behaviors.{name}.hyperparameters")


NOT_A_LEARNER = object()


@pytest.fixture
def plug_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Installs packages that offer algorithms under these names."""
    offered = {"picky": "PickyLearner", "odd": "NOT_A_LEARNER", "gone": "NoSuchClass", "ppo": "PickyLearner"}
    points = [EntryPoint(name, f"{__name__}:{attribute}", "sparring.algorithms") for name, attribute in offered.items()]

    def entry_points(*, group: str) -> list[EntryPoint]:
        assert group == "sparring.algorithms"
        return points

    monkeypatch.setattr("sparring.plug_ins.entry_points", entry_points)


def test_the_package_declares_the_algorithms_it_names_in_code() -> None:
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    declared = project.partition('[project.entry-points."sparring.algorithms"]\n')[2].partition("\n\n")[0]
    assert declared.splitlines() == [f'{name} = "{place}"' for name, place in registry._BUILT_IN.items()]
    for name in registry._BUILT_IN:
        assert issubclass(find_algorithm(name, where="here"), Learner)


def test_ppo_is_found_by_its_name() -> None:
    assert find_algorithm("ppo", where="here") is PPOLearner


@pytest.mark.usefixtures("plug_ins")
def test_a_plug_in_is_found_by_its_name_and_can_not_take_a_built_in_one() -> None:
    assert find_algorithm("picky", where="here").__name__ == "PickyLearner"
    assert find_algorithm("ppo", where="here") is PPOLearner
    assert {"ppo", "picky", "odd", "gone"} <= set(available_algorithms())


@pytest.mark.usefixtures("plug_ins")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("pikcy", ["'pikcy'", "did you mean 'picky'", "behaviors.Duel.trainer_type"]),
        ("odd", ["not a learner", f"{__name__}:NOT_A_LEARNER"]),
        ("gone", ["can't be loaded", "AttributeError"]),
    ],
)
def test_a_name_that_leads_nowhere_is_told_with_its_place(name: str, words: list[str]) -> None:
    with pytest.raises(SettingsError) as caught:
        find_algorithm(name, where="behaviors.Duel.trainer_type")
    assert all(word in str(caught.value) for word in words)


@pytest.mark.usefixtures("plug_ins")
def test_everything_an_algorithm_refuses_is_told_at_once() -> None:
    def plan(trainer: str, **hyper: Any) -> BehaviorSettings:
        settings = BehaviorSettings.model_validate({"hyperparameters": hyper})
        return settings.model_copy(update={"trainer_type": trainer})

    with pytest.raises(SettingsError) as caught:
        check_algorithms({"A": plan("picky", shared_critic=True), "B": plan("picky"), "C": plan("nobody")})
    assert [finding.where for finding in caught.value.findings] == [
        "behaviors.A.hyperparameters",
        "behaviors.C.trainer_type",
    ]
