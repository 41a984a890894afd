"""The behaviors of a run, and which of them learn now."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sparring.algorithms import Learner
from sparring.errors import SettingsError
from sparring.selfplay import Lineup
from sparring.settings import BehaviorSettings, RunSettings
from sparring.specs import BehaviorId, BehaviorSpec
from sparring.statistics import Statistics
from sparring.training.behavior import BehaviorTraining
from sparring.training.refusals import unlisted

__all__ = ["MakeLearner", "Roster", "settings_for"]

MakeLearner = Callable[[str, BehaviorSpec, BehaviorSettings], Learner]
"""Makes the learner of a behavior: its name, what its agents see and do, its settings."""


def settings_for(settings: RunSettings, name: str) -> BehaviorSettings:
    """The settings of a behavior the game announced.

    Raises:
        SettingsError: it is not listed and there are no default_settings.
    """
    if name in settings.behaviors:
        return settings.behaviors[name]
    if settings.default_settings is not None:
        return settings.default_settings
    raise SettingsError([unlisted(settings, name)])


class Roster:
    """Who takes part.

    Args:
        settings: of the run.
        make_learner: makes the learner of a behavior the first time the game announces it.
        lineup: self-play.
        statistics: are told of new behaviors.

    Attributes:
        behaviors: the training of each, by name.
        ids: name and team of each, by full name, in the order of appearance.
    """

    def __init__(
        self, settings: RunSettings, *, make_learner: MakeLearner, lineup: Lineup, statistics: Statistics
    ) -> None:
        self.behaviors: dict[str, BehaviorTraining] = {}
        self.ids: dict[str, BehaviorId] = {}
        self._settings = settings
        self._make_learner = make_learner
        self._lineup = lineup
        self._statistics = statistics

    def discover(self, announced: Mapping[str, BehaviorSpec]) -> None:
        """Takes in the behaviors that are new among those a game has announced.

        Raises:
            SettingsError: the settings do not cover one.
        """
        for full_name, spec in announced.items():
            if full_name in self.ids:
                continue
            behavior = BehaviorId.parse(full_name)
            self.ids[full_name] = behavior
            if behavior.name not in self.behaviors:
                plan = settings_for(self._settings, behavior.name)
                learner = self._make_learner(behavior.name, spec, plan)
                self.behaviors[behavior.name] = BehaviorTraining(behavior.name, spec, plan, learner)
                self._statistics.announce(behavior.name, plan.model_dump(mode="json"))
            training = self.behaviors[behavior.name]
            training.tables.setdefault(behavior, training.new_table())
            self._lineup.add(behavior, training.policy, training.settings)

    def seats(self) -> dict[tuple[str, int], int]:
        """Number of agents by behavior and team."""
        return {
            (behavior.name, behavior.team): len(self.behaviors[behavior.name].tables[behavior])
            for behavior in self.ids.values()
        }

    @property
    def is_finished(self) -> bool:
        """Every behavior has learned max_steps."""
        return bool(self.behaviors) and all(training.is_finished for training in self.behaviors.values())

    def learns(self, behavior: BehaviorId) -> bool:
        """Whether decisions of a behavior on a team are learned from now."""
        return self._lineup.learns(behavior) and not self.behaviors[behavior.name].is_finished

    def learning_names(self) -> list[str]:
        """The behaviors that learn now, on whatever team."""
        return [name for name, own in self.behaviors.items() if any(self.learns(behavior) for behavior in own.tables)]
