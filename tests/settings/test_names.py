"""Names people choose become one safe path component each."""

import unicodedata
from pathlib import Path, PurePosixPath, PureWindowsPath
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sparring.settings.names import MAX_BYTES, distinct_name, folder_key, safe_name

# The machine may be busy: how long an example takes is no matter here.
unhurried = settings(deadline=None)

any_name = st.one_of(
    st.text(max_size=40),
    st.text(alphabet="./\\:~%-_ aAéλCONnul1", max_size=12),
    st.text(min_size=90, max_size=300),
    st.text(alphabet=st.characters(categories=["Cs", "Ll"]), max_size=5),
)


@pytest.mark.parametrize(
    "name",
    ["ppo", "Striker", "My Behavior", "3DBall", "run_1.5-b", "Стрелок", "守门员", "गोलकीपर", "striker.v2", "console"],
)
def test_ordinary_names_stay_as_they_are(name: str) -> None:
    assert safe_name(name) == name


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("a/b", "a%2Fb"),
        ("..", "%2E%2E"),
        ("../../etc/passwd", "%2E.%2F..%2Fetc%2Fpasswd"),
        ("C:\\x", "C%3A%5Cx"),
        ("CON", "%43ON"),
        ("nul.txt", "%6Eul.txt"),
        ("Com1 .x", "%43om1 .x"),
        (".hidden", "%2Ehidden"),
        ("-rf", "%2Drf"),
        ("dot.", "dot%2E"),
        (" x ", "%20x%20"),
        ("Name?team=0", "Name%3Fteam%3D0"),
        ("a\0b", "a%00b"),
    ],
)
def test_what_a_disk_would_misread_is_escaped(name: str, safe: str) -> None:
    assert safe_name(name) == safe


@unhurried
@given(any_name)
@example("")
@example("." * 300)
def test_result_is_one_component_that_every_system_accepts(name: str) -> None:
    for safe in (safe_name(name), distinct_name(name)):
        assert 0 < len(safe.encode("utf-8")) <= MAX_BYTES
        assert not set(safe) & set('<>:"/\\|?*')
        assert safe.isprintable()
        assert safe[0] not in ".- "
        assert safe[-1] not in ". "
        assert PureWindowsPath(safe).parts == PurePosixPath(safe).parts == (safe,)
        stem = safe.split(".")[0].rstrip().casefold()
        assert stem not in {"con", "prn", "aux", "nul"}
        assert stem[:3] not in {"com", "lpt"} or len(stem) != 4


@unhurried
@given(any_name, any_name)
def test_different_names_give_different_results_in_any_unicode_form(first: str, second: str) -> None:
    if first != second:
        for form in ("NFC", "NFD"):
            one, other = (unicodedata.normalize(form, safe_name(name)) for name in (first, second))
            assert one != other
        assert distinct_name(first) != distinct_name(second)


@unhurried
@given(any_name)
def test_a_result_without_digest_reads_back_as_the_name(name: str) -> None:
    safe = safe_name(name)
    if "~" not in safe:
        assert unquote_to_bytes(safe).decode("utf-8", "surrogatepass") == name


def test_decomposed_spelling_is_told_from_the_composed_one() -> None:
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    assert safe_name(composed) == composed
    assert folder_key(safe_name(decomposed)) != folder_key(composed)


def test_names_differing_only_in_case_do_not_share_a_folder() -> None:
    taken = [safe_name("Agent")]
    twin = safe_name("agent", taken=taken)
    assert folder_key(twin) != folder_key("Agent")
    taken.append(twin)
    assert safe_name("Agent", taken=taken) == "Agent"
    assert safe_name("agent", taken=taken) == twin
    assert safe_name("AGENT", taken=taken) not in taken


def test_a_disk_that_lists_decomposed_names_still_finds_its_entry() -> None:
    assert safe_name("caf\u00e9", taken=["cafe\u0301"]) == "caf\u00e9"


@unhurried
@given(st.lists(any_name, unique=True, max_size=8))
def test_names_made_one_after_another_never_meet(names: list[str]) -> None:
    taken: dict[str, str] = {}
    for name in names:
        taken[name] = safe_name(name, taken=list(taken.values()))
    assert len({folder_key(entry) for entry in taken.values()}) == len(names)
    assert {name: safe_name(name, taken=list(taken.values())) for name in names} == taken


def test_long_names_differing_at_the_end_stay_apart_on_disk(tmp_path: Path) -> None:
    for ending in "xy":
        (tmp_path / safe_name("n" * 299 + ending)).mkdir()
    assert len(list(tmp_path.iterdir())) == 2
