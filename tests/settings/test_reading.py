"""Settings are read with the user's spellings, laid over each other, and every mistake is told at once."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sparring.errors import SettingsError
from sparring.settings import BehaviorSettings, PPOHyperparameters, RunSettings, SACHyperparameters
from sparring.settings.reading import (
    SettingsTree,
    assignment,
    layered,
    preset,
    read_settings_file,
    validate_settings,
)


def read(tmp_path: Path, text: str | bytes, name: str = "strikers.yaml") -> SettingsTree:
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_settings_file(path)


def mistakes(tree: Any, **options: str) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        validate_settings(tree, **options)
    return [str(finding) for finding in caught.value.findings]


def behavior(tmp_path: Path, *lines: str) -> BehaviorSettings:
    text = "behaviors:\n  Duel:\n" + "".join(f"    {line}\n" for line in lines)
    return validate_settings(read(tmp_path, text)).behaviors["Duel"]


# --- spellings ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spelling", "steps"),
    [
        ("5e4", 50_000),
        ("5.0e4", 50_000),
        ("1_000", 1000),
        ("3.0", 3),
        ('"5e4"', 50_000),
        ("'1_000'", 1000),
        ("+7", 7),
        ("012", 12),
        ("0x10", 16),
        ("9007199254740993", 9_007_199_254_740_993),
        ("3000000000", 3_000_000_000),
    ],
)
def test_whole_numbers_may_be_spelled_as_people_do(tmp_path: Path, spelling: str, steps: int) -> None:
    assert behavior(tmp_path, f"max_steps: {spelling}").max_steps == steps


@pytest.mark.parametrize("spelling", ["3e-4", "3.0E-4", ".0003", '"3e-4"', "0.000_3"])
def test_numbers_may_be_spelled_as_people_do(tmp_path: Path, spelling: str) -> None:
    found = behavior(tmp_path, "hyperparameters:", f"  learning_rate: {spelling}")
    assert found.hyperparameters.learning_rate == 3e-4


@pytest.mark.parametrize(
    ("word", "truth"), [("true", True), ("Yes", True), ("ON", True), ("false", False), ("no", False), ("Off", False)]
)
def test_truths_are_words(tmp_path: Path, word: str, truth: bool) -> None:
    assert behavior(tmp_path, "network_settings:", f"  normalize: {word}").network_settings.normalize is truth


@pytest.mark.parametrize("wrong", ["1", "0", "1.0", "y", "t", "maybe", "[]", '""'])
def test_nothing_else_is_a_truth(tmp_path: Path, wrong: str) -> None:
    tree = read(tmp_path, f"behaviors:\n  Duel:\n    network_settings:\n      normalize: {wrong}\n")
    (mistake,) = mistakes(tree)
    assert "strikers.yaml:4:7: behaviors.Duel.network_settings.normalize has a wrong value" in mistake
    assert "expected true or false" in mistake


@pytest.mark.parametrize(
    "wrong", ["true", "5e4x", "1.5", "12 000", "1e-3", ".nan", "9" * 101, "1e9999", "", "[1]", "{}"]
)
def test_nothing_else_is_a_whole_number(tmp_path: Path, wrong: str) -> None:
    (mistake,) = mistakes(read(tmp_path, f"behaviors:\n  Duel:\n    max_steps: {wrong}\n"))
    assert "strikers.yaml:3:5: behaviors.Duel.max_steps has a wrong value" in mistake
    assert "expected a whole number of at least 1" in mistake


@pytest.mark.parametrize("wrong", ["yes", "true", ".inf", "nan", "1e999", "fast"])
def test_nothing_else_is_a_number(tmp_path: Path, wrong: str) -> None:
    (mistake,) = mistakes(read(tmp_path, f"environment_parameters:\n  gravity: {wrong}\n"))
    assert "strikers.yaml:2:3: environment_parameters.gravity has a wrong value" in mistake
    assert "expected a number" in mistake


@pytest.mark.parametrize("name", ["007", "1e5", "no", "true", "'null'", "2026-01-01", "0x1"])
def test_names_keep_their_spelling(tmp_path: Path, name: str) -> None:
    tree = read(tmp_path, f"checkpoint_settings:\n  run_id: {name}\n")
    assert validate_settings(tree).checkpoint_settings.run_id == name.strip("'")


def test_python_values_are_read_like_written_ones() -> None:
    tree = {"env_settings": {"seed": 3.0, "num_areas": "1_0"}, "checkpoint_settings": {"run_id": 7, "resume": True}}
    found = validate_settings(tree)
    assert (found.env_settings.seed, found.env_settings.num_areas) == (3, 10)
    assert found.checkpoint_settings.run_id == "7"
    assert len(mistakes({"env_settings": {"seed": True}, "checkpoint_settings": {"resume": 1}})) == 2


def test_an_empty_section_sets_nothing_and_null_switches_off(tmp_path: Path) -> None:
    found = behavior(tmp_path, "hyperparameters:", "self_play: null", "reward_signals: {}")
    assert found == BehaviorSettings()
    assert behavior(tmp_path, "self_play: {}").self_play is not None


def test_turns_follow_save_steps_whatever_their_spelling(tmp_path: Path) -> None:
    found = behavior(tmp_path, "self_play:", "  save_steps: '1e3'")
    assert found.self_play is not None
    assert found.self_play.team_change == 5000


# --- mistakes -----------------------------------------------------------------------------------

SIX = """\
behaviors:
  Duel:
    trainer_type: poppo
    hyperparameters:
      batch_size: 256
      buffer_size: 128
      lambda: 0.95
    network_settings:
      vis_encoder_type: simple
  self_play:
    save_steps: 10
    play_against_latest_model_ratio: 1.4
"""


def test_six_mistakes_are_told_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    found = "\n".join(mistakes(read(tmp_path, SIX))).replace(f"{tmp_path}/", "").replace(f"{tmp_path}\\", "")
    assert (
        found
        == """\
strikers.yaml:3:5: behaviors.Duel.trainer_type has a wrong value; found poppo, expected one of ppo, sac, poca
  did you mean 'ppo'?
strikers.yaml:4:5: behaviors.Duel.hyperparameters: batch_size 256 is larger than buffer_size 128: \
nothing would be learned
strikers.yaml:7:7: unknown key 'lambda' in behaviors.Duel.hyperparameters
  did you mean 'lambd'?
strikers.yaml:9:7: unknown key 'vis_encoder_type' in behaviors.Duel.network_settings
  did you mean 'vis_encode_type'?
strikers.yaml:10:3: 'self_play' is no behavior
  did you mean to indent it under Duel?
strikers.yaml:12:5: behaviors.Duel.self_play.play_against_latest_model_ratio has a wrong value; \
found 1.4, expected a number of at least 0.0 and of at most 1.0"""
    )


def test_mending_the_mistakes_one_by_one_lowers_their_number_by_one_each(tmp_path: Path) -> None:
    text = SIX
    mends = [
        ("poppo", "ppo"),
        ("lambda", "lambd"),
        ("buffer_size: 128", "buffer_size: 512"),
        ("1.4", "0.4"),
        ("encoder", "encode"),
        ("  self_play:\n    save_steps: 10\n    play", "    self_play:\n      save_steps: 10\n      play"),
    ]
    for left, (wrong, right) in zip(range(6, 0, -1), mends, strict=True):
        assert len(mistakes(read(tmp_path, text))) == left
        text = text.replace(wrong, right)
    assert validate_settings(read(tmp_path, text)).behaviors["Duel"].self_play is not None


def test_a_key_in_the_wrong_section_is_sent_home(tmp_path: Path) -> None:
    (mistake,) = mistakes(read(tmp_path, "behaviors:\n  Duel:\n    learning_rate: 1\n"))
    assert "it belongs in behaviors.Duel.hyperparameters" in mistake
    (mistake,) = mistakes(read(tmp_path, "num_areas: 3\n"))
    assert "unknown key 'num_areas' in the settings\n  it belongs in env_settings" in mistake


def test_a_key_like_no_other_gets_the_list_of_those_known(tmp_path: Path) -> None:
    (mistake,) = mistakes(read(tmp_path, "torch_settings: {qqqq: 1}\n"))
    assert mistake.endswith("known there: device, threads")


def test_one_wrong_schedule_is_one_mistake(tmp_path: Path) -> None:
    tree = read(tmp_path, "behaviors:\n  Duel:\n    hyperparameters:\n      learning_rate_schedule: lineer\n")
    (mistake,) = mistakes(tree)
    assert "expected one of linear, constant\n  did you mean 'linear'?" in mistake


def test_a_value_without_an_origin_names_the_source() -> None:
    (mistake,) = mistakes({"env_settings": {"num_areas": 0}}, source="train()")
    assert mistake.startswith("train(): env_settings.num_areas has a wrong value; found 0, expected a whole number")


def test_a_long_or_unprintable_value_does_not_flood_the_message() -> None:
    (mistake,) = mistakes({"env_settings": {"seed": "\x1b[31m" + "x" * 500}})
    assert mistake.isprintable()
    assert len(mistake) < 200


@pytest.mark.parametrize(
    ("text", "where", "says"),
    [
        ("a:\n\tb: 1\n", "strikers.yaml:2", "a tab is used for indentation"),
        ("a: [1\n", "strikers.yaml", "not YAML"),
        ("a: *gone\n", "strikers.yaml:1", "undefined alias"),
        ("env_settings:\n  seed: 1\n  seed: 2\n", "strikers.yaml:3", "'seed' is given twice\n  the first is on line 2"),
        ("a: !!python/object:os.system x\n", "strikers.yaml:1", "a tag has no meaning here"),
        ("? [1, 2]\n: 3\n", "strikers.yaml:1", "a key must be a single text"),
        ("- 1\n- 2\n", "strikers.yaml", "found a list"),
        ("just a line\n", "strikers.yaml", "found a single value"),
        ("a: &a {b: *a}\n", "strikers.yaml:1", "within what it stands for"),
        ("a: 1\n---\nb: 2\n", "strikers.yaml:2", "not YAML"),
        ("a: {<<: 3}\n", "strikers.yaml:1", "<< takes in a section"),
        ("a: \x07\n", "strikers.yaml", "not YAML"),
        ("[" * 900, "strikers.yaml", "nested too deeply"),
        ("x" * 4_000_001, "strikers.yaml", "too large"),
        (b"# Gr\xf6\xdfe\n", "strikers.yaml:1", "not UTF-8; found byte 0xf6 at position 4"),
    ],
)
def test_a_file_that_is_no_settings_file_is_refused_with_the_place(
    tmp_path: Path, text: str | bytes, where: str, says: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, text)
    assert where in caught.value.findings[0].where
    assert says in str(caught.value)


def test_aliases_of_aliases_do_not_fill_the_memory(tmp_path: Path) -> None:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    with pytest.raises(SettingsError, match="too large through its aliases"):
        read(tmp_path, "\n".join(rows))


def test_a_missing_file_names_its_neighbor(tmp_path: Path) -> None:
    read(tmp_path, "{}")
    with pytest.raises(SettingsError, match=r"did you mean .*strikers\.yaml"):
        read_settings_file(tmp_path / "striker.yaml")
    with pytest.raises(SettingsError, match="cannot be read"):
        read_settings_file(tmp_path / "no" / "folder.yaml")
    with pytest.raises(SettingsError, match="cannot be read"):
        read_settings_file(tmp_path)


def test_an_empty_file_sets_nothing_and_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert read(tmp_path, "# nothing yet\n") == {}
    assert "holds no settings" in caplog.text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_with_a_mark_are_read_alike(tmp_path: Path, encoding: str) -> None:
    text = "behaviors:\r\n  Größe:\r\n    max_steps: 5\r\n"
    assert read(tmp_path, text.encode(encoding)) == {"behaviors": {"Größe": {"max_steps": "5"}}}


yaml_like = st.text(alphabet="ab:-[]{}&*!|>'\"#%@<\n \t,?0.~\x00é", max_size=40)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(text=st.one_of(yaml_like, yaml_like.map(lambda text: f"behaviors:\n  a: {text}")))
def test_any_text_is_read_or_refused_in_our_words(tmp_path: Path, text: str) -> None:
    try:
        found = validate_settings(read(tmp_path, text))
    except SettingsError as error:
        places = [finding.where for finding in error.findings]
    else:
        places = []
        assert isinstance(found, RunSettings)
    assert all("strikers.yaml" in place for place in places)


def test_merge_keys_work_and_own_keys_win(tmp_path: Path) -> None:
    text = """\
behaviors:
  A: &base
    max_steps: 10
    time_horizon: 7
  B:
    <<: *base
    max_steps: 20
"""
    found = validate_settings(read(tmp_path, text)).behaviors
    assert (found["B"].max_steps, found["B"].time_horizon) == (20, 7)
    (mistake,) = mistakes(read(tmp_path, text.replace("20", "-20")))
    assert "strikers.yaml:7" in mistake


# --- layers -------------------------------------------------------------------------------------


def test_a_later_layer_wins_key_by_key_and_mistakes_keep_their_origin(tmp_path: Path) -> None:
    file = read(tmp_path, "behaviors:\n  Striker:\n    max_steps: 7\n    hyperparameters:\n      beta: -1\n")
    tree = layered(preset("strikers_vs_goalie"), file, assignment("behaviors.Striker.time_horizon=x"))
    from_file, from_flag = mistakes(tree)
    assert "strikers.yaml:5:7: behaviors.Striker.hyperparameters.beta" in from_file
    assert from_flag.startswith("--set: behaviors.Striker.time_horizon")
    tree = layered(tree, {"behaviors": {"Striker": {"hyperparameters": {"beta": 0.1}, "time_horizon": 9}}})
    striker = validate_settings(tree).behaviors["Striker"]
    assert isinstance(striker.hyperparameters, PPOHyperparameters)
    assert (striker.max_steps, striker.hyperparameters.beta, striker.time_horizon) == (7, 0.1, 9)
    assert striker.hyperparameters.batch_size == 1024


def test_an_overwritten_value_loses_its_old_origin(tmp_path: Path) -> None:
    tree = layered(read(tmp_path, "env_settings: {seed: 1}\n"), {"env_settings": {"seed": "x"}})
    (mistake,) = mistakes(tree, source="flags")
    assert "strikers.yaml:1" in mistake  # the section is still the file's
    assert ("env_settings", "seed") not in tree.origins


def test_layers_are_not_shared_with_the_result() -> None:
    below: dict[str, Any] = {"environment_parameters": {"a": 1}, "writers": ["jsonl"]}
    tree = layered(below, {"environment_parameters": {"b": 2}})
    tree["writers"].append("console")
    assert below == {"environment_parameters": {"a": 1}, "writers": ["jsonl"]}


def test_an_empty_section_leaves_the_preset_and_null_switches_self_play_off(tmp_path: Path) -> None:
    file = read(tmp_path, "behaviors:\n  SoccerTwos:\n    hyperparameters:\n    self_play: null\n")
    found = validate_settings(layered(preset("soccer_twos"), file)).behaviors["SoccerTwos"]
    assert found.hyperparameters.batch_size == 1024
    assert found.self_play is None


trees = st.recursive(
    st.one_of(st.none(), st.integers()),
    lambda node: st.dictionaries(st.sampled_from("abc"), node, min_size=1, max_size=3),
    max_leaves=6,
).filter(lambda tree: isinstance(tree, dict))


@settings(deadline=None)
@given(trees, trees, trees)
def test_laying_over_is_associative_and_the_last_leaf_wins(one: Any, two: Any, three: Any) -> None:
    assert layered(layered(one, two), three) == layered(one, two, three)
    assert layered(one, one) == one
    for key, value in three.items():
        if isinstance(value, int):
            assert layered(one, two, three)[key] == value


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a=1", {"a": "1"}),
        ("behaviors.Striker.max_steps=1e6", {"behaviors": {"Striker": {"max_steps": "1e6"}}}),
        ('behaviors."My.B=?".x=1', {"behaviors": {"My.B=?": {"x": "1"}}}),
        ("behaviors.Name?team.x=a=b", {"behaviors": {"Name?team": {"x": "a=b"}}}),
        ("a.b=", {"a": {"b": None}}),
        ("a=null", {"a": None}),
        ("writers=[jsonl, console]", {"writers": ["jsonl", "console"]}),
        ("torch_settings.device=cuda:1", {"torch_settings": {"device": "cuda:1"}}),
        (r"a=C:\runs", {"a": r"C:\runs"}),
    ],
)
def test_an_assignment_sets_one_value(text: str, tree: dict[str, Any]) -> None:
    assert assignment(text) == tree


@pytest.mark.parametrize("text", ["", "a", "=1", "a..b=1", ".a=1", "a.=1", '"a=1', "a.b", "a=[1"])
def test_what_sets_nothing_is_refused(text: str) -> None:
    with pytest.raises(SettingsError) as caught:
        assignment(text, source="--set number 2")
    assert "--set number 2" in str(caught.value)


@pytest.mark.parametrize(
    ("world", "behaviors"), [("strikers_vs_goalie", {"Striker", "Goalie"}), ("soccer_twos", {"SoccerTwos"})]
)
def test_presets_are_valid_settings_with_self_play(world: str, behaviors: set[str]) -> None:
    found = validate_settings(preset(world))
    assert set(found.behaviors) == behaviors
    assert all(behavior.self_play is not None for behavior in found.behaviors.values())


@pytest.mark.parametrize("world", ["nowhere", "../soccer_twos", "", "soccer_twos.yaml"])
def test_a_world_without_a_preset_gets_the_defaults(world: str) -> None:
    assert preset(world) == {}
    assert validate_settings(preset(world)) == RunSettings()


def test_another_algorithm_begins_with_its_own_hyperparameters_not_with_those_of_a_preset(tmp_path: Path) -> None:
    file = read(
        tmp_path, "behaviors:\n  SoccerTwos:\n    trainer_type: sac\n    hyperparameters: {steps_per_update: 5e1}\n"
    )
    found = validate_settings(layered(preset("soccer_twos"), file)).behaviors["SoccerTwos"]
    assert found.hyperparameters == SACHyperparameters(steps_per_update=50.0, reward_signal_steps_per_update=50.0)
    assert found.max_steps == 2_000_000  # the rest is the preset's


def test_another_algorithm_than_that_of_the_defaults_does_not_inherit_its_hyperparameters(tmp_path: Path) -> None:
    defaults = "default_settings:\n  trainer_type: sac\n  hyperparameters: {tau: 0.01}\n  max_steps: 7\n"
    found = validate_settings(read(tmp_path, defaults + "behaviors:\n  A: {trainer_type: ppo}\n  B: {}\n")).behaviors
    assert found["A"].hyperparameters == PPOHyperparameters()
    assert found["B"].hyperparameters == SACHyperparameters(tau=0.01)
    assert found["A"].max_steps == found["B"].max_steps == 7


def test_a_key_of_another_algorithm_is_told_with_who_has_it(tmp_path: Path) -> None:
    tree = read(
        tmp_path, "behaviors:\n  A:\n    trainer_type: sac\n    hyperparameters:\n      taw: 0.01\n      beta: 1\n"
    )
    first, second = mistakes(tree)
    assert first.endswith("strikers.yaml:5:7: unknown key 'taw' in behaviors.A.hyperparameters\n  did you mean 'tau'?")
    assert "strikers.yaml:6:7: unknown key 'beta' in behaviors.A.hyperparameters" in second
    assert second.endswith("only ppo and poca have it; leave it away")
