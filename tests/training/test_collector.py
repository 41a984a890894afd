"""What a game sends becomes trajectories: each reward counted once, each end at its right worth, nobody mixed up."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sparring.algorithms import Learner
from sparring.environments import Environment
from sparring.errors import NonFiniteError, SettingsError
from sparring.networks import Actor
from sparring.networks.policy import Policy
from sparring.rollouts import Rollout, RowStatus
from sparring.selfplay import LIVE, Lineup
from sparring.settings import BehaviorSettings, RunSettings
from sparring.specs import BehaviorId, BehaviorSpec
from sparring.statistics import Statistics, Timers
from sparring.steps import DecisionSteps, TerminalSteps
from sparring.training.collector import Collector
from sparring.training.roster import settings_for
from tests.builders import TRACED, ScriptedGame, exchange

COMPLETE, PENDING, TAIL, DROPPED = RowStatus.COMPLETE, RowStatus.PENDING, RowStatus.TAIL, RowStatus.DROPPED
ONE = "Duel?team=0"


class RecordingLearner(Learner):
    """Learns nothing and keeps the state of every rollout it was to learn from."""

    def __init__(self, spec: BehaviorSpec, plan: BehaviorSettings) -> None:
        actor = Actor(spec, plan.network_settings, generator=torch.Generator().manual_seed(0))
        self.policy = Policy(spec, actor, device=torch.device("cpu"))
        self.seen: list[dict[str, Any]] = []
        self.failures = 0
        self._plan = plan

    def make_rollout(self) -> Rollout:
        return Rollout(self.policy.layout.input_shapes, self.policy.spec.action_spec, capacity=64)

    def wants_update(self, rollout: Rollout, *, step: int) -> bool:
        return rollout.num_complete >= self._plan.hyperparameters.buffer_size

    def update(self, rollout: Rollout, *, step: int) -> Mapping[str, float]:
        if self.failures:
            self.failures -= 1
            raise NonFiniteError("the update made the policy loss non-finite")
        self.seen.append(rollout.state()["columns"])
        return {"Losses/Policy Loss": float(step)}

    def state(self) -> dict[str, Any]:
        return {"seen": len(self.seen)}

    def restore(self, state: dict[str, Any]) -> None:
        pass

    def take_over(self, networks: Mapping[str, Any]) -> list[str]:
        return []


def collector_of(game: Environment, *, non_finite: str = "stop", buffer_size: int = 10**6, **plan: Any) -> Collector:
    """A collector of the game with learners that record."""
    hyper = {"batch_size": 1, "buffer_size": buffer_size}
    behavior = {"hyperparameters": hyper, "network_settings": {"hidden_units": 4, "num_layers": 1}, **plan}
    run = RunSettings.model_validate({"default_settings": behavior, "non_finite": non_finite})
    game.reset()
    return Collector(
        game,
        run,
        make_learner=lambda name, spec, plan: RecordingLearner(spec, plan),
        lineup=Lineup(rng=np.random.default_rng(0)),
        statistics=Statistics({}),
        timers=Timers(),
        generator=torch.Generator().manual_seed(0),
    )


def collect(scripts: Mapping[str, Sequence[Any]] | Sequence[Any], **options: Any) -> Collector:
    """Plays scripts, or that of `Duel?team=0`, to their end."""
    game = ScriptedGame(scripts if isinstance(scripts, Mapping) else {ONE: scripts})
    collector = collector_of(game, **options)
    for _ in range(game.length):
        collector.step()
    return collector


def only(collector: Collector) -> Any:
    """The one behavior in training."""
    (training,) = collector.behaviors.values()
    return training


Trajectory = tuple[tuple[tuple[float, ...], float, str], ...]
"""For each row what was seen, the reward that followed, and what came of it."""


def trajectories(rollout: Rollout) -> list[Trajectory]:
    """The chains of linked rows, by what their first row saw."""
    columns = rollout.state()["columns"]
    used = range(rollout.size)
    followers = {int(row) for row in columns["next_row"] if row >= 0}
    chains = []
    for head in (row for row in used if row not in followers):
        chain, row = [], head
        while row >= 0:
            chain.append((tuple(columns["input_0"][row].tolist()), float(columns["reward"][row]), _kind(columns, row)))
            row = int(columns["next_row"][row])
        chains.append(tuple(chain))
    return sorted(chains)


def _kind(columns: Mapping[str, NDArray[Any]], row: int) -> str:
    status = RowStatus(int(columns["status"][row]))
    if status != COMPLETE:
        return status.name.lower()
    assert bool(columns["terminated"][row]) == (columns["next_row"][row] < 0)
    return "terminated" if columns["terminated"][row] else "cut" if columns["cut"][row] else "went on"


# -- against a slow reference --------------------------------------------------------------------------------------


class Reference:
    """One object an agent, doing by the book what the collector does by columns."""

    def __init__(self, *, horizon: int) -> None:
        self.horizon = horizon
        self.open: dict[int, list[list[Any]]] = {}
        self.returns: dict[int, float] = {}
        self.finished: list[Trajectory] = []
        self.finished_returns: list[float] = []
        self.steps = 0

    def take(self, decision: DecisionSteps, terminal: TerminalSteps) -> None:
        for agent in terminal:
            if agent in self.open:
                last = terminal[agent]
                self._outcome(agent, last.reward + last.group_reward)
                rows = self.open.pop(agent)
                if last.interrupted:
                    rows[-1][2] = "went on"
                    rows.append([tuple(last.obs[0].tolist()), 0.0, "tail"])
                else:
                    rows[-1][2] = "terminated"
                self._finish(rows)
                self.finished_returns.append(self.returns.pop(agent))
        for agent in decision:
            step = decision[agent]
            seen = tuple(step.obs[0].tolist())
            if agent in self.open:
                self._outcome(agent, step.reward + step.group_reward)
                rows = self.open[agent]
                rows[-1][2] = "cut" if len(rows) % self.horizon == 0 else "went on"
            else:
                self.open[agent], self.returns[agent] = [], 0.0
            self.open[agent].append([seen, 0.0, "pending"])

    def _outcome(self, agent: int, reward: float) -> None:
        self.open[agent][-1][1] = reward
        self.returns[agent] += reward
        self.steps += 1

    def _finish(self, rows: list[list[Any]]) -> None:
        self.finished.append(tuple((seen, reward, kind) for seen, reward, kind in rows))

    def trajectories(self) -> list[Trajectory]:
        going = [tuple((seen, reward, kind) for seen, reward, kind in rows) for rows in self.open.values()]
        return sorted([*self.finished, *going])


@st.composite
def scripts(draw: st.DrawFn, *, agents: int = 4, longest: int = 14) -> list[tuple[DecisionSteps, TerminalSteps]]:
    """Agents that ask, pause, end, are interrupted, begin anew at once and come back later, with odd rewards."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    # Ask; nothing; end; be interrupted; end and ask.
    chances = draw(st.sampled_from([(0.5, 0.2, 0.1, 0.1, 0.1), (0.9, 0.05, 0.0, 0.0, 0.05), (0.3, 0.1, 0.2, 0.2, 0.2)]))
    script = []
    for time in range(draw(st.integers(1, longest))):
        asking, ending = [], []
        for agent in range(agents):
            does = rng.choice(5, p=chances)
            rewards = f"r={int(rng.integers(-99, 99))} g={int(rng.integers(-9, 9))} G{agent % 2}"
            if does in (0, 4):
                asking.append(f"{agent} {rewards}")
            if does in (2, 3, 4):
                how = "int" if does == 3 or rng.random() < 0.3 else "end"
                ending.append(f"{agent} r={int(rng.integers(-99, 99))} g={int(rng.integers(-9, 9))} {how}")
        rng.shuffle(asking)
        script.append(exchange(f"D[{', '.join(asking)}] T[{', '.join(ending)}]", time=time))
    return script


@settings(max_examples=40)
@given(script=scripts(), horizon=st.integers(1, 6))
def test_every_agent_gets_the_trajectories_of_the_reference(script: Any, horizon: int) -> None:
    reference = Reference(horizon=horizon)
    for decision, terminal in script:
        reference.take(decision, terminal)
    training = only(collect(script, time_horizon=horizon))
    assert trajectories(training.rollout) == reference.trajectories()
    assert training.steps == reference.steps == training.rollout.num_complete
    assert list(training.recent_returns) == reference.finished_returns
    assert training.episodes == len(reference.finished_returns)
    (table,) = training.tables.values()
    assert len(table) == len(reference.open)
    slots = table.find(np.array(list(reference.returns), np.int32))
    assert (table.returns + table.group_returns)[slots].tolist() == list(reference.returns.values())


@settings(max_examples=25)
@given(script=scripts(longest=20), buffer=st.integers(1, 15))
def test_however_often_it_learns_each_decision_is_learned_from_once_with_its_reward(script: Any, buffer: int) -> None:
    reference = Reference(horizon=64)
    for decision, terminal in script:
        reference.take(decision, terminal)
    training = only(collect(script, buffer_size=buffer))
    found = []
    for columns in [*training.learner.seen, training.rollout.state()["columns"]]:
        complete = np.flatnonzero(columns["status"] == COMPLETE)
        found += [(tuple(columns["input_0"][row].tolist()), float(columns["reward"][row])) for row in complete]
        # What follows is always there to be bootstrapped from.
        going = complete[~columns["terminated"][complete]]
        assert (columns["next_row"][going] > going).all()
        assert (columns["next_row"][going] < len(columns["status"])).all()
    expected = [
        (seen, reward)
        for chain in reference.trajectories()
        for seen, reward, kind in chain
        if kind not in {"pending", "tail"}
    ]
    assert sorted(found) == sorted(expected)
    assert all((columns["status"] == COMPLETE).sum() >= buffer for columns in training.learner.seen)


# -- corners, one by one -------------------------------------------------------------------------------------------


def test_the_old_episode_ends_and_the_new_one_begins_in_one_step_under_one_id() -> None:
    training = only(collect(["D[1]", "D[1 r=5] T[1 r=2 end]", "D[1 r=3]"]))
    assert trajectories(training.rollout) == [
        (((1, 0), 2, "terminated"),),
        (((1, 1), 3, "went on"), ((1, 2), 0, "pending")),
    ]
    # The 5 came with the first decision of an episode and belongs to none.
    assert list(training.recent_returns) == [2]


def test_an_interrupted_episode_is_bootstrapped_at_the_agents_last_observation() -> None:
    training = only(collect(["D[1, 2]", "T[1 r=2 int, 2 r=3 end]"]))
    assert trajectories(training.rollout) == [
        (((1, 0), 2, "went on"), ((1, 1.5), 0, "tail")),
        (((2, 0), 3, "terminated"),),
    ]


def test_group_rewards_are_added_to_the_members_own_once_each() -> None:
    training = only(
        collect(["D[1 G5, 2 G5]", "D[1 r=1 g=10 G5, 2 r=2 g=10 G5]", "T[1 r=4 g=20 end G5, 2 g=20 end G5]"])
    )
    rewards = [reward for chain in trajectories(training.rollout) for _, reward, _ in chain]
    assert rewards == [11, 24, 12, 20]
    assert sorted(training.recent_returns) == [32, 35]


def test_an_agent_that_ends_without_having_asked_is_noticed_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        training = only(collect(["D[1] T[7 r=9 end]", "D[1 r=1] T[7 r=9 end, 8 r=9 int]", "D[1] T[1 r=1 end]"]))
    notices = [record.message for record in caplog.records if "had not asked for a decision" in record.message]
    assert notices == ["Duel?team=0: an agent ended that had not asked for a decision; ignored"]
    assert [reward for chain in trajectories(training.rollout) for _, reward, _ in chain] == [1, 1, 0]


def test_an_agent_may_end_before_anybody_has_ever_asked() -> None:
    training = only(collect(["T[7 r=9 end]", "D[7]", "T[7 r=2 int]"]))
    assert trajectories(training.rollout) == [(((7, 1), 2, "went on"), ((7, 2.5), 0, "tail"))]


def test_an_agent_that_asks_anew_while_its_first_step_is_its_end_begins_clean() -> None:
    training = only(collect(["D[7 r=5] T[7 r=9 end]", "D[7 r=2]"]))
    assert trajectories(training.rollout) == [(((7, 0), 2, "went on"), ((7, 1), 0, "pending"))]
    assert training.episodes == 0


def test_an_agent_that_pauses_goes_on_where_it_was() -> None:
    training = only(collect(["D[1, 2]", "D[2 r=1]", "D[2 r=1]", "D[1 r=7, 2 r=1]"]))
    assert trajectories(training.rollout)[0] == (((1, 0), 7, "went on"), ((1, 3), 0, "pending"))


def test_the_time_horizon_cuts_every_trajectory_by_its_own_count() -> None:
    training = only(collect(["D[1]", "D[1, 2]", "D[1, 2]", "D[1, 2]", "D[1, 2]"], time_horizon=2))
    kinds = [[kind for _, _, kind in chain] for chain in trajectories(training.rollout)]
    assert kinds == [["went on", "cut", "went on", "cut", "pending"], ["went on", "cut", "went on", "pending"]]


def test_a_new_episode_begins_its_horizon_anew() -> None:
    training = only(collect(["D[1]", "D[1]", "D[1] T[1 end]", "D[1]", "D[1]"], time_horizon=2))
    kinds = [[kind for _, _, kind in chain] for chain in trajectories(training.rollout)]
    assert kinds == [["went on", "terminated"], ["went on", "cut", "pending"]]


def test_every_agent_that_asks_is_given_an_action_in_the_order_it_asked() -> None:
    game = ScriptedGame({ONE: ["D[3, 1]", "D[1]", "T[1 end]", "D[2, 3, 1]"]})
    collector = collector_of(game)
    for _ in range(4):
        collector.step()
    assert {time: len(sent[ONE]) for time, sent in game.actions.items()} == {0: 2, 1: 1, 3: 3}


def test_the_action_recorded_is_the_one_that_was_sent() -> None:
    game = ScriptedGame({ONE: ["D[3, 1]", "D[1, 3]"] * 10})
    collector = collector_of(game)
    for _ in range(20):
        collector.step()
    columns = only(collector).rollout.state()["columns"]
    for row, (agent, time) in enumerate(columns["input_0"].astype(int).tolist()):
        place = list(game._scripts[ONE][time][0]).index(agent)
        assert columns["discrete"][row].tolist() == game.actions[time][ONE].discrete[place].tolist()
    assert 0.2 < columns["discrete"].mean() < 0.8


def test_masks_are_recorded_with_the_decision_they_held_for() -> None:
    def masked(time: int) -> tuple[DecisionSteps, TerminalSteps]:
        decision, terminal = exchange("D[1, 2]", time=time)
        mask = np.array([[time % 2 == 0, False], [False, time % 2 == 0]])
        return DecisionSteps(
            decision.obs, decision.reward, decision.agent_id, [mask], decision.group_id, decision.group_reward
        ), terminal

    training = only(collect([masked(time) for time in range(4)]))
    columns = training.rollout.state()["columns"]
    for row, (agent, time) in enumerate(columns["input_0"].astype(int).tolist()):
        assert columns["blocked"][row].tolist() == [agent == 1 and time % 2 == 0, agent == 2 and time % 2 == 0]
        assert not columns["blocked"][row][columns["discrete"][row, 0]]


def test_ids_that_never_come_back_take_no_memory() -> None:
    script = ["D[0]", *(f"D[{step}] T[{step - 1} r=1 end]" for step in range(1, 300))]
    training = only(collect(script, buffer_size=16))
    (table,) = training.tables.values()
    assert len(table.agent_id) <= 16
    assert training.rollout.capacity <= 16 + 1024
    assert training.steps == 299


def test_a_behavior_may_come_later() -> None:
    class Latecomer(ScriptedGame):
        @property
        def behavior_specs(self) -> Mapping[str, BehaviorSpec]:
            return dict.fromkeys([ONE] if self.time < 2 else [ONE, "Late?team=3"], TRACED)

    game = Latecomer({ONE: ["D[1]"] * 5, "Late?team=3": ["D[2 a1]"] * 5})
    collector = collector_of(game)
    for _ in range(5):
        collector.step()
    assert collector.behaviors["Late"].steps == 2
    assert collector.roster.seats() == {("Duel", 0): 1, ("Late", 3): 1}


def test_a_behavior_the_settings_do_not_list_is_refused_with_the_nearest_that_is() -> None:
    run = RunSettings.model_validate({"behaviors": {"Striker": {}, "Goalie": {}}})
    with pytest.raises(SettingsError, match=r"a behavior 'Strikers' .*\n.*did you mean 'Striker'\?"):
        settings_for(run, "Strikers")
    assert settings_for(run, "Goalie") is run.behaviors["Goalie"]


# -- learning ------------------------------------------------------------------------------------------------------


def test_a_learner_learns_as_soon_as_its_rollout_is_full_and_before_anybody_acts() -> None:
    game = ScriptedGame({ONE: ["D[1, 2]"] * 6})
    collector = collector_of(game, buffer_size=4)
    seen = []
    for _ in range(6):
        collector.step()
        seen.append((only(collector).updates, only(collector).rollout.num_complete))
    assert seen == [(0, 0), (0, 2), (1, 0), (1, 2), (2, 0), (2, 2)]


def test_an_update_that_fails_is_raised_when_the_step_is_whole() -> None:
    game = ScriptedGame({ONE: ["D[1, 2]", "D[1 r=1, 2 r=1]", "D[1 r=1, 2 r=1]"]})
    collector = collector_of(game, buffer_size=2)
    only(collector).learner.failures = 1
    collector.step()
    with pytest.raises(NonFiniteError):
        collector.step()
    assert collector.environment_steps == game.time == 2
    assert len(game.actions[1][ONE]) == 2
    training = only(collector)
    assert (training.updates, training.steps, training.rollout.num_complete) == (0, 2, 0)
    assert trajectories(training.rollout) == [(((1, 1), 0, "pending"),), (((2, 1), 0, "pending"),)]


def test_nothing_is_recorded_after_max_steps() -> None:
    training = only(collect(["D[1, 2]"] * 10, max_steps=5))
    # Both agents' outcomes of one step come together, so it is six.
    assert training.steps == 6
    assert training.is_finished


# -- self-play -----------------------------------------------------------------------------------------------------

SELF_PLAY = {"save_steps": 6, "team_change": 12, "swap_steps": 5, "window": 3, "play_against_latest_model_ratio": 0.5}


def matches_of(*, team: int, length: int, arenas: int = 2, matches: int = 12) -> list[str]:
    """Agents `10·team + arena`, which play matches of `length` decisions."""
    agents = [(10 * team + arena, arena) for arena in range(arenas)]
    asking = "D[" + ", ".join(f"{agent} r=1 a{arena}" for agent, arena in agents) + "]"
    ending = "T[" + ", ".join(f"{agent} r=1 a{arena} end" for agent, arena in agents) + "]"
    return [asking, *([asking] * (length - 1) + [f"{asking} {ending}"]) * matches]


def test_only_decisions_of_the_learner_while_its_team_learns_enter_the_rollout() -> None:
    game = ScriptedGame({f"Duel?team={team}": matches_of(team=team, length=4) for team in (0, 1)})
    collector = collector_of(game, self_play=SELF_PLAY)
    decided = set()
    for time in range(game.length):
        collector.step()
        book, learning = collector.lineup.book, collector.lineup.schedule.learning_team
        column = book.seat(BehaviorId("Duel", learning or 0))
        decided |= {(10 * (learning or 0) + arena, time) for arena in (0, 1) if book.player[arena, column] == LIVE}
    columns = only(collector).rollout.state()["columns"]
    complete = columns["status"] == COMPLETE
    rows = {(agent, time) for agent, time in columns["input_0"].astype(int)[complete].tolist()}
    assert rows
    assert {agent // 10 for agent, _ in rows} == {0, 1}
    assert rows <= decided
    # Each of them but those that were cut when the turn passed, one an agent and turn at most.
    assert len(decided - rows) <= 2 * len(decided) / 12 + 4
    assert (columns["reward"][complete] == 1).all()


def test_while_the_other_team_learns_a_trajectory_waits_for_no_outcome() -> None:
    game = ScriptedGame({f"Duel?team={team}": matches_of(team=team, length=50, matches=1) for team in (0, 1)})
    collector = collector_of(game, self_play=SELF_PLAY)
    for _ in range(game.length):
        collector.step()
        learning = collector.lineup.schedule.learning_team
        for behavior, table in only(collector).tables.items():
            if behavior.team != learning:
                assert (table.row == -1).all()


def test_without_self_play_both_teams_are_learned_from() -> None:
    game = ScriptedGame({f"Duel?team={team}": matches_of(team=team, length=4, matches=2) for team in (0, 1)})
    collector = collector_of(game)
    for _ in range(game.length):
        collector.step()
    agents = only(collector).rollout.state()["columns"]["input_0"][:, 0]
    assert {int(agent) // 10 for agent in agents} == {0, 1}


# -- the door ------------------------------------------------------------------------------------------------------


def spoiled(script: list[Any], *, time: int, spoil: Callable[[DecisionSteps, TerminalSteps], None]) -> list[Any]:
    """The script with one exchange changed in place."""
    columns = [exchange(text, time=place) for place, text in enumerate(script)]
    spoil(*columns[time])
    return columns


def test_by_default_a_number_that_is_not_finite_stops_before_anything_is_taken_in() -> None:
    game = ScriptedGame({ONE: ["D[1, 2]", "D[1 r=1, 2 r=1]", "D[1 r=1, 2 r=inf]"]})
    collector = collector_of(game)
    collector.step()
    collector.step()
    before = only(collector).rollout.state()
    with pytest.raises(NonFiniteError, match=r"Duel\?team=0, agent 2, environment step 2"):
        collector.step()
    np.testing.assert_equal(only(collector).rollout.state(), before)
    assert collector.environment_steps == 2


DROPPING = pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda decision, terminal: decision.obs[0].__setitem__((0, 1), np.nan), id="observation"),
        pytest.param(lambda decision, terminal: decision.reward.__setitem__(0, np.inf), id="reward"),
        pytest.param(lambda decision, terminal: decision.group_reward.__setitem__(0, -np.inf), id="group reward"),
    ],
)


@DROPPING
def test_dropping_loses_the_episode_and_nothing_else(spoil: Any, caplog: pytest.LogCaptureFixture) -> None:
    script = [
        "D[1, 2]",
        "D[1 r=1, 2 r=1]",
        "D[1 r=1, 2 r=1]",
        "D[1 r=1, 2 r=1]",
        "T[1 r=1 end, 2 r=1 end]",
        "D[1, 2]",
        "D[1 r=5, 2 r=1]",
    ]
    with caplog.at_level(logging.WARNING):
        collector = collect(spoiled(script, time=2, spoil=spoil), non_finite="drop")
    training = only(collector)
    kept = [chain for chain in trajectories(training.rollout) if all(kind != "dropped" for _, _, kind in chain)]
    assert [chain[0][0] for chain in kept] == [(1, 5), (2, 0), (2, 5)]
    assert [reward for _, reward, _ in kept[1]] == [1, 1, 1, 1]
    assert collector.dropped_episodes == 1
    assert [record.message for record in caplog.records] == [
        "Duel?team=0: dropped 1 episode(s) with numbers that are not finite; 1 so far"
    ]
    assert list(training.recent_returns) == [4]
    assert training.rollout.num_complete == len(training.rollout.complete_rows()) == 6


def test_dropping_an_episode_whose_end_is_spoiled_keeps_the_next_one_of_the_same_agent() -> None:
    script = ["D[1]", "D[1 r=1]", "D[1] T[1 r=nan end]", "D[1 r=3]"]
    collector = collect(script, non_finite="drop")
    kept = [chain for chain in trajectories(only(collector).rollout) if all(kind != "dropped" for _, _, kind in chain)]
    assert kept == [(((1, 2), 3, "went on"), ((1, 3), 0, "pending"))]
    assert collector.dropped_episodes == 1


def test_dropping_an_episode_spares_the_trajectories_of_the_other_team() -> None:
    scripts = {
        "Duel?team=0": ["D[1]", "D[1 r=1]", "D[1 r=nan]", "D[1 r=1]"],
        "Duel?team=1": ["D[2]", "D[2 r=1]", "D[2 r=1]", "D[2 r=1]"],
    }
    training = only(collect(scripts, non_finite="drop"))
    assert [reward for _, reward, _ in trajectories(training.rollout)[-1]] == [1, 1, 1, 0]
    assert training.rollout.num_complete == 3


def test_an_episode_whose_first_observation_is_spoiled_is_dropped_too() -> None:
    def spoil(decision: DecisionSteps, terminal: TerminalSteps) -> None:
        decision.obs[0][0, 0] = np.nan

    collector = collect(spoiled(["D[1, 2]", "D[1 r=1, 2 r=1]"], time=0, spoil=spoil), non_finite="drop")
    assert [chain[0][0] for chain in trajectories(only(collector).rollout)] == [(2, 0)]
    assert collector.dropped_episodes == 1


def test_a_new_episode_with_a_spoiled_beginning_does_not_cost_the_one_that_just_ended() -> None:
    def spoil(decision: DecisionSteps, terminal: TerminalSteps) -> None:
        decision.obs[0][0, 0] = np.nan

    script = ["D[1]", "D[1 r=1]", "D[1] T[1 r=1 end]", "D[1 r=1]"]
    collector = collect(spoiled(script, time=2, spoil=spoil), non_finite="drop")
    kept = [chain for chain in trajectories(only(collector).rollout) if all(kind != "dropped" for _, _, kind in chain)]
    assert kept == [(((1, 0), 1, "went on"), ((1, 1), 1, "terminated"))]
    assert collector.dropped_episodes == 1


# -- state ---------------------------------------------------------------------------------------------------------


@settings(max_examples=15)
@given(script=scripts(longest=12), moment=st.integers(0, 11))
def test_a_collector_restored_in_the_middle_goes_on_as_if_it_had_never_stopped(script: Any, moment: int) -> None:
    moment = min(moment, len(script))
    straight = collect(script)
    game = ScriptedGame({ONE: script})
    stopped = collector_of(game)
    for _ in range(moment):
        stopped.step()
    state = stopped.state()
    other = ScriptedGame({ONE: script})
    resumed = collector_of(other)
    other.time = moment
    resumed.restore(state)
    for _ in range(moment, len(script)):
        resumed.step()
    np.testing.assert_equal(resumed.state(), straight.state())
