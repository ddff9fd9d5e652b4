"""The live demonstration with shortened phases, on a file system of its own: the hog is named, and nothing is left."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from storscope.cli.live_demo_command import Terminal, _improvement_words, _say_what_stays, late_words
from storscope.cli.main import run as storscope
from storscope.domain.comparison import ComparedSide, Comparison, Load, MetricRow, Outcome, PairResult, Settings
from storscope.domain.errors import UsageError
from storscope.domain.units import MIB
from storscope.domain.verdict import Provenance, Verdict
from storscope.store import Store
from storscope.workbench import live_demo as demo
from storscope.workbench import live_place
from storscope.workbench.comparing import compare
from storscope.workbench.live_client import Seen
from storscope.workbench.live_demo import LiveResult, LiveSettings, Phases
from storscope.workbench.live_lateness import Served
from storscope.workbench.live_loads import PRESSURES, one_at_a_time
from storscope.workbench.live_place import place
from tests.bench.safety.conftest import Rig, run

_SHORT = Phases(
    trial_s=1.2, quiet_s=3.5, burst_s=3.0, between_s=2.5, after_s=0.6, proof_s=0.8, rounds=4, interval_s=0.1
)  # fmt: skip


class _Teller:
    def __init__(self) -> None:
        self.steps: list[str] = []
        self.said: list[str] = []
        self.shown: set[tuple[bool, bool]] = set()
        self.verdict: Verdict | None = None

    def step(self, title: str) -> None:
        self.steps.append(title)

    def say(self, sentence: str) -> None:
        self.said.append(sentence)

    def show(self, victim: Seen | None, hog: Seen | None) -> None:
        self.shown.add((victim is not None, hog is not None))

    def found(self, verdict: Verdict) -> None:
        self.verdict = verdict


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go, for this test alone: what is left there was left by it."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


@pytest.fixture
def ext4(tmp_path: Path, temporary: Path) -> Iterator[Path]:
    with ExitStack() as stack:
        rig = Rig(tmp_path, stack)
        yield rig.ext4(rig.loop(rig.image(size_bytes=1024 * MIB)), "-m", "0")


def _is_clean(folder: Path) -> bool:
    return [path.name for path in folder.iterdir() if path.name != "lost+found"] == []


@pytest.mark.needs_root
@pytest.mark.needs("mkfs.ext4")
def test_the_hog_is_named_and_limited_and_the_improvement_has_an_interval(
    ext4: Path, temporary: Path, tmp_path: Path
) -> None:
    teller = _Teller()
    kept, report = tmp_path / "kept", tmp_path / "report.html"
    settings = LiveSettings(ext4, report, kept, scratch_bytes=64 * MIB, phases=_SHORT, pressures=PRESSURES[1:])
    result = demo.live_demo(settings, teller)
    if not result.is_named:  # once may be the other load of a shared machine, which moved the victim's latency more
        shutil.rmtree(kept)
        result = demo.live_demo(settings, teller)
    assert result.pressure in PRESSURES, teller.said
    assert result.is_named, (teller.said, [finding.title for finding in result.verdict.findings])  # type: ignore[union-attr]
    first = result.first
    assert first is not None
    assert [entity.name for entity in first.entities[:2]] == ["hog", "victim"]
    device = ext4.name.removeprefix("mount-")
    assert any(entity.kind == "device" and entity.name == device for entity in first.entities), "what they share"
    row = result.improvement
    assert row is not None
    # How wide the interval is depends on what else the machine does; that there is one does not.
    assert row.outcome in {Outcome.BETTER, Outcome.UNDECIDED}
    assert row.after < row.before
    assert None not in {row.change_low, row.change_high}
    assert result.comparison is not None
    sides = [result.comparison.before.source, result.comparison.after.source]
    assert sides == ["the victim beside the hog", "the victim beside the limited hog"]
    assert not [said for pair in result.comparison.pairs for said in pair.warnings if "others used" in said]
    assert result.sides is not None
    again = compare(*result.sides, Settings(metrics=("latency",)), store_path=kept)
    assert next(again.rows()).before == next(result.comparison.rows()).before, "what was kept tells the same"
    assert result.proof is not None
    before, after = result.proof
    assert (before.runs, after.runs) == (4, 4)
    assert before.service_ns is not None
    assert after.service_ns is not None
    assert 0 < after.service_ns <= row.after * 1.001, "the service is a part of the response"
    assert before.late + after.late <= 8
    assert teller.shown >= {(True, False), (True, True)}
    assert _is_clean(ext4)
    assert _is_clean(temporary)
    assert "hog" in report.read_text()
    _check_store(Store.open(kept), device)


def test_runs_that_were_late_are_explained_by_what_the_storage_alone_took() -> None:
    quiet, loud = Served(4, 0, 500_000.0), Served(4, 3, 10_000_000.0)
    assert late_words(quiet, quiet) == ""
    said = late_words(loud, quiet)
    assert said.startswith("3 of the 8 runs are marked invalid")
    assert "500 µs instead of 10.0 ms" in said


@pytest.mark.parametrize(
    ("latency", "service", "told"),
    [
        (Outcome.BETTER, Outcome.BETTER, "the victim's mean latency is 1.00 ms instead of 9.00 ms"),
        (Outcome.UNDECIDED, Outcome.BETTER, "the storage takes for an I/O of the victim 500 µs instead of 8.00 ms"),
        (Outcome.UNDECIDED, Outcome.UNDECIDED, "the victim's mean latency is 1.00 ms instead of 9.00 ms"),
    ],
)
def test_what_is_concluded_is_what_could_be_told(latency: Outcome, service: Outcome, told: str) -> None:
    def row(metric: str, before: float, after: float, outcome: Outcome) -> MetricRow:
        return MetricRow(
            metric, "ns", "lower", before, after, after / before - 1, -0.95, -0.8, None, None, 0.01, 0.01, "couples",
            5, 5, None, outcome, "",
        )  # fmt: skip

    rows = [row("latency", 9e6, 1e6, latency), row("device_latency", 8e6, 0.5e6, service)]
    pair = PairResult("victim", Load(), Load(), [], [], rows, True, [], [])
    side = ComparedSide("run=x", [], 5)
    comparison = Comparison(side, side, True, [pair], [], [], 0.95, 0.05, 0, "test")
    said = _improvement_words(LiveResult(PRESSURES[0], comparison=comparison))
    assert told in said
    assert "(−95.0 % to −80.0 %)" in said, "as compare writes them above it"


def _check_store(store: Store, device: str) -> None:
    kinds = {row["format"] for row in store.query("SELECT format FROM captures").to_pylist()}
    assert kinds == {"kernel-counters", "storscope-bench"}
    runs = store.query("SELECT r.name, count(*) AS n FROM runs r GROUP BY 1 ORDER BY 1").to_pylist()
    assert runs == [{"name": "hog", "n": 10}, {"name": "victim", "n": 9}], "what was only tried is not kept"
    moved = {
        row["entity"].split("[")[0]: row["moved"]
        for row in store.query(
            """SELECT entity, sum((read_bytes_per_s + write_bytes_per_s) * duration_ns / 1e9) AS moved
               FROM observations WHERE run IS NULL GROUP BY 1"""
        ).to_pylist()
    }
    assert moved["hog"] > 10 * moved["victim"] > 0, "the kernel counted both processes"
    assert moved[device] > 0.9 * moved["hog"]


@pytest.mark.needs_root
@pytest.mark.needs("mkfs.ext4")
def test_storage_that_no_hog_slows_down_is_said_to_be_so(
    ext4: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "HURTS", 1e9)
    phases = Phases(trial_s=1.5, interval_s=0.2)
    teller = _Teller()
    result = demo.live_demo(LiveSettings(ext4, scratch_bytes=64 * MIB, phases=phases), teller)
    assert (result.pressure, result.verdict, result.is_named) == (None, None, False)
    assert sum("A hog with" in sentence for sentence in teller.said) == len(PRESSURES)
    assert _is_clean(ext4)
    assert _is_clean(temporary)


_PROGRAM = (sys.executable, "-u", "-m", "storscope", "demo", "--live")


@pytest.mark.needs_root
@pytest.mark.needs("mkfs.ext4")
@pytest.mark.parametrize(
    ("heard", "number"),
    [("Two scratch files", signal.SIGINT), ("How much load", signal.SIGTERM), ("works alone", signal.SIGINT)],
)
def test_an_interruption_at_any_moment_takes_everything_down(
    ext4: Path, temporary: Path, heard: str, number: signal.Signals
) -> None:
    with subprocess.Popen(
        [*_PROGRAM, str(ext4)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if heard in line:
                break
        deadline = time.monotonic() + 120
        while not (workers := set(_children(process.pid))):
            assert time.monotonic() < deadline, "no worker was started"
            time.sleep(0.02)
        time.sleep(0.3)
        workers |= set(_children(process.pid))
        process.send_signal(number)
        process.send_signal(number)  # an impatient user
        rest = process.stdout.read()
        assert process.wait(120) == 128 + number, rest
    assert "taken down" in rest
    assert workers
    assert not [pid for pid in workers if _lives(pid)]
    assert _is_clean(ext4)
    assert _is_clean(temporary)


@pytest.mark.needs_root
@pytest.mark.needs("mkfs.ext4")
def test_without_its_parent_a_worker_removes_its_file_and_ends(ext4: Path, temporary: Path) -> None:
    with subprocess.Popen([*_PROGRAM, str(ext4)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "works alone" in line:
                break
        workers = _children(process.pid)
        process.kill()
        process.wait()
    assert len(workers) == 2
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and any(_lives(pid) for pid in workers):
        time.sleep(0.1)
    assert not [pid for pid in workers if _lives(pid)]
    assert _is_clean(ext4)


def test_workers_whose_parent_was_killed_at_once_leave_nothing(tmp_path: Path, temporary: Path) -> None:
    """Their input ends before they have read a line, and not all of them hear that at the same moment."""
    store = Store.open(temporary / "store", create=True)
    program = (sys.executable, "-m", "storscope.workbench.live_worker")
    directories = [tmp_path / f"storscope-demo-{number}" for number in range(12)]
    workers = []
    for directory in directories:
        directory.mkdir()
        opening = {
            "name": "victim", "store": str(store.path), "directory": str(directory), "size_bytes": MIB,
            "workload": one_at_a_time().to_json(), "seed": 0, "interval_ns": 10**9,
        }  # fmt: skip
        worker = subprocess.Popen(program, stdin=subprocess.PIPE, text=True)
        assert worker.stdin is not None
        worker.stdin.write(f"{json.dumps(opening)}\n")
        worker.stdin.close()
        workers.append(worker)
    assert [worker.wait(240) for worker in workers] == [0] * len(workers)
    assert not [directory for directory in directories if directory.exists()]


def _children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return [int(child) for child in found]


def _lives(pid: int) -> bool:
    try:
        return "zombie" not in Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):  # it may end while its status is read
        return False


# Where ----------------------------------------------------------------------------------------------------------------


def test_memory_is_refused(temporary: Path) -> None:
    if not Path("/dev/shm").is_dir():
        pytest.skip("no /dev/shm")
    with pytest.raises(UsageError, match="memory"), place(Path("/dev/shm")):
        pass


def test_a_usual_place_is_on_storage_and_gone_afterwards(temporary: Path) -> None:
    with place(None, 8 * MIB) as chosen:
        assert chosen.directory.is_dir()
        assert "memory" not in chosen.under.why_none
        assert chosen.scratch_bytes == 8 * MIB
        assert str(chosen.directory.parent) in chosen.words
    assert not chosen.directory.exists()


@pytest.mark.needs_root
@pytest.mark.needs("mkfs.ext4")
def test_a_user_without_a_home_has_the_other_usual_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container under a user number that passwd does not have."""

    def none() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", none)
    assert Path("/var/tmp") in live_place._usual()


def test_files_are_smaller_where_room_is_short_and_refused_where_there_is_none(tmp_path: Path, temporary: Path) -> None:
    with ExitStack() as stack:
        rig = Rig(tmp_path, stack)
        device = rig.loop(rig.image(size_bytes=400 * MIB))
        run("mkfs.ext4", "-q", device)
        folder = rig.mount(device)
        with place(folder) as chosen:
            assert 32 * MIB <= chosen.scratch_bytes <= 50 * MIB
        with (folder / "filler").open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, 250 * MIB)
        with pytest.raises(UsageError, match="free space"), place(folder):
            pass


@pytest.mark.needs_root
@pytest.mark.needs("mkfs.ext4")
@pytest.mark.needs("chattr")
def test_a_folder_that_no_file_may_be_removed_from_is_no_place(tmp_path: Path) -> None:
    """The demonstration's own directory stayed in it, while it was said that all had been taken down."""
    with ExitStack() as stack:
        rig = Rig(tmp_path, stack)
        folder = rig.ext4(rig.loop(rig.image(size_bytes=400 * MIB)))
        run("chattr", "+a", folder)
        stack.callback(run, "chattr", "-a", folder)
        with pytest.raises(UsageError, match="append-only"), place(folder):
            pass
        assert [path.name for path in folder.iterdir()] == ["lost+found"]


def test_a_place_that_is_none_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name, said in (("nowhere", "does not exist"), ("file", "is a file")):
        with pytest.raises(UsageError, match=said), place(tmp_path / name):
            raise AssertionError("unreached")


def test_a_directory_that_is_none_and_options_that_do_not_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert storscope(["demo", "--live", str(tmp_path / "nowhere")]) == 2
    assert "a directory that can be written to" in capsys.readouterr().err
    assert storscope(["demo", "--keep", str(tmp_path / "new")]) == 2
    assert storscope(["demo", "--live", str(tmp_path), "--keep", str(tmp_path)]) == 2
    assert "which exists" in capsys.readouterr().err


def test_a_place_where_no_store_can_be_is_told_before_the_minute(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert storscope(["demo", "--live", str(tmp_path), "--keep", str(tmp_path / "file" / "store")]) == 2
    said = capsys.readouterr()
    assert "expected a place for a new store, found Not a directory" in said.err and "--keep" in said.err
    assert said.out == ""


@pytest.mark.parametrize(
    "fault", [OSError(28, "No space left on device"), shutil.Error([("a", "b", "No space left on device")])]
)
def test_what_finds_no_room_in_the_end_loses_no_result(
    fault: OSError, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = tmp_path / "keep"

    def _breaks_off(_store: Path, there: Path) -> None:
        there.mkdir()
        (there / "storscope-store.json").touch()
        raise fault

    monkeypatch.setattr(shutil, "copytree", _breaks_off)
    assert demo._copied(tmp_path, keep) == "No space left on device"
    assert not keep.exists()


def test_no_store_is_named_that_was_not_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where no hog slows down the victim there is no incident, and so no report and no store."""
    _say_what_stays(LiveResult(None), tmp_path / "live.html", tmp_path / "keep")
    assert capsys.readouterr().out == "Nothing is left behind: without an incident there is nothing to keep.\n"


def test_a_store_that_is_kept_comes_with_what_shows_the_proof_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = LiveResult(
        None, Verdict([], [], [], None, None, Provenance("test", "vm", 0, "", [], {})), sides=("run=a|b", "run=c|d")
    )
    _say_what_stays(result, None, tmp_path / "my store")
    said = capsys.readouterr().out
    assert f"the proof again: storscope compare --store '{tmp_path}/my store' 'run=a|b' 'run=c|d'" in said
    assert "'run=c|d' --metric latency --metric device_latency\n" in said


def test_options_that_the_demonstration_does_not_have_are_not_advised() -> None:
    """That runs came late it tells in its own words; what is doubted of them stays."""
    warnings = ["Did not end well: bench-1 (invalid). --allow-failed judges them all the same.", "Doubted after: late."]
    pair = PairResult("victim", Load(), Load(), ["b"], ["a"], [], is_comparable=True, warnings=warnings, notes=[])
    side = ComparedSide("run=a", [], 1)
    found = demo._in_words(Comparison(side, side, True, [pair], [], [], 0.95, 0.05, 0, "test"))
    assert [one.warnings for one in found.pairs] == [["Doubted after: late."]]


def test_what_is_told_has_its_time(capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal(verbose=False)
    terminal.step("A part")
    terminal.say("Something happens.")
    terminal.show(None, None)
    assert capsys.readouterr().out == "\n1. A part\n    0.0 s  Something happens.\n"
