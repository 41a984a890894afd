"""Worlds by name: built in, added by packages, misspelled and broken."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint, EntryPoints

import pytest

from sparring.environments import Environment
from sparring.errors import SettingsError
from sparring.worlds import available_worlds, create_world, registry
from sparring.worlds.soccer import SoccerTwos, StrikersVsGoalie

BUILT_IN = ["strikers_vs_goalie", "soccer_twos"]


def offer(monkeypatch: pytest.MonkeyPatch, **worlds: str | list[str]) -> None:
    points = EntryPoints(
        EntryPoint(name, value, registry.GROUP)
        for name, values in worlds.items()
        for value in ([values] if isinstance(values, str) else values)
    )
    monkeypatch.setattr("importlib.metadata.entry_points", lambda *, group: points.select(group=group))


def a_world(*, num_arenas, seed, threads):
    return SoccerTwos(num_arenas=num_arenas, seed=seed, threads=threads)


def no_world(*, num_arenas, seed, threads):
    return num_arenas, seed, threads


def test_the_built_in_worlds_are_listed_and_made(monkeypatch):
    offer(monkeypatch)
    assert [world.name for world in available_worlds()] == BUILT_IN
    for name, kind in zip(BUILT_IN, (StrikersVsGoalie, SoccerTwos), strict=True):
        with create_world(name, num_arenas=3, seed=4, threads=2) as world:
            assert isinstance(world, kind)
            assert len(world.get_steps(next(iter(world.behavior_specs)))[0]) == 6


def test_listing_needs_neither_numba_nor_torch():
    code = (
        "import sys; from sparring.worlds import available_worlds; available_worlds();"
        "assert not {'numba', 'torch'} & set(sys.modules), 'heavy'; import sparring.worlds.soccer;"
        "assert 'torch' not in sys.modules, 'torch'"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_an_unknown_world_is_answered_with_the_nearest_and_all_names(monkeypatch):
    offer(monkeypatch)
    with pytest.raises(SettingsError, match=r"did you mean soccer_twos\? The worlds are: strikers_vs_goalie, soccer_"):
        create_world("socer_twos")
    with pytest.raises(SettingsError, match="there is no world 'chess'"):
        create_world("chess")


def test_a_package_adds_a_world(monkeypatch):
    offer(monkeypatch, mine=f"{a_world.__module__}:a_world")
    assert [world.name for world in available_worlds()] == [*BUILT_IN, "mine"]
    with create_world("mine", num_arenas=1) as world:
        assert isinstance(world, Environment)


@pytest.mark.parametrize(
    "value",
    ["no.such.module:World", "sparring.worlds:NoSuchWorld", "no : reference", "tests.worlds.builders:AGENT"],
)
def test_a_broken_world_is_named_and_harms_no_other(monkeypatch, value):
    offer(monkeypatch, broken=value)
    assert [world.name for world in available_worlds()] == [*BUILT_IN, "broken"]
    with pytest.raises(SettingsError, match="world 'broken' cannot be"):
        create_world("broken")
    create_world("soccer_twos", num_arenas=1).close()


def test_what_is_no_environment_is_refused(monkeypatch):
    offer(monkeypatch, odd=f"{no_world.__module__}:no_world")
    with pytest.raises(SettingsError, match="world 'odd' is not an Environment"):
        create_world("odd")


def test_a_built_in_name_cannot_be_taken_over_and_a_double_one_is_refused(monkeypatch):
    offer(monkeypatch, soccer_twos="no.such:World", twice=["a.b:C", "d.e:F"])
    create_world("soccer_twos", num_arenas=1).close()
    with pytest.raises(SettingsError, match="world 'twice' is offered more than once"):
        create_world("twice")


def test_settings_out_of_range_are_refused():
    with pytest.raises(SettingsError, match="num_arenas is too small"):
        create_world("soccer_twos", num_arenas=0)


def test_a_script_is_a_world(tmp_path):
    script = tmp_path / "game.py"
    script.write_text(
        "from sparring.worlds.soccer import SoccerTwos\n\ndef world(**options):\n    return SoccerTwos(**options)\n"
        "\ndef nothing(**options):\n    return 3\n"
    )
    info = registry.find_world(f"{script}:world")
    assert info.name == f"{script}:world"
    with info.create(num_arenas=2, seed=1, threads=1) as world:
        assert list(world.behavior_specs) == ["SoccerTwos?team=0", "SoccerTwos?team=1"]
    with pytest.raises(SettingsError, match="is not an Environment; found int"):
        create_world(f"{script}:nothing")
    script.write_text(script.read_text() + "\ndef make_game(academy):\n    return None\n")
    with pytest.raises(SettingsError, match=r"can't be called as a world(?s:.*)as_world"):
        create_world(f"{script}:make_game")
    with pytest.raises(SettingsError, match=r"A script's world is named FILE\.py:NAME"):
        create_world(str(script))
    with pytest.raises(SettingsError, match="nothing to call by the name 'wrld'"):
        create_world(f"{script}:wrld")
    with pytest.raises(SettingsError, match="there is no such script"):
        registry.find_world(f"{tmp_path}/other.py:world")
