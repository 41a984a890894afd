"""One tree of errors whose messages say what, where, found, expected and the cure, in this order."""

from __future__ import annotations

import re

import pytest

from sparring import errors
from sparring.errors import Finding, SparringError, nearest

KINDS = [getattr(errors, name) for name in errors.__all__ if name not in {"Finding", "nearest"}]


def test_every_error_is_a_sparring_error() -> None:
    assert all(issubclass(kind, SparringError) for kind in KINDS)


def test_the_tree_at_the_top_of_the_module_is_the_tree_of_the_classes() -> None:
    assert errors.__doc__ is not None
    drawn = re.findall(r"^ +((?:│ +)?[├└]── )?(\w+Error)\b", errors.__doc__, re.MULTILINE)
    depth = {name: 0 if not branch else 2 if branch.startswith("│") else 1 for branch, name in drawn}
    assert depth == {kind.__name__: len(kind.__mro__) - len(SparringError.__mro__) for kind in KINDS}


def test_a_message_reads_in_the_order_where_what_found_expected_cure() -> None:
    finding = Finding("batch_size is too small", "a.yaml:9", "-1", "at least 1", "leave it out")
    assert str(finding) == "a.yaml:9: batch_size is too small; found -1, expected at least 1\n  leave it out"


def test_what_is_not_known_is_left_out() -> None:
    assert str(Finding("it broke")) == "it broke"
    assert str(Finding("it broke", cure="mend it")) == "it broke\n  mend it"
    assert str(Finding("it broke", expected="whole")) == "it broke, expected whole"


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_carries_its_parts_as_one_finding(kind: type[SparringError]) -> None:
    error = kind("it broke", where="here", found="2", expected="1", cure="mend it")
    assert error.findings == (Finding("it broke", "here", "2", "1", "mend it"),)
    assert str(error) == str(error.findings[0])


def test_several_mistakes_are_told_at_once_in_order() -> None:
    error = SparringError([Finding("first"), Finding("second", where="there")])
    assert str(error) == "first\nthere: second"
    assert len(error.findings) == 2


def test_the_nearest_names_come_best_first_and_in_their_own_spelling() -> None:
    assert nearest("learning_rat", ["beta", "Learning_Rate", "learning_rate_schedule"])[0] == "Learning_Rate"
    assert nearest("STRIKER", ["Striker", "Goalie"]) == ["Striker"]


def test_nothing_is_near_a_name_unlike_all() -> None:
    assert nearest("qqqq", ["Striker", "Goalie"]) == []


def test_no_more_than_the_limit_of_nearest_names_is_given() -> None:
    known = [f"striker{number}" for number in range(9)]
    assert len(nearest("striker", known)) == 3
    assert len(nearest("striker", known, limit=5)) == 5
