"""Starting and ending a run: from settings to a report, the one function the command line calls."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import torch

from sparring.environments import Environment
from sparring.errors import SettingsError, SpecError
from sparring.networks.policy import Policy
from sparring.runs import (
    CheckpointChoice,
    LoadedCheckpoint,
    RunFolder,
    configuration_text,
    installed,
)
from sparring.settings import RunSettings
from sparring.statistics import Statistics, check_writers
from sparring.training.device import arithmetic_threads, choose_device, one_network_threads
from sparring.training.evaluation import Contestants, EvaluationRow, duel
from sparring.training.games import is_editor, is_started, open_game
from sparring.training.lessons import Lessons
from sparring.training.progress import Observer, SilentObserver
from sparring.training.refusals import check_can_run, start_mode
from sparring.training.run import TrainingRun
from sparring.training.seeds import SeedStreams, draw_seed
from sparring.worlds.registry import CreateWorld

__all__ = ["RatingLine", "RunReport", "evaluate_run", "export_run", "policies_of_run", "run_training"]

_log = logging.getLogger(__name__)

_EVALUATION_ARENAS = 32


@dataclass(frozen=True, slots=True)
class RatingLine:
    """The rating of a behavior's learner or of one of its snapshots."""

    player: str
    value: float
    uncertainty: float
    games: int


@dataclass(slots=True)
class RunReport:
    """What a run came to."""

    folder: Path
    was_interrupted: bool = False
    steps: int = 0
    ratings: list[RatingLine] = field(default_factory=list)
    rows: list[EvaluationRow] = field(default_factory=list)
    models: list[Path] = field(default_factory=list)


def run_training(
    settings: RunSettings,
    *,
    observer: Observer,
    should_stop: Callable[[], bool] = lambda: False,
    resume_from: CheckpointChoice = "newest",
    make_game: CreateWorld | None = None,
    origins: Mapping[tuple[str | int, ...], str] | None = None,
) -> RunReport:
    """Trains as the settings say: a new run, one that is resumed, or one started anew.

    Args:
        settings: complete; a seed of -1 is drawn and written down.
        observer: who watches.
        should_stop: asked at every step; True saves, exports and leaves.
        resume_from: which checkpoint a resumed run goes on from.
        make_game: makes the game, for a game of one's own; without it the settings name a built-in world.
        origins: where each setting came from, for the stored file.

    Raises:
        SparringError: a mistake of the user's; nothing was started.
        NonFiniteError: something became NaN or infinite; the state before it is on disk.
    """
    start = settings.checkpoint_settings
    mode = start_mode(settings)
    check_writers(settings.writers)
    check_can_run(settings)
    device, why = choose_device(settings.torch_settings.device or "auto")
    threads = arithmetic_threads(settings.torch_settings.threads)
    if settings.env_settings.seed < 0:
        seeded = settings.env_settings.model_copy(update={"seed": draw_seed()})
        settings = settings.model_copy(update={"env_settings": seeded})
    weights = _weights_to_start_from(settings) if start.initialize_from and mode != "resume" else {}
    with ExitStack() as stack:
        folder = stack.enter_context(RunFolder.planned(start.results_dir, start.run_id, mode))
        refusal = stack.push(_Refusal(folder))
        checkpoint = None
        if mode == "resume":  # locked first: another process might be writing what is read now
            folder.begin(mode)
            checkpoint = folder.checkpoints().load(resume_from)
        if mode == "new" and is_started(settings, make_game):
            folder.begin(mode)  # the game's logs go there, and are all that is left of a game that doesn't start
            refusal.is_possible = True
        environment = stack.enter_context(
            open_game(
                settings,
                make_game,
                num_areas=settings.env_settings.num_areas,
                on_wait=observer.on_message,
                should_stop=should_stop,
                log_folder=folder.logs if folder.is_begun else None,
            )
        )
        statistics = stack.enter_context(Statistics({}))
        stack.enter_context(one_network_threads(threads))
        run = TrainingRun(
            settings,
            folder=folder,
            environment=environment,
            statistics=statistics,
            observer=observer,
            device=device,
            threads=threads,
            initial_weights=weights,
            lessons=_rehearsed(_lessons(settings, checkpoint), environment, settings, make_game),
        )
        stack.callback(run.close)
        if checkpoint is not None:
            run.restore(checkpoint)
        # Whatever could be refused was refused; only now is anything on disk moved, made or cut.
        refusal.is_possible = False
        if not folder.is_begun:
            folder.begin(mode)
        for notice in folder.notices:
            observer.on_message(notice)
        folder.write_installation({**installed(), "device": f"{device}: {why}", "threads": threads})
        if checkpoint is not None:
            _go_back_to(checkpoint, folder, observer)
        folder.write_configuration(configuration_text(settings, origins))
        statistics.open_writers(
            folder.path, settings.writers, state=None if checkpoint is None else checkpoint.state["statistics"]
        )
        observer.on_message(f"device {device}: {why}; {threads} thread{'s' if threads > 1 else ''}")
        if checkpoint is not None and run.collector.roster.is_finished:
            observer.on_message(
                "the run has learned max_steps already; raise it with --max-steps to train further "
                "(models and the table are written anew)"
            )
        report = RunReport(folder.path)
        report.was_interrupted = run.train(should_stop=should_stop)
        report.models = run.finish()
        report.steps = run.total_steps
        report.ratings = _rating_lines(run)
        if not report.was_interrupted:
            report.rows = list(_table(run, settings, observer, should_stop, make_game))
    return report


class _Refusal:
    """Takes back a folder that was begun only for the logs of a game, where the settings don't fit that game.

    The logs of a game that breaks are kept: they say why.
    """

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self.is_possible = False

    def __call__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        del kind, trace
        if self.is_possible and isinstance(error, (SettingsError, SpecError)):
            self._folder.discard()


def _lessons(settings: RunSettings, checkpoint: LoadedCheckpoint | None) -> Lessons:
    """The lessons of a run; whether the checkpoint can be gone on from at all is told when the rest is restored."""
    lessons = Lessons(settings.environment_parameters, SeedStreams(settings.env_settings.seed))
    if checkpoint is not None and "lessons" in checkpoint.state:
        lessons.restore(checkpoint.state["lessons"])
    return lessons


def _rehearsed(
    lessons: Lessons, environment: Environment, settings: RunSettings, make_game: CreateWorld | None
) -> Lessons:
    """The lessons, after every value was tried; games over the wire refuse none, and would only be sent them all."""
    if not is_started(settings, make_game) and not is_editor(settings, make_game):
        lessons.rehearse(environment)
    return lessons


def _go_back_to(checkpoint: LoadedCheckpoint, folder: RunFolder, observer: Observer) -> None:
    """Says where a run goes on; curves of steps after an earlier checkpoint are copied before they are cut."""
    observer.on_message(f"resumed from {checkpoint.path} at step {checkpoint.step:,}")
    if max(folder.checkpoints().steps(), default=0) > checkpoint.step:
        copied = folder.copy_curves()
        folder.checkpoints().set_aside_after(checkpoint.step)  # at once: the next save may be of the same step as one
        if copied is not None:
            observer.on_message(f"the curves go on from there; as they were until now they are in {copied}")


def _weights_to_start_from(settings: RunSettings) -> Mapping[str, Any]:
    """The networks of the run named by initialize_from, by behavior."""
    start = settings.checkpoint_settings
    assert start.initialize_from is not None, "asked only when there is a run to start from"
    source = RunFolder.existing(start.results_dir, start.initialize_from)
    state = source.checkpoints().newest().state
    return {name: behavior["learner"]["networks"] for name, behavior in state["collector"]["behaviors"].items()}


def _rating_lines(run: TrainingRun) -> list[RatingLine]:
    lineup = run.collector.lineup
    players = [
        player for name, pool in lineup.pools.items() for player in (name, *(held.player for held in pool.window))
    ]
    rated = [(player, lineup.ratings[player]) for player in players if player in lineup.ratings]
    return [RatingLine(player, entry.value, entry.uncertainty, entry.games) for player, entry in rated]


# -- the table of results ----------------------------------------------------------------------------------------


def _table(
    run: TrainingRun,
    settings: RunSettings,
    observer: Observer,
    should_stop: Callable[[], bool],
    make_game: CreateWorld | None,
) -> Iterator[EvaluationRow]:
    """Final policies against random, against their first snapshot and against that of a third of the way."""
    matches = settings.evaluation.matches
    if matches == 0:
        observer.on_message("no table of results: evaluation.matches is 0")
        return
    if is_editor(settings, make_game):
        observer.on_message("no table of results: the editor is one game; `sparring evaluate` plays with a build")
        return
    if len({behavior.team for own in run.behaviors.values() for behavior in own.tables}) < 2:
        observer.on_message("no table of results: the game has one team, and nobody to play against")
        return
    final: Contestants = {name: training.policy.frozen_copy() for name, training in run.behaviors.items()}
    nobody: Contestants = dict.fromkeys(final)
    opponents: list[tuple[str, Contestants]] = [("random", nobody)]
    for index in range(2):
        earlier = _milestone(run, index)
        if earlier is not None:
            opponents.append(earlier)
    seeds = SeedStreams(settings.env_settings.seed)
    generator = torch.Generator().manual_seed(seeds.number("evaluation actions"))
    rng = seeds.generator("evaluation")
    rule = run.collector.lineup.book.rule
    duels = [("final", final, name, theirs) for name, theirs in opponents]
    duels.insert(1, ("random", nobody, "random", nobody))
    arenas = min(_EVALUATION_ARENAS, matches)
    game = open_game(
        settings,
        make_game,
        num_areas=arenas,
        on_wait=observer.on_message,
        should_stop=should_stop,
        is_evaluation=True,
    )
    with game as environment:
        run.lessons.tell(environment, purpose="evaluation")
        for our_name, ours, their_name, theirs in duels:
            for row in duel(
                environment,
                ours,
                theirs,
                names=(our_name, their_name),
                matches=matches,
                generator=generator,
                rng=rng,
                rule=rule,
                non_finite=settings.non_finite,
                should_stop=should_stop,
            ):
                if row.tally.matches == 0:  # stopped before it began
                    continue
                observer.on_evaluation(row)
                yield row


def _milestone(run: TrainingRun, index: int) -> tuple[str, Contestants] | None:
    """The policies at the start (0) or after a third of the steps (1), if all behaviors have got that far."""
    policies: dict[str, Policy | None] = {}
    steps = []
    for name, training in run.behaviors.items():
        reached = sorted(training.milestones)
        if len(reached) <= index or reached[index] == training.steps:
            return None
        steps.append(reached[index])
        policies[name] = training.policy.with_state(training.milestones[reached[index]])
    if index == 0:
        return "first snapshot", policies
    return ("a third of the way" if len(set(steps)) > 1 else f"snapshot of step {steps[0]:,}"), policies


# -- commands on a run that exists ---------------------------------------------------------------------------------


def evaluate_run(
    settings: RunSettings,
    *,
    observer: Observer,
    checkpoint: CheckpointChoice = "newest",
    should_stop: Callable[[], bool] = lambda: False,
    make_game: CreateWorld | None = None,
) -> RunReport:
    """Repeats the table of a run from one of its checkpoints; changes nothing in its folder."""
    with ExitStack() as stack:
        run, folder = _reopened(settings, stack, observer, checkpoint, make_game)
        report = RunReport(folder.path, steps=run.total_steps, ratings=_rating_lines(run))
        report.rows = list(_table(run, settings, observer, should_stop, make_game))
    return report


def policies_of_run(
    settings: RunSettings, *, checkpoint: CheckpointChoice = "newest", make_game: CreateWorld | None = None
) -> dict[str, Policy | None]:
    """The policies of a run's checkpoint by behavior name, frozen, on the CPU; changes nothing in its folder."""
    with ExitStack() as stack:
        run, _ = _reopened(settings, stack, SilentObserver(), checkpoint, make_game)
        return {name: training.policy.frozen_copy() for name, training in run.behaviors.items()}


def export_run(
    settings: RunSettings,
    *,
    observer: Observer,
    checkpoint: CheckpointChoice = "newest",
    make_game: CreateWorld | None = None,
) -> RunReport:
    """Writes the models of a run from one of its checkpoints.

    Raises:
        RunError: the run is being written now.
        SettingsError: the packages that write models are missing.
        ExportError: a model could not be written.
    """
    start = settings.checkpoint_settings
    with ExitStack() as stack:
        stack.enter_context(RunFolder.open(start.results_dir, start.run_id, "resume"))
        run, folder = _reopened(settings, stack, observer, checkpoint, make_game)
        report = RunReport(folder.path, steps=run.total_steps)
        report.models = run.export_final()
    return report


def _reopened(
    settings: RunSettings,
    stack: ExitStack,
    observer: Observer,
    checkpoint: CheckpointChoice,
    make_game: CreateWorld | None,
) -> tuple[TrainingRun, RunFolder]:
    """A run as it was at a checkpoint, on the CPU, with nobody writing statistics."""
    start = settings.checkpoint_settings
    folder = RunFolder.existing(start.results_dir, start.run_id)
    loaded = folder.checkpoints().load(checkpoint)
    environment = stack.enter_context(
        open_game(settings, make_game, num_areas=settings.env_settings.num_areas, on_wait=observer.on_message)
    )
    statistics = stack.enter_context(Statistics({}))
    threads = arithmetic_threads(settings.torch_settings.threads)
    stack.enter_context(one_network_threads(threads))
    run = TrainingRun(
        settings,
        folder=folder,
        environment=environment,
        statistics=statistics,
        observer=observer,
        device=torch.device("cpu"),
        threads=1,
        lessons=_lessons(settings, loaded),
    )
    stack.callback(run.close)
    run.restore(loaded)
    return run, folder
