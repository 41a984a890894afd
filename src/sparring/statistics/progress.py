"""Where a run stands, when a summary is due, and when silence deserves a hint."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Progress", "SilentWindows", "summary_due"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The five counters every record carries, so that a curve can be drawn over any of them."""

    step: int
    """Decision steps of the category's learner, all its agents: the label of the record, never rounded."""
    environment_steps: int
    """Times any environment of the run was advanced."""
    episodes: int
    """Episodes the category's agents finished."""
    updates: int
    """Updates of the learner."""
    wall_time_s: float
    """Seconds trained, earlier parts of a resumed run included."""


def summary_due(previous_step: int, step: int, *, frequency: int) -> bool:
    """Whether a multiple of `frequency` lies after `previous_step` and not after `step`.

    Ask after the steps up to `step` have been recorded: what ends exactly on a boundary then belongs to the window
    that the boundary closes. Several boundaries passed at once make one summary.
    """
    return step // frequency > previous_step // frequency


class SilentWindows:
    """Counts windows in a row without a finished episode, per category.

    A window without an episode may be a long episode; several in a row are more often a game that never ends one.
    """

    HINT = (
        "No episode has ended in {windows} summaries. Likely causes: episodes longer than the summary frequency "
        "(raise summary_freq), agents without a step limit that never end their episode, agents that never ask for "
        "a decision, or a game that waits for something."
    )

    def __init__(self, limit: int = 3) -> None:
        self._limit = limit
        self._silent: dict[str, int] = {}

    def hint(self, category: str, *, episodes_finished: int) -> str | None:
        """Takes note of one window; gives the hint when it is the `limit`-th silent one in a row, once per silence."""
        silent = 0 if episodes_finished else self._silent.get(category, 0) + 1
        self._silent[category] = silent
        return self.HINT.format(windows=silent) if silent == self._limit else None
