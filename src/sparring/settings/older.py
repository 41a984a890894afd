"""Settings of older generations, turned into the current one.

Three older forms are known: flat files with a section a behavior and a `default` (0.15, 0.16), with curriculum and
sampler files beside; files with `behaviors` but `curriculum` and `parameter_randomization` at the top (0.17, 0.18); and
older names of single keys. What stands where is in the trainer configuration spec, sections 2 and 4.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from sparring.errors import Finding, SettingsError, nearest
from sparring.settings._yaml import Path
from sparring.settings.run import RunSettings

__all__ = ["Upgrade", "is_older", "upgraded"]

_AT_BEHAVIOR = frozenset(
    {
        "max_steps",
        "time_horizon",
        "summary_freq",
        "threaded",
        "init_path",
        "keep_checkpoints",
        "reward_signals",
        "behavioral_cloning",
        "self_play",
    }
)
_HYPERPARAMETERS = frozenset(
    {
        "batch_size",
        "buffer_size",
        "learning_rate",
        "learning_rate_schedule",
        "beta",
        "epsilon",
        "lambd",
        "num_epoch",
        "buffer_init_steps",
        "tau",
        "steps_per_update",
        "save_replay_buffer",
        "init_entcoef",
    }
)
_NETWORK = frozenset({"normalize", "hidden_units", "num_layers", "vis_encode_type"})
_MEMORY = frozenset({"use_recurrent", "sequence_length", "memory_size"})
_UPDATES = frozenset({"num_update", "train_interval"})
_SIGNAL_STEPS = ("reward_signal_steps_per_update", "reward_signal_num_update")
_PLACES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "trainer": ("trainer_type",),
        **{key: (key,) for key in _AT_BEHAVIOR},
        **{key: ("hyperparameters", key) for key in _HYPERPARAMETERS},
        **{key: ("network_settings", key) for key in _NETWORK},
    }
)
_OLD_RATIOS = ("play_against_current_self_ratio", "play_against_current_best_ratio")
_RATIO = "play_against_latest_model_ratio"
_ENCODING, _FRAMEWORK = "encoding_size", "framework"
_TRUE = frozenset({"true", "yes", "on", "1"})


@dataclass
class Upgrade:
    """Settings of the current generation, made from older ones.

    Attributes:
        tree: the settings; scalars are the text they were written as, computed ones numbers and booleans.
        sources: which file (`settings`, `curriculum` or `sampler`) and place in it each place of the tree came from.
        notes: what was left away or is read differently, for the person who wrote it.
        findings: what can't be read.
        made: places whose values stand in no file.
    """

    tree: dict[str, Any] = field(default_factory=dict)
    sources: dict[Path, tuple[str, Path]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    made: set[Path] = field(default_factory=set)

    def make(self, path: Path, value: Any, source: tuple[str, Path]) -> None:  # noqa: ANN401 - a settings value is anything
        """Sets a value that stands nowhere; `source` is what it follows from."""
        self.put(path, value, source)
        self.made.update((*path, *below) for below in _paths(value))

    def put(self, path: Path, value: Any, source: tuple[str, Path]) -> None:  # noqa: ANN401 - a settings value is anything
        """Sets a value and remembers where it, and everything in it, came from."""
        node = self.tree
        for depth, key in enumerate(path[:-1], start=1):
            node = node.setdefault(str(key), {})
            self.sources.setdefault(path[:depth], source)
        node[str(path[-1])] = copy.deepcopy(value)  # behaviors may share a section
        for below in _paths(value):
            self.sources[(*path, *below)] = (source[0], (*source[1], *below))


def is_older(tree: Mapping[str, Any]) -> bool:
    """Whether settings are of an older generation."""
    return _is_flat(tree) or _is_intermediate(tree) or any(True for _ in _old_keys(tree))


def upgraded(
    tree: Mapping[str, Any],
    *,
    curriculum: Mapping[str, Any] | None = None,
    sampler: Mapping[str, Any] | None = None,
    origins: Mapping[tuple[str, Path], str],
) -> Upgrade:
    """The same settings in the current generation; current ones come out as they are.

    Args:
        tree: of the settings file.
        curriculum, sampler: of the files beside it, if there are.
        origins: where each place of each file is, such as `old.yaml:14:3`; the files are called `settings`,
            `curriculum` and `sampler`.

    Raises:
        SettingsError: what can't be read, everything at once.
    """
    upgrade = Upgrade()
    work = _Work(upgrade, origins)
    if _is_flat(tree):
        work.flat(tree)
    else:
        for key, value in tree.items():
            if key not in ("curriculum", "parameter_randomization"):
                upgrade.put((key,), value, ("settings", (key,)))
        work.randomization(tree.get("parameter_randomization"), ("settings", ("parameter_randomization",)))
        work.curriculum(tree.get("curriculum"), ("settings", ("curriculum",)))
    work.randomization(sampler, ("sampler", ()))
    work.curriculum(curriculum, ("curriculum", ()))
    work.rename_keys()
    if upgrade.findings:
        raise SettingsError(upgrade.findings)
    return upgrade


def _is_flat(tree: Mapping[str, Any]) -> bool:
    if any(key in RunSettings.model_fields for key in tree):
        return False
    known = {*_PLACES, *_MEMORY, *_UPDATES}
    sections = [value for value in tree.values() if isinstance(value, Mapping)]
    return "default" in tree or any(known & set(section) - {"reward_signals"} for section in sections)


def _is_intermediate(tree: Mapping[str, Any]) -> bool:
    return "curriculum" in tree or "parameter_randomization" in tree


def _old_keys(tree: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Single older keys in sections of the current form, each with its section's path."""
    behaviors = tree.get("behaviors")
    sections: dict[Path, Any] = {("default_settings",): tree.get("default_settings")}
    if isinstance(behaviors, Mapping):
        sections |= {("behaviors", name): section for name, section in behaviors.items()}
    for path, section in sections.items():
        if not isinstance(section, Mapping):
            continue
        if _FRAMEWORK in section:
            yield path, _FRAMEWORK
        plan, signals = section.get("self_play"), section.get("reward_signals")
        if isinstance(plan, Mapping):
            yield from (((*path, "self_play"), name) for name in _OLD_RATIOS if name in plan)
        for name, signal in signals.items() if isinstance(signals, Mapping) else ():
            if isinstance(signal, Mapping) and _ENCODING in signal:
                yield (*path, "reward_signals", name), _ENCODING


def _paths(value: object) -> Iterator[Path]:
    yield ()
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from ((key, *below) for below in _paths(item))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from ((index, *below) for below in _paths(item))


def _is_true(value: object) -> bool:
    return str(value).lower() in _TRUE


class _Work:
    """One upgrade under way."""

    def __init__(self, upgrade: Upgrade, origins: Mapping[tuple[str, Path], str]) -> None:
        self._upgrade = upgrade
        self._origins = origins

    def _where(self, source: tuple[str, Path]) -> str:
        file, path = source
        return next((at for end in range(len(path), -1, -1) if (at := self._origins.get((file, path[:end])))), file)

    def _refuse(self, what: str, source: tuple[str, Path], *, found: str = "", cure: str = "") -> None:
        self._upgrade.findings.append(Finding(what, where=self._where(source), found=found, cure=cure))

    def _note(self, text: str, source: tuple[str, Path]) -> None:
        self._upgrade.notes.append(f"{self._where(source)}: {text}")

    # -- flat files --------------------------------------------------------------------------------------------------

    def flat(self, tree: Mapping[str, Any]) -> None:
        """A file with a section a behavior; `default` is merged into each, as it was."""
        names = [name for name in tree if name != "default"]
        default = tree.get("default")
        default = default if isinstance(default, Mapping) else {}
        from_default = {key: ("settings", ("default", key)) for key in default}
        for name in names:
            home = self._followed(name, tree)
            if home is None:
                continue
            section = tree[home]
            merged = {**default, **section}
            sources = {**from_default, **{key: ("settings", (home, key)) for key in section}}
            self._behavior(("behaviors", name), merged, sources, ("settings", (home,)))
        if not names and default:
            self._behavior(("default_settings",), default, from_default, ("settings", ("default",)))

    def _followed(self, name: str, tree: Mapping[str, Any]) -> str | None:
        """The section a behavior has, or the one it names instead of having its own."""
        seen = [name]
        while not isinstance(tree[seen[-1]], Mapping):
            target = tree[seen[-1]]
            source = ("settings", (seen[-1],))
            if target is None:
                self._refuse(f"the section of {name} is empty", source)
                return None
            if str(target) not in tree:
                like = nearest(str(target), tree)
                self._refuse(
                    f"{seen[-1]} names a section that is not there",
                    source,
                    found=str(target),
                    cure=f"did you mean {like[0]!r}?" if like else "",
                )
                return None
            if str(target) in seen:
                self._refuse(f"the sections of {name} name each other", source, found=" -> ".join([*seen, str(target)]))
                return None
            seen.append(str(target))
        return seen[-1]

    def _behavior(
        self, home: Path, section: Mapping[str, Any], sources: Mapping[str, tuple[str, Path]], whole: tuple[str, Path]
    ) -> None:
        self._upgrade.sources[home] = whole
        if "trainer" not in section:
            self._refuse(f"no trainer is named for {home[-1]}", whole, cure="add trainer: ppo or trainer: sac")
        for key, value in section.items():
            if key in _PLACES and key != "reward_signals":
                self._upgrade.put((*home, *_PLACES[key]), value, sources[key])
            elif key not in _MEMORY | _UPDATES | {"reward_signals"}:
                self._note(f"{key} is left away: there is no such key any more", sources[key])
        # Of PPO these two fell whatever the learning rate did.
        is_steady = section.get("learning_rate_schedule") == "constant" and section.get("trainer") == "ppo"
        for key in ("beta_schedule", "epsilon_schedule") if is_steady else ():
            self._upgrade.make((*home, "hyperparameters", key), "linear", sources["learning_rate_schedule"])
        for key in ("sequence_length", "memory_size") if _is_true(section.get("use_recurrent")) else ():
            if key in section:
                self._upgrade.put((*home, "network_settings", "memory", key), section[key], sources[key])
        if "steps_per_update" not in section and ("num_update" in section or "train_interval" in section):
            self._steps_per_update(home, section, sources)
        self._signals(home, section.get("reward_signals"), sources.get("reward_signals", whole))

    def _steps_per_update(
        self, home: Path, section: Mapping[str, Any], sources: Mapping[str, tuple[str, Path]]
    ) -> None:
        key = "num_update" if "num_update" in section else "train_interval"
        try:
            steps = float(section.get("train_interval", 1)) / float(section.get("num_update", 1))
        except (TypeError, ValueError, ZeroDivisionError):
            self._refuse(f"{key} is no number above 0", sources[key], found=str(section[key]))
            return
        self._upgrade.make((*home, "hyperparameters", "steps_per_update"), steps, sources[key])
        self._note(f"steps_per_update {steps:g} is train_interval / num_update", sources[key])

    def _signals(self, home: Path, signals: object, source: tuple[str, Path]) -> None:
        if not isinstance(signals, Mapping):
            return
        for name, plan in signals.items():
            place = (source[0], (*source[1], name))
            if name in _SIGNAL_STEPS:
                # The older of the two counted updates for each update of the policy.
                if name == _SIGNAL_STEPS[0]:
                    self._upgrade.put((*home, "hyperparameters", name), plan, place)
                else:
                    self._note(f"{name} is left away; see reward_signal_steps_per_update", place)
                continue
            self._upgrade.put((*home, "reward_signals", name), {}, place)
            for key, value in plan.items() if isinstance(plan, Mapping) else ():
                target = ("network_settings", "hidden_units") if key == "encoding_size" else (key,)
                self._upgrade.put((*home, "reward_signals", name, *target), value, (place[0], (*place[1], key)))

    # -- files beside ------------------------------------------------------------------------------------------------

    def randomization(self, section: object, source: tuple[str, Path]) -> None:
        """A sampler file, or `parameter_randomization`."""
        for name, plan in section.items() if isinstance(section, Mapping) else ():
            place = (source[0], (*source[1], name))
            if name == "resampling-interval":
                self._note("resampling-interval is left away: parameters are drawn for every episode", place)
                continue
            if not isinstance(plan, Mapping):
                self._refuse(f"the sampler of {name} is no section", place, found=str(plan))
                continue
            home: Path = ("environment_parameters", name)
            self._upgrade.put(home, {}, place)
            for key, value in plan.items():
                where = (place[0], (*place[1], key))
                if key in ("sampler-type", "sampler_type"):
                    kind = "multirangeuniform" if value == "multirange_uniform" else value
                    self._upgrade.make((*home, "sampler_type"), kind, where)
                elif key == "sampler_parameters" and isinstance(value, Mapping):
                    self._upgrade.put((*home, key), value, where)
                else:
                    self._upgrade.put((*home, "sampler_parameters", key), value, where)

    def curriculum(self, section: object, source: tuple[str, Path]) -> None:
        """A curriculum file, or `curriculum`: lessons by behavior become lessons by parameter."""
        for behavior, plan in section.items() if isinstance(section, Mapping) else ():
            place = (source[0], (*source[1], behavior))
            parameters = plan.get("parameters") if isinstance(plan, Mapping) else None
            thresholds = plan.get("thresholds") if isinstance(plan, Mapping) else None
            if not isinstance(parameters, Mapping) or not isinstance(thresholds, list):
                self._refuse(f"the curriculum of {behavior} needs thresholds, a list, and parameters, a section", place)
                continue
            for name, values in parameters.items():
                self._lessons(behavior, name, values, plan, thresholds, place)

    def _lessons(
        self,
        behavior: str,
        name: str,
        values: object,
        plan: Mapping[str, Any],
        thresholds: list[Any],
        place: tuple[str, Path],
    ) -> None:
        whole = (place[0], (*place[1], "parameters", name))
        if not isinstance(values, list) or len(values) != len(thresholds) + 1:
            found = f"{len(values)} values" if isinstance(values, list) else str(values)
            self._refuse(
                f"{name} needs one value more than there are thresholds ({len(thresholds)})", whole, found=found
            )
            return
        home: Path = ("environment_parameters", name)
        if name in self._upgrade.tree.get("environment_parameters", {}):
            self._note(f"{name} is sampled too; its curriculum counts, as it did", whole)
        lessons: list[dict[str, Any]] = []
        for number, value in enumerate(values):
            lesson: dict[str, Any] = {"name": f"Lesson{number}"}
            if number < len(thresholds):
                lesson["completion_criteria"] = {
                    "measure": plan.get("measure", "reward"),
                    "behavior": behavior,
                    "signal_smoothing": plan.get("signal_smoothing", False),
                    "min_lesson_length": plan.get("min_lesson_length", 1),
                    "threshold": thresholds[number],
                    "require_reset": True,  # a new lesson began with a reset of every game
                }
            lesson["value"] = value
            lessons.append(lesson)
        self._upgrade.make(home, {"curriculum": lessons}, whole)

    # -- single keys -------------------------------------------------------------------------------------------------

    def rename_keys(self) -> None:
        """Single keys that have another name now, or none."""
        for path, old in list(_old_keys(self._upgrade.tree)):
            section: Any = self._upgrade.tree
            for key in path:
                section = section[key]
            source = self._upgrade.sources[(*path, old)]
            if old == _FRAMEWORK:
                del section[old]
                self._note(f"{old} is left away: there is torch only", source)
            elif old == _ENCODING:
                self._rename_encoding(path, section, source)
            else:
                self._rename_ratio(path, section, old, source)

    def _rename_encoding(self, path: Path, section: dict[str, Any], source: tuple[str, Path]) -> None:
        """The size of a signal's encoding, which a network of its own has the last word about."""
        size = section.pop(_ENCODING)
        if section.get("network_settings") is not None:
            self._note(f"{_ENCODING} is left away, for network_settings is there", source)
            return
        section.pop("network_settings", None)
        self._upgrade.put((*path, "network_settings", "hidden_units"), size, source)

    def _rename_ratio(self, path: Path, section: dict[str, Any], old: str, source: tuple[str, Path]) -> None:
        """Older names of the ratio of the latest model; newer toolkits ignored them without a word."""
        if _RATIO in section:
            self._note(f"{old} is left away, for {_RATIO} is there", source)
            del section[old]
            return
        renamed = {_RATIO if key == old else key: value for key, value in section.items()}
        section.clear()
        section.update(renamed)
        self._upgrade.sources[(*path, _RATIO)] = source
