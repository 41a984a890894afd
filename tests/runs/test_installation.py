"""What is installed is told without importing it."""

import json
from importlib import metadata

from sparring.runs import installed
from sparring.runs.installation import required_packages


def test_every_required_package_is_there_with_its_version() -> None:
    found = installed()
    assert found["packages"]["torch"] == metadata.version("torch")
    assert all(found["packages"].values())
    assert json.loads(json.dumps(found)) == found


def test_extras_are_not_required() -> None:
    assert {"numpy", "torch"} <= set(required_packages())
    assert not {"pytest", "mypy"} & set(required_packages())
