"""Who was with whom: for each decision of a member, the rows of its mates at that moment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sparring.rollouts.rollout import Rollout, RowStatus

__all__ = ["Company", "company_of", "shared_reward"]

NOBODY = -1
"""Stands in a table of mates where a group is smaller than others."""


@dataclass(frozen=True, slots=True)
class Company:
    """The mates of rows.

    Attributes:
        mates: int64 `[rows, most]`, of each decision or tail the latest row of every mate that is there at its moment;
            `NOBODY` behind the last one.
        survivors: int64 `[rows, most]`, for each decision after which the rules ended the member's episode, the rows of
            the mates that go on at that moment; all `NOBODY` where the group is over, and for any other row.
    """

    mates: NDArray[np.int64]
    survivors: NDArray[np.int64]


def company_of(rollout: Rollout) -> Company:
    """Reads the groups of a rollout that records them.

    A mate is there from its first decision to the moment its episode ends. One that decides less often is there with
    its latest decision. An episode that was interrupted is there with its last observation for those that are
    interrupted with it, so that a future that was cut off can be estimated from what all of them saw last. Members
    that begin at the moment a group ends belong to the next episode of the group.
    """
    size = rollout.size
    assert rollout.group is not None, "the rollout records groups"
    group = rollout.group[:size]
    mates: list[Sequence[int]] = [()] * size
    survivors: list[Sequence[int]] = [()] * size
    usable = (group != 0) & (rollout.status[:size] != RowStatus.DROPPED) & ~_dead_tails(rollout)
    rows = np.flatnonzero(usable)
    order = rows[np.argsort(group[rows], kind="stable")]
    for part in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        if len(part):
            _Group(rollout, part).tell(mates, survivors)
    return Company(_table(mates), _table(survivors))


def shared_reward(rollout: Rollout) -> NDArray[np.float32]:
    """What members earn together, `[rows]`: the group's reward, the member's own and its mates' own rewards.

    A mate's reward counts for the decision during which it came, whenever the mate decided.
    """
    size = rollout.size
    assert rollout.group is not None, "the rollout records groups"
    assert rollout.group_reward is not None, "a rollout that records groups records their rewards"
    assert rollout.moment is not None, "a rollout that records groups records moments"
    assert rollout.ended_at is not None, "a rollout that records groups records moments"
    reward = rollout.reward[:size].astype(np.float64)
    own = reward - rollout.group_reward[:size]
    total = reward.copy()
    complete = rollout.status[:size] == RowStatus.COMPLETE
    rows = np.flatnonzero(complete & (rollout.group[:size] != 0))
    order = rows[np.argsort(rollout.group[rows], kind="stable")]
    for part in np.split(order, np.flatnonzero(np.diff(rollout.group[order])) + 1):
        if not len(part):
            continue
        ended = rollout.ended_at[part]
        by_time = np.argsort(ended, kind="stable")
        sums = np.concatenate(([0.0], np.cumsum(own[part][by_time])))
        until = sums[np.searchsorted(ended[by_time], ended, side="right")]
        before = sums[np.searchsorted(ended[by_time], rollout.moment[part], side="right")]
        total[part] = rollout.group_reward[part] + (until - before)
    return total.astype(np.float32)


def _dead_tails(rollout: Rollout) -> NDArray[np.bool_]:
    """Tails behind an end by the rules: nobody is there any more."""
    size = rollout.size
    dead = np.zeros(size, np.bool_)
    ended = rollout.next_row[:size][rollout.terminated[:size]]
    dead[ended[ended >= 0]] = True
    return dead


def _table(lists: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    most = max(map(len, lists), default=0)
    table = np.full((len(lists), most), NOBODY, np.int64)
    for row, entries in enumerate(lists):
        if entries:
            table[row, : len(entries)] = entries
    return table


@dataclass(slots=True)
class _Member:
    """A trajectory of the group: its latest row, and the moment it began."""

    row: int
    since: int


@dataclass
class _Group:
    """Walks through the moments of one group; `rows` are its rows, in the order of time."""

    rollout: Rollout
    rows: NDArray[np.int64]
    members: dict[int, _Member] = field(default_factory=dict)

    def tell(self, mates: list[Sequence[int]], survivors: list[Sequence[int]]) -> None:
        """Fills in the mates of its rows and the survivors of its ends."""
        rollout = self.rollout
        assert rollout.moment is not None, "a rollout that records groups records moments"
        assert rollout.ended_at is not None, "a rollout that records groups records moments"
        ends = self.rows[rollout.terminated[self.rows] & (rollout.status[self.rows] == RowStatus.COMPLETE)]
        ends = ends[np.argsort(rollout.ended_at[ends], kind="stable")]
        waiting = [(int(rollout.ended_at[row]), int(row)) for row in ends][::-1]
        for moment, block in self._blocks():
            while waiting and waiting[-1][0] < moment:
                ended_at, row = waiting.pop()
                survivors[row] = self._left(ended_at)
            for row in block:
                self._arrive(row, moment)
            self._leave(moment)
            while waiting and waiting[-1][0] == moment:
                _, row = waiting.pop()
                survivors[row] = self._left(moment)
            for row in block:
                mates[row] = self._mates(row, moment)
            for trajectory in [key for key, member in self.members.items() if self._is_tail(member.row)]:
                del self.members[trajectory]
        while waiting:
            ended_at, row = waiting.pop()
            survivors[row] = self._left(ended_at)

    def _blocks(self) -> Iterator[tuple[int, list[int]]]:
        """The rows of each moment."""
        assert self.rollout.moment is not None, "a rollout that records groups records moments"
        moments = self.rollout.moment[self.rows]
        for part in np.split(self.rows, np.flatnonzero(np.diff(moments)) + 1):
            yield int(self.rollout.moment[part[0]]), part.tolist()

    def _arrive(self, row: int, moment: int) -> None:
        member = self.members.setdefault(int(self.rollout.trajectory[row]), _Member(row, moment))
        member.row = row

    def _leave(self, moment: int) -> None:
        """Forgets the members whose episode is over by then and that left nothing behind."""
        assert self.rollout.ended_at is not None, "a rollout that records groups records moments"
        over = [
            trajectory
            for trajectory, member in self.members.items()
            if self.rollout.status[member.row] == RowStatus.COMPLETE and self.rollout.ended_at[member.row] <= moment
        ]
        for trajectory in over:
            del self.members[trajectory]

    def _is_tail(self, row: int) -> bool:
        return bool(self.rollout.status[row] == RowStatus.TAIL)

    def _left(self, moment: int) -> list[int]:
        """Who goes on after a member's episode ended; nobody, if all that were there before ended with it."""
        self._leave(moment)
        before = [member for member in self.members.values() if member.since < moment]
        return [member.row for member in self.members.values()] if before else []

    def _mates(self, row: int, moment: int) -> list[int]:
        own = int(self.rollout.trajectory[row])
        is_last = self._is_tail(row)
        others = [member for trajectory, member in self.members.items() if trajectory != own]
        if is_last:  # those that begin now are of the next episode, unless somebody of this one goes on
            going = any(member.since < moment and not self._is_tail(member.row) for member in others)
            return [member.row for member in others if going or member.since < moment]
        return [member.row for member in others if not self._is_tail(member.row)]
