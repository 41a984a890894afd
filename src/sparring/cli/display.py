"""What a person sees while a run goes on: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.logging import RichHandler
from rich.table import Table
from rich.text import Text

from sparring.selfplay import LineupEvent
from sparring.training.evaluation import EvaluationRow
from sparring.training.progress import BehaviorProgress, RunProgress
from sparring.training.session import RatingLine, RunReport

__all__ = ["TrainingDisplay", "evaluation_table", "print_report", "ratings_table"]

_BAR_WIDTH = 16
_EVENTS_SHOWN = frozenset({"turn", "warning"})


class TrainingDisplay:
    """Shows a run; a context manager, for it owns the screen's lower lines and the log handler meanwhile."""

    def __init__(self, console: Console, *, is_verbose: bool = False) -> None:
        self._console = console
        self._handler = RichHandler(
            console=console, show_path=False, show_time=False, markup=False, rich_tracebacks=False
        )
        self._level = logging.DEBUG if is_verbose else logging.INFO
        self._level_before = logging.NOTSET
        self._live = Live(console=console, refresh_per_second=4, transient=True) if console.is_terminal else None

    def __enter__(self) -> TrainingDisplay:
        logger = logging.getLogger("sparring")
        logger.addHandler(self._handler)
        self._level_before = logger.level
        logger.setLevel(self._level)
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
        logger = logging.getLogger("sparring")
        logger.removeHandler(self._handler)
        logger.setLevel(self._level_before)

    def on_message(self, text: str) -> None:
        """As `Observer.on_message`."""
        self._console.print(Text(text))

    def on_event(self, event: LineupEvent) -> None:
        """As `Observer.on_event`: turns and warnings are said, snapshots and draws only where all is wanted."""
        if event.kind in _EVENTS_SHOWN or self._level == logging.DEBUG:
            style = "yellow" if event.kind == "warning" else "cyan"
            self._console.print(Text(f"{event.behavior}: {event.text}" if event.behavior else event.text, style=style))

    def on_progress(self, progress: RunProgress) -> None:
        """As `Observer.on_progress`."""
        if self._live is not None:
            self._live.update(_progress_panel(progress))

    def on_evaluation(self, row: EvaluationRow) -> None:
        """As `Observer.on_evaluation`."""
        if self._live is not None:
            self._live.update(Text(f"playing matches: {row.side} against {row.against} done"))


def _progress_panel(progress: RunProgress) -> Group:
    table = Table(expand=False, pad_edge=False, box=None, header_style="bold")
    for heading in ("behavior", "learned", "", "reward", "rating", "entropy", "now"):
        table.add_column(heading, no_wrap=True)
    for behavior in progress.behaviors:
        table.add_row(*_behavior_cells(behavior))
    waits = [Text(line, style="dim") for line in progress.waits]
    return Group(table, *waits, Text(_footer(progress), style="dim"))


def _behavior_cells(behavior: BehaviorProgress) -> list[Text]:
    part = min(1.0, behavior.steps / behavior.max_steps)
    filled = round(part * _BAR_WIDTH)
    rating = "" if behavior.rating is None else f"{behavior.rating:.0f} ± {behavior.uncertainty or 0.0:.0f}"
    now = f"learns against {behavior.opponents}" if behavior.opponents else "learns"
    return [
        Text(behavior.name),
        Text(f"{behavior.steps:,} / {behavior.max_steps:,}"),
        Text("━" * filled, style="green") + Text("━" * (_BAR_WIDTH - filled), style="bright_black"),
        Text("-" if behavior.mean_return is None else f"{behavior.mean_return:.3f}"),
        Text(rating),
        Text("-" if behavior.entropy is None else f"{behavior.entropy:.2f}"),
        Text(now if behavior.is_learning else "plays as opponent", style="cyan" if behavior.is_learning else "dim"),
    ]


def _footer(progress: RunProgress) -> str:
    speed = "-" if progress.steps_per_s is None else f"{progress.steps_per_s:,.0f} steps/s"
    left = "-" if progress.time_left_s is None else _duration(progress.time_left_s)
    shares = ", ".join(
        f"{name} {share:.0%}" for name, share in sorted(progress.shares.items(), key=lambda item: -item[1])
    )
    return f"{speed} · {_duration(progress.wall_time_s)} so far, {left} left · time: {shares} · Ctrl-C saves and leaves"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def evaluation_table(rows: Sequence[EvaluationRow]) -> Table:
    """Wins, draws and losses, with the score and its 95 % interval."""
    table = Table(title="Matches", title_justify="left", header_style="bold")
    for heading, justify in (("side", "left"), ("against", "left"), ("win", "right"), ("draw", "right")):
        table.add_column(heading, justify="right" if justify == "right" else "left")
    table.add_column("loss", justify="right")
    table.add_column("score", justify="right")
    table.add_column("95 % interval", justify="right")
    for row in rows:
        tally = row.tally
        low, high = tally.interval
        table.add_row(
            row.side,
            row.against,
            str(tally.wins),
            str(tally.draws),
            str(tally.losses),
            f"{tally.score:.3f}" if tally.matches else "-",
            f"{low:.3f} - {high:.3f}",
        )
    return table


def ratings_table(ratings: Sequence[RatingLine]) -> Table:
    """Ratings with their uncertainty and the matches behind them."""
    table = Table(title="Ratings", title_justify="left", header_style="bold")
    table.add_column("player")
    for heading in ("rating", "±", "matches"):
        table.add_column(heading, justify="right")
    for line in ratings:
        table.add_row(line.player, f"{line.value:.1f}", f"{line.uncertainty:.0f}", str(line.games))
    return table


def print_report(console: Console, report: RunReport) -> None:
    """The run's folder, ratings, results and models."""
    if report.ratings:
        console.print(ratings_table(report.ratings))
    if report.rows:
        console.print(evaluation_table(report.rows))
    for model in report.models:
        console.print(Text(f"model: {model}"), soft_wrap=True)
    console.print(Text(f"run:   {report.folder} ({report.steps:,} steps)"), soft_wrap=True)
