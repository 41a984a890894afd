"""One run from its first step to its last: collect, learn, report, save, export."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from sparring.algorithms import Learner, find_algorithm
from sparring.environments import Environment, StatefulEnvironment
from sparring.errors import CheckpointError, ExportError, GameError, NonFiniteError, SettingsError
from sparring.networks.threads import second_thread
from sparring.runs import BehaviorStatus, CheckpointStore, LoadedCheckpoint, RunFolder
from sparring.selfplay import Lineup, LineupEvent, describe_schedule
from sparring.settings import BehaviorSettings, RunSettings
from sparring.specs import BehaviorId, BehaviorSpec
from sparring.statistics import Progress, SilentWindows, Statistics, Timers, summary_due
from sparring.training.behavior import BehaviorTraining
from sparring.training.collector import Collector
from sparring.training.exporting import ModelExporter
from sparring.training.lessons import Lessons
from sparring.training.progress import BehaviorProgress, Observer, RunProgress, SpeedMeter
from sparring.training.refusals import check_announced
from sparring.training.seeds import SeedStreams

__all__ = ["TrainingRun"]

_log = logging.getLogger(__name__)

_PROGRESS_EVERY_S = 0.25
_STATE_VERSION = 1


@dataclass(slots=True)
class _Marks:
    """What has been reported and saved so far, in learner steps by behavior."""

    summary: dict[str, int]
    checkpoint: dict[str, int]
    reward: dict[str, int]


class TrainingRun:
    """Composes a run from its parts, which are passed in, and drives it.

    Args:
        settings: in force; the seed is a number by now.
        folder: the run's, open for writing.
        environment: the game, not yet reset.
        statistics: of the run, restored already if it is resumed.
        observer: who watches.
        device: where the networks live.
        threads: of the arithmetic.
        initial_weights: networks of other learners by behavior, taken over where they fit.
        lessons: of a run that is resumed, restored already, for the first reset tells the game of them.
        clock: seconds that never go back; for wall time and the display, never for what is learned.
    """

    def __init__(
        self,
        settings: RunSettings,
        *,
        folder: RunFolder,
        environment: Environment,
        statistics: Statistics,
        observer: Observer,
        device: torch.device,
        threads: int,
        initial_weights: Mapping[str, Any] | None = None,
        lessons: Lessons | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._settings = settings
        self._folder = folder
        self._environment = environment
        self._statistics = statistics
        self._observer = observer
        self._clock = clock
        self._device = device
        self._threads = threads
        self._seeds = SeedStreams(settings.env_settings.seed)
        self._timers = Timers()
        self._speed = SpeedMeter()
        self._silence = SilentWindows()
        self._started_at = clock()
        self._earlier_wall_time_s = 0.0
        plans = list(settings.behaviors.values()) or [settings.default_settings or BehaviorSettings()]
        kept = [plan.keep_checkpoints for plan in plans]
        self._store: CheckpointStore = folder.checkpoints(keep=0 if 0 in kept else max(kept))
        self._exporter = ModelExporter(folder, opset=settings.export_settings.opset)
        self._initial_weights = initial_weights or {}
        self.lessons = Lessons(settings.environment_parameters, self._seeds) if lessons is None else lessons
        self.lessons.tell(environment)
        environment.reset()  # over the wire, behaviors are announced in the answer to it
        for notice in check_announced(settings, (BehaviorId.parse(name).name for name in environment.behavior_specs)):
            observer.on_message(notice)
        is_parallel = threads > 1 and device.type == "cpu"
        self._second_thread = second_thread("opponents") if is_parallel else None
        self.collector = Collector(
            environment,
            settings,
            make_learner=self._make_learner,
            lineup=Lineup(rng=self._seeds.generator("matchmaking")),
            statistics=statistics,
            timers=self._timers,
            generator=torch.Generator().manual_seed(self._seeds.number("actions")),
            lessons=self.lessons,
            second_thread=self._second_thread,
        )
        self._marks = _Marks({}, {}, {})
        self._schedule_is_said = False

    def _make_learner(self, name: str, spec: BehaviorSpec, settings: BehaviorSettings) -> Learner:
        algorithm = find_algorithm(settings.trainer_type, where=f"behaviors.{name}.trainer_type")
        learner = algorithm(
            name,
            spec,
            settings,
            device=self._device,
            seed=self._seeds.number(f"learner {name}"),
            parallel=self._threads > 1 and self._device.type == "cpu",
        )
        if self._initial_weights:
            for line in learner.take_over(self._initial_weights.get(name, {})):
                self._observer.on_message(f"{name}: {line}")
        return learner

    @property
    def behaviors(self) -> Mapping[str, BehaviorTraining]:
        """The behaviors in training."""
        return self.collector.behaviors

    @property
    def total_steps(self) -> int:
        """Learner steps of all behaviors."""
        return sum(training.steps for training in self.behaviors.values())

    # -- the loop ------------------------------------------------------------------------------------------------

    def train(self, *, should_stop: Callable[[], bool]) -> bool:
        """Trains until every behavior has learned max_steps or `should_stop` says so; True if it was stopped.

        Saves at the start, at every checkpoint_interval, at the end, and before an error of the game's is raised.

        Raises:
            NonFiniteError: as `Collector.step`; the state before it is on disk.
        """
        next_progress = 0.0
        if self._store.is_empty():
            self._keep_milestones()
            self.save()
        while not self.collector.roster.is_finished:
            if should_stop():
                return True
            self._step()
            if self._clock() >= next_progress:
                next_progress = self._clock() + _PROGRESS_EVERY_S
                self._observer.on_progress(self.progress())
        return False

    def _step(self) -> None:
        lost_before = self.collector.lost_arenas
        try:
            events = self.collector.step()
        except (NonFiniteError, GameError):
            self._save_if_finite()
            raise
        if self.collector.lost_arenas > lost_before:  # a game broke, and the next one may break for good
            self.save()
        self._say_what_happened(events)
        self._keep_milestones()
        for training in self.behaviors.values():
            before = self._marks.summary.get(training.name, 0)
            if summary_due(before, training.steps, frequency=training.settings.summary_freq):
                self._write_summary(training)
        if any(self._checkpoint_is_due(training) for training in self.behaviors.values()):
            for training in self.behaviors.values():
                self._marks.checkpoint[training.name] = training.steps
            self.save()
            if self._settings.export_settings.each_checkpoint:
                self._export(is_final=False)
            else:
                self._write_status(is_final=False)
            self._write_timers()

    def _checkpoint_is_due(self, training: BehaviorTraining) -> bool:
        before = self._marks.checkpoint.get(training.name, 0)
        return summary_due(before, training.steps, frequency=training.settings.checkpoint_every)

    def _keep_milestones(self) -> None:
        for training in self.behaviors.values():
            training.keep_milestone()

    def _say_what_happened(self, events: Iterable[LineupEvent]) -> None:
        for event in events:
            self._observer.on_event(event)
        if not self._schedule_is_said:
            self._schedule_is_said = True
            self._say_schedule()
            self._say_lessons(self.lessons.numbers)
        elif self.collector.advance is not None:
            self._say_lessons(self.collector.advance.parameters)

    def _say_schedule(self) -> None:
        plans = {name: training.settings for name, training in self.behaviors.items()}
        lines, warnings = describe_schedule(plans, self.collector.roster.seats())
        for line in lines:
            self._observer.on_message(line)
        for warning in warnings:
            _log.warning("%s", warning)

    def _say_lessons(self, parameters: Iterable[str]) -> None:
        for name in parameters:
            self._observer.on_message(self.lessons.said(name))

    # -- reporting -----------------------------------------------------------------------------------------------

    @property
    def wall_time_s(self) -> float:
        """Seconds trained, earlier parts of a resumed run included."""
        return self._earlier_wall_time_s + self._clock() - self._started_at

    def progress(self) -> RunProgress:
        """Where the run stands."""
        lineup = self.collector.lineup
        opponents = lineup.opponent_text()
        learning = set(self.collector.roster.learning_names())
        behaviors = []
        for name, training in self.behaviors.items():
            rating = lineup.ratings.get(name)
            behaviors.append(
                BehaviorProgress(
                    name=name,
                    steps=training.steps,
                    max_steps=training.settings.max_steps,
                    mean_return=training.mean_return,
                    rating=None if rating is None else rating.value,
                    uncertainty=None if rating is None else rating.uncertainty,
                    is_learning=name in learning,
                    opponents=opponents.get(name, ""),
                    entropy=training.recent_entropy,
                    episodes=training.episodes,
                    updates=training.updates,
                )
            )
        left = sum(max(0, training.settings.max_steps - training.steps) for training in self.behaviors.values())
        speed = self._speed.mark(self._clock(), self.total_steps)
        return RunProgress(
            behaviors=behaviors,
            environment_steps=self.collector.environment_steps,
            wall_time_s=self.wall_time_s,
            steps_per_s=speed,
            time_left_s=None if speed is None else left / speed,
            shares=self._timers.shares(),
            waits=self.lessons.waits(self.behaviors),
        )

    def _write_summary(self, training: BehaviorTraining) -> None:
        name = training.name
        self._statistics.add(name, "Is Training", 1.0)
        self.lessons.report(self._statistics, name)
        summaries = self._statistics.write(
            name,
            Progress(
                step=training.steps,
                environment_steps=self.collector.environment_steps,
                episodes=training.episodes,
                updates=training.updates,
                wall_time_s=self.wall_time_s,
            ),
        )
        self.lessons.add_summary(name, summaries)
        for line in self.lessons.waits(self.behaviors, watching=name):
            self._observer.on_message(line)
        hint = self._silence.hint(name, episodes_finished=training.episodes - self._marks.reward.get(name, 0))
        if hint is not None:
            _log.warning("%s: %s", name, hint)
        self._marks.summary[name] = training.steps
        self._marks.reward[name] = training.episodes
        self._timers.start_window()

    # -- the end -------------------------------------------------------------------------------------------------

    def finish(self) -> list[Path]:
        """Writes the last checkpoint, the last summaries and the models; gives the paths of the models.

        The checkpoint comes first: a run that is resumed drops the summary of its unfinished window and goes on
        with the window, as if it had never stopped.
        """
        self.save()
        for training in self.behaviors.values():
            if training.steps > self._marks.summary.get(training.name, 0):
                self._write_summary(training)
        self._statistics.flush()
        paths = self._export(is_final=True)
        self._write_timers()
        return paths

    def export_final(self) -> list[Path]:
        """Writes the models and gives their paths.

        Raises:
            SettingsError: the packages that write models are missing.
            ExportError: a model could not be written, which was logged; the others are there.
        """
        if self._exporter.fault is not None:
            raise SettingsError([self._exporter.fault])
        paths = self._export(is_final=True)
        if len(paths) < len(self.behaviors):
            raise ExportError(
                "not every model was written",
                where=str(self._folder.path),
                found=f"{len(paths)} of {len(self.behaviors)}",
                cure="the lines above say what was wrong with each",
            )
        return paths

    def _export(self, *, is_final: bool) -> list[Path]:
        with self._timers.phase("export"):
            paths = [
                self._exporter.export(training, self._environment, is_final=is_final)
                for training in self.behaviors.values()
            ]
        self._write_status(is_final=is_final)
        return [path for path in paths if path is not None]

    def _write_timers(self) -> None:
        self._folder.write_timers(self._timers.to_json(metadata={"pytorch_version": torch.__version__}))

    def _write_status(self, *, is_final: bool) -> None:
        ratings = self.collector.lineup.ratings
        status = {}
        for name in self.behaviors:
            models = self._exporter.written.get(name, [])
            status[name] = BehaviorStatus(
                checkpoints=models[:-1] if is_final else models,
                final_checkpoint=models[-1] if is_final and models else None,
                elo=ratings[name].value if name in ratings else None,
                lessons=self.lessons.numbers,
            )
        self._folder.write_status(status)

    def close(self) -> None:
        """Ends the run's threads."""
        if self._second_thread is not None:
            self._second_thread.shutdown()
        for training in self.behaviors.values():
            training.learner.close()

    # -- saving and resuming -------------------------------------------------------------------------------------

    def save(self) -> Path | None:
        """Writes a checkpoint of everything; None if the disk refused, which is logged."""
        with self._timers.phase("save"):
            return self._store.save(self.state(), self.total_steps, measure=self._measure())

    def _save_if_finite(self) -> None:
        """Saves before an error is raised; a state that is itself spoiled must not hide what was wrong."""
        try:
            self.save()
        except NonFiniteError as error:
            _log.warning("no checkpoint of this moment (%s); the one before it is whole", error.findings[0].what)

    def _measure(self) -> float | None:
        """How good the policies are by the chosen measure; None before it can be told."""
        ratings = self.collector.lineup.ratings
        rated = [ratings[name].value for name in self.behaviors if name in ratings and ratings[name].games > 0]
        if self._settings.checkpoint_settings.best_measure == "rating" and rated:
            return sum(rated) / len(rated)
        returns = [training.mean_return for training in self.behaviors.values()]
        known = [value for value in returns if value is not None]
        return sum(known) / len(known) if known and len(known) == len(returns) else None

    def state(self) -> dict[str, Any]:
        """Everything the run's future depends on."""
        state = {
            "version": _STATE_VERSION,
            "collector": self.collector.state(),
            "lessons": self.lessons.state(),
            "statistics": self._statistics.state(),
            "marks": {
                "summary": dict(self._marks.summary),
                "checkpoint": dict(self._marks.checkpoint),
                "reward": dict(self._marks.reward),
            },
            "wall_time_s": self.wall_time_s,
            "timers": self._timers.state(),
        }
        if isinstance(self._environment, StatefulEnvironment):
            state["environment"] = self._environment.save_state()
        return state

    def restore(self, checkpoint: LoadedCheckpoint) -> None:
        """Puts back what `state` gave, the statistics and the lessons excepted.

        The game comes first: behaviors that appeared after its beginning are there only then.

        Raises:
            CheckpointError: the checkpoint is of another version, lacks a part, or does not fit the settings or the
                game.
        """
        state = checkpoint.state
        if state.get("version") != _STATE_VERSION:
            raise CheckpointError(
                "the checkpoint was written by another version of Sparring",
                where=str(checkpoint.path),
                found=str(state.get("version")),
                expected=str(_STATE_VERSION),
                cure="resume it with the version that wrote it, or start anew with --initialize-from",
            )
        try:
            self._restore_parts(state, where=str(checkpoint.path))
        except KeyError as error:
            raise CheckpointError(
                "the checkpoint lacks a part", where=str(checkpoint.path), found=f"no {error.args[0]!r}"
            ) from None

    def _restore_parts(self, state: Mapping[str, Any], *, where: str) -> None:
        is_put_back = "environment" in state and isinstance(self._environment, StatefulEnvironment)
        if "environment" in state and isinstance(self._environment, StatefulEnvironment):
            self._environment.restore_state(state["environment"])
            self.lessons.tell(self._environment)  # what the settings say of them by now
            self.collector.roster.discover(self._environment.behavior_specs)
        missing = sorted(set(state["collector"]["behaviors"]) - set(self.behaviors))
        if missing:
            raise CheckpointError(
                "the checkpoint has behaviors the game does not announce",
                where=where,
                found=", ".join(missing),
                expected=", ".join(self.behaviors),
            )
        self.collector.restore(state["collector"])
        marks = state["marks"]
        self._marks = _Marks(dict(marks["summary"]), dict(marks["checkpoint"]), dict(marks["reward"]))
        self._earlier_wall_time_s = float(state["wall_time_s"])
        self._started_at = self._clock()
        self._timers.restore(state["timers"])
        self._exporter.written = self._folder.exported_models(self.behaviors)
        if not is_put_back:
            self.collector.forget_episodes()
            self._observer.on_message("the game can't be put back to where it was; its episodes begin anew")
