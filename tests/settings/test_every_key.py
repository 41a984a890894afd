"""Every key there is: the default the known toolkit has, each spelling of a value, and a wrong one refused."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any

import pytest

from sparring.errors import SettingsError
from sparring.settings import RunSettings
from sparring.settings._schema import Kind, kind_of_model
from sparring.settings.reading import layered, read_settings_text, tree_with, validate_settings

# Key, default, and another value where the default is null. `A` is of PPO, `S` of SAC.
KEYS: list[tuple[str, Any, Any]] = [
    ("behaviors.A.trainer_type", "ppo", None),
    ("behaviors.A.max_steps", 500_000, None),
    ("behaviors.A.time_horizon", 64, None),
    ("behaviors.A.summary_freq", 50_000, None),
    ("behaviors.A.checkpoint_interval", 500_000, None),
    ("behaviors.A.even_checkpoints", False, None),
    ("behaviors.A.keep_checkpoints", 5, None),
    ("behaviors.A.threaded", False, None),
    ("behaviors.A.init_path", None, "there"),
    ("behaviors.A.hyperparameters.batch_size", 1024, None),
    ("behaviors.A.hyperparameters.buffer_size", 10_240, None),
    ("behaviors.A.hyperparameters.learning_rate", 3e-4, None),
    ("behaviors.A.hyperparameters.learning_rate_schedule", "linear", None),
    ("behaviors.A.hyperparameters.beta", 5e-3, None),
    ("behaviors.A.hyperparameters.beta_schedule", "linear", None),
    ("behaviors.A.hyperparameters.epsilon", 0.2, None),
    ("behaviors.A.hyperparameters.epsilon_schedule", "linear", None),
    ("behaviors.A.hyperparameters.lambd", 0.95, None),
    ("behaviors.A.hyperparameters.num_epoch", 3, None),
    ("behaviors.A.hyperparameters.shared_critic", False, None),
    ("behaviors.S.hyperparameters.batch_size", 128, None),
    ("behaviors.S.hyperparameters.buffer_size", 50_000, None),
    ("behaviors.S.hyperparameters.learning_rate", 3e-4, None),
    ("behaviors.S.hyperparameters.learning_rate_schedule", "constant", None),
    ("behaviors.S.hyperparameters.buffer_init_steps", 0, None),
    ("behaviors.S.hyperparameters.tau", 0.005, None),
    ("behaviors.S.hyperparameters.steps_per_update", 1.0, None),
    ("behaviors.S.hyperparameters.reward_signal_steps_per_update", 1.0, None),
    ("behaviors.S.hyperparameters.save_replay_buffer", False, None),
    ("behaviors.S.hyperparameters.init_entcoef", 1.0, None),
    ("behaviors.A.network_settings.normalize", False, None),
    ("behaviors.A.network_settings.hidden_units", 128, None),
    ("behaviors.A.network_settings.num_layers", 2, None),
    ("behaviors.A.network_settings.vis_encode_type", "simple", None),
    ("behaviors.A.network_settings.goal_conditioning_type", "hyper", None),
    ("behaviors.A.network_settings.deterministic", False, None),
    ("behaviors.A.network_settings.memory.sequence_length", 64, None),
    ("behaviors.A.network_settings.memory.memory_size", 128, None),
    ("behaviors.A.reward_signals.extrinsic.strength", 1.0, None),
    ("behaviors.A.reward_signals.extrinsic.gamma", 0.99, None),
    ("behaviors.A.reward_signals.curiosity.learning_rate", 3e-4, None),
    ("behaviors.A.reward_signals.rnd.learning_rate", 1e-4, None),
    ("behaviors.A.reward_signals.gail.learning_rate", 3e-4, None),
    ("behaviors.A.reward_signals.gail.use_actions", False, None),
    ("behaviors.A.reward_signals.gail.use_vail", False, None),
    ("behaviors.A.behavioral_cloning.steps", 0, None),
    ("behaviors.A.behavioral_cloning.strength", 1.0, None),
    ("behaviors.A.behavioral_cloning.samples_per_update", 0, None),
    ("behaviors.A.behavioral_cloning.num_epoch", None, 2),
    ("behaviors.A.behavioral_cloning.batch_size", None, 64),
    ("behaviors.A.self_play.save_steps", 20_000, None),
    ("behaviors.A.self_play.team_change", 100_000, None),
    ("behaviors.A.self_play.swap_steps", 2_000, None),
    ("behaviors.A.self_play.window", 10, None),
    ("behaviors.A.self_play.play_against_latest_model_ratio", 0.5, None),
    ("behaviors.A.self_play.initial_elo", 1200.0, None),
    ("env_settings.env_path", None, "game.x86_64"),
    ("env_settings.base_port", None, 5005),
    ("env_settings.num_envs", 1, None),
    ("env_settings.num_areas", None, 2),
    ("env_settings.seed", -1, None),
    ("env_settings.timeout_wait", 60.0, None),
    ("env_settings.max_lifetime_restarts", 10, None),
    ("env_settings.restarts_rate_limit_n", 1, None),
    ("env_settings.restarts_rate_limit_period_s", 60.0, None),
    ("engine_settings.width", 84, None),
    ("engine_settings.height", 84, None),
    ("engine_settings.quality_level", 5, None),
    ("engine_settings.time_scale", 20.0, None),
    ("engine_settings.target_frame_rate", -1, None),
    ("engine_settings.capture_frame_rate", 60, None),
    ("engine_settings.no_graphics", False, None),
    ("engine_settings.no_graphics_monitor", False, None),
    ("checkpoint_settings.run_id", "ppo", None),
    ("checkpoint_settings.results_dir", "results", None),
    ("checkpoint_settings.resume", False, None),
    ("checkpoint_settings.load_model", False, None),
    ("checkpoint_settings.train_model", False, None),
    ("checkpoint_settings.force", False, None),
    ("checkpoint_settings.inference", False, None),
    ("checkpoint_settings.initialize_from", None, "earlier"),
    ("torch_settings.device", "auto", None),
    ("debug", False, None),
]
BASE = """\
behaviors:
  A:
    trainer_type: ppo
    network_settings: {memory: {}}
    reward_signals: {extrinsic: {}, curiosity: {}, rnd: {}, gail: {demo_path: there}}
    behavioral_cloning: {demo_path: there}
    self_play: {}
  S: {trainer_type: sac}
"""


def value_of(settings: RunSettings, key: str) -> Any:
    def below(node: Any, name: str) -> Any:
        return node[name] if isinstance(node, dict) else getattr(node, name)

    return functools.reduce(below, key.split("."), settings)


def with_value(key: str, text: str) -> RunSettings:
    given = read_settings_text(f"value: {text}\n", source="file.yaml")["value"]
    base = read_settings_text(BASE, source="base.yaml")
    return validate_settings(layered(base, tree_with(key.split("."), given, source="file.yaml:1")))


def kind_of(key: str) -> Kind:
    base: Any = read_settings_text(BASE, source="base.yaml")
    kind: Kind | None = kind_of_model(RunSettings)
    for step in key.split("."):
        assert kind is not None, key
        kind = kind.below(step, base)
        base = base.get(step) if isinstance(base, dict) else None
    assert kind is not None, key
    return kind


def spellings(value: Any) -> Iterator[str]:
    """The ways people write a value."""
    if isinstance(value, bool):
        small = str(value).lower()
        yield from (small, small.capitalize(), small.upper(), f"'{small}'", "yes" if value else "no")
    elif isinstance(value, (int, float)):
        yield from (str(value), f"'{value}'", f"{float(value):e}", f"{float(value):.6e}".replace("e-0", "e-"))
        if isinstance(value, int):
            yield from (f"{value}.0", f"{value}e0", f"{value:_}", f"'{value}.0'")
    else:
        yield from (str(value), f'"{value}"', f"'{value}'")


@pytest.mark.parametrize(("key", "default", "other"), KEYS, ids=[key for key, *_ in KEYS])
def test_a_key_has_its_default_reads_every_spelling_and_refuses_what_it_can_not_be(
    key: str, default: Any, other: Any
) -> None:
    assert value_of(validate_settings(read_settings_text(BASE, source="base.yaml")), key) == default
    value = default if other is None else other
    for text in spellings(value):
        found = value_of(with_value(key, text), key)
        assert found == value, text
        assert type(found) is type(value), text
    if not isinstance(value, str) or "one of" in str(kind_of(key)):
        with pytest.raises(SettingsError) as caught:
            with_value(key, "neither")
        (finding,) = caught.value.findings
        assert finding.where == "file.yaml:1"
        assert key in finding.what
        assert "neither" in finding.found
        assert finding.expected
    with pytest.raises(SettingsError) as caught:
        with_value(key, "[1, 2]")
    assert any(finding.where == "file.yaml:1" for finding in caught.value.findings)


def test_the_table_has_every_key_of_the_known_format() -> None:
    listed = {key for key, *_ in KEYS}
    known = set(_leaves(kind_of_model(RunSettings), (), read_settings_text(BASE, source="base.yaml")))
    # The same section a second time, what has no default, and lists.
    again = re.compile(
        r"behaviors\.S\.(?!hyperparameters\.)|.*\.reward_signals\..*\.network_settings\."
        r"|.*\.(curiosity|rnd|gail)\.(strength|gamma)$|.*\.demo_path$|env_settings\.env_args$"
        r"|behaviors\.S\.hyperparameters\.max_grad_norm"
    )
    repeated = {key for key in known if again.match(key)}
    assert known - repeated == listed


def _leaves(kind: Kind, path: tuple[str, ...], given: Any) -> Iterator[str]:
    section = kind.section
    if section is None:
        if kind.is_mapping:  # names are free: those of the base file
            for name in given or {}:
                below = kind.below(name, given)
                assert below is not None, path
                yield from _leaves(below, (*path, name), given[name])
        else:
            yield ".".join(path)
        return
    for name, info in section.model_fields.items():
        own = info.json_schema_extra
        child = kind.below(name, given)
        if name == "default_settings" or (isinstance(own, dict) and own.get("x-sparring")) or child is None:
            continue
        yield from _leaves(child, (*path, name), given.get(name) if isinstance(given, dict) else None)
