"""Every key: its default, each spelling it may have, and what is said of a value it can't have."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparring.errors import SettingsError
from sparring.runs.configuration import configuration_text
from sparring.settings import RunSettings
from sparring.settings._schema import kind_at, kind_of_model
from sparring.settings.reading import assignment, layered, read_settings_file, read_settings_text, validate_settings
from tests.settings.key_table import REQUIRED, SECTIONS, Spellings, paths

ROOT = kind_of_model(RunSettings)
ROWS = [
    pytest.param(section, key, default, spellings, id=f"{section.replace(' | ', '-')}.{key}".lstrip("."))
    for section, rows in SECTIONS.items()
    for key, (default, spellings) in rows.items()
]


def tree_with(section: str, **values: str) -> dict[str, Any]:
    """A tree that sets the keys of a section, and before them what its title says stands around."""
    around, _, path = section.rpartition(" | ")
    words = [f"{path}.{key}={value}".lstrip(".") for key, value in values.items()] or [f"{path}={{}}"]
    # What holds between keys is not the matter here: a buffer is never smaller than its batch.
    if path.endswith("hyperparameters") and "buffer_size" in values:
        words.insert(0, f"{path}.batch_size=1")
    if around:
        key, _, value = around.partition(": ")
        home = path if key in ("demo_path", "env_path") else path.rpartition(".")[0]
        words.insert(0, f"{home}.{key}={value}")
    return layered(*(assignment(word) for word in words))


def leaf(settings: RunSettings, section: str, key: str) -> Any:
    node: Any = settings
    for step in (*section.rpartition(" | ")[2].split("."), key):
        if step:
            node = node[step] if isinstance(node, dict) else getattr(node, step)
    return node


@pytest.mark.parametrize(("section", "key", "default", "spellings"), ROWS)
def test_a_key_has_its_default_and_its_spellings(section: str, key: str, default: Any, spellings: Spellings) -> None:
    if default is not REQUIRED:
        sibling = next((name for name in SECTIONS[section] if name != key), None)
        around = {} if sibling is None else {sibling: SECTIONS[section][sibling][1].accepted[0][0]}
        around = {} if section == "checkpoint_settings" else around
        tree = tree_with(section, **around)
        given = leaf(validate_settings(tree or {"behaviors": {"Duel": {}}}), section, key)
        follows = key == "team_change" or key.endswith("_schedule") or key == "reward_signal_steps_per_update"
        assert (given == default and type(given) is type(default)) or follows
    for text, value in spellings.accepted:
        assert leaf(validate_settings(tree_with(section, **{key: text})), section, key) == value


@pytest.mark.parametrize(("section", "key", "default", "spellings"), ROWS)
def test_a_key_refuses_other_values_in_one_finding(section: str, key: str, default: Any, spellings: Spellings) -> None:
    path = f"{section.rpartition(' | ')[2]}.{key}".lstrip(".")
    for text in spellings.refused:
        with pytest.raises(SettingsError) as refused:
            validate_settings(tree_with(section, **{key: text}))
        (finding,) = refused.value.findings
        assert finding.what == f"{path} has a wrong value"
        assert finding.where == "--set"
        assert spellings.expected in finding.expected
        assert finding.found


def keys_below(path: tuple[str, ...], tree: dict[str, Any]) -> Iterator[str]:
    """Dotted paths of all keys that hold no section, where `tree` chooses among kinds."""
    kind = kind_at(ROOT, path, tree)
    assert kind is not None
    assert kind.section is not None
    for key in kind.section.model_fields:
        child = kind_at(ROOT, (*path, key), tree)
        assert child is not None
        if key in ("behaviors", "default_settings", "environment_parameters"):
            continue
        if child.section is None:
            yield ".".join((*path, key))
        else:
            yield from keys_below((*path, key), tree)


def test_the_table_has_every_key() -> None:
    known: set[str] = set()
    for trainer in ("ppo", "poca", "sac"):
        tree: dict[str, Any] = {"behaviors": {"Duel": {"trainer_type": trainer}}}
        known.update(keys_below((), tree))
        known.update(keys_below(("behaviors", "Duel"), tree))
    for sampler in ("constant", "uniform", "gaussian", "multirangeuniform"):
        tree = {"environment_parameters": {"mass": {"sampler_type": sampler, "sampler_parameters": {}}}}
        known.update(keys_below(("environment_parameters", "mass"), tree))
    # The networks of the signals are alike; that of curiosity stands for them.
    signals = "behaviors.Duel.reward_signals."
    alike = [f"{signals}{name}.network_settings" for name in ("extrinsic", "gail", "rnd")]
    alike.append(f"{signals}curiosity.network_settings.memory")
    assert {key for key in known if not key.startswith(tuple(alike))} == paths()


CHOICES = [
    (section, key, text)
    for section, rows in SECTIONS.items()
    for key, (_, spellings) in rows.items()
    for text, _ in spellings.accepted
    if (section, key) not in {("checkpoint_settings", "resume"), ("checkpoint_settings", "force")}
]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(CHOICES), max_size=12))
def test_any_settings_come_back_from_their_own_file(chosen: list[tuple[str, str, str]]) -> None:
    tree = layered(*(tree_with(section, **{key: text}) for section, key, text in chosen))
    try:
        first = validate_settings(tree)
    except SettingsError:  # keys that contradict each other, such as a world and a path
        return
    text = configuration_text(first, tree.origins)
    assert validate_settings(read_settings_text(text, source="configuration.yaml")) == first


@settings(deadline=None, max_examples=100)
@given(st.binary(max_size=300))
def test_random_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "random.yaml"
    path.write_bytes(content)
    with contextlib.suppress(SettingsError):
        assert isinstance(validate_settings(read_settings_file(path)), RunSettings)
