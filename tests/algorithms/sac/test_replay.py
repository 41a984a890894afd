"""The replay against a slow one made of lists: whole sequences, real next observations, the oldest gone first."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sparring.algorithms.sac import Replay
from sparring.errors import CheckpointError
from sparring.rollouts import Rollout, RowStatus
from sparring.specs import ActionSpec

ACTIONS = ActionSpec.create_hybrid(1, (2,))
CPU = torch.device("cpu")


@dataclass
class Played:
    """One decision: its number is what it saw, did and was paid."""

    number: int
    following: int
    """The number behind it; 0 where the rules ended the episode."""
    ended: bool


@dataclass
class Game:
    """Agents that come and go; every observation has a number of its own."""

    agents: int
    rng: np.random.Generator
    rollout: Rollout
    seen: int = 0
    pending: dict[int, tuple[int, int]] = field(default_factory=dict)
    sequences: list[tuple[int, list[Played]]] = field(default_factory=list)
    """Sequences in the order they were begun, with their trajectories."""
    waiting: list[tuple[int, Played]] = field(default_factory=list)

    def observe(self, trajectory: int, status: RowStatus = RowStatus.PENDING) -> int:
        self.seen += 1
        value = np.full((1, 1), self.seen, np.float32)
        memory = np.full((1, 2), self.seen, np.float32)
        mask = np.array([[self.seen % 2 == 0, False]])
        return int(self.rollout.append([value], mask, np.array([trajectory]), status=status, memory=memory)[0])

    def step(self) -> None:
        for agent in range(self.agents):
            if agent not in self.pending:
                if self.rng.random() < 0.7:
                    trajectory = int(self.rollout.begin_trajectories(1)[0])
                    self.pending[agent] = trajectory, self.observe(trajectory)
                    self.act(agent)
                continue
            if self.rng.random() < 0.8:  # some agents decide less often
                self.go_on(agent)

    def act(self, agent: int) -> None:
        row = np.array([self.pending[agent][1]])
        number = self.rollout.inputs[0][row, 0]
        self.rollout.set_actions(
            row, continuous=number[:, None] / 1000, discrete=np.array([[1]]), log_prob=np.zeros(1, np.float32)
        )

    def go_on(self, agent: int) -> None:
        trajectory, row = self.pending[agent]
        number = int(self.rollout.inputs[0][row, 0])
        fate = self.rng.choice(["goes on", "ends", "is interrupted", "is cut off"], p=[0.7, 0.1, 0.1, 0.1])
        if fate == "is cut off":  # nobody will know what came of it
            self.rollout.abandon(np.array([row]))
            del self.pending[agent]
            return
        follower = -1
        if fate != "ends":
            follower = self.observe(trajectory, RowStatus.PENDING if fate == "goes on" else RowStatus.TAIL)
        self.rollout.complete(
            np.array([row]),
            np.array([number], np.float32),
            next_row=np.array([follower]),
            terminated=np.array([fate == "ends"]),
        )
        self.waiting.append((trajectory, Played(number, 0 if fate == "ends" else self.seen, fate == "ends")))
        if fate == "goes on":
            self.pending[agent] = trajectory, follower
            self.act(agent)
        else:
            del self.pending[agent]

    def feed(self, replay: Replay) -> None:
        """Lets the replay and the slow one take in what is complete."""
        replay.add(self.rollout)
        new_row = self.rollout.carry_over()
        self.pending = {agent: (trajectory, int(new_row[row])) for agent, (trajectory, row) in self.pending.items()}
        for trajectory, played in sorted(self.waiting, key=lambda each: each[1].number):
            own = [steps for name, steps in self.sequences if name == trajectory]
            if own and len(own[-1]) < replay.length:
                own[-1].append(played)
            else:
                self.sequences.append((trajectory, [played]))
        self.waiting.clear()


def a_game(*, agents: int, seed: int) -> Game:
    return Game(agents, np.random.default_rng(seed), Rollout([(1,)], ACTIONS, capacity=4, memory_size=2))


def contents(replay: Replay) -> list[list[Played]]:
    """Sequences by age, read back through a batch."""
    places = (replay._oldest + np.arange(replay._size)) % replay.capacity
    batch = replay.batch(places, device=CPU)
    real = np.arange(len(places) * replay.length) if batch.places is None else batch.places.numpy()
    sequences: list[list[Played]] = [[] for _ in places]
    done = batch.transitions
    for row, place in enumerate(real):
        number = int(done.inputs[0][row, 0])
        assert done.next_inputs is not None
        assert done.reward[row] == number
        assert done.continuous[row, 0] == np.float32(number / 1000)
        assert batch.blocked is not None
        assert batch.blocked[row].tolist() == [number % 2 == 0, False]
        played = Played(number, int(done.next_inputs[0][row, 0]), bool(done.terminated[row]))
        sequences[place // replay.length].append(played)
    for number, sequence in enumerate(sequences):
        assert batch.memory is not None
        assert batch.memory[number, 0] == sequence[0].number
        padded = batch.inputs[0][number, :, 0].tolist()
        seen = [played.number for played in sequence] + [sequence[-1].following]
        assert padded == seen + [0] * (replay.length + 1 - len(seen))
    return sequences


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000), length=st.integers(1, 5), agents=st.integers(1, 4), every=st.integers(1, 9))
def test_a_replay_with_room_holds_every_sequence_as_it_was_played(
    seed: int, length: int, agents: int, every: int
) -> None:
    game = a_game(agents=agents, seed=seed)
    replay = Replay([(1,)], ACTIONS, capacity=5000, length=length, memory_size=2)
    for step in range(60):
        game.step()
        if step % every == 0:
            game.feed(replay)
    game.feed(replay)
    expected = sorted(tuple(played.number for played in steps) for _, steps in game.sequences)
    found = contents(replay)
    assert sorted(tuple(played.number for played in steps) for steps in found) == expected
    by_number = {played.number: played for _, steps in game.sequences for played in steps}
    assert all(played == by_number[played.number] for steps in found for played in steps)
    assert len(replay) == len(by_number)


@pytest.mark.parametrize("length", [1, 3])
def test_the_oldest_sequences_make_room(length: int) -> None:
    game = a_game(agents=3, seed=1)
    replay = Replay([(1,)], ACTIONS, capacity=20, length=length, memory_size=2)
    for _ in range(60):
        game.step()
        game.feed(replay)
    kept = contents(replay)
    begun = [steps[0].number for _, steps in game.sequences]
    assert [steps[0].number for steps in kept] == begun[-replay.capacity :]
    assert len(kept) == replay.capacity == 20 // length


@pytest.mark.parametrize("length", [1, 3])
def test_more_at_once_than_there_is_room_for_leaves_the_newest(length: int) -> None:
    game = a_game(agents=5, seed=1)
    replay = Replay([(1,)], ACTIONS, capacity=2 * length, length=length, memory_size=2)
    for _ in range(30):
        game.step()
    game.feed(replay)
    assert len(contents(replay)) == 2


@pytest.mark.parametrize("length", [1, 3])
def test_a_replay_put_back_draws_and_goes_on_as_the_one_it_was(length: int) -> None:
    game = a_game(agents=3, seed=1)
    replay = Replay([(1,)], ACTIONS, capacity=20, length=length, memory_size=2)
    for _ in range(45):
        game.step()
        game.feed(replay)
    assert replay._oldest  # the ring has gone round, the copy's begins anew
    other = Replay([(1,)], ACTIONS, capacity=20, length=length, memory_size=2)
    other.restore(replay.state())
    for _ in range(10):
        game.step()
        other.add(game.rollout)
        game.feed(replay)
        assert contents(other) == contents(replay)
    drawn = [each.sample(50, rng=np.random.default_rng(3), device=CPU) for each in (replay, other)]
    assert torch.equal(drawn[0].transitions.reward, drawn[1].transitions.reward)
    smaller = Replay([(1,)], ACTIONS, capacity=4 * length, length=length, memory_size=2)
    smaller.restore(replay.state())
    assert contents(smaller) == contents(replay)[-4:]


def test_sequences_of_another_length_are_refused() -> None:
    stored = Replay([(1,)], ACTIONS, capacity=20, length=2).state()
    with pytest.raises(CheckpointError, match="another length"):
        Replay([(1,)], ACTIONS, capacity=20, length=4).restore(stored)


def test_every_sequence_is_drawn_about_as_often() -> None:
    game = a_game(agents=3, seed=1)
    replay = Replay([(1,)], ACTIONS, capacity=10, memory_size=2)
    for _ in range(40):
        game.step()
        game.feed(replay)
    drawn: Any = replay.sample(5000, rng=np.random.default_rng(0), device=CPU).transitions.reward
    _, counts = np.unique(drawn, return_counts=True)
    assert len(counts) == 10
    assert counts.min() > 400
