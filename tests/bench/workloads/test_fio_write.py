"""Jobs that we write: what comes back of them, and what fio does with them."""

from __future__ import annotations

import math
import os
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from storscope.bench.workloads.builtin import builtins
from storscope.bench.workloads.definition import Definition, Sweep
from storscope.bench.workloads.fio_job import read_fio
from storscope.bench.workloads.fio_write import FioRun, write_fio
from storscope.bench.workloads.loss import LossKind
from storscope.domain.errors import ConfigError, UsageError
from storscope.domain.units import KIB, MIB, NS_PER_S
from storscope.domain.workload import (
    AccessSpec,
    Closed,
    Copy,
    Flush,
    FlushKind,
    HotSpot,
    Mix,
    Offsets,
    Open,
    Process,
    RateStep,
    Region,
    Starts,
    Steps,
    Stream,
    ThinkTime,
    Uniform,
    Verification,
    Workload,
    Zipf,
)
from tests.bench.workloads.strategies import workloads

# Writing --------------------------------------------------------------------------------------------------------------

SINGLES = [
    Stream(Mix((AccessSpec(8192, read_share=0.67),)), Closed(8), workers=4),
    Stream(Mix((AccessSpec(4096, 0.6, 0.5, 1.0), AccessSpec(16384, 0.4, 0.5, 1.0, align_bytes=4096))), Closed(5)),
    Stream(Mix((AccessSpec(4096, delay_ns=5 * 10**6, burst=3),)), Closed(2), offsets=Zipf(1.2)),
    Stream(Mix((AccessSpec(4096, read_share=0.0),)), Open(1000.0, Process.FIXED, 64), region=Region(MIB, 8 * MIB)),
    Stream(Mix((AccessSpec(4096, read_share=0.3),)), Open(900.0, Process.POISSON, 64), workers=3),
    Stream(Mix((AccessSpec(4096),)), Closed(1), offsets=HotSpot(0.8, 0.2, 0.5)),
    Stream(Mix((AccessSpec(8192, read_share=0.0, random_share=0.0),)), Closed(1), flush=Flush(1)),
    Stream(Mix((AccessSpec(8192, read_share=0.5),)), Closed(4), flush=Flush(32, FlushKind.FULL)),
    Stream(
        Mix((AccessSpec(4096, 0.5, 0.5, delay_ns=10**6), AccessSpec(8192, 0.5, delay_ns=10**7))),
        Closed(8),
        flush=Flush(3),
    ),
    Stream(Mix((AccessSpec(4096, 0.4), AccessSpec(16384, 0.6, 0.0))), Closed(8)),
    Stream(
        Mix((AccessSpec(4096, delay_ns=10**6, share=0.5), AccessSpec(65536, 0.5, random_share=0.0, delay_ns=10**7))),
        Closed(8),
    ),
]


@pytest.mark.parametrize("stream", SINGLES, ids=range(len(SINGLES)))
def test_what_fio_can_say_comes_back_equal(stream: Stream) -> None:
    definition = Definition("x", (Workload("w", (stream,)),))
    text, losses = write_fio(definition, FioRun(targets=("/dev/x",)))
    found = read_fio(text).workloads[0]
    assert found.name == "w"
    assert found.streams == (stream,)
    assert not [loss for loss in losses if loss.kind is LossKind.LOST]


def test_lines_that_differ_in_randomness_keep_their_queue_and_share_a_mean() -> None:
    lines = (AccessSpec(4096, 0.5, 0.5), AccessSpec(65536, 0.5, 1.0, 0.5, align_bytes=4096))
    text, losses = write_fio(Definition("x", (Workload("w", (Stream(Mix(lines), Closed(8)),)),)))
    assert "flow" not in text
    assert "iodepth=8" in text
    assert "percentage_random=67,100" in text
    assert any("reads of 50, 100 % random" in str(loss) and "66.67 %" in str(loss) for loss in losses)


def test_with_rates_lines_that_differ_in_randomness_are_jobs_of_their_own() -> None:
    lines = (AccessSpec(4096, 0.75), AccessSpec(65536, 0.25, random_share=0.0))
    text, _ = write_fio(Definition("x", (Workload("w", (Stream(Mix(lines), Open(400.0, Process.FIXED)),)),)))
    assert [line for line in text.splitlines() if line.startswith(("rw=", "rate_iops="))] == [
        "rw=randread", "rate_iops=300", "rw=read", "rate_iops=100",
    ]  # fmt: skip


@pytest.mark.parametrize(("load", "workers", "options", "said"), [
    (Open(0.5, Process.FIXED), 1, {"rate=1229,819"}, None),
    (Open(100.0, Process.FIXED), 3, {"rate=81920,54613"}, None),
    (Open(100.0, Process.FIXED), 1, {"rate_iops=60,40"}, None),
    # Four in all, and half of them writes: it was not said.
    (Open(4.0), 1, {"rate_iops=2,2"}, "lost: w: streams[0].load: 2.4 reads/s and 1.6 writes/s for each job: "),
    (Open(99.0), 1, {"rate_iops=59,40"}, "approximated: w: streams[0].load: 59.4 reads/s and 39.6 writes/s for"),
    (Open(1.0), 5, {"rate_iops=1,1"}, "lost: w: streams[0].load: 0.12 reads/s and 0.08 writes/s for each job"),
])  # fmt: skip
def test_rates_that_are_no_integers_are_bytes_or_told_by_what_they_lose(
    load: Open, workers: int, options: set[str], said: str | None
) -> None:
    stream = Stream(Mix((AccessSpec(4096, read_share=0.6),)), load, workers=workers)
    text, losses = write_fio(Definition("x", (Workload("w", (stream,)),)))
    assert options <= set(text.splitlines())
    found = [str(loss) for loss in losses if "for each job" in str(loss)]
    assert not found if said is None else len(found) == 1 and found[0].startswith(said)


_MIXED_SIZES = (AccessSpec(4096, 0.5, 0.8), AccessSpec(16384, 0.5, 0.8, align_bytes=4096))


@pytest.mark.parametrize(("process", "option"), [
    (Process.FIXED, f"rate={80 * 10240},{20 * 10240}"),
    (Process.POISSON, "rate_iops=80,20"),
])  # fmt: skip
def test_a_rate_of_mixed_sizes_at_equal_intervals_is_one_of_bytes(process: Process, option: str) -> None:
    """fio's rate_iops would count each I/O as one of 4 KiB, and make 40 instead of 100 a second."""
    workload = Workload("w", (Stream(Mix(_MIXED_SIZES), Open(100.0, process, 8)),))
    text, losses = write_fio(Definition("x", (workload,)))
    assert option in text.splitlines()
    said = any("it waits longer after a large transfer" in str(loss) for loss in losses)
    assert said == (process is Process.FIXED)
    assert read_fio(text).workloads[0].streams[0].load == Open(100.0, process, 8)


def written(workload: Workload) -> tuple[str, str]:
    text, losses = write_fio(Definition("x", (workload,)), FioRun(targets=("/dev/x", "/dev/y")))
    return text, "\n".join(map(str, losses))


def test_what_fio_cannot_say_is_listed() -> None:
    reply = Stream(Mix((AccessSpec(4096, reply_bytes=512),)), Closed(4), "a", think_time=ThinkTime(10**6))
    copy = Stream(Copy(65536, 1, 4096), Closed(4), "b")
    steps = Stream(Mix((AccessSpec(4096),)), Steps((RateStep(10, 10**9), RateStep(20, 10**9))), "c")
    text, shown = written(Workload("w", (reply, copy, steps)))
    for what in ("fio has no replies", "pauses a job", "do not wait for the reads they copy", "2 steps", "per target"):
        assert what in shown, what
    assert text.count("startdelay=") == 2


def test_steps_of_a_rate_do_not_run_beside_each_other_for_a_ramp_up() -> None:
    """fio adds ramp_time to the runtime of each job: of steps of 3 s after 2 s of it two ran at a time for 2 s."""
    steps = Steps((RateStep(100, 3 * NS_PER_S), RateStep(300, 3 * NS_PER_S)))
    workload = Workload("w", (Stream(Mix((AccessSpec(4096),)), steps), Stream(Mix((AccessSpec(8192),)), Closed(1))))
    text, losses = write_fio(Definition("toml", (workload,), sweep=Sweep(ramp_up_ns=2 * NS_PER_S)))
    head, first, second, other = text.split("\n[")[1:]
    assert "ramp_time=2s" in head.splitlines()
    assert all("ramp_time=0" in job.splitlines() for job in (first, second))
    assert "ramp_time" not in other
    assert any("ramp-up of 2s: fio would add it to each step" in str(loss) for loss in losses)
    assert "ramp_time" not in write_fio(Definition("toml", (workload,)))[0]


def test_steps_behind_other_workloads_begin_when_these_are_over() -> None:
    """fio counts startdelay from its own start: behind a workload of 3 s steps of 2 s each ran beside each other."""
    stream = Stream(Mix((AccessSpec(4096),)), Closed(1))
    stepped = replace(stream, load=Steps((RateStep(100, 2 * NS_PER_S), RateStep(300, 2 * NS_PER_S))))
    first, second, third = (Workload(name, (one,)) for name, one in (("a", stream), ("b", stepped), ("c", stepped)))
    text, losses = write_fio(Definition("toml", (first, second, third), sweep=Sweep(duration_ns=3 * NS_PER_S)))
    assert [line for line in text.splitlines() if line.startswith("startdelay=")] == [
        "startdelay=3s", "startdelay=5s", "startdelay=7s", "startdelay=9s",
    ]  # fmt: skip
    assert any("each step overlaps the one before by as long as the workloads before" in str(loss) for loss in losses)
    assert "overlaps" not in " ".join(map(str, write_fio(Definition("toml", (second,)))[1]))


@pytest.mark.parametrize(("lines", "said"), [
    ((AccessSpec(4096, random_share=0.0, align_bytes=65536),), "lost: w: streams[0]: 4096 bytes in sequence at"),
    ((AccessSpec(4096, random_share=0.0), AccessSpec(65536, random_share=0.0)),
     "approximated: w: streams[0]: 65536 bytes in sequence at multiples of 65536: fio leaves no gap"),
    ((AccessSpec(65536, random_share=0.0, align_bytes=4096),), ""),
    ((AccessSpec(4096, align_bytes=65536),), ""),
])  # fmt: skip
def test_gaps_that_fio_does_not_leave_are_listed(lines: tuple[AccessSpec, ...], said: str) -> None:
    _, shown = written(Workload("w", (Stream(Mix(lines), Closed(4), targets=(0,)),)))
    assert said in shown
    assert bool(said) == ("in sequence" in shown)


def test_a_job_that_only_writes_is_not_made_to_read_for_stamps() -> None:
    """With verify fio reads back what it wrote: half of what was measured of writes were reads."""
    stream = Stream(Mix((AccessSpec(65536, read_share=0.0),)), Closed(4))
    text, shown = written(Workload("w", (stream,), verification=Verification.STAMPS))
    assert "verify" not in text
    assert "lost: w: verification: stamps" in shown


@pytest.mark.parametrize(("offsets", "random", "parts", "lost"), [
    (HotSpot(0.9, 0.1), 0.9, False, True), (Zipf(1.2), 0.9, False, True), (Zipf(1.2), 1.0, False, False),
    (Zipf(1.2), 0.0, True, False), (Uniform(), 0.9, True, False),
])  # fmt: skip
def test_busy_places_are_not_repeated_in_the_part_of_each_job(
    offsets: Offsets, random: float, parts: bool, lost: bool
) -> None:
    """fio's distributions are over the part of a job: one hot spot became four."""
    line = AccessSpec(4096, random_share=random)
    stream = Stream(Mix((line,)), Closed(4), workers=4, starts=Starts.APART, offsets=offsets, targets=(0,))
    text, shown = written(Workload("w", (stream,)))
    assert ("offset_increment" in text) is parts
    assert ("lost: w: streams[0].starts: apart" in shown) is lost


def test_a_flush_of_what_is_not_one_write_at_a_time_is_nearly_the_same() -> None:
    line = AccessSpec(8192, read_share=0.0)
    text, shown = written(Workload("w", (Stream(Mix((line,)), Closed(1), targets=(0,), flush=Flush(1)),)))
    assert "fdatasync=1" in text.splitlines()
    assert "flush" not in shown
    text, shown = written(
        Workload("w", (Stream(Mix((line,)), Closed(4), targets=(0,), flush=Flush(8, FlushKind.FULL)),))
    )
    assert "fsync=8" in text.splitlines()
    assert (
        "approximated: w: streams[0].flush: a flush after every 8 writes: in a queue fio flushes by the "
        "writes it has sent, before they are done, and with io_uring more often than asked" in shown
    )


def test_the_flushes_of_a_copy_are_those_of_its_writing_job() -> None:
    text, _ = written(Workload("w", (Stream(Copy(65536, 1), Closed(1), targets=(0,), flush=Flush(2)),)))
    reading, writing = text.split("[w (1/2)]")[1].split("[w (2/2)]")
    assert "fdatasync" not in reading
    assert "fdatasync=2" in writing.splitlines()


def test_flushes_of_replies_are_lost_with_them() -> None:
    stream = Stream(Mix((AccessSpec(4096, reply_bytes=512),)), Closed(1), flush=Flush(1))
    text, shown = written(Workload("w", (stream,)))
    assert "fdatasync" not in text
    assert "lost: w: streams[0].flush: fdatasync: the replies whose writes it follows are lost" in shown


def test_poisson_arrivals_too_fast_for_fio_come_with_the_rate_to_expect() -> None:
    stream = Stream(Mix((AccessSpec(4096),)), Open(60_000.0, Process.POISSON, 64))
    _, shown = written(Workload("w", (stream,)))
    # Measured with the null engine: 64,522/s; from the source: 64,494 (floor(1e6/60000) = 16 us).
    assert f"expect {1e6 * math.expm1(1 / 16):.0f}/s" in shown
    assert "expect 64494/s" in shown


def test_without_targets_a_job_file_names_a_variable_and_never_a_place_of_its_own() -> None:
    text, _ = write_fio(Definition("builtin", (builtins()["oltp"].workload,)))
    assert text.count("filename=${TARGET}") == 2


def parse_only(path: Path, text: str, **environment: str) -> subprocess.CompletedProcess[str]:
    path.write_text(text)
    command = ["fio", "--parse-only", path.name]
    return subprocess.run(command, cwd=path.parent, env=os.environ | environment, capture_output=True, text=True,
                          check=False, timeout=120)  # fmt: skip


@pytest.mark.needs("fio")
@pytest.mark.parametrize("name", builtins())
def test_fio_accepts_the_job_of_every_built_in_workload_once_its_target_is_set(name: str, tmp_path: Path) -> None:
    text, _ = write_fio(Definition("builtin", (builtins()[name].workload,)))
    done = parse_only(tmp_path / "job.fio", text, TARGET="/dev/null")
    assert (done.returncode, done.stderr) == (0, "")
    assert parse_only(tmp_path / "job.fio", text).returncode != 0


@pytest.mark.needs("fio")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(workload=workloads())
def test_fio_accepts_the_job_of_any_workload(workload: Workload, tmp_path: Path) -> None:
    text, _ = write_fio(Definition("x", (workload,)))
    targets = {f"TARGET{number}": "/dev/null" for number in range(6)}
    done = parse_only(tmp_path / "job.fio", text, TARGET="/dev/null", **targets)
    assert (done.returncode, done.stderr) == (0, ""), text


READ = Workload("w", (Stream(Mix((AccessSpec(4096, random_share=0.0),)), Closed(1)),))
UNHOLDABLE = ["/tmp/a;b", "/tmp/a#b", "/tmp/$HOME", "/tmp/${HOME}", "${HOME}", " /tmp/a", "/tmp/a ", "/tmp/a\nrw=write",
              "/tmp/a\\", ""]  # fmt: skip


@pytest.mark.parametrize("name", UNHOLDABLE)
def test_a_target_that_fio_would_read_as_another_one_is_refused(name: str) -> None:
    """fio wrote to /tmp/a for '/tmp/a;b', also from a variable."""
    with pytest.raises(UsageError, match="whose name a fio job can hold"):
        write_fio(Definition("x", (READ,)), FioRun(("/tmp/fine", name)))


@pytest.mark.parametrize("name", ["/tmp/a;b", "/tmp/a#b", "/tmp/${HOME}/a", "/tmp/a\nrw=write", "${HOME};b", "${HOME"])
def test_a_name_of_the_file_that_fio_would_read_as_another_one_is_a_variable_and_said(name: str) -> None:
    text, losses = write_fio(Definition("toml", (READ,), targets=("/tmp/fine", name)))
    assert "filename=/tmp/fine:${TARGET1}" in text.splitlines()
    assert "a name that fio would read as another one; set TARGET1" in "\n".join(map(str, losses))


def test_variables_of_the_file_are_kept() -> None:
    text, _ = write_fio(Definition("fio", (READ,), targets=("${DISK}", "${FOLDER}/a")))
    assert "filename=${DISK}:${FOLDER}/a" in text.splitlines()


@pytest.mark.needs("fio")
def test_fio_takes_the_names_of_targets_as_they_are_written(tmp_path: Path) -> None:
    names = ["a:b", "a\\:b", "a b", "a\"b'", "a,b=c", "[a]", "é%s*?"]
    for name in names:
        (tmp_path / name).write_bytes(bytes(8192))
    targets = tuple(str(tmp_path / name) for name in names)
    run = FioRun(targets, ioengine="psync", direct=False, runtime_s=0.01, options=("allow_file_create=0",))
    text, _ = write_fio(Definition("x", (READ,)), run)
    assert read_fio(text).targets == targets
    (tmp_path / "job").write_text(text)
    subprocess.run(["fio", "--output=out", "job"], cwd=tmp_path, check=True, timeout=120)
    assert {path.name for path in tmp_path.iterdir()} == {*names, "job", "out"}


@pytest.mark.needs("fio")
@pytest.mark.parametrize("letter", ["A", "é"])
def test_no_part_of_a_long_name_is_an_option_of_its_own(letter: str, tmp_path: Path) -> None:
    """fio 3.33 ran the program that a name of a workload named behind its 8,190th byte."""
    (tmp_path / "target").write_bytes(bytes(8192))
    name = letter * (8190 // len(letter.encode())) + "exec_prerun=touch ran && echo "
    run = FioRun(("target",), ioengine="psync", direct=False, runtime_s=0.01)
    (tmp_path / "job").write_text(write_fio(Definition("x", (replace(READ, name=name),)), run)[0])
    subprocess.run(["fio", "--output=out", "job"], cwd=tmp_path, check=True, timeout=120)
    assert {path.name for path in tmp_path.iterdir()} == {"target", "job", "out"}


@pytest.mark.parametrize("targets", [(f"/{'a' * 4095}exec_prerun=id",), tuple(f"/dev/sd{at}" for at in range(500))])
def test_a_line_that_fio_would_take_for_two_is_refused(targets: tuple[str, ...]) -> None:
    for definition, run in (
        (Definition("x", (READ,)), FioRun(targets)),
        (Definition("x", (READ,), targets=targets), None),
    ):
        with pytest.raises(ConfigError, match="begins 'filename=/"):
            write_fio(definition, run)


# What fio does with it ------------------------------------------------------------------------------------------------


def run_logged(folder: Path, stream: Stream, seconds: int = 1) -> list[list[int]]:
    """Direction, size and offset of every I/O, from fio's own log, of a run of the job we write."""
    target = folder / "target"
    if not target.exists():
        target.write_bytes(os.urandom(MIB) * 64)
    definition = Definition("x", (Workload("w", (stream,)),))
    run = FioRun(targets=(str(target),), ioengine="psync", direct=False, runtime_s=seconds)
    (folder / "job.fio").write_text(write_fio(definition, run)[0])
    logging = ["--log_offset=1", "--write_lat_log=w", "--output=fio.out"]
    subprocess.run(["fio", *logging, "job.fio"], cwd=folder, check=True, timeout=120)
    rows: list[list[int]] = []
    for log in sorted(folder.glob("w_lat.*.log")):
        rows += [[int(cell, 0) for cell in line.split(",")[2:5]] for line in log.read_text().splitlines()]
    return rows


def random_share(rows: list[list[int]]) -> float:
    """Transfers that do not go on where the last one of their direction ended (fio keeps a position for each)."""
    ends: dict[int, int] = {}
    jumps = 0
    for direction, size, offset in rows:
        jumps += ends.get(direction) != offset
        ends[direction] = offset + size
    return jumps / len(rows)


@pytest.mark.needs("fio")
def test_fio_measures_the_mix_that_was_asked_for_in_one_job(tmp_path: Path) -> None:
    mix = (
        AccessSpec(4096, 0.5, 0.9, 0.6, align_bytes=4096),
        AccessSpec(16384, 0.3, 0.2, 0.6, align_bytes=4096),
        AccessSpec(65536, 0.2, 0.5, 0.6, align_bytes=4096),
    )
    region = Region(4 * MIB, 32 * MIB)
    rows = run_logged(tmp_path, Stream(Mix(mix), Closed(1), region=region))
    found = Counter((direction, size) for direction, size, _ in rows)
    assert len(rows) > 5000
    for line in mix:
        share = (found[0, line.size_bytes] + found[1, line.size_bytes]) / len(rows)
        assert share == pytest.approx(line.share, abs=0.03)
        assert found[0, line.size_bytes] / len(rows) == pytest.approx(line.share * line.read_share, abs=0.03)
    assert random_share(rows) == pytest.approx(0.6, abs=0.03)
    assert all(offset >= 4 * MIB and offset + size <= 36 * MIB for _, size, offset in rows)


@pytest.mark.needs("fio")
def test_reads_and_writes_of_unlike_sizes_each_keep_their_alignment(tmp_path: Path) -> None:
    """The alignment of 4 KiB was written for both, so that writes straddled blocks of 16 KiB (bs=4k,16k)."""
    mix = (AccessSpec(4096, 0.5, 1.0), AccessSpec(16384, 0.5, 0.0))
    rows = run_logged(tmp_path, Stream(Mix(mix), Closed(1)))
    found = {direction: math.gcd(*(row[2] for row in rows if row[0] == direction)) for direction in (0, 1)}
    assert found == {0: 4096, 1: 16384}
    _, losses = written(Workload("w", (Stream(Mix(mix), Closed(1)),)))
    assert "alignment" not in losses


@pytest.mark.needs("fio")
@pytest.mark.parametrize("sizes", [(8192, 12288, 20480), (3072, 4096, 7168)])
def test_fio_measures_sizes_that_are_no_multiples_of_the_least(sizes: tuple[int, ...], tmp_path: Path) -> None:
    """It rounds 12 and 20 KiB down to 8 and 16 beside 8, unless told not to."""
    mix = tuple(AccessSpec(size, 1, 0.6, align_bytes=1024) for size in sizes)
    found = Counter(size for _, size, _ in run_logged(tmp_path, Stream(Mix(mix), Closed(1))))
    shares = {size: count / found.total() for size, count in found.items()}
    assert shares == pytest.approx(dict.fromkeys(sizes, 1 / 3), abs=0.04)


@pytest.mark.needs("fio")
@pytest.mark.parametrize("sizes", ["bssplit=4k/50:6k/50", "bssplit=8k/40:12k/30:20k/30", "bsrange=4k-14k",
                                   "bssplit=3k/50:4k/20:7k/30", "bsrange=3k-10k",
                                   "bssplit=4k/50:8k/40", "bssplit=16k/10:4k/20:8k/20", "bssplit=8k/40",
                                   "bssplit=4k/0:8k/70", "bssplit=4k/40:8k/:16k/:32k/", "bssplit=4k/:8k/",
                                   "bssplit=8k/50:12k/50 bs_unaligned=1"])  # fmt: skip
def test_sizes_are_read_as_fio_makes_them(sizes: str, tmp_path: Path) -> None:
    options = ["rw=read", "ioengine=null", "size=1g", "number_ios=20000", "write_iolog=log", *sizes.split()]
    (tmp_path / "job").write_text("\n".join(["[j]", *options]))
    subprocess.run(["fio", "--output=out", "job"], cwd=tmp_path, check=True, timeout=120)
    rows = [line.split() for line in (tmp_path / "log").read_text().splitlines()]
    found = Counter(int(row[-1]) for row in rows if "read" in row)
    (stream,) = read_fio((tmp_path / "job").read_text()).workloads[0].streams
    assert isinstance(stream.access, Mix)
    asked = {line.size_bytes: line.share for line in stream.access.lines}
    assert {size: count / found.total() for size, count in found.items()} == pytest.approx(asked, abs=0.02)


@pytest.mark.needs("fio")
def test_fio_holds_jobs_tied_by_flow_in_the_proportion_of_the_lines(tmp_path: Path) -> None:
    mix = (AccessSpec(4096, 0.75, delay_ns=10**5), AccessSpec(32768, 0.25, 0.0, 0.0, delay_ns=2 * 10**5))
    rows = run_logged(tmp_path, Stream(Mix(mix), Closed(2)), seconds=2)
    reads = [row for row in rows if row[0] == 0]
    writes = [row for row in rows if row[0] == 1]
    assert len(reads) / len(rows) == pytest.approx(0.75, abs=0.03)
    assert {size for _, size, _ in reads} == {4096}
    assert {size for _, size, _ in writes} == {32768}
    assert random_share(reads) > 0.99
    assert random_share(writes) < 0.05


@pytest.mark.needs("fio")
def test_fio_reaches_the_rate_and_the_hot_spot(tmp_path: Path) -> None:
    stream = Stream(
        Mix((AccessSpec(4096, read_share=0.7),)), Open(1000.0, Process.FIXED, 4), offsets=HotSpot(0.8, 0.1, 0.4)
    )
    rows = run_logged(tmp_path, stream, seconds=2)
    hot = [offset for _, _, offset in rows if 0.4 <= offset / (64 * MIB) < 0.5]
    assert len(rows) == pytest.approx(2000, rel=0.03)
    assert sum(row[0] == 0 for row in rows) / len(rows) == pytest.approx(0.7, abs=0.02)
    assert len(hot) / len(rows) == pytest.approx(0.8, abs=0.05)


@pytest.mark.needs("fio")
@pytest.mark.parametrize("process", list(Process))
def test_fio_reaches_the_rate_of_mixed_sizes(process: Process, tmp_path: Path) -> None:
    rows = run_logged(tmp_path, Stream(Mix(_MIXED_SIZES), Open(500.0, process, 8)), seconds=2)
    assert len(rows) == pytest.approx(1000, rel=0.15)


@pytest.mark.parametrize(
    ("region", "place"),
    [
        (Region(), ["offset_increment=25%", "size=25%"]),
        (Region(1 * MIB, 10 * MIB), [f"offset={MIB}", f"offset_increment={5 * MIB // 2}", f"size={5 * MIB // 2}"]),
        (Region(1 * MIB), [f"offset={MIB}"]),
        (Region(0, 12 * KIB), [f"size={12 * KIB}"]),
    ],
)
def test_workers_that_begin_apart_are_jobs_with_a_part_each(region: Region, place: list[str]) -> None:
    line = AccessSpec(4 * KIB, random_share=0.0)
    stream = Stream(Mix((line,)), Closed(1), workers=4, starts=Starts.APART, region=region)
    text, losses = write_fio(Definition("toml", (Workload("w", (stream,)),)))
    written = text.splitlines()
    found = [option for option in written if option.split("=")[0] in {"offset", "offset_increment", "size"}]
    assert found == place
    lost = [loss for loss in losses if loss.where.endswith("starts")]
    assert bool(lost) == (not any("increment" in option for option in found))
    again = read_fio(text)
    (read,) = again.workloads[0].streams
    assert read.starts is (Starts.TOGETHER if lost else Starts.APART)
    assert read.region == region
    assert not any(loss.kind is LossKind.LOST for loss in again.losses)


@pytest.mark.parametrize(
    "places",
    [
        "offset_increment=1g",
        "offset_increment=1g size=2g",
        "offset_increment=20% size=20%",
        "offset=1m offset_increment=25% size=25%",
    ],
)
def test_parts_that_do_not_cover_their_place_are_lost_and_said(places: str) -> None:
    options = "\n".join(f"rw=read numjobs=4 filename=x {places}".split())
    found = read_fio(f"[a]\n{options}\n")
    assert found.workloads[0].streams[0].starts is Starts.TOGETHER
    assert "offset_increment" in " ".join(str(loss) for loss in found.losses if loss.kind is LossKind.LOST)


def test_what_has_no_effect_is_told_from_what_is_not_known() -> None:
    """Reads have no mix, a job that is left out takes its options with it, rate and rate_iops exclude each other."""
    reads = read_fio("[a]\nrw=randread\nrwmixread=30\nnorandommap\n[trims]\nrw=randtrim\nwrite_hint=short\n").losses
    assert [str(loss).partition("]")[2] or str(loss) for loss in reads] == [
        " line 6: rw=randtrim: the job is left out: a workload does not trim",
        " line 3: rwmixread=30: without effect beside the job's other options",
        (
            "elsewhere: jobs: direct not given: fio goes through the page cache; "
            "storscope past it, unless --buffered is given"
        ),
    ]
    both = "\n".join(map(str, read_fio("[a]\nrate_iops=100\nrate=1m\n").losses))
    assert "rate=1m: fio takes no rate beside rate_iops" in both
    assert "does not know" not in both
