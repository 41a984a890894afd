"""Every key of settings files with its default, as facts: what the model is held against."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["REQUIRED", "SECTIONS", "Spellings", "paths"]

REQUIRED = object()
"""Stands for the default of a key that has none."""


@dataclass(frozen=True)
class Spellings:
    """What a kind of value may be written as, what it then is, and what is refused in which words."""

    accepted: tuple[tuple[str, Any], ...]
    refused: tuple[str, ...]
    expected: str


def _whole(lowest: int, *, highest: int | None = None, words: str = "") -> Spellings:
    good = (("12", 12), ("1.2e1", 12), ("'12'", 12), ("12.0", 12), ("1_2", 12))
    bad = (str(lowest - 1), "12.5", "true", "dozen", "[12]", *([] if highest is None else [str(highest + 1)]))
    return Spellings(good, bad, f"a whole number of at least {lowest}{words}")


def _number(words: str, *bad: str) -> Spellings:
    return Spellings(
        (("0.5", 0.5), ("5e-1", 0.5), ("5.0E-1", 0.5), ("'.5'", 0.5)), (*bad, ".nan", "yes", "half", "[]"), words
    )


def _choice(*words: str) -> Spellings:
    return Spellings(tuple((word, word) for word in words), ("nothing_like_it", "1"), f"one of {', '.join(words)}")


COUNT, COUNT_OR_NONE = _whole(1), _whole(0)
LIMIT = _whole(-1)
POSITIVE = _number("a number above 0", "0", "-1")
NOT_NEGATIVE = _number("a number of at least 0.0", "-0.1")
FRACTION = _number("a number of at least 0.0 and of at most 1.0", "-0.1", "1.1")
ANY_NUMBER = _number("a number")
TRUTH = Spellings(
    tuple((word, True) for word in ("true", "Yes", "ON")) + tuple((word, False) for word in ("False", "no", "off")),
    ("1", "0", "maybe", "[]"),
    "true or false",
)
TEXT = Spellings((("some text", "some text"), ("007", "007"), ("'1e5'", "1e5")), ("[a]", "{a: b}"), "a text")
SCHEDULE = _choice("linear", "constant")

_NETWORK = {
    "normalize": (False, TRUTH),
    "hidden_units": (128, COUNT),
    "num_layers": (2, COUNT),
    "vis_encode_type": ("simple", _choice("fully_connected", "match3", "simple", "nature_cnn", "resnet")),
    "goal_conditioning_type": ("hyper", _choice("hyper", "none")),
    "deterministic": (False, TRUTH),
}
_MEMORY = {
    "sequence_length": (64, COUNT),
    "memory_size": (128, COUNT),
}
_LEARNING = {
    "learning_rate": (3e-4, POSITIVE),
    "max_grad_norm": (None, POSITIVE),
}
_ON_POLICY = {
    **_LEARNING,
    "batch_size": (1024, COUNT),
    "buffer_size": (10_240, _whole(1)),
    "learning_rate_schedule": ("linear", SCHEDULE),
    "beta": (5e-3, NOT_NEGATIVE),
    "beta_schedule": ("linear", SCHEDULE),
    "epsilon": (0.2, _number("a number above 0.0 and below 1.0", "0", "1")),
    "epsilon_schedule": ("linear", SCHEDULE),
    "lambd": (0.95, FRACTION),
    "num_epoch": (3, COUNT),
}
_SAC = {
    **_LEARNING,
    "batch_size": (128, COUNT),
    "buffer_size": (50_000, COUNT),
    "learning_rate_schedule": ("constant", SCHEDULE),
    "buffer_init_steps": (0, COUNT_OR_NONE),
    "tau": (0.005, _number("a number above 0.0 and of at most 1.0", "0", "1.5")),
    "steps_per_update": (1.0, POSITIVE),
    "save_replay_buffer": (False, TRUTH),
    "init_entcoef": (1.0, POSITIVE),
    "reward_signal_steps_per_update": (1.0, POSITIVE),
}
_SIGNAL = {"strength": (1.0, NOT_NEGATIVE), "gamma": (0.99, FRACTION)}
_SEED = {"seed": (-1, _whole(-1, words=" and below 2147483648", highest=2**31 - 1))}
_B, _P = "behaviors.Duel", "environment_parameters.mass"

# Each section by its path; before a `|` stand the values its keys need around them.
SECTIONS: dict[str, dict[str, tuple[Any, Spellings]]] = {
    "": {"debug": (False, TRUTH), "non_finite": ("stop", _choice("stop", "drop"))},
    _B: {
        "init_path": (None, TEXT),
        "keep_checkpoints": (5, COUNT_OR_NONE),
        "checkpoint_interval": (500_000, COUNT),
        "even_checkpoints": (False, TRUTH),
        "max_steps": (500_000, COUNT),
        "time_horizon": (64, COUNT),
        "summary_freq": (50_000, COUNT),
        "threaded": (False, TRUTH),
    },
    f"trainer_type: ppo | {_B}.hyperparameters": {**_ON_POLICY, "shared_critic": (False, TRUTH)},
    f"trainer_type: poca | {_B}.hyperparameters": _ON_POLICY,
    f"trainer_type: sac | {_B}.hyperparameters": _SAC,
    f"{_B}.network_settings": _NETWORK,
    f"{_B}.network_settings.memory": _MEMORY,
    f"{_B}.reward_signals.extrinsic": {"strength": (1.0, ANY_NUMBER), "gamma": (0.99, FRACTION)},
    f"{_B}.reward_signals.curiosity": {**_SIGNAL, "learning_rate": (3e-4, POSITIVE)},
    f"{_B}.reward_signals.curiosity.network_settings": _NETWORK,
    f"{_B}.reward_signals.rnd": {**_SIGNAL, "learning_rate": (1e-4, POSITIVE)},
    f"demo_path: a.demo | {_B}.reward_signals.gail": {
        **_SIGNAL,
        "learning_rate": (3e-4, POSITIVE),
        "demo_path": (REQUIRED, TEXT),
        "use_actions": (False, TRUTH),
        "use_vail": (False, TRUTH),
    },
    f"{_B}.self_play": {
        "save_steps": (20_000, COUNT),
        "team_change": (100_000, COUNT),
        "swap_steps": (2_000, COUNT),
        "window": (10, COUNT),
        "play_against_latest_model_ratio": (0.5, FRACTION),
        "initial_elo": (1200.0, ANY_NUMBER),
        "rating_k": (1.0, POSITIVE),
        "outcome": ("auto", _choice("auto", "returns", "last_reward")),
    },
    f"demo_path: a.demo | {_B}.behavioral_cloning": {
        "demo_path": (REQUIRED, TEXT),
        "steps": (0, COUNT_OR_NONE),
        "strength": (1.0, NOT_NEGATIVE),
        "samples_per_update": (0, COUNT_OR_NONE),
        "num_epoch": (None, COUNT),
        "batch_size": (None, COUNT),
    },
    "env_settings": {
        "world": (None, TEXT),
        "num_areas": (None, COUNT),
        "num_threads": (1, COUNT),
        "seed": (-1, LIMIT),
        "env_path": (None, TEXT),
        "base_port": (None, _whole(1, words=" and of at most 65535", highest=65535)),
        "timeout_wait": (60.0, POSITIVE),
        "max_lifetime_restarts": (10, LIMIT),
        "restarts_rate_limit_n": (1, LIMIT),
        "restarts_rate_limit_period_s": (60.0, POSITIVE),
    },
    "env_path: game | env_settings": {"num_envs": (1, COUNT)},
    "engine_settings": {
        "width": (84, COUNT),
        "height": (84, COUNT),
        "quality_level": (5, COUNT_OR_NONE),
        "time_scale": (20.0, POSITIVE),
        "target_frame_rate": (-1, LIMIT),
        "capture_frame_rate": (60, COUNT_OR_NONE),
        "no_graphics": (False, TRUTH),
        "no_graphics_monitor": (False, TRUTH),
    },
    f"sampler_type: constant | {_P}.sampler_parameters": {**_SEED, "value": (0.0, ANY_NUMBER)},
    f"sampler_type: uniform | {_P}.sampler_parameters": {
        **_SEED,
        "min_value": (0.0, ANY_NUMBER),
        "max_value": (1.0, ANY_NUMBER),
    },
    f"sampler_type: gaussian | {_P}.sampler_parameters": {
        **_SEED,
        "mean": (1.0, ANY_NUMBER),
        "st_dev": (1.0, NOT_NEGATIVE),
    },
    f"sampler_type: multirangeuniform | {_P}.sampler_parameters": _SEED,
    "checkpoint_settings": {
        "run_id": ("ppo", TEXT),
        "results_dir": ("results", TEXT),
        "resume": (False, TRUTH),
        "load_model": (False, TRUTH),
        "train_model": (False, TRUTH),
        "inference": (False, TRUTH),
        "force": (False, TRUTH),
        "initialize_from": (None, TEXT),
        "best_measure": ("rating", _choice("rating", "reward")),
    },
    "torch_settings": {
        "device": (
            "auto",
            Spellings(
                tuple((word, word) for word in ("auto", "cpu", "cuda", "cuda:1", "mps", "xpu")),
                ("gpu", "cuda-1", "cpu:x"),
                "one of auto, cpu, cuda, cuda:N, mps, xpu",
            ),
        ),
        "threads": (0, COUNT_OR_NONE),
    },
    "evaluation": {"matches": (200, COUNT_OR_NONE)},
    "export_settings": {
        "opset": (9, _whole(9, words=" and of at most 20", highest=20)),
        "each_checkpoint": (True, TRUTH),
    },
}

# Held elsewhere: keys whose values are lists or depend on others.
ELSEWHERE = {
    "writers",
    f"{_B}.trainer_type",
    "env_settings.env_args",
    f"{_P}.sampler_type",
    f"{_P}.sampler_parameters.intervals",
}


def paths() -> set[str]:
    """The dotted path of every key of the table."""
    keys = {f"{section.rpartition(' | ')[2]}.{key}".lstrip(".") for section, rows in SECTIONS.items() for key in rows}
    return keys | ELSEWHERE
