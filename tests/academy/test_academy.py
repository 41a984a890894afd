"""Steps of an academy: who asks and acts when, what is gathered and told, how episodes end."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparring.academy import (
    Academy,
    AcademyClosedError,
    AcademyEnvironment,
    Actions,
    Actuator,
    AgentGroup,
    BehaviorType,
    DecisionRequester,
    LoopEnvironment,
    Update,
    VectorSensor,
)
from sparring.errors import GameError, NonFiniteError, SpecError
from sparring.specs import ActionSpec
from sparring.steps import ActionBatch, TerminalSteps
from tests.academy.games import GOAL, StrollingWalker, Walker, walkers

NAME = "Walker?team=0"


def moves(*choices: int) -> ActionBatch:
    return ActionBatch(np.zeros((len(choices), 0), np.float32), np.array(choices, np.int32)[:, None])


def walk(environment: AcademyEnvironment, *choices: int) -> None:
    environment.set_actions(NAME, moves(*choices))
    environment.step()


def ends(environment: AcademyEnvironment) -> TerminalSteps:
    return environment.get_steps(NAME)[1]


def test_agents_of_a_game_are_known_before_it_begins() -> None:
    environment = AcademyEnvironment(walkers(), num_areas=3)
    assert list(environment.behavior_specs) == [NAME]
    environment.reset()
    decision, terminal = environment.get_steps(NAME)
    assert decision.agent_id.tolist() == np.asarray(decision.arena_id).tolist() == [0, 1, 2]
    assert decision.obs[0].tolist() == [[0.0]] * 3
    assert len(terminal) == 0


def test_a_walk_to_the_goal_is_told_with_what_was_seen_last() -> None:
    environment = AcademyEnvironment(walkers())
    environment.reset()
    for _ in range(GOAL - 1):
        walk(environment, 2)
    decision, _ = environment.get_steps(NAME)
    assert decision.obs[0].tolist() == [[GOAL - 1.0]]
    walk(environment, 2)
    decision, terminal = environment.get_steps(NAME)
    assert (terminal.obs[0].tolist(), terminal.reward.tolist()) == ([[GOAL]], [1.0])
    assert not terminal.interrupted[0]
    assert (decision.obs[0].tolist(), decision.reward.tolist()) == ([[0.0]], [0.0])
    assert terminal.agent_id.tolist() == decision.agent_id.tolist() == [0]


def test_the_longest_episode_is_interrupted() -> None:
    environment = AcademyEnvironment(walkers(max_step=4))
    environment.reset()
    for _ in range(3):
        walk(environment, 1)
        assert len(ends(environment)) == 0
    walk(environment, 1)
    assert ends(environment).interrupted.tolist() == [True]
    assert environment.academy.agents[0].completed_episodes == 1


def test_decisions_come_at_their_period_and_actions_between_them() -> None:
    environment = AcademyEnvironment(walkers(period=3, max_step=0))
    environment.reset()
    agent = environment.academy.agents[0]
    assert isinstance(agent, Walker)
    environment.set_actions(NAME, moves(0))
    environment.step()
    assert agent.calls == ["begin", "left", "left", "left"]
    assert environment.academy.total_step_count == 4


def test_actions_between_decisions_can_be_left_out_and_decisions_shifted() -> None:
    def make_game(academy: Academy) -> Update:
        agent = Walker(academy, period=0)
        DecisionRequester(agent, 3, offset=1, acts_between=False)
        return lambda: None

    environment = AcademyEnvironment(make_game)
    environment.reset()
    assert environment.academy.step_count == 2
    walk(environment, 2)
    agent = environment.academy.agents[0]
    assert isinstance(agent, Walker)
    assert agent.calls == ["begin", "right"]


@pytest.mark.parametrize(("period", "offset"), [(0, 0), (2, 2), (2, -1)])
def test_a_rate_of_decisions_that_makes_no_sense_is_refused(period: int, offset: int) -> None:
    with pytest.raises(SpecError, match=f"found period {period}, offset {offset}"):
        DecisionRequester(Walker(Academy(), period=0), period, offset=offset)


def test_whoever_is_given_no_action_does_nothing() -> None:
    environment = AcademyEnvironment(walkers())
    environment.reset()
    walk(environment, 2)
    environment.step()  # the first choice of the branch: left
    assert environment.get_steps(NAME)[0].obs[0].tolist() == [[0.0]]


def test_masks_are_those_of_this_decision() -> None:
    environment = AcademyEnvironment(walkers(), num_areas=2)
    environment.reset()
    assert environment.get_steps(NAME)[0].action_mask is None
    walk(environment, 0, 1)
    mask = environment.get_steps(NAME)[0].action_mask
    assert mask is not None
    assert mask[0].tolist() == [[True, False, False], [False, False, False]]
    walk(environment, 2, 1)
    assert environment.get_steps(NAME)[0].action_mask is None


def test_a_branch_without_any_choice_left_is_refused() -> None:
    class Stuck(Walker):
        def write_action_mask(self, mask: Any) -> None:
            for choice in range(3):
                mask.set_action_enabled(0, choice, False)

    environment = AcademyEnvironment(walkers(Stuck))
    with pytest.raises(SpecError, match=r"Walker\?team=0: every choice in branch 0 is masked"):
        environment.reset()


@given(st.lists(st.sampled_from(["add", "set", "step"]), max_size=12), st.floats(-2, 2))
def test_rewards_are_gathered_between_decisions(what: list[str], amount: float) -> None:
    environment = AcademyEnvironment(walkers(max_step=0))
    environment.reset()
    agent = environment.academy.agents[0]
    pending, total = 0.0, 0.0
    for word in what:
        if word == "add":
            agent.add_reward(amount)
            pending, total = pending + amount, total + amount
        elif word == "set":
            agent.set_reward(amount)
            pending, total = amount, total + amount - pending
        else:
            walk(environment, 1)
            assert environment.get_steps(NAME)[0].reward[0] == pytest.approx(pending, abs=1e-6)
            pending = 0.0
        assert agent.cumulative_reward == pytest.approx(total, abs=1e-9)


def test_a_group_is_paid_and_ends_together() -> None:
    groups: list[AgentGroup] = []

    def make_game(academy: Academy) -> Update:
        groups.append(AgentGroup(academy))
        for _ in range(2):
            groups[0].register_agent(Walker(academy))
        Walker(academy)
        return lambda: None

    environment = AcademyEnvironment(make_game)
    environment.reset()
    assert environment.get_steps(NAME)[0].group_id.tolist() == [1, 1, 0]
    groups[0].add_group_reward(0.5)
    groups[0].add_group_reward(0.25)
    walk(environment, 2, 0, 0)
    assert environment.get_steps(NAME)[0].group_reward.tolist() == [0.75, 0.75, 0.0]
    groups[0].set_group_reward(2.0)
    groups[0].end_group_episode(match_score=1.0)
    environment.step()
    terminal = ends(environment)
    assert terminal.agent_id.tolist() == [0, 1]
    assert terminal.group_id.tolist() == [1, 1]
    assert terminal.group_reward.tolist() == [2.0, 2.0]
    assert terminal.obs[0].tolist() == [[1.0], [-1.0]]
    assert terminal.match_score is not None
    assert terminal.match_score.tolist() == [1.0, 1.0]
    groups[0].interrupt_group_episode()
    environment.step()
    assert ends(environment).interrupted.tolist() == [True, True]


def test_an_agent_is_in_one_group_at_a_time() -> None:
    academy = Academy()
    agent, one, other = Walker(academy), AgentGroup(academy), AgentGroup(academy)
    one.register_agent(agent)
    one.register_agent(agent)
    assert list(one.members) == [agent]
    with pytest.raises(SpecError, match="in another group"):
        other.register_agent(agent)
    one.unregister_agent(agent)
    other.register_agent(agent)
    assert list(one.members) == []
    assert list(other.members) == [agent]


def test_agents_come_and_go_in_the_middle() -> None:
    environment = AcademyEnvironment(walkers(max_step=0))
    environment.reset()
    first = environment.academy.agents[0]
    second = Walker(environment.academy)
    assert second.calls == []
    walk(environment, 1)
    assert second.calls == ["begin"]
    assert environment.get_steps(NAME)[0].agent_id.tolist() == [0, 1]
    first.remove()
    walk(environment, 1, 1)
    decision, terminal = environment.get_steps(NAME)
    assert (decision.agent_id.tolist(), terminal.agent_id.tolist()) == ([1], [0])
    assert not terminal.interrupted[0]
    second.remove()
    Walker(environment.academy)
    walk(environment, 1)
    decision, terminal = environment.get_steps(NAME)
    assert (decision.agent_id.tolist(), terminal.agent_id.tolist()) == ([2], [1])


def test_an_episode_without_a_decision_is_not_told() -> None:
    environment = AcademyEnvironment(walkers(period=5))
    environment.reset()
    agent = environment.academy.agents[0]
    agent.end_episode()
    environment.step()
    assert ends(environment).agent_id.tolist() == [0]
    agent.end_episode()
    agent.end_episode()
    environment.step()
    assert len(ends(environment)) == 0
    assert agent.completed_episodes == 1


def test_a_reset_begins_everything_anew_without_a_word() -> None:
    hooks: list[int] = []
    environment = AcademyEnvironment(walkers(), num_areas=2)
    environment.academy.on_reset(lambda: hooks.append(environment.academy.episode_count))
    environment.reset()
    walk(environment, 2, 2)
    environment.academy.agents[0].end_episode()
    environment.reset()
    decision, terminal = environment.get_steps(NAME)
    assert (decision.obs[0].tolist(), decision.reward.tolist(), len(terminal)) == ([[0.0], [0.0]], [0.0, 0.0], 0)
    assert hooks == [1, 2]
    assert environment.academy.step_count == 1


def test_agents_of_one_behavior_have_to_be_alike() -> None:
    academy = Academy()
    Walker(academy)
    with pytest.raises(SpecError, match=r"Walker\?team=0: two agents of one behavior see or do different things"):
        Walker(academy, actions=ActionSpec.create_discrete((4,)))
    Walker(academy, team=1, actions=ActionSpec.create_discrete((4,)))


class Switch(Actuator):
    """An actuator that keeps what it was given."""

    def __init__(self, name: str, spec: ActionSpec) -> None:
        super().__init__(name, spec)
        self.got: list[list[float]] = []

    def on_action_received(self, actions: Actions) -> None:
        self.got.append([*actions.continuous.tolist(), *actions.discrete.tolist()])

    def write_action_mask(self, mask: Any) -> None:
        mask.set_action_enabled(0, 1, False)


def test_actuators_are_joined_in_the_order_of_their_names() -> None:
    arm = Switch("Arm", ActionSpec.create_hybrid(1, (2,)))
    zip_ = Switch("Zip", ActionSpec.create_hybrid(2, (4, 3)))

    def make_game(academy: Academy) -> Update:
        Walker(academy, actuators=[zip_, arm])
        return lambda: None

    environment = AcademyEnvironment(make_game)
    environment.reset()
    spec = environment.behavior_specs[NAME].action_spec
    assert spec == ActionSpec(3, (2, 3, 4, 3))  # the agent's own stand under VectorActuator, between the two
    mask = environment.get_steps(NAME)[0].action_mask
    assert mask is not None
    assert [branch[0].tolist().count(True) for branch in mask] == [1, 0, 1, 0]
    actions = ActionBatch(np.array([[0.1, 0.2, 0.3]], np.float32), np.array([[0, 2, 3, 1]], np.int32))
    environment.set_actions(NAME, actions)
    environment.step()
    assert arm.got == [pytest.approx([0.1, 0.0])]
    assert zip_.got == [pytest.approx([0.2, 0.3, 3, 1])]
    agent = environment.academy.agents[0]
    assert isinstance(agent, Walker)
    assert agent.place == 1


@pytest.mark.parametrize("kind", ["sensors", "actuators"])
def test_two_of_one_name_are_refused(kind: str) -> None:
    twice: dict[str, Any] = {
        "sensors": [VectorSensor(1, name="Twin"), VectorSensor(2, name="Twin")],
        "actuators": [Switch("Twin", ActionSpec.create_discrete((2,))) for _ in range(2)],
    }
    with pytest.raises(SpecError, match=f"two {kind} have one name; found Twin"):
        Walker(Academy(), **{kind: twice[kind]})


def test_agents_that_leave_no_choice_to_the_trainer_are_not_shown_to_it() -> None:
    def make_game(academy: Academy) -> Update:
        StrollingWalker(academy, "Stroller", behavior_type=BehaviorType.HEURISTIC_ONLY)
        Walker(academy)
        return lambda: None

    environment = AcademyEnvironment(make_game)
    environment.reset()
    assert list(environment.behavior_specs) == [NAME]
    for _ in range(GOAL):
        walk(environment, 1)
    assert environment.academy.agents[0].completed_episodes == 1


def test_a_game_in_which_nobody_asks_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparring.academy.academy._LONGEST_SILENCE", 50)
    with pytest.raises(GameError, match="no agent asks for a decision; found 50 steps without one"):
        AcademyEnvironment(walkers(period=0)).reset()

    def main(academy: Academy) -> None:
        walkers(period=0)(academy)
        while academy.is_running:
            academy.environment_step()

    with pytest.raises(GameError, match="no agent asks for a decision; found 50 steps without one"):
        LoopEnvironment.start(main).reset()


def test_the_inventory_of_behaviors_is_told_when_one_is_not_there() -> None:
    environment = AcademyEnvironment(walkers())
    with pytest.raises(GameError, match=r"the game has no behavior 'Runner', expected Walker\?team=0"):
        environment.get_steps("Runner")


def test_actions_that_do_not_fit_are_refused() -> None:
    environment = AcademyEnvironment(walkers())
    environment.reset()
    with pytest.raises(SpecError, match="choice out of range"):
        environment.set_actions(NAME, moves(3))
    with pytest.raises(SpecError, match="wrong shape"):
        environment.set_actions(NAME, moves(1, 1))


def test_a_closed_game_and_a_closed_academy_say_so() -> None:
    environment = AcademyEnvironment(walkers())
    with environment:
        environment.reset()
    with pytest.raises(GameError, match="the game is over"):
        environment.step()
    environment.close()
    with pytest.raises(AcademyClosedError):
        environment.academy.environment_step()


def test_alone_agents_act_by_their_own_rules_or_stay(caplog: pytest.LogCaptureFixture) -> None:
    academy = Academy()
    strolling, other = StrollingWalker(academy, "Stroller"), Walker(academy)
    for _ in range(2 * GOAL):
        academy.environment_step()
    assert strolling.completed_episodes == 2
    assert other.place == -2 * GOAL  # zeros are the first choice, left
    assert [record.getMessage() for record in caplog.records] == [
        "Walker?team=0: no trainer, no model and no heuristic: its agents do nothing"
    ]
    assert not academy.is_trainer_connected


def test_an_agent_of_only_inference_needs_a_model() -> None:
    academy = Academy()
    Walker(academy, behavior_type=BehaviorType.INFERENCE_ONLY)
    with pytest.raises(SpecError, match="to act by its model and has none"):
        academy.environment_step()


def test_equal_seeds_give_equal_chance() -> None:
    assert Academy(seed=3).rng.random() == Academy(seed=3).rng.random() != Academy(seed=4).rng.random()


def test_two_games_share_nothing() -> None:
    one, two = AcademyEnvironment(walkers()), AcademyEnvironment(walkers(), num_areas=2)
    one.reset()
    two.reset()
    walk(one, 2)
    assert two.get_steps(NAME)[0].obs[0].tolist() == [[0.0], [0.0]]
    assert one.academy.agents[0].agent_id == two.academy.agents[0].agent_id == 0


def test_what_the_update_pays_in_the_last_step_still_counts() -> None:
    def make_game(academy: Academy) -> Update:
        agent = Walker(academy, max_step=3)
        return lambda: agent.add_reward(1.0)

    environment = AcademyEnvironment(make_game)
    environment.reset()
    for _ in range(3):
        walk(environment, 1)
    decision, terminal = environment.get_steps(NAME)
    assert (terminal.reward.tolist(), terminal.interrupted.tolist()) == ([1.0], [True])
    assert decision.reward.tolist() == [0.0]


@pytest.mark.parametrize("where", ["collect_observations", "on_episode_begin"])
@pytest.mark.parametrize("what", ["end_episode", "interrupt_episode", "remove"])
def test_an_episode_can_not_end_while_agents_are_observed_or_it_is_being_begun(where: str, what: str) -> None:
    class Hasty(Walker):
        def collect_observations(self, sensor: VectorSensor) -> None:
            super().collect_observations(sensor)
            self.act_in("collect_observations")

        def on_episode_begin(self) -> None:
            super().on_episode_begin()
            self.act_in("on_episode_begin")

        def act_in(self, place: str) -> None:
            if place == where:
                getattr(self, what)()

    with pytest.raises(GameError, match=r"an episode can't end now(?s:.*)in the game's update"):
        AcademyEnvironment(walkers(Hasty)).reset()


def test_another_agents_episode_can_not_end_while_agents_are_observed() -> None:
    class Bully(Walker):
        def collect_observations(self, sensor: VectorSensor) -> None:
            super().collect_observations(sensor)
            self.academy.agents[0].end_episode()

    def make_game(academy: Academy) -> Update:
        Walker(academy)
        Bully(academy)
        return lambda: None

    with pytest.raises(GameError, match="agents that are being observed"):
        AcademyEnvironment(make_game).reset()


def test_a_group_may_change_while_it_ends() -> None:
    class Leaver(Walker):
        group: AgentGroup | None = None

        def on_episode_begin(self) -> None:
            super().on_episode_begin()
            if self.group is not None:
                self.group.unregister_agent(self)

    academy = Academy()
    group = AgentGroup(academy)
    first, second, third = Leaver(academy), Walker(academy), Walker(academy)
    for agent in (first, second, third):
        group.register_agent(agent)
    academy.environment_step()
    first.group = group
    group.end_group_episode()
    assert [agent.calls.count("begin") for agent in (first, second, third)] == [2, 2, 2]
    assert list(group.members) == [second, third]
    third.remove()
    group.end_group_episode()
    assert list(group.members) == [second]
    assert third.calls.count("begin") == 2


def test_agents_made_when_the_game_is_reset_begin_once() -> None:
    academy = Academy()
    made: list[Walker] = []
    academy.on_reset(lambda: made.append(Walker(academy)))
    academy.environment_step()
    assert made[0].calls.count("begin") == 1


def test_actions_are_not_carried_out_in_the_next_episode() -> None:
    class Ender(Actuator):
        agent: Walker | None = None

        def on_action_received(self, actions: Actions) -> None:
            assert self.agent is not None
            self.agent.end_episode()

    academy = Academy()
    ender = Ender("A", ActionSpec.create_discrete((2,)))
    ender.agent = agent = Walker(academy, actuators=[ender])
    academy.environment_step()
    assert agent.calls == ["begin", "begin"]


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_what_is_not_finite_is_refused_where_it_is_given(number: float) -> None:
    academy = Academy()
    agent, group = Walker(academy), AgentGroup(academy)
    group.register_agent(agent)
    for give in (agent.add_reward, agent.set_reward, group.add_group_reward, group.set_group_reward):
        with pytest.raises(NonFiniteError, match=r"Walker\?team=0: agent 0 is given a reward that is not finite"):
            give(number)
    with pytest.raises(SpecError, match="the score of a match is not finite"):
        agent.end_episode(match_score=number)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vector_size": 0}, "collect_observations would never be called"),
        ({"actions": None}, "on_action_received would never be called"),
        ({"max_step": -1}, "max_step and area are not negative; found -1 and 0"),
        ({"area": -1}, "max_step and area are not negative; found 20 and -1"),
        ({"name": "Walker?team=3"}, "say the team with team="),
    ],
)
def test_agents_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        Walker(Academy(), **options)


def test_games_that_make_no_sense_are_refused() -> None:
    with pytest.raises(SpecError, match="at least one area"):
        Academy(num_areas=0)
    with pytest.raises(SpecError, match="the game gave no update; found NoneType"):
        AcademyEnvironment(lambda academy: None)  # type: ignore[arg-type]
    agent = Walker(Academy())
    with pytest.raises(SpecError, match="has a decision requester already"):
        DecisionRequester(agent)


def test_who_chooses_may_change_in_an_episode_and_its_end_is_told_to_who_chose() -> None:
    environment = AcademyEnvironment(walkers())
    environment.reset()
    agent = environment.academy.agents[0]
    agent.end_episode()
    agent.behavior_type = BehaviorType.HEURISTIC_ONLY
    environment.academy.observe()
    assert ends(environment).agent_id.tolist() == [0]
