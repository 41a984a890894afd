"""How a run begins, where its files are, and that nothing is touched when it may not begin."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sparring.errors import RunError
from sparring.runs import BehaviorStatus, ExportedModel, RunFolder, StartMode, run_ids
from sparring.settings.names import folder_key


def begun(results: Path, run_id: str = "first", *, steps: tuple[int, ...] = (10,)) -> Path:
    """A run that ended properly after these checkpoints."""
    with RunFolder.open(results, run_id, "new") as folder:
        folder.write_configuration("behaviors: {}\n")
        for step in steps:
            folder.checkpoints().save({"w": np.ones(2)}, step)
        return folder.path


def contents(place: Path) -> dict[str, bytes | None]:
    return {str(p.relative_to(place)): p.read_bytes() if p.is_file() else None for p in sorted(place.rglob("*"))}


def test_a_new_run_gets_a_folder_of_its_name(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path / "results", "ppo", "new") as folder:
        assert folder.path == tmp_path / "results" / "ppo"
        assert folder.notices == ()
        assert folder.checkpoints().is_empty()


def test_an_existing_run_is_not_touched_and_the_choices_are_listed(tmp_path: Path) -> None:
    begun(tmp_path)
    before = contents(tmp_path)
    with pytest.raises(RunError) as caught:
        RunFolder.open(tmp_path, "first", "new")
    message = str(caught.value)
    assert all(choice in message for choice in ("another --run-id", "--resume", "--force", str(tmp_path / "first")))
    assert contents(tmp_path) == before


def test_resuming_a_missing_run_names_those_most_like_it_and_makes_nothing(tmp_path: Path) -> None:
    begun(tmp_path, "strikers-1")
    begun(tmp_path, "walker")
    with pytest.raises(RunError, match="did you mean strikers-1"):
        RunFolder.open(tmp_path, "striker-1", "resume")
    with pytest.raises(RunError, match="runs there: strikers-1, walker"):
        RunFolder.open(tmp_path, "zzzzzz", "resume")
    with pytest.raises(RunError, match="there are no runs"):
        RunFolder.open(tmp_path / "elsewhere", "x", "resume")
    assert not (tmp_path / "elsewhere").exists()
    assert run_ids(tmp_path) == ["strikers-1", "walker"]


def test_resume_goes_on_in_the_same_folder(tmp_path: Path) -> None:
    path = begun(tmp_path, steps=(10, 20))
    with RunFolder.open(tmp_path, "first", "resume") as folder:
        assert folder.path == path
        assert folder.checkpoints().newest().step == 20


@pytest.mark.parametrize("mode", ["resume", "new"])
def test_a_run_that_ended_before_its_first_checkpoint_is_told_apart(tmp_path: Path, mode: StartMode) -> None:
    begun(tmp_path, steps=())
    with pytest.raises(RunError, match="ended before its first checkpoint") as caught:
        RunFolder.open(tmp_path, "first", mode)
    assert "--force" in str(caught.value)
    assert "--resume" not in str(caught.value)


def test_an_empty_folder_and_one_with_only_a_lock_do_not_block_their_name(tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    RunFolder.open(tmp_path, "first", "new").close()
    assert [entry.name for entry in (tmp_path / "first").iterdir()] == ["run.lock"]
    RunFolder.open(tmp_path, "first", "new").close()


def test_force_moves_the_earlier_run_aside_and_says_where(tmp_path: Path) -> None:
    begun(tmp_path)
    before = contents(tmp_path / "first")
    for number in (1, 2):
        with RunFolder.open(tmp_path, "first", "force") as folder:
            moved = tmp_path / f"first.old-{number}"
            assert folder.notices == (f"moved the earlier run to {moved}",)
            assert folder.checkpoints().is_empty()
            folder.write_configuration("a: 1\n")
    assert contents(tmp_path / "first.old-1") == before


def test_force_without_an_earlier_run_just_begins(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path, "first", "force") as folder:
        assert folder.notices == ()
    assert [entry.name for entry in tmp_path.iterdir()] == ["first"]


def test_an_earlier_run_that_cannot_be_moved_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun(tmp_path)

    def refuse(self: Path, target: Path) -> None:
        raise PermissionError(13, "held open")

    before = contents(tmp_path)
    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(RunError, match="cannot be moved aside") as caught:
        RunFolder.open(tmp_path, "first", "force")
    assert "TensorBoard" in str(caught.value)
    assert contents(tmp_path) == before
    monkeypatch.undo()
    RunFolder.open(tmp_path, "first", "resume").close()


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "first").write_text("mine")
    (tmp_path / "results").write_text("mine")
    with pytest.raises(RunError, match="a file stands where"):
        RunFolder.open(tmp_path, "first", "force")
    with pytest.raises(RunError, match="a file stands where"):
        RunFolder.open(tmp_path / "results", "first", "new")


def test_a_folder_that_cannot_be_written_is_a_mistake_with_a_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, **options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(RunError, match=r"cannot be written; found Permission denied") as caught:
        RunFolder.open(tmp_path, "first", "new")
    assert "--results-dir" in str(caught.value)


def test_what_killed_writers_left_is_swept_at_the_next_start(tmp_path: Path) -> None:
    path = begun(tmp_path)
    leftovers = [path / ".a.0123456789ab.part", path / "checkpoints" / ".b.0123456789ab.part"]
    for leftover in leftovers:
        leftover.write_text("half")
    RunFolder.existing(tmp_path, "first")
    assert all(leftover.exists() for leftover in leftovers), "a reader must not remove what a writer may be writing"
    RunFolder.open(tmp_path, "first", "resume").close()
    assert not any(leftover.exists() for leftover in leftovers)


# --- two processes ------------------------------------------------------------------------------

HOLDER = """
import sys
from sparring.runs import RunFolder
folder = RunFolder.open(sys.argv[1], "first", sys.argv[2])
print("holding", flush=True)
sys.stdin.read()
"""


def hold(results: Path, mode: str) -> subprocess.Popen[bytes]:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(results), mode], stdout=subprocess.PIPE, stdin=subprocess.PIPE
    )
    assert holder.stdout is not None
    assert holder.stdout.readline().strip() == b"holding"
    return holder


def kill(holder: subprocess.Popen[bytes]) -> None:
    holder.send_signal(signal.SIGKILL if os.name != "nt" else signal.SIGTERM)
    holder.communicate(timeout=20)


def test_a_run_being_written_is_refused_to_others_and_taken_over_from_the_dead(tmp_path: Path) -> None:
    begun(tmp_path)
    holder = hold(tmp_path, "resume")
    before = contents(tmp_path)
    modes: list[StartMode] = ["resume", "force"]
    for mode in modes:
        with pytest.raises(RunError, match=f"in use; found process {holder.pid} on"):
            RunFolder.open(tmp_path, "first", mode)
    assert contents(tmp_path) == before
    assert RunFolder.existing(tmp_path, "first").checkpoints().newest().step == 10
    kill(holder)
    with RunFolder.open(tmp_path, "first", "resume") as folder:
        assert len(folder.notices) == 1
        assert f"process {holder.pid}" in folder.notices[0]
        assert "took it over" in folder.notices[0]


def test_a_run_left_properly_is_taken_without_a_word(tmp_path: Path) -> None:
    begun(tmp_path)
    folder = RunFolder.open(tmp_path, "first", "resume")
    with pytest.raises(RunError, match=f"process {os.getpid()}"):
        RunFolder.open(tmp_path, "first", "resume")
    folder.close()
    folder.close()
    assert RunFolder.open(tmp_path, "first", "resume").notices == ()


@pytest.mark.parametrize(
    ("started_later_by", "is_refused"), [(0.0, True), (50.0, False)], ids=["same process", "number used again"]
)
def test_where_the_disk_knows_no_locks_the_process_and_its_start_decide(
    tmp_path: Path, started_later_by: float, is_refused: bool
) -> None:
    path = begun(tmp_path)
    with RunFolder.open(tmp_path, "first", "resume"):
        written = json.loads((path / "run.lock").read_text())
    assert written["started"] == psutil.Process().create_time()
    written["started"] += started_later_by
    (path / "run.lock").write_text(json.dumps(written))
    if is_refused:
        with pytest.raises(RunError, match="in use"):
            RunFolder.open(tmp_path, "first", "resume")
    else:
        assert "took it over" in RunFolder.open(tmp_path, "first", "resume").notices[0]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25)
@given(rubbish=st.one_of(st.binary(max_size=30), st.sampled_from([b'{"pid": -1, "started": 0, "host": ""}', b"[1]"])))
def test_rubbish_in_the_lock_does_not_block_a_run(tmp_path: Path, rubbish: bytes) -> None:
    (tmp_path / "first").mkdir(exist_ok=True)
    (tmp_path / "first" / "run.lock").write_bytes(rubbish)
    RunFolder.open(tmp_path, "first", "new").close()


# --- names and files ----------------------------------------------------------------------------


@pytest.mark.parametrize("run_id", ["../evil", "/etc/evil", "a/b/c", "..", "CON", "x" * 300, "C:\\evil", "бегун"])
def test_every_run_id_stays_inside_the_results_folder(tmp_path: Path, run_id: str) -> None:
    results = tmp_path / "results"
    path = begun(results, run_id)
    assert path.parent == results
    assert [entry.name for entry in tmp_path.iterdir()] == ["results"]
    assert RunFolder.existing(results, run_id).path == path


def test_run_ids_differing_only_in_case_are_two_runs_on_every_disk(tmp_path: Path) -> None:
    paths = [begun(tmp_path, run_id) for run_id in ("Run", "run", "RUN")]
    assert len({folder_key(path.name) for path in paths}) == 3
    assert [RunFolder.existing(tmp_path, run_id).path for run_id in ("Run", "run", "RUN")] == paths


def test_models_lie_where_the_known_tools_look(tmp_path: Path) -> None:
    folder = RunFolder.open(tmp_path, "ppo", "new")
    assert folder.export_path("Striker", 500) == folder.path / "Striker" / "Striker-500.onnx"
    assert folder.final_export_path("Striker") == folder.path / "Striker.onnx"
    assert folder.logs == folder.path / "run_logs"
    assert folder.statistics_path == folder.path / "statistics.jsonl"


@pytest.mark.parametrize("behavior", ["checkpoints", "Checkpoints", "run_logs", "../../x", "My Behavior", "a.b", "NUL"])
def test_no_behavior_gets_a_folder_of_the_run_itself_or_outside(tmp_path: Path, behavior: str) -> None:
    folder = RunFolder.open(tmp_path, "ppo", "new")
    for path in (folder.behavior_folder(behavior), folder.final_export_path(behavior)):
        assert path.parent == folder.path
    assert folder_key(folder.behavior_folder(behavior).name) not in {"checkpoints", "run_logs"}
    assert folder.export_path(behavior, 1).parent == folder.behavior_folder(behavior)


def test_behaviors_differing_only_in_case_do_not_share_files(tmp_path: Path) -> None:
    folder = RunFolder.open(tmp_path, "ppo", "new")
    first = folder.behavior_folder("Agent")
    first.mkdir()
    second = folder.behavior_folder("agent")
    second.mkdir()
    assert folder_key(first.name) != folder_key(second.name)
    assert [folder.behavior_folder(name) for name in ("Agent", "agent")] == [first, second]


def test_settings_that_a_resume_changes_are_kept(tmp_path: Path) -> None:
    folder = RunFolder.open(tmp_path, "ppo", "new")
    assert folder.configuration() is None
    assert folder.write_configuration("max_steps: 1\n") is None
    assert folder.write_configuration("max_steps: 1\n") is None
    for number in (1, 2):
        kept = folder.write_configuration(f"max_steps: 1{'0' * number}  # ∞\n")
        assert kept == folder.path / f"configuration-{number}.yaml"
    assert (folder.path / "configuration-1.yaml").read_text(encoding="utf-8") == "max_steps: 1\n"
    assert folder.configuration() == "max_steps: 100  # ∞\n"


def test_the_status_file_has_the_keys_that_known_tools_read(tmp_path: Path) -> None:
    folder = RunFolder.open(tmp_path, "ppo", "new")
    model = ExportedModel(
        steps=100, file_path="results/ppo/Striker/Striker-100.onnx", reward=float("nan"), creation_time=5.0
    )
    folder.write_status(
        {
            "Striker": BehaviorStatus([model], final_checkpoint=model, elo=1250.0, lessons={"size": 2}),
            "metadata": BehaviorStatus(),
        }
    )
    status = json.loads((folder.path / "run_logs" / "training_status.json").read_text())
    assert set(status["metadata"]) >= {"stats_format_version", "mlagents_version", "torch_version"}
    assert status["size"] == {"lesson_num": 2}
    assert status["Striker"]["elo"] == 1250.0
    assert status["Striker"]["final_checkpoint"] == {
        "steps": 100,
        "file_path": "results/ppo/Striker/Striker-100.onnx",
        "reward": None,
        "creation_time": 5.0,
        "auxillary_file_paths": [],
    }
    assert status["Striker"]["checkpoints"] == [status["Striker"]["final_checkpoint"]]


def test_records_for_people_do_not_stop_a_run_when_the_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder = RunFolder.open(tmp_path, "ppo", "new")
    folder.write_timers({"total": 1.5})
    folder.write_installation({"python": "3"})

    def refuse(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sparring.runs.run_folder.replace_file", refuse)
    folder.write_timers({"total": 2.5})
    assert json.loads((folder.path / "run_logs" / "timers.json").read_text()) == {"total": 1.5}
    assert "No space left" in caplog.text
    with pytest.raises(RunError, match="settings cannot be written"):
        folder.write_configuration("a: 1")
