"""Matches between given policies: everyone plays as many, everything is counted from the right side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from sparring.environments import Environment
from sparring.errors import NonFiniteError
from sparring.networks.drawing import PolicyOutput
from sparring.specs import BehaviorId, BehaviorSpec
from sparring.steps import ActionBatch, DecisionSteps, TerminalSteps
from sparring.training.evaluation import EvaluationRow, Tally, duel, play_matches
from tests.builders import TRACED, ScriptedGame, decisions, terminals

RED, BLUE = BehaviorId("Duel", 0), BehaviorId("Duel", 1)


class NumberGame(Environment):
    """In every arena one agent of each behavior names a number, 0 or 1, once a match; the larger one wins.

    Arena k plays a match every `length[k]` steps, and takes part from step `begins[k]` on.
    """

    def __init__(
        self,
        names: Sequence[str] = ("Duel?team=0", "Duel?team=1"),
        *,
        length: Sequence[int] = (1, 1),
        begins: Sequence[int] | None = None,
        states_result: bool = True,
    ) -> None:
        self._names = list(names)
        self._length = np.array(length)
        self._begins = np.zeros(len(length), np.int64) if begins is None else np.array(begins)
        self._states_result = states_result
        self._choice = np.zeros((len(length), len(names)), np.int64)
        self._ended = np.zeros(len(length), bool)
        self.time = 0
        self.played = np.zeros(len(length), np.int64)
        self.resets = 0
        self.statistics_taken = 0

    @property
    def behavior_specs(self) -> Mapping[str, BehaviorSpec]:
        return dict.fromkeys(self._names, TRACED)

    def reset(self) -> None:
        self.time, self.resets = 0, self.resets + 1
        self._ended[:] = False

    def _here(self) -> NDArray[Any]:
        return np.flatnonzero(self._begins <= self.time)

    def step(self) -> None:
        self.time += 1
        age = self.time - self._begins
        self._ended = (age > 0) & (age % self._length == 0)
        self.played += self._ended

    def get_steps(self, behavior_name: str) -> tuple[DecisionSteps, TerminalSteps]:
        column = self._names.index(behavior_name)
        here, ended = self._here(), np.flatnonzero(self._ended)
        best = self._choice[ended].max(axis=1)
        won = (self._choice[ended, column] == best).astype(np.float32)
        decision = decisions((here * 10 + column).tolist(), arena_id=here.tolist(), reward=[0.0] * len(here))
        terminal = terminals(
            (ended * 10 + column).tolist(),
            arena_id=ended.tolist(),
            reward=won.tolist(),
            match_score=won.tolist() if self._states_result else None,
        )
        return decision, terminal

    def set_actions(self, behavior_name: str, action: ActionBatch) -> None:
        self._choice[self._here(), self._names.index(behavior_name)] = action.discrete[:, 0]

    def take_statistics(self) -> Sequence[Any]:
        self.statistics_taken += 1
        return ()

    def close(self) -> None:
        pass


class Always:
    """A policy that always names the same number."""

    class Layout:
        @staticmethod
        def inputs(obs: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
            return list(obs)

    layout = Layout()
    memory_size = 0

    def __init__(self, number: int) -> None:
        self.number = number

    def act(
        self, inputs: Sequence[NDArray[Any]], mask: Any, generator: torch.Generator, *, memory: NDArray[Any]
    ) -> PolicyOutput:
        rows = len(inputs[0])
        nothing = np.zeros(rows, np.float32)
        return PolicyOutput(np.zeros((rows, 0), np.float32), np.full((rows, 1), self.number), nothing, nothing)

    def actions(self, output: PolicyOutput) -> ActionBatch:
        return ActionBatch(output.continuous, output.discrete.astype(np.int32))


HIGH: Any = Always(1)
LOW: Any = Always(0)


def play(
    environment: Environment, seats: Mapping[BehaviorId, Any], *, matches: int, **options: Any
) -> dict[int, Tally]:
    return play_matches(
        environment,
        seats,
        matches=matches,
        generator=torch.Generator().manual_seed(1),
        rng=np.random.default_rng(1),
        **options,
    )


# -- one pairing ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("states_result", [True, False])
@pytest.mark.parametrize("rule", ["auto", "returns", "last_reward"])
def test_the_better_side_wins_every_match(states_result: bool, rule: Any) -> None:
    game = NumberGame(states_result=states_result)
    assert play(game, {RED: LOW, BLUE: HIGH}, matches=10, rule=rule) == {0: Tally(losses=10), 1: Tally(wins=10)}


def test_equal_sides_draw() -> None:
    assert play(NumberGame(), {RED: HIGH, BLUE: HIGH}, matches=10) == {0: Tally(draws=10), 1: Tally(draws=10)}


def test_of_three_teams_the_best_wins_and_equal_bests_draw_while_the_rest_loses() -> None:
    names = ["Duel?team=0", "Duel?team=1", "Duel?team=4"]
    third = BehaviorId("Duel", 4)
    alone = play(NumberGame(names), {RED: HIGH, BLUE: LOW, third: LOW}, matches=4)
    assert alone == {0: Tally(wins=4), 1: Tally(losses=4), 4: Tally(losses=4)}
    shared = play(NumberGame(names), {RED: HIGH, BLUE: LOW, third: HIGH}, matches=4)
    assert shared == {0: Tally(draws=4), 1: Tally(losses=4), 4: Tally(draws=4)}


def test_a_seat_without_policy_plays_at_random() -> None:
    tally = play(NumberGame(length=(1,) * 10), {RED: None, BLUE: HIGH}, matches=1000)[0]
    # Half the time it names 1 and draws, else it loses: 500 ± 16, five deviations allowed.
    assert tally.wins == 0
    assert abs(tally.draws - 500) < 80


def test_an_arena_with_short_matches_counts_no_more_than_one_with_long_ones() -> None:
    game = NumberGame(length=(1, 7))
    tallies = play(game, {RED: LOW, BLUE: HIGH}, matches=10)
    assert tallies[1] == Tally(wins=10)
    assert game.played[1] == 5
    assert game.played[0] >= 35


def test_the_number_of_matches_is_rounded_up_to_one_for_each_arena() -> None:
    assert play(NumberGame(length=(1, 1, 1)), {RED: LOW, BLUE: HIGH}, matches=4)[1].matches == 6


def test_an_arena_that_joins_late_helps_until_all_together_have_played_enough() -> None:
    game = NumberGame(length=(1, 1, 1), begins=(0, 0, 3))
    tallies = play(game, {RED: LOW, BLUE: HIGH}, matches=20)
    # Two arenas play three matches each before the third joins; then three arenas play five.
    assert tallies[1] == Tally(wins=21)


def test_the_game_is_reset_before_and_its_statistics_are_thrown_away() -> None:
    game = NumberGame()
    play(game, {RED: LOW, BLUE: HIGH}, matches=4)
    assert game.resets == 1
    assert game.statistics_taken == game.time


def test_stopping_counts_the_matches_that_are_over() -> None:
    game = NumberGame()
    tallies = play(game, {RED: LOW, BLUE: HIGH}, matches=100, should_stop=lambda: game.time == 4)
    assert 4 <= tallies[1].matches <= 8


def test_a_non_finite_number_is_stopped_at_the_door() -> None:
    game = ScriptedGame({"Duel?team=0": ["D[1]", "D[1 r=nan]"], "Duel?team=1": ["D[2]", "D[2]"]})
    with pytest.raises(NonFiniteError, match=r"Duel\?team=0, agent 1, environment step 1"):
        play(game, {RED: HIGH, BLUE: LOW}, matches=1)


# -- tallies -------------------------------------------------------------------------------------------------------


def test_a_draw_is_half_a_win() -> None:
    tally = Tally(wins=1, draws=2, losses=1) + Tally(wins=2, losses=2)
    assert tally == Tally(wins=3, draws=2, losses=3)
    assert (tally.matches, tally.score) == (8, 0.5)


def test_the_interval_is_that_of_wilson() -> None:
    # 8 of 10 with z = 1.96: (0.8 + 0.19207) / 1.38415 ∓ 1.96 / 1.38415 · sqrt(0.016 + 0.0096036).
    assert Tally(wins=7, draws=2, losses=1).interval == pytest.approx((0.4902, 0.9433), abs=2e-4)


def test_without_matches_nothing_is_known() -> None:
    assert np.isnan(Tally().score)
    assert Tally().interval == (0.0, 1.0)


# -- tables --------------------------------------------------------------------------------------------------------


def table(
    names: Sequence[str], ours: Mapping[str, Any], theirs: Mapping[str, Any], *, matches: int
) -> list[EvaluationRow]:
    return list(
        duel(
            NumberGame(names),
            ours,
            theirs,
            names=("final", "random"),
            matches=matches,
            generator=torch.Generator().manual_seed(1),
            rng=np.random.default_rng(1),
            rule="auto",
        )
    )


def test_a_symmetric_game_has_one_row_that_is_played_from_both_sides() -> None:
    rows = table(["Duel?team=0", "Duel?team=1"], {"Duel": HIGH}, {"Duel": LOW}, matches=20)
    assert rows == [EvaluationRow("Duel (final)", "random", Tally(wins=20))]


def test_an_asymmetric_game_has_a_row_for_each_role_and_one_for_all() -> None:
    rows = table(
        ["Striker?team=0", "Goalie?team=1"],
        {"Striker": HIGH, "Goalie": LOW},
        {"Striker": LOW, "Goalie": LOW},
        matches=20,
    )
    assert rows == [
        EvaluationRow("Striker (final)", "Goalie (random)", Tally(wins=20)),
        EvaluationRow("Goalie (final)", "Striker (random)", Tally(draws=20)),
        EvaluationRow("Striker + Goalie (final)", "random, all roles", Tally(wins=20, draws=20)),
    ]


def test_teams_of_several_behaviors_play_together() -> None:
    names = ["Striker?team=0", "Goalie?team=0", "Striker?team=1", "Goalie?team=1"]
    ours, theirs = {"Striker": HIGH, "Goalie": LOW}, {"Striker": LOW, "Goalie": LOW}
    rows = table(names, ours, theirs, matches=20)
    assert rows == [EvaluationRow("Striker and Goalie (final)", "random", Tally(wins=20))]
