"""One environment step: read the agents, record what came of their decisions, learn, seat, act, advance.

The order within a step is what the rest relies on:

1. every behavior's columns are read and pass the door;
2. ended episodes complete their last decision, and matches that are over are rated;
3. agents that go on complete their last decision and append the next observation;
4. learners with a full rollout learn, before anybody acts;
5. snapshots are saved, the turn is passed, opponents are drawn;
6. arenas whose match is over start the next one with the lineup of now;
7. lessons that are learned give way to the next ones;
8. everybody acts, and the game advances; or it begins anew, where the next lesson wants that.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sparring.environments import Environment
from sparring.errors import NonFiniteError
from sparring.networks.policy import Policy
from sparring.rollouts import NO_ROW, AgentTable, RowStatus
from sparring.selfplay import LIVE, UNSEATED, Lineup, LineupEvent
from sparring.settings import RunSettings
from sparring.specs import BehaviorId
from sparring.statistics import Statistics, Timers
from sparring.steps import DecisionSteps, TerminalSteps
from sparring.training.acting import Asking, act_for_all, joined_mask
from sparring.training.behavior import BehaviorTraining
from sparring.training.door import check_steps, clean_steps
from sparring.training.lessons import Advance, Lessons
from sparring.training.reports import Reports
from sparring.training.roster import MakeLearner, Roster
from sparring.training.seeds import SeedStreams

__all__ = ["Collector"]

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Read:
    """The columns of one behavior on one team in this step."""

    behavior: BehaviorId
    training: BehaviorTraining
    table: AgentTable
    seat: int
    decision: DecisionSteps
    terminal: TerminalSteps
    slots: NDArray[np.int64]
    spoiled: NDArray[np.bool_]
    inputs: list[NDArray[np.float32]]
    mask: NDArray[np.bool_] | None


class Collector:
    """Steps a game, records experience by slot, and lets learners learn from it.

    Args:
        environment: the game, already reset.
        settings: of the run.
        make_learner: makes the learner of a behavior the first time the game announces it.
        lineup: self-play.
        statistics, timers: where numbers go.
        generator: the stream of sampled actions.
        lessons: of the environment parameters, which the game was told of; none without it.
        second_thread: lets snapshots act beside the learner; results do not depend on it.

    Attributes:
        roster: who takes part, and who of them learns.
        advance: the lessons that began in the latest step, None if none did.
    """

    def __init__(
        self,
        environment: Environment,
        settings: RunSettings,
        *,
        make_learner: MakeLearner,
        lineup: Lineup,
        statistics: Statistics,
        timers: Timers,
        generator: torch.Generator,
        lessons: Lessons | None = None,
        second_thread: Executor | None = None,
    ) -> None:
        self.environment = environment
        self.lineup = lineup
        self.lessons = Lessons({}, SeedStreams(0)) if lessons is None else lessons
        self.advance: Advance | None = None
        self.roster = Roster(settings, make_learner=make_learner, lineup=lineup, statistics=statistics)
        self.behaviors = self.roster.behaviors
        self.environment_steps = 0
        self.dropped_episodes = 0
        self.lost_arenas = 0
        self._settings = settings
        self._statistics = statistics
        self._timers = timers
        self._generator = generator
        self._second_thread = second_thread
        self._reports = Reports(self.roster, lineup, self.lessons, statistics)
        self._noticed: set[str] = set()
        self._failure: NonFiniteError | None = None
        self.roster.discover(environment.behavior_specs)

    # -- one step ----------------------------------------------------------------------------------------------

    def step(self) -> list[LineupEvent]:
        """Advances the game by one step; gives what self-play did meanwhile.

        Raises:
            NonFiniteError: the game or an update gave something that is not finite.
            SettingsError: the game announced a behavior the settings do not cover.
        """
        if len(self.environment.behavior_specs) != len(self.roster.ids):
            self.roster.discover(self.environment.behavior_specs)
        self._lose(self.environment.take_lost_arenas())
        learning = self.roster.learning_names()
        with self._timers.phase("bookkeeping"):
            reads = [self._read(full_name) for full_name in self.roster.ids]
            for read in reads:
                self._end_episodes(read)
            over, results, events = self.lineup.record_finished()
            self._reports.add_matches(results)
            for read in reads:
                self._go_on(read)
        with self._timers.phase("update"):
            self._learn()
        with self._timers.phase("bookkeeping"):
            events += self._advance_lineup()
            self.lineup.seat_arenas(np.union1d(over, self.lineup.overdue()))
            self._advance_lessons()
        begins_anew = self.advance is not None and self.advance.requires_reset
        if not begins_anew:
            with self._timers.phase("inference"):
                self._act(reads)
        with self._timers.phase("game"):
            if begins_anew:
                self.forget_episodes()
                self.environment.reset()
            else:
                self.environment.step()
            # A step in which the last learner finishes is still told by those who learned when it began.
            names = self.roster.learning_names() or learning
            self._reports.add_environment(self.environment.take_statistics(), names)
        self.environment_steps += 1
        if self._failure is not None:
            raise self._failure
        return events

    def _lose(self, arenas: NDArray[np.int64]) -> None:
        """Arenas began anew without a word: decisions without an outcome are cut off, and their matches don't count."""
        if len(arenas) == 0:
            return
        self.lost_arenas += len(arenas)
        for behavior in self.roster.ids.values():
            training = self.behaviors[behavior.name]
            table = training.tables[behavior]
            slots = np.flatnonzero(table.is_open & np.isin(table.arena, arenas))
            pending = table.row[slots]
            training.rollout.abandon(pending[pending != NO_ROW])
            table.close_episodes(slots)
            table.free_closed()
        self.lineup.book.forget_matches(arenas)
        self.lessons.forget_matches(arenas.tolist())

    def _read(self, full_name: str) -> _Read:
        behavior = self.roster.ids[full_name]
        training = self.behaviors[behavior.name]
        table = training.tables[behavior]
        decision, terminal = self.environment.get_steps(full_name)
        slots, spoiled = self._pass_door(behavior, training, table, decision, terminal)
        seat = self.lineup.book.seat(behavior)
        inputs = training.layout.inputs(decision.obs)
        mask = joined_mask(decision)
        return _Read(behavior, training, table, seat, decision, terminal, slots, spoiled, inputs, mask)

    def _pass_door(
        self,
        behavior: BehaviorId,
        training: BehaviorTraining,
        table: AgentTable,
        decision: DecisionSteps,
        terminal: TerminalSteps,
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Checks the columns; gives the slots of the agents that ask, and which of them were sent something faulty.

        Episodes that end with something faulty are dropped at once, if so set; those that ask with it are dropped
        when it is known whether they go on or begin.
        """
        if self._settings.non_finite == "stop":
            for steps in (terminal, decision):
                check_steps(behavior, training.spec, steps, environment_step=self.environment_steps)
            slots = table.find_or_add(decision.agent_id, decision.arena_id)
            return slots, np.zeros(len(slots), np.bool_)
        bad_ends = clean_steps(training.spec, terminal)
        spoiled = clean_steps(training.spec, decision)
        slots = table.find_or_add(decision.agent_id, decision.arena_id)
        ending = table.find(terminal.agent_id)[bad_ends]
        self._drop(behavior, training, table, ending[ending >= 0])
        return slots, spoiled

    def _drop(
        self, behavior: BehaviorId, training: BehaviorTraining, table: AgentTable, slots: NDArray[np.int64]
    ) -> None:
        slots = slots[table.is_open[slots] & ~table.is_dropped[slots]]
        if len(slots) == 0:
            return
        recorded = slots[table.row[slots] != NO_ROW]
        training.rollout.drop(table.trajectory[recorded])
        table.row[slots] = NO_ROW
        table.is_dropped[slots] = True
        self.dropped_episodes += len(slots)
        _log.warning(
            "%s: dropped %d episode(s) with numbers that are not finite; %d so far",
            behavior,
            len(slots),
            self.dropped_episodes,
        )

    # -- what came of the last decisions -------------------------------------------------------------------------

    def _end_episodes(self, read: _Read) -> None:
        terminal, table = read.terminal, read.table
        if len(terminal) == 0:
            return
        slots = table.find(terminal.agent_id)
        known = (slots >= 0) & table.is_open[slots]
        if not known.all():
            self._notice_once(f"{read.behavior}: an agent ended that had not asked for a decision; ignored")
        slots = slots[known]
        reward = terminal.reward[known] + terminal.group_reward[known]
        interrupted = terminal.interrupted[known]
        self._complete_ended(read, slots, known, reward, interrupted)
        table.returns[slots] += terminal.reward[known]
        table.group_returns[slots] += terminal.group_reward[known]
        score = None if terminal.match_score is None else terminal.match_score[known]
        self.lineup.book.add_terminals(read.seat, table.arena[slots], reward, interrupted, score)
        self._reports.add_episodes(read.behavior, table, slots, grouped=terminal.group_id[known] != 0)
        table.close_episodes(slots)

    def _complete_ended(
        self,
        read: _Read,
        slots: NDArray[np.int64],
        known: NDArray[np.bool_],
        reward: NDArray[np.float32],
        interrupted: NDArray[np.bool_],
    ) -> None:
        """Completes last decisions; the future of an interrupted one is estimated at the agent's last observation."""
        rows = read.table.row[slots]
        recorded = rows != NO_ROW
        if not recorded.any():
            return
        rows = rows[recorded]
        cut = interrupted[recorded]
        rollout = read.training.rollout
        tails = np.full(len(rows), NO_ROW, np.int64)
        kept = np.full_like(cut, True) if rollout.keeps_ends else cut
        if kept.any():
            whole = read.training.layout.inputs(read.terminal.obs)
            ended = slots[recorded][kept]
            tails[kept] = rollout.append(
                [column[known][recorded][kept] for column in whole],
                None,
                read.table.trajectory[ended],
                status=RowStatus.TAIL,
                memory=read.table.memory[ended],
                group=read.terminal.group_id[known][recorded][kept],
                moment=self.environment_steps,
            )
        rollout.complete(
            rows,
            reward[recorded],
            next_row=tails,
            terminated=~cut,
            group_reward=read.terminal.group_reward[known][recorded],
            moment=self.environment_steps,
        )
        read.training.steps += len(rows)

    def _go_on(self, read: _Read) -> None:
        """Completes the decisions of agents that ask again, and opens the episodes of those that are new."""
        decision, table, slots = read.decision, read.table, read.slots
        if len(slots) == 0:
            table.free_closed()
            return
        opened = table.open_episodes(slots, decision.arena_id)
        self.lineup.book.make_room(int(table.arena[slots].max()) + 1)
        if read.spoiled.any():
            self._drop(read.behavior, read.training, table, slots[read.spoiled])
        reward = decision.reward + decision.group_reward
        going = ~opened
        table.returns[slots[going]] += decision.reward[going]
        table.group_returns[slots[going]] += decision.group_reward[going]
        table.length[slots] += 1
        self.lineup.book.add_decisions(read.seat, table.arena[slots], np.where(going, reward, 0.0), opened)
        rows = table.row[slots]
        recorded = np.flatnonzero(rows != NO_ROW)
        if len(recorded):
            self._link(read, recorded, reward[recorded])
        table.free_closed()

    def _link(self, read: _Read, places: NDArray[np.int64], reward: NDArray[np.float32]) -> None:
        """Completes recorded decisions with their reward and appends the observation that follows."""
        table, slots, training = read.table, read.slots[places], read.training
        next_rows = training.rollout.append(
            [column[places] for column in read.inputs],
            None if read.mask is None else read.mask[places],
            table.trajectory[slots],
            memory=table.memory[slots],
            group=read.decision.group_id[places],
            moment=self.environment_steps,
        )
        table.segment[slots] += 1
        cut = table.segment[slots] >= training.settings.time_horizon
        table.segment[slots[cut]] = 0
        training.rollout.complete(
            table.row[slots],
            reward,
            next_row=next_rows,
            cut=cut,
            group_reward=read.decision.group_reward[places],
            moment=self.environment_steps,
        )
        table.row[slots] = next_rows
        training.steps += len(slots)

    # -- learning and self-play ----------------------------------------------------------------------------------

    def _learn(self) -> None:
        for name, training in self.behaviors.items():
            if not training.wants_update():
                continue
            try:
                report = training.update()
            except NonFiniteError as error:
                # The step is finished first, so that what is saved is whole; the experience that broke the
                # update is gone.
                training.empty_rollout()
                self._failure = error
                continue
            for key, value in report.items():
                self._statistics.add(name, key, value)

    def _advance_lineup(self) -> list[LineupEvent]:
        for name in self.lineup.pools:
            clock = self.lineup.schedule.clock(name)
            clock.learner_steps = self.behaviors[name].steps
            clock.opponent_steps = self.behaviors[name].opponent_steps
        live = {name: training.policy for name, training in self.behaviors.items()}
        events = self.lineup.advance(live, lambda name: self.behaviors[name].is_finished)
        for behavior in self.roster.ids.values():
            if not self.roster.learns(behavior):
                self.behaviors[behavior.name].stop_recording(behavior)
        return events

    def _advance_lessons(self) -> None:
        """Tells the game of the lessons that begin; what is under way there is still of the old ones."""
        for name, training in self.behaviors.items():
            rating = self.lineup.ratings.get(name)
            progress = training.steps / training.settings.max_steps
            self.lessons.set_measures(name, progress=progress, rating=None if rating is None else rating.value)
        under_way = np.flatnonzero((self.lineup.book.player != UNSEATED).any(axis=1))
        self.advance = self.lessons.advance(under_way.tolist())
        if self.advance is None:
            return
        self.lessons.tell(self.environment, self.advance.parameters)
        for training in self.behaviors.values():
            for table in training.tables.values():
                table.is_outdated[table.is_open] = True

    # -- acting --------------------------------------------------------------------------------------------------

    def _act(self, reads: list[_Read]) -> None:
        for name, training in self.behaviors.items():
            group = [read for read in reads if read.behavior.name == name and len(read.slots)]
            has_memory = training.policy.memory_size > 0
            asking = [
                Asking(
                    read.inputs,
                    read.mask,
                    self.lineup.book.player[read.table.arena[read.slots], read.seat],
                    read.table.memory[read.slots] if has_memory else None,
                )
                for read in group
            ]
            if asking:
                act_for_all(
                    asking,
                    lambda number, training=training: self._policy_of(training, number),  # type: ignore[misc]
                    self._generator,
                    deterministic=training.settings.network_settings.deterministic,
                    second_thread=self._second_thread,
                )
            for read, asked in zip(group, asking, strict=True):
                self._record(read, asked)
                if asked.output is not None and asked.output.memory is not None:
                    read.table.memory[read.slots] = asked.output.memory
                assert asked.actions is not None, "every agent that asked was given an action"
                self.environment.set_actions(str(read.behavior), asked.actions)

    def _policy_of(self, training: BehaviorTraining, number: int) -> Policy:
        return training.policy if number == LIVE else self.lineup.pools[training.name][number].policy

    def _record(self, read: _Read, asked: Asking) -> None:
        """Enters the learner's decisions into its rollout; only rows it learns from are copied."""
        training, table = read.training, read.table
        if not self.roster.learns(read.behavior):
            if self.lineup.schedule.learning_team is not None:
                training.opponent_steps += len(read.slots)
            return
        rows = np.flatnonzero(asked.player == LIVE)
        if len(rows) == 0:
            return
        assert asked.output is not None, "everybody who asked was given an action"
        chosen = asked.output
        slots = read.slots[rows]
        kept = ~table.is_dropped[slots]
        new = kept & (table.row[slots] == NO_ROW)
        if new.any():
            table.begin_trajectories(slots[new], training.rollout.begin_trajectories(int(new.sum())))
            table.row[slots[new]] = training.rollout.append(
                [column[rows[new]] for column in read.inputs],
                None if read.mask is None else read.mask[rows[new]],
                table.trajectory[slots[new]],
                memory=table.memory[slots[new]],
                group=read.decision.group_id[rows[new]],
                moment=self.environment_steps,
            )
        training.rollout.set_actions(
            table.row[slots[kept]],
            continuous=chosen.continuous[rows[kept]],
            discrete=chosen.discrete[rows[kept]],
            log_prob=chosen.log_prob[rows[kept]],
        )
        entropy = chosen.entropy[rows]
        training.recent_entropy = float(entropy.mean())
        self._statistics.add_many(training.name, "Policy/Entropy", entropy)

    def _notice_once(self, text: str) -> None:
        if text not in self._noticed:
            self._noticed.add(text)
            _log.warning("%s", text)

    # -- state ---------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Everything but the game itself."""
        return {
            "behaviors": {name: training.state() for name, training in self.behaviors.items()},
            "lineup": self.lineup.state(),
            "environment_steps": self.environment_steps,
            "dropped_episodes": self.dropped_episodes,
            "generator": self._generator.get_state().numpy().copy(),
        }

    def forget_episodes(self) -> None:
        """The game began anew: no agent of before is there, and what it did last leads nowhere."""
        for behavior in self.roster.ids.values():
            training = self.behaviors[behavior.name]
            training.stop_recording(behavior)
            training.tables[behavior] = training.new_table()
        self.lineup.book.forget_matches()
        self.lessons.forget_matches()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Puts back what `state` gave; the game must have announced the same behaviors."""
        for name, training_state in state["behaviors"].items():
            self.behaviors[name].restore(training_state)
        live = {name: training.policy for name, training in self.behaviors.items()}
        self.lineup.restore(state["lineup"], live)
        self.environment_steps = int(state["environment_steps"])
        self.dropped_episodes = int(state["dropped_episodes"])
        self._generator.set_state(torch.from_numpy(np.array(state["generator"])))
