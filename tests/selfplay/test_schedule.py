"""Turns, saves and draws: who is next, when it is due, and the schedule in plain words."""

from collections.abc import Callable, Mapping

from hypothesis import given
from hypothesis import strategies as st

from sparring.selfplay import BehaviorClock, TurnSchedule, describe_schedule
from sparring.settings import BehaviorSettings, SelfPlaySettings
from tests.selfplay.builders import plan

TEAMS = st.lists(st.integers(0, 10**6), min_size=1, max_size=15, unique=True)
PLAN = plan(team_change=100, save_steps=50, swap_steps=40)


def nobody(behavior: str) -> bool:
    del behavior
    return False


def schedule_of(*seats: tuple[str, int]) -> TurnSchedule:
    schedule = TurnSchedule()
    for behavior, team in seats:
        schedule.add(behavior, team)
    schedule.begin()
    return schedule


def pass_on(
    schedule: TurnSchedule, settings: Mapping[str, BehaviorSettings], finished: Callable[[str], bool] = nobody
) -> int | None:
    team = schedule.next_team(finished)
    if team is not None:
        schedule.pass_turn(team, settings)
    return team


# -- whose turn ------------------------------------------------------------------------------------------------


@given(TEAMS)
def test_teams_take_turns_by_their_ids_however_they_were_announced(teams: list[int]) -> None:
    schedule = schedule_of(*(("Duel", team) for team in teams))
    order = [schedule.learning_team]
    for _ in range(2 * len(teams)):
        pass_on(schedule, {"Duel": PLAN})
        order.append(schedule.learning_team)
    assert order == [sorted(teams)[index % len(teams)] for index in range(2 * len(teams) + 1)]


def test_each_of_thirteen_teams_learns() -> None:
    schedule = schedule_of(*(("Duel", team) for team in range(13)))
    learned = {schedule.learning_team} | {pass_on(schedule, {"Duel": PLAN}) for _ in range(12)}
    assert learned == set(range(13))


def test_nobody_learns_before_a_team_is_there() -> None:
    schedule = TurnSchedule()
    assert not schedule.begin()
    assert schedule.learning_team is None
    assert schedule.next_team(nobody) is None
    assert not schedule.turn_is_over({}, nobody)
    assert not schedule.is_learning("Duel", 0)


def test_first_turn_is_given_once() -> None:
    schedule = schedule_of(("Duel", 4), ("Duel", 2))
    schedule.add("Duel", 0)
    assert not schedule.begin()
    assert schedule.learning_team == 2


@given(TEAMS, TEAMS)
def test_team_that_appears_later_gets_turns_too(early: list[int], late: list[int]) -> None:
    schedule = schedule_of(*(("Duel", team) for team in early))
    for team in late:
        schedule.add("Duel", team)
    everybody = {*early, *late}
    assert {pass_on(schedule, {"Duel": PLAN}) or schedule.learning_team for _ in everybody} == everybody


@given(TEAMS, st.data())
def test_finished_teams_are_passed_over(teams: list[int], data: st.DataObject) -> None:
    names = {team: f"behavior {team}" for team in teams}
    done = data.draw(st.sets(st.sampled_from(teams)))
    schedule = schedule_of(*((name, team) for team, name in names.items()))
    first = schedule.learning_team
    order = sorted(teams)
    rest = [team for team in order[1:] if team not in done]
    settings = dict.fromkeys(names.values(), PLAN)
    assert first == order[0]
    assert pass_on(schedule, settings, {names[team] for team in done}.__contains__) == (rest[0] if rest else None)


def test_team_of_two_behaviors_goes_on_while_one_of_them_can_learn() -> None:
    schedule = schedule_of(("Keeper", 0), ("Striker", 0), ("Rival", 1))
    settings = {"Keeper": PLAN, "Striker": PLAN, "Rival": PLAN}
    pass_on(schedule, settings)
    assert pass_on(schedule, settings, {"Keeper"}.__contains__) == 0
    assert not schedule.turn_is_over(settings, {"Keeper"}.__contains__)
    assert schedule.turn_is_over(settings, {"Keeper", "Striker"}.__contains__)


def test_turn_is_over_as_soon_as_one_behavior_of_the_team_has_had_it() -> None:
    schedule = schedule_of(("Keeper", 0), ("Striker", 0), ("Rival", 1))
    settings = {"Keeper": PLAN, "Striker": plan(team_change=30), "Rival": plan(team_change=1)}
    schedule.clock("Keeper").learner_steps = 99
    schedule.clock("Striker").learner_steps = 29
    schedule.clock("Rival").learner_steps = 1
    assert not schedule.turn_is_over(settings, nobody)
    schedule.clock("Striker").learner_steps = 30
    assert schedule.turn_is_over(settings, nobody)


def test_only_behaviors_that_have_the_team_learn_with_it() -> None:
    schedule = schedule_of(("Left", 0), ("Right", 1))
    assert schedule.is_learning("Left", 0)
    assert not schedule.is_learning("Right", 1)
    assert not schedule.is_learning("Right", 0)
    assert schedule.behaviors_of(0) == ["Left"]
    assert schedule.behaviors_of(7) == []


def test_behavior_announced_twice_is_one() -> None:
    schedule = schedule_of(("Duel", 0), ("Duel", 0), ("Duel", 1))
    assert (schedule.behaviors_of(0), schedule.teams) == (["Duel"], [0, 1])


def test_schedule_comes_back_from_its_state() -> None:
    schedule = schedule_of(("Left", 3), ("Right", 8), ("Left", 8))
    schedule.clock("Left").learner_steps, schedule.clock("Right").opponent_steps = 130, 55
    schedule.clock("Left").mark_save(_self_play(PLAN))
    pass_on(schedule, {"Left": PLAN, "Right": PLAN})
    again = schedule_of(("Somebody", 0))
    again.restore(schedule.state())
    assert again.state() == schedule.state()
    assert (again.learning_team, again.teams, again.behaviors_of(8)) == (8, [3, 8], ["Right", "Left"])
    assert again.clock("Left").last_save == 100


def test_state_of_a_schedule_does_not_follow_it() -> None:
    schedule = schedule_of(("Duel", 0))
    state = schedule.state()
    schedule.clock("Duel").learner_steps = 5
    schedule.add("Other", 0)
    assert state["clocks"]["Duel"]["learner_steps"] == 0
    assert state["teams"] == [[0, ["Duel"]]]


# -- when it is due --------------------------------------------------------------------------------------------


def _self_play(settings: BehaviorSettings) -> SelfPlaySettings:
    assert settings.self_play is not None
    return settings.self_play


JUMPS = st.lists(st.integers(1, 130), min_size=1, max_size=60)


@given(JUMPS, st.integers(1, 100))
def test_saves_and_draws_happen_in_every_interval_once_and_do_not_drift(jumps: list[int], interval: int) -> None:
    settings = _self_play(plan(save_steps=interval, swap_steps=interval))
    clock = BehaviorClock()
    now = 0
    for jump in jumps:
        crossed = (now + jump) // interval > now // interval
        now += jump
        clock.learner_steps = clock.opponent_steps = now
        assert (clock.save_is_due(settings), clock.swap_is_due(settings)) == (crossed, crossed)
        if crossed:
            clock.mark_save(settings)
            clock.mark_swap(settings)
        assert not clock.save_is_due(settings)
        assert not clock.swap_is_due(settings)


@given(JUMPS)
def test_turns_do_not_drift(jumps: list[int]) -> None:
    schedule = schedule_of(("Duel", 0), ("Duel", 1))
    now = turns = 0
    for jump in jumps:
        now += jump
        schedule.clock("Duel").learner_steps = now
        if schedule.turn_is_over({"Duel": PLAN}, nobody):
            pass_on(schedule, {"Duel": PLAN})
            assert now // 100 > turns
            turns = now // 100
        assert turns == now // 100


def test_turn_of_a_side_goes_on_from_where_its_last_one_was_due() -> None:
    settings = {"Left": PLAN, "Right": PLAN}
    schedule = schedule_of(("Left", 0), ("Right", 1))
    schedule.clock("Left").learner_steps = 107
    pass_on(schedule, settings)
    schedule.clock("Right").learner_steps = 101
    pass_on(schedule, settings)
    schedule.clock("Left").learner_steps = 199
    assert not schedule.turn_is_over(settings, nobody)
    schedule.clock("Left").learner_steps = 200
    assert schedule.turn_is_over(settings, nobody)


def test_turn_that_was_cut_short_is_not_made_up_for() -> None:
    settings = {"Keeper": PLAN, "Striker": PLAN, "Rival": PLAN}
    schedule = schedule_of(("Keeper", 0), ("Striker", 0), ("Rival", 1))
    schedule.clock("Keeper").learner_steps, schedule.clock("Striker").learner_steps = 100, 30
    pass_on(schedule, settings)
    pass_on(schedule, settings)
    schedule.clock("Striker").learner_steps = 129
    assert not schedule.turn_is_over(settings, nobody)
    schedule.clock("Striker").learner_steps = 130
    assert schedule.turn_is_over(settings, nobody)


# -- in words --------------------------------------------------------------------------------------------------


def test_schedule_of_uneven_sides_is_told_in_the_numbers_of_the_known_example() -> None:
    # The documentation's example of 2 against 1: 200,000 steps a turn and 4 draws need 100,000 and 25,000.
    settings = {
        "Pair": plan(10**7, team_change=200_000, save_steps=50_000, swap_steps=100_000, window=7),
        "Single": plan(10**7, team_change=200_000, swap_steps=25_000, play_against_latest_model_ratio=0.25),
    }
    lines, warnings = describe_schedule(settings, {("Pair", 0): 16, ("Single", 1): 8})
    assert warnings == []
    assert lines[0] == (
        "Pair (team 0, 16 agents) learns for 200,000 steps a turn and saves a snapshot every 50,000 of them; "
        "the last 7 can be met."
    )
    assert lines[1].startswith(
        "  It meets Single (team 1), drawn anew about 4.0 times a turn (every 25,000 steps of Single): 25% the latest"
    )
    assert "drawn anew about 4.0 times a turn (every 100,000 steps of Pair): 50% the latest" in lines[3]


def test_draws_of_all_rival_teams_of_a_behavior_count_together() -> None:
    settings = {"Duel": plan(team_change=1000, swap_steps=500)}
    lines, _ = describe_schedule(settings, {("Duel", 0): 1, ("Duel", 1): 1, ("Duel", 5): 1})
    # While team 0 makes 1,000 steps, teams 1 and 5 make 2,000.
    assert lines[1].startswith("  It meets Duel (teams 1, 5), drawn anew about 4.0 times a turn")


def test_turn_without_a_swap_is_warned_of_with_a_number_that_gives_four() -> None:
    settings = {"Duel": plan(team_change=1000, swap_steps=2000)}
    _, warnings = describe_schedule(settings, {("Duel", 0): 4, ("Duel", 1): 4})
    told = (
        "Duel: swap_steps (2,000) is longer than a turn of Duel, so a turn sees no change of opponents; "
        "swap_steps 250 would give four"
    )
    assert warnings == [told]
    mended = {"Duel": plan(team_change=1000, swap_steps=250)}
    assert "about 4.0 times" in describe_schedule(mended, {("Duel", 0): 4, ("Duel", 1): 4})[0][1]


def test_turn_longer_than_the_run_is_warned_of() -> None:
    settings = {"Left": plan(500, team_change=501, swap_steps=10), "Right": plan(501, team_change=501, swap_steps=10)}
    _, warnings = describe_schedule(settings, {("Left", 0): 1, ("Right", 1): 1})
    assert [warning.split(" (")[0] for warning in warnings] == ["Left: team_change"]
    assert "501" in warnings[0]
    assert "500" in warnings[0]


def test_team_without_rivals_is_warned_of() -> None:
    lines, warnings = describe_schedule({"Duel": plan(10, team_change=20)}, {("Duel", 0): 1})
    assert len(lines) == 1
    assert len(warnings) == 1
    assert "only one team" in warnings[0]


def test_behavior_without_self_play_is_left_out() -> None:
    settings = {"Duel": plan(team_change=100, swap_steps=10), "Crowd": plan(off=True)}
    lines, warnings = describe_schedule(settings, {("Duel", 0): 1, ("Crowd", 0): 9, ("Duel", 1): 1, ("Crowd", 2): 9})
    assert warnings == []
    assert "Crowd" not in "".join(lines)
    assert describe_schedule(settings, {("Crowd", 0): 9}) == ([], [])


def test_team_nobody_of_which_has_asked_yet_is_described_all_the_same() -> None:
    settings = {"Duel": plan(team_change=1000, swap_steps=250)}
    lines, warnings = describe_schedule(settings, {("Duel", 0): 1, ("Duel", 1): 0})
    assert warnings == []
    assert lines[2].startswith("Duel (team 1) learns")
    assert "about 4.0 times" in lines[3]
