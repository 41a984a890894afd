"""Whose turn it is to learn, when snapshots are saved and when opponents are drawn anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sparring.settings import BehaviorSettings, SelfPlaySettings

__all__ = ["BehaviorClock", "TurnSchedule", "describe_schedule"]


@dataclass(slots=True)
class BehaviorClock:
    """The counters of one behavior, in agent steps.

    Attributes:
        learner_steps: steps its learner has learned from.
        opponent_steps: steps its non-learning teams have played.
        last_save, turn_start: learner steps at the last snapshot and at the start of its turn.
        last_swap: opponent steps at the last draw of its opponents.
    """

    learner_steps: int = 0
    opponent_steps: int = 0
    last_save: int = 0
    turn_start: int = 0
    last_swap: int = 0

    def save_is_due(self, settings: SelfPlaySettings) -> bool:
        """A snapshot is due."""
        return self.learner_steps - self.last_save >= settings.save_steps

    def swap_is_due(self, settings: SelfPlaySettings) -> bool:
        """A draw of opponents is due."""
        return self.opponent_steps - self.last_swap >= settings.swap_steps

    def turn_is_over(self, settings: SelfPlaySettings) -> bool:
        """The turn has lasted team_change steps."""
        return self.learner_steps - self.turn_start >= settings.team_change

    def mark_save(self, settings: SelfPlaySettings) -> None:
        """A snapshot was saved."""
        self.last_save = _last_due(self.last_save, self.learner_steps, settings.save_steps)

    def mark_swap(self, settings: SelfPlaySettings) -> None:
        """Opponents were drawn because it was due."""
        self.last_swap = _last_due(self.last_swap, self.opponent_steps, settings.swap_steps)

    def end_turn(self, settings: SelfPlaySettings) -> None:
        """The turn has passed on; one that was cut short is not made up for."""
        is_whole = self.turn_is_over(settings)
        due = _last_due(self.turn_start, self.learner_steps, settings.team_change)
        self.turn_start = due if is_whole else self.learner_steps


def _last_due(last: int, now: int, interval: int) -> int:
    """The step at which something that was done at `last` was due most recently; several missed ones are one."""
    return now - (now - last) % interval


class TurnSchedule:
    """The one team that learns at a time, and the clocks of all behaviors that play themselves.

    Teams take turns in ascending order of their ids, however they were announced. A team whose learners have
    finished is passed over. Intervals are counted from the step at which something was due, not from the step
    at which it was noticed, so they do not drift.
    """

    def __init__(self) -> None:
        self._teams: dict[int, list[str]] = {}
        self._clocks: dict[str, BehaviorClock] = {}
        self.learning_team: int | None = None

    @property
    def teams(self) -> list[int]:
        """The team ids seen so far, ascending."""
        return sorted(self._teams)

    def clock(self, behavior: str) -> BehaviorClock:
        """The counters of a behavior."""
        return self._clocks[behavior]

    def add(self, behavior: str, team: int) -> None:
        """Makes a team of a behavior known; it may come at any time. The lowest id of the first step begins."""
        self._clocks.setdefault(behavior, BehaviorClock())
        behaviors = self._teams.setdefault(team, [])
        if behavior not in behaviors:
            behaviors.append(behavior)

    def begin(self) -> bool:
        """Gives the first turn once there are teams; True only then."""
        if self.learning_team is not None or not self._teams:
            return False
        self.learning_team = self.teams[0]
        return True

    def behaviors_of(self, team: int) -> list[str]:
        """The behaviors that have the team."""
        return list(self._teams.get(team, ()))

    def is_learning(self, behavior: str, team: int) -> bool:
        """The team of this behavior is the one that learns."""
        return team == self.learning_team and behavior in self._teams.get(team, ())

    def turn_is_over(self, settings: Mapping[str, BehaviorSettings], finished: Callable[[str], bool]) -> bool:
        """Some behavior of the learning team has had its turn, or all of them have nothing left to learn."""
        if self.learning_team is None:
            return False
        learners = self._teams[self.learning_team]
        if all(finished(behavior) for behavior in learners):
            return True
        return any(self._clocks[name].turn_is_over(_self_play(settings[name])) for name in learners)

    def next_team(self, finished: Callable[[str], bool]) -> int | None:
        """The team after the learning one that still has something to learn; None when only it, or nobody, has."""
        order = self.teams
        if self.learning_team is None:
            return None
        start = order.index(self.learning_team)
        for offset in range(1, len(order)):
            team = order[(start + offset) % len(order)]
            if not all(finished(behavior) for behavior in self._teams[team]):
                return team
        return None

    def pass_turn(self, team: int, settings: Mapping[str, BehaviorSettings]) -> None:
        """Ends the learning team's turn and gives the next one to a team, which may be the same."""
        if self.learning_team is not None:
            for behavior in self._teams[self.learning_team]:
                self._clocks[behavior].end_turn(_self_play(settings[behavior]))
        self.learning_team = team

    def state(self) -> dict[str, Any]:
        """Everything the schedule holds."""
        return {
            "learning_team": self.learning_team,
            "teams": [[team, list(behaviors)] for team, behaviors in self._teams.items()],
            "clocks": {name: asdict(clock) for name, clock in self._clocks.items()},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Puts back what `state` gave."""
        self.learning_team = state["learning_team"]
        self._teams = {int(team): list(behaviors) for team, behaviors in state["teams"]}
        self._clocks = {name: BehaviorClock(**clock) for name, clock in state["clocks"].items()}


def _self_play(settings: BehaviorSettings) -> SelfPlaySettings:
    assert settings.self_play is not None, "only behaviors with self_play take turns"
    return settings.self_play


def describe_schedule(
    settings: Mapping[str, BehaviorSettings], seats: Mapping[tuple[str, int], int]
) -> tuple[list[str], list[str]]:
    """The schedule in plain words, and warnings about what would not work.

    Args:
        settings: by behavior name; those without self_play are skipped.
        seats: number of agents by (behavior, team).

    Returns:
        Lines for the person, and warnings.
    """
    lines: list[str] = []
    warnings: list[str] = []
    taking_turns = {seat: agents for seat, agents in seats.items() if settings[seat[0]].self_play is not None}
    teams = {team for _, team in taking_turns}
    if len(teams) == 1:
        warnings.append("self_play is set but only one team has appeared: there is nobody to play against yet")
    for (name, team), agents in sorted(taking_turns.items(), key=lambda item: (item[0][1], item[0][0])):
        plan = _self_play(settings[name])
        lines.append(
            f"{name} (team {team}{_counted(agents)}) learns for {plan.team_change:,} steps a turn and saves a snapshot "
            f"every {plan.save_steps:,} of them; the last {plan.window} can be met."
        )
        if plan.team_change > settings[name].max_steps and len(teams) > 1:
            warnings.append(
                f"{name}: team_change ({plan.team_change:,}) is larger than max_steps ({settings[name].max_steps:,}), "
                "so its opponents never meet it half-trained; lower team_change to a few times save_steps"
            )
        for rival in sorted({other for other, its_team in taking_turns if its_team != team}):
            met = {its_team: count for (other, its_team), count in taking_turns.items() if other == rival}
            met.pop(team, None)
            line, warning = _describe_draws(name, plan, agents, rival, met, _self_play(settings[rival]))
            lines.append(line)
            warnings += warning
    return lines, list(dict.fromkeys(warnings))


def _describe_draws(
    name: str, plan: SelfPlaySettings, agents: int, rival: str, met: Mapping[int, int], draws: SelfPlaySettings
) -> tuple[str, list[str]]:
    """How often a rival is drawn anew; `met` are its agents by team. Nobody has been counted yet: one each."""
    opponent_steps = plan.team_change * sum(max(1, count) for count in met.values()) / max(1, agents)
    swaps = opponent_steps / draws.swap_steps
    where = ("team " if len(met) == 1 else "teams ") + ", ".join(str(team) for team in sorted(met))
    line = (
        f"  It meets {rival} ({where}), drawn anew about {swaps:.1f} times a turn "
        f"(every {draws.swap_steps:,} steps of {rival}): {draws.play_against_latest_model_ratio:.0%} the latest, "
        "else a snapshot. A draw takes effect in each arena when its next match begins."
    )
    if swaps >= 1:
        return line, []
    warning = (
        f"{rival}: swap_steps ({draws.swap_steps:,}) is longer than a turn of {name}, so a turn sees no change of "
        f"opponents; swap_steps {max(1, int(opponent_steps / 4)):,} would give four"
    )
    return line, [warning]


def _counted(agents: int) -> str:
    return f", {agents} agent{'' if agents == 1 else 's'}" if agents else ""
