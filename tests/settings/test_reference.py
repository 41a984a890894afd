"""The schema and the tables of keys say what the model checks."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML

from sparring.settings.reference import json_schema, key_tables

ROOT = Path(__file__).parents[2]
SCHEMA = json_schema()


def faults(text: str) -> list[str]:
    value: Any = YAML(typ="safe").load(io.StringIO(text))
    return [error.message for error in jsonschema.Draft202012Validator(SCHEMA).iter_errors(value)]


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("path", sorted((ROOT / "configs").rglob("*.yaml")), ids=lambda path: path.stem)
def test_every_configuration_passes_the_schema(path: Path) -> None:
    assert faults(path.read_text()) == []


@pytest.mark.parametrize(
    "text",
    [
        "behaviors: {A: {trainer_type: ppo, hyperparameters: {lambda: 1}}}",
        "behaviors: {A: {max_stepps: 1}}",
        "environment_parameters: {mass: {sampler_type: uniforn}}",
        "torch_settings: {threads: -1}",
    ],
)
def test_mistakes_fail_the_schema(text: str) -> None:
    assert faults(text)


def test_the_page_of_keys_is_the_one_that_is_made() -> None:
    assert (ROOT / "docs" / "settings.md").read_text(encoding="utf-8") == key_tables()
