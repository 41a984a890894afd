"""What is public is listed, and what needs no torch imports without it."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys
from types import ModuleType

import pytest

import sparring

LIGHT = ["sparring", "sparring.environments", "sparring.errors", "sparring.settings", "sparring.specs"]
LIGHT += ["sparring.statistics", "sparring.steps", "sparring.worlds"]
PACKAGES = [
    "sparring",
    *(
        info.name
        for info in pkgutil.walk_packages(sparring.__path__, "sparring.")
        if info.ispkg and info.name != "sparring.cli"
    ),
]

# Refuses torch, as a machine without it does, and then imports every module of the packages named.
_WITHOUT_TORCH = """
import importlib, pkgutil, sys
class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, NoTorch())
for name in sys.argv[1:]:
    module = importlib.import_module(name)
    if name != "sparring" and hasattr(module, "__path__"):
        for info in pkgutil.walk_packages(module.__path__, name + "."):
            importlib.import_module(info.name)
    for noun in getattr(module, "__all__", ()):
        getattr(module, noun)
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""


def test_the_nouns_the_settings_the_statistics_and_the_worlds_import_where_there_is_no_torch() -> None:
    child = subprocess.run(
        [sys.executable, "-c", _WITHOUT_TORCH, *LIGHT], capture_output=True, text=True, timeout=120, check=False
    )
    assert child.returncode == 0, child.stderr
    assert "torch" not in child.stdout.split()


def test_the_nouns_bring_in_nothing_but_numpy() -> None:
    child = subprocess.run(
        [sys.executable, "-c", _WITHOUT_TORCH, "sparring"], capture_output=True, text=True, timeout=60, check=True
    )
    heavy = {"numba", "onnx", "onnxruntime", "pydantic", "rich", "ruamel", "safetensors", "tensorboard", "torch"}
    assert not heavy & set(child.stdout.split())


@pytest.mark.parametrize("name", PACKAGES)
def test_the_public_names_of_a_package_exist_and_are_sorted(name: str) -> None:
    package = importlib.import_module(name)
    assert all(hasattr(package, public) for public in package.__all__)
    assert list(package.__all__) == _as_ruff_sorts(package.__all__)


@pytest.mark.parametrize("name", PACKAGES)
def test_what_a_package_re_exports_is_in_its_list(name: str) -> None:
    package = importlib.import_module(name)
    assert _re_exported(package) <= set(package.__all__)


def _as_ruff_sorts(names: list[str]) -> list[str]:
    """Constants, then classes, then the rest, each by name."""

    def kind(name: str) -> int:
        return 0 if name.isupper() else 1 if name[0].isupper() else 2

    return sorted(names, key=lambda name: (kind(name), name))


def _re_exported(package: ModuleType) -> set[str]:
    """Classes and functions of our own that the package's namespace holds under a public name."""
    return {
        name
        for name, value in vars(package).items()
        if not name.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__.startswith("sparring.")
    }


def test_the_front_door_is_exactly_the_nouns() -> None:
    assert set(sparring.__all__) == {
        "ActionBatch",
        "ActionSpec",
        "BehaviorId",
        "BehaviorSpec",
        "DecisionSteps",
        "Environment",
        "ObservationSpec",
        "SparringError",
        "TerminalSteps",
        "__version__",
    }


def test_a_name_that_is_no_noun_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'sparring' has no attribute 'Agent'"):
        sparring.Agent  # noqa: B018 - looking it up is the test
