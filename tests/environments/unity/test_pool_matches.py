"""A pool tells the matches of games that don't say who plays whom, and gives them to self-play."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sparring.environments import Environment
from sparring.environments.unity import GamePool
from sparring.steps import ActionBatch, DecisionSteps, TerminalSteps
from tests.games import Role, WalkGame
from tests.training.test_collector import collector_of


class Mute(WalkGame):
    """A walk whose agents don't say in which arena they are; the ids tell it to the test."""

    def get_steps(self, behavior_name: str) -> tuple[DecisionSteps, TerminalSteps]:
        decision, terminal = super().get_steps(behavior_name)
        return replace(decision, arena_id=None), replace(terminal, arena_id=None)


def pool(count: int, arenas: int) -> GamePool:
    def make(worker: int, is_given_up: Callable[[], bool]) -> Environment:
        return Mute((Role("Duel?team=0", 1), Role("Duel?team=1", 1)), num_arenas=arenas, seed=worker)

    return GamePool(make, count)


def test_arenas_of_one_game_are_told_apart_after_their_first_matches() -> None:
    rng = np.random.default_rng(0)
    with pool(1, 4) as games:
        games.reset()
        names = list(games.behavior_specs)
        for _ in range(100):
            for name in names:
                decision, _ = games.get_steps(name)
                games.set_actions(name, ActionBatch.random(games.behavior_specs[name].action_spec, len(decision), rng))
            games.step()
        found: dict[int, set[int]] = {}
        for name in names:
            decision, _ = games.get_steps(name)
            assert decision.arena_id is not None
            for agent, arena in zip(decision.agent_id.tolist(), decision.arena_id.tolist(), strict=True):
                found.setdefault(agent % 4, set()).add(arena)
        assert all(len(arenas) == 1 for arenas in found.values())
        assert len(set.union(*found.values())) == len(found) == 4


def test_matches_of_mute_games_end_and_are_rated() -> None:
    self_play = {"save_steps": 50, "team_change": 100, "swap_steps": 20}
    with pool(2, 3) as games:
        collector = collector_of(games, self_play=self_play)
        for _ in range(300):
            collector.step()
        lineup = collector.lineup
        players = [held.player for own in lineup.pools.values() for held in own.all]
        assert sum(lineup.ratings[player].games for player in players if player in lineup.ratings) > 20
        assert lineup.book.num_arenas <= 2 * 3 + 2
