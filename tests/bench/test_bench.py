"""The verb as a whole: real runs on scratch files, in the store, also when they are interrupted or killed."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from storscope.bench.engine import EngineRun
from storscope.bench.safety import Journal, create
from storscope.cli.main import run
from storscope.domain.errors import StoreError
from storscope.domain.units import MIB
from storscope.store import Store
from tests.bench.killed_runs import kill_with_its_watcher
from tests.bench.safety.conftest import Rig
from tests.bench.safety.conftest import run as command

_PROGRAM = (sys.executable, "-m", "storscope", "bench")


def _measured(
    target: Path, capsys: pytest.CaptureFixture[str], *options: str, data: Path | None = None
) -> dict[str, object]:
    store = (data or target).parent / "store"
    arguments = ["bench", str(target), "--workload", "random-8k-70-read", "--duration", "2s", "--size", "16M"]
    assert run([*arguments, "--store", str(store), "--json", *options]) == 0
    result: dict[str, object] = json.loads(capsys.readouterr().out)
    return result


def _started(data: Path, duration: str = "60s") -> subprocess.Popen[str]:
    options = ("--workload", "oltp", "--size", "16M", "--duration", duration, "--store", str(data.parent / "store"))
    return subprocess.Popen([*_PROGRAM, str(data), *options], stderr=subprocess.PIPE, text=True)


def _wait_for_intervals(data: Path, count: int) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        spools = list((data.parent / "store").glob(".bench-*.jsonl"))
        if spools and spools[0].read_bytes().count(b"\n") > count:
            return
        time.sleep(0.05)
    pytest.fail("no interval was spooled")


def test_what_is_printed_is_what_is_stored(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = _measured(data, capsys, "--seed", "7")
    store = Store.open(data.parent / "store")
    (row,) = store.query("SELECT run, name, status, seed, read_ratio, block_bytes, duration_ns FROM runs").to_pylist()
    assert row["run"] == result["run"]
    assert (row["name"], row["seed"], row["block_bytes"]) == ("random-8k-70-read", "7", 8192.0)
    assert (row["status"], row["duration_ns"]) == (result["status"], result["duration_ns"])
    assert row["read_ratio"] == pytest.approx(0.7)
    ios = store.query("SELECT sum(ops_per_s * duration_ns / 1e9) AS ios FROM observations").to_pylist()[0]["ios"]
    printed = result["all"]
    assert isinstance(printed, dict)
    assert ios == pytest.approx(printed["ios"])
    counted = store.query(
        "SELECT measure, sum(list_sum(counts)) AS ios FROM histograms GROUP BY measure ORDER BY measure"
    ).to_pylist()
    assert [(row["measure"], row["ios"]) for row in counted] == [
        (measure, printed["ios"]) for measure in ("lateness", "response", "service")
    ]
    assert not list(data.iterdir())
    assert not list((data.parent / "store").glob(".*"))


def test_two_runs_can_be_compared(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = _measured(data, capsys), _measured(data, capsys)
    assert first["run"] != second["run"]
    sides = [f"run={first['run']}", f"run={second['run']}"]
    assert run(["compare", *sides, "--store", str(data.parent / "store"), "--json"]) in {0, 1}
    assert json.loads(capsys.readouterr().out)


def test_an_interrupted_run_is_kept(data: Path) -> None:
    process = _started(data)
    _wait_for_intervals(data, 1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    assert process.returncode == 130
    rows = Store.open(data.parent / "store").query("SELECT status, duration_ns FROM runs").to_pylist()
    assert [row["status"] for row in rows] == ["interrupted"]
    assert rows[0]["duration_ns"] > 500_000_000
    assert not list(data.iterdir())


@pytest.mark.needs_root
@pytest.mark.needs("mkfs.ext4")
@pytest.mark.needs("chattr")
def test_a_scratch_file_that_cannot_be_removed_takes_no_figures_away(
    tmp_path: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither at the end of its own run nor at the start of another, wherever that measures."""
    with ExitStack() as stack:
        _measured_beside_what_stays(Rig(tmp_path, stack), data, capsys)


def _measured_beside_what_stays(rig: Rig, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    device = rig.loop(rig.image(size_bytes=256 * MIB))
    command("mkfs.ext4", "-q", device)
    point = rig.mount(device)
    options = (
        "--workload",
        "random-8k-70-read",
        "--duration",
        "500ms",
        "--size",
        "16M",
        "--store",
        str(data.parent / "store"),
    )
    meanwhile = threading.Thread(target=_keep_what_comes, args=(point,))
    meanwhile.start()
    assert run(["bench", str(point), *options]) == 0
    meanwhile.join()
    printed = capsys.readouterr()
    assert "IOPS" in printed.out
    (left,) = point.glob("storscope-scratch-*.dat")
    assert f"The scratch file {left}: cannot be removed: Operation not permitted." in printed.err
    _remount_read_only(point)
    (record,) = Journal.of_user().records()
    Journal.of_user().write(replace(record, process=replace(record.process, start_ticks=1)))
    assert run(["bench", str(data), *options]) == 0
    said = f"A scratch file of a run that was killed, {left}: cannot be removed: Read-only file system."
    assert said in capsys.readouterr().err


def _keep_what_comes(point: Path) -> None:
    """Once a scratch file is there none may be removed: a folder that is so beforehand is refused."""
    deadline = time.monotonic() + 120
    while not list(point.glob("storscope-scratch-*.dat")) and time.monotonic() < deadline:
        time.sleep(0.01)
    command("chattr", "+a", point)


def _remount_read_only(point: Path) -> None:
    """The kernel lets go of a closed ring's registered files a moment later: until then the file system is busy."""
    deadline = time.monotonic() + 120
    while subprocess.run(["mount", "-o", "remount,ro", point], check=False, capture_output=True).returncode:
        assert time.monotonic() < deadline, "the file system stays busy"
        time.sleep(0.1)


_COPY = """
name = "copy"
[[stream]]
targets = [0]
outstanding = 1
copy = { size = "64k", destination = 1 }
"""


@pytest.mark.needs_root
@pytest.mark.needs("addpart")
def test_a_copy_to_the_disk_that_its_source_is_a_part_of_is_refused(
    tmp_path: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "copy.toml").write_text(_COPY)
    options = ("--workload", str(tmp_path / "copy.toml"), "--duration", "1s", "--store", str(tmp_path / "store"))
    with ExitStack() as stack:
        rig = Rig(tmp_path, stack)
        image = rig.image()
        disk = rig.loop(image)
        word = ("--overwrite", f"{image}:{image.stat().st_size}")
        for source in (rig.partition(disk), image):
            assert run(["bench", str(source), str(disk), *options, *word]) == 2
            assert "expected targets that share no bytes" in capsys.readouterr().err
        assert image.read_bytes() == bytes(image.stat().st_size)


def test_a_killed_run_loses_at_most_one_interval(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    process = _started(data)
    _wait_for_intervals(data, 2)
    kill_with_its_watcher(process)
    (left,) = data.iterdir()  # for the next start
    assert run(["bench", str(data), "--workload", "oltp", "--dry-run"]) == 0
    assert f"First a scratch file of a run that was killed would be removed: {left}." in capsys.readouterr().out
    assert list(data.iterdir()) == [left]
    result = _measured(data, capsys)
    store = Store.open(data.parent / "store")
    rows = store.query("SELECT run, status, duration_ns FROM runs WHERE run != ?", [result["run"]]).to_pylist()
    assert [row["status"] for row in rows] == ["killed"]
    assert rows[0]["duration_ns"] >= 2_000_000_000
    intervals = store.query("SELECT count(*) AS n FROM observations WHERE run = ?", [rows[0]["run"]]).to_pylist()
    assert intervals[0]["n"] >= 2
    assert not list(data.iterdir())


def test_a_killed_run_is_in_the_store_as_soon_as_that_is_asked(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    process = _started(data)
    _wait_for_intervals(data, 1)
    process.kill()
    process.communicate(timeout=120)
    store = str(data.parent / "store")
    assert run(["store", "info", "--store", store, "--json"]) == 0
    said = capsys.readouterr()
    (capture,) = json.loads(said.out)["captures"]
    assert f"A run that was killed is in the store as {capture['capture']}, without its last interval." in said.err
    assert run(["store", "query", "SELECT status FROM runs", "--store", store, "--format", "csv"]) == 0
    again = capsys.readouterr()
    assert again.out.split() == ['"status"', '"killed"']
    assert again.err == ""


def test_a_spool_that_was_torn_in_its_middle_is_kept_up_to_there(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A power failure may leave zeros where a line should be; what stands before it was measured all the same."""
    process = _started(data)
    _wait_for_intervals(data, 2)
    process.kill()
    process.communicate(timeout=120)
    store = data.parent / "store"
    (spool,) = store.glob(".bench-*.jsonl")
    lines = spool.read_bytes().splitlines(keepends=True)
    spool.write_bytes(b"".join([*lines[:2], b"\0" * (len(lines[2]) - 1) + b"\n"]))
    assert (
        run(["store", "query", "SELECT status, duration_ns FROM runs", "--store", str(store), "--format", "csv"]) == 0
    )
    _, row = capsys.readouterr().out.split()
    assert row.startswith('"killed",')


def test_a_target_whose_name_is_no_text_is_measured_and_stored(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Names of files are bytes; tables hold UTF-8."""
    file, reads = data / os.fsdecode(b"\xff"), data.parent / "reads.toml"
    file.write_bytes(os.urandom(2**20))
    reads.write_text('name = "r"\n[[stream]]\noutstanding = 1\nline = [{ size = "4k" }]\n')
    store = data.parent / "store"
    arguments = ["bench", str(file), "--workload", str(reads), "--duration", "0.3s", "--store", str(store)]
    assert run(arguments) == 0
    assert f"r on {data}/\\xff (file)" in capsys.readouterr().out
    assert len(Store.open(store).query("SELECT run FROM runs").to_pylist()) == 1


@pytest.mark.parametrize(
    "command",
    [["store", "info"], ["store", "query", "SELECT 1"], ["diagnose"], ["compare", "run=a", "run=b"], ["fit", "drive"]],
    ids=" ".join,
)
def test_every_command_that_asks_a_store_brings_killed_runs_in_first(
    data: Path, command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Store.open(data.parent / "store", create=True)
    monkeypatch.setattr("storscope.workbench.completing.recover_runs", lambda store: ["A run is in.", "One is not."])
    run([*command, "--store", str(data.parent / "store")])
    assert "A run is in.\nOne is not.\n" in capsys.readouterr().err


def test_a_store_that_cannot_be_written_says_that_a_killed_run_is_missing(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(store: Store) -> list[str]:
        raise StoreError("room for a capture", "No space left on device", where=str(store.path))

    Store.open(data.parent / "store", create=True)
    monkeypatch.setattr("storscope.workbench.completing.recover_runs", full)
    assert run(["store", "info", "--store", str(data.parent / "store")]) == 0
    said = capsys.readouterr()
    assert "A run that was killed is not in the store yet" in said.err
    assert "No space left on device" in said.err
    assert "0 captures" in said.out


def test_ctrl_c_before_anything_is_measured_leaves_nothing(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = EngineRun.begin

    def interrupted(run: EngineRun) -> None:
        if list((data.parent / "store").glob(".bench-*.jsonl")):  # the scratch file is filled, by a run of its own
            raise KeyboardInterrupt
        begin(run)

    monkeypatch.setattr(EngineRun, "begin", interrupted)
    arguments = ["bench", str(data), "--workload", "oltp", "--size", "16M", "--duration", "5s"]
    assert run([*arguments, "--store", str(data.parent / "store")]) == 130
    assert "Interrupted before the measurement began: nothing was measured." in capsys.readouterr().err
    assert not (data.parent / "store").exists()
    assert not list(data.iterdir())


def test_what_a_killed_run_left_is_removed_and_named(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    process = _started(data)
    _wait_for_intervals(data, 1)
    kill_with_its_watcher(process)
    (left,) = data.iterdir()
    arguments = ["bench", str(data), "--workload", "log", "--size", "8M", "--duration", "0.2s"]
    assert run([*arguments, "--store", str(data.parent / "store")]) == 0
    assert f"A scratch file of a run that was killed, {left}: removed." in capsys.readouterr().err
    assert not list(data.iterdir())


def test_what_a_run_on_another_machine_left_is_named(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = Journal.of_user()
    with create(data, 4096, journal=journal) as made:
        elsewhere = replace(made.record.process, boot="another", machine="another")
        journal.write(replace(made.record, process=elsewhere))
        arguments = ["bench", str(data), "--workload", "log", "--size", "8M", "--duration", "0.2s"]
        assert run([*arguments, "--store", str(data.parent / "store")]) == 0
        assert made.path.exists()
    said = f"A scratch file of another run, {made.path}: left alone: created on another machine or in another container"
    assert said in capsys.readouterr().err


def test_a_run_whose_terminal_is_gone_is_stored_and_leaves_nothing(data: Path) -> None:
    """A connection that breaks off: the terminal answers EIO, then SIGHUP comes."""
    process, terminal = pty.fork()
    if process == 0:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # also where the tests run under nohup(1)
        options = ("--workload", "oltp", "--size", "16M", "--duration", "60s", "--store", str(data.parent / "store"))
        os.execv(_PROGRAM[0], [*_PROGRAM, str(data), *options])
    try:
        _wait_for_intervals(data, 1)
    finally:
        os.close(terminal)
        _, status = os.waitpid(process, 0)
    assert os.waitstatus_to_exitcode(status) == 128 + signal.SIGHUP
    assert not list(data.iterdir())
    rows = Store.open(data.parent / "store").query("SELECT status FROM runs").to_pylist()
    assert [row["status"] for row in rows] == ["interrupted"]


def test_a_run_under_way_is_not_taken_for_a_killed_one(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    process = _started(data)
    try:
        _wait_for_intervals(data, 1)
        result = _measured(data, capsys)
        rows = Store.open(data.parent / "store").query("SELECT run FROM runs").to_pylist()
        assert [row["run"] for row in rows] == [result["run"]]
        assert list((data.parent / "store").glob(".bench-*.jsonl"))
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=120)
    assert not list(data.iterdir())


def test_a_file_of_somebody_else_is_not_written(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    foreign = data / "foreign"
    foreign.write_bytes(b"precious")
    before = foreign.stat()
    store = data.parent / "store"
    assert run(["bench", str(foreign), "--workload", "log", "--duration", "1s", "--store", str(store)]) == 2
    assert "would be lost" in capsys.readouterr().err
    assert foreign.read_bytes() == b"precious"
    assert foreign.stat().st_mtime_ns == before.st_mtime_ns
    assert not store.exists(), "a refused run makes no store"


@pytest.mark.parametrize(("share", "reads", "writes"), [(0.0, False, True), (0.5, True, True), (1.0, True, False)])
def test_what_holes_mean_is_told_of_what_is_done_to_them(
    data: Path, capsys: pytest.CaptureFixture[str], share: float, reads: bool, writes: bool
) -> None:
    holes, workload = data / "holes", data.parent / "w.toml"
    with holes.open("xb") as file:
        file.truncate(16 * 1024**2)
    workload.write_text(f'name = "w"\n[[stream]]\noutstanding = 1\nline = [{{ size = "4k", read_share = {share} }}]\n')
    arguments = ["bench", str(holes), "--workload", str(workload), "--duration", "0.2s", "--json"]
    if writes:
        arguments += ["--overwrite", f"{holes}:{16 * 1024**2}"]
    assert run([*arguments, "--store", str(data.parent / "store")]) == 0
    doubts = " ".join(json.loads(capsys.readouterr().out)["doubts"])
    assert ("are holes, unwritten or not yet on the device, and reading them" in doubts) is reads
    assert ("each first write there allocates, unlike later ones" in doubts) is writes


@pytest.mark.parametrize("used", ["8m", "12m", None])
def test_holes_beyond_the_part_that_is_used_are_not_told(
    data: Path, capsys: pytest.CaptureFixture[str], used: str | None
) -> None:
    with (data / "file").open("wb") as file:
        file.write(os.urandom(8 * MIB))
        file.truncate(16 * MIB)
    arguments = ["bench", str(data / "file"), "--workload", "max-throughput-read", "--duration", "0.2s", "--json"]
    arguments += ["--size", used] if used else []
    assert run([*arguments, "--store", str(data.parent / "store")]) == 0
    doubts = " ".join(json.loads(capsys.readouterr().out)["doubts"])
    told = re.findall(r"(\d+ MiB) of the file are holes", doubts)
    assert told == {"8m": [], "12m": ["4 MiB"], None: ["8 MiB"]}[used]


@pytest.mark.needs_root
def test_holes_are_counted_also_where_a_file_system_tells_nothing_else(
    tmp_path: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ExitStack() as stack:
        Rig(tmp_path, stack).mount_at(data, "-t", "tmpfs", "-o", "size=32m", "tmpfs")
        with (data / "file").open("wb") as file:
            file.write(os.urandom(15 * MIB))
            file.truncate(16 * MIB)
        arguments = ["bench", str(data / "file"), "--workload", "max-throughput-read", "--duration", "0.2s", "--json"]
        assert run([*arguments, "--store", str(tmp_path / "store")]) == 0
        doubts = " ".join(json.loads(capsys.readouterr().out)["doubts"])
    assert "Not the device: 1 MiB of the file are holes" in doubts


def test_a_dry_run_writes_nothing(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", str(data), "--workload", "oltp", "--size", "16M", "--dry-run"]) == 0
    assert "Nothing has been written." in capsys.readouterr().out
    assert not list(data.iterdir())
    assert [path.name for path in data.parent.iterdir()] == ["data"]


def test_an_invalid_run_says_so_before_its_figures(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    workload = data.parent / "hopeless.toml"
    workload.write_text('name = "h"\n[[stream]]\nrate_per_s = 5_000_000\nline = [{ size = "4k" }]\n')
    arguments = ["bench", str(data), "--workload", str(workload), "--size", "4M", "--duration", "0.6s"]
    assert run([*arguments, "--store", str(data.parent / "store")]) == 0
    said = capsys.readouterr().out
    assert said.index("INVALID, see the doubts below.") < said.index("figures, with 95 % intervals")
    latencies = [line for line in said.splitlines() if line.startswith(("  response", "  service"))]
    assert len(latencies) == 2
    assert all(line.endswith("; INVALID)") for line in latencies)


def test_a_scratch_file_that_is_kept_can_be_used_again(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = data / "kept.dat"
    arguments = ["bench", str(path), "--workload", "oltp", "--size", "16M", "--store", str(data.parent / "store")]
    assert run([*arguments, "--keep", "--dry-run"]) == 0
    assert "keep it, as asked" in capsys.readouterr().out
    for number in range(3):
        assert run([*arguments, "--duration", "0.2s", *(["--keep"] if number == 0 else [])]) == 0, "again, unasked"
        assert path.stat().st_size == 16 * 1024**2
    path.write_bytes(b"precious" * 2**21)
    assert run([*arguments, "--duration", "0.2s"]) == 2
    assert path.read_bytes() == b"precious" * 2**21


def test_a_mismatch_of_stamps_is_an_error_with_its_place(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, workload = data / "file", data.parent / "reads.toml"
    file.write_bytes(os.urandom(2**20))
    workload.write_text('name = "r"\nverification = "stamps"\n[[stream]]\noutstanding = 1\nline = [{ size = "4k" }]\n')
    arguments = ["bench", str(file), "--workload", str(workload), "--duration", "1s"]
    assert run([*arguments, "--store", str(data.parent / "store")]) == 2
    said = capsys.readouterr()
    assert "error: the run ended early: verification: byte " in said.err
    assert "of target 0 should carry its own stamp" in said.err
    assert re.search(r"^0 ns, seed \d+$", said.out, re.MULTILINE), "no engine was chosen: the trial of one failed"
    assert "figures, with" not in said.out


def test_reading_a_file_changes_nothing(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = data / "file"
    path.write_bytes(os.urandom(16 * 1024**2))
    path.chmod(0o400)
    content, before = path.read_bytes(), path.stat()
    store = data.parent / "store"
    arguments = ["bench", str(path), "--workload", "backup", "--duration", "1s", "--store", str(store), "--json"]
    assert run(arguments) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["target_kind"], result["write"]["ios"]) == ("file", 0)
    assert result["read"]["ios"] > 0
    assert path.read_bytes() == content
    assert path.stat().st_mtime_ns == before.st_mtime_ns


@pytest.mark.needs_root
def test_a_device_that_is_free_is_measured_and_one_that_carries_something_is_not(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ExitStack() as stack:
        device = Rig(data, stack).loop(Rig(data, stack).image(size_bytes=64 * 1024**2))
        result = _measured(device, capsys, data=data)
        assert result["target_kind"] == "device"
        written = result["write"]
        assert isinstance(written, dict)
        assert written["ios"] > 0
        with device.open("r+b") as node:
            node.write(b"XFSB")
        arguments = ["bench", str(device), "--workload", "log", "--duration", "1s", "--store", str(data.parent / "no")]
        assert run(arguments) == 2
        assert "XFS" in capsys.readouterr().err
