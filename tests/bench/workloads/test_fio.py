from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storscope.bench.workloads._fio_data import data_options
from storscope.bench.workloads.definition import Definition
from storscope.bench.workloads.describe import describe
from storscope.bench.workloads.fio_job import read_fio
from storscope.bench.workloads.fio_write import FioRun, write_fio
from storscope.bench.workloads.load import read_definition
from storscope.bench.workloads.loss import LossKind, LossList
from storscope.domain.errors import MalformedInput, StorscopeError
from storscope.domain.units import MIB, NS_PER_S
from storscope.domain.workload import (
    AccessSpec,
    Closed,
    DataPool,
    Flush,
    FlushKind,
    HotSpot,
    Mix,
    Open,
    Process,
    Region,
    Stream,
    Uniform,
    Verification,
    Workload,
    Zipf,
)
from tests.bench.workloads.fio_jobs import job, lines, losses_of

MIXED = (Path(__file__).parent / "samples" / "mixed.fio").read_text()


# Reading --------------------------------------------------------------------------------------------------------------


def test_global_options_hold_for_the_jobs_below_and_stonewall_starts_the_next_workload() -> None:
    first, second = read_fio(MIXED).workloads
    assert [stream.name for stream in first.streams] == ["tables", "wal"]
    assert second.name == "scan"
    assert [line.size_bytes for line in lines(second.streams[0])] == [128 * 1024]


def test_directions_with_sizes_of_their_own_become_lines_with_their_share_of_reads() -> None:
    found = lines(read_fio(MIXED).workloads[0].streams[0])
    small, large = found
    assert (small.size_bytes, large.size_bytes) == (8192, 65536)
    assert small.share == pytest.approx(0.75 * 0.8 + 0.25)
    assert small.read_share == pytest.approx(0.6 / 0.85)
    assert (large.share, large.read_share) == (pytest.approx(0.15), 1.0)
    assert large.align_bytes == 8192  # fio aligns to the smallest size


def test_zones_rates_and_places_are_read() -> None:
    tables, wal = read_fio(MIXED).workloads[0].streams
    assert tables.offsets == HotSpot(0.8, 0.2, 0.0)
    assert tables.workers == 2
    assert wal.load == Open(500.0, Process.POISSON, 4)
    assert wal.region == Region(2 * 1024**3, 1024**3)
    assert (tables.targets, wal.targets) == ((), (0,))


def test_options_without_a_field_are_listed_each_with_its_reason() -> None:
    shown = "\n".join(map(str, read_fio(MIXED).losses))
    for what in (
        "write_hint=short: storscope does not know",
        "ioengine=libaio",
        "ioscheduler",
        "psync keeps",
    ):
        assert what in shown


@pytest.mark.parametrize(("options", "expected"), [
    ("rw=randread norandommap", (AccessSpec(4096),)),
    ("rw=read bs=64k", (AccessSpec(65536, random_share=0.0),)),
    ("rw=randrw rwmixwrite=30 bs=8k norandommap", (AccessSpec(8192, read_share=0.7),)),
    ("rw=randrw rwmixread=65 percentage_random=60 norandommap", (AccessSpec(4096, read_share=0.65, random_share=0.6),)),
    ("rw=randwrite bsrange=4k-12k norandommap", tuple(
        AccessSpec(4096 * n, 0.333333333333, 0.0, align_bytes=0 if n == 1 else 4096) for n in (1, 2, 3))),
    ("rw=randread bssplit=4k/40:8k/:16k/ norandommap", (
        AccessSpec(4096, 0.4), AccessSpec(8192, 0.3, align_bytes=4096), AccessSpec(16384, 0.3, align_bytes=4096))),
    ("rw=randread bssplit=4k/50:6k/50 norandommap", (AccessSpec(4096),)),
    ("rw=randread bssplit=8k/50:12k/30:20k/20 norandommap", (
        AccessSpec(8192, 0.8), AccessSpec(16384, 0.2, align_bytes=8192))),
    ("rw=randread bssplit=8k/50:12k/50 bs_unaligned=1 norandommap", (
        AccessSpec(8192, 0.5), AccessSpec(12288, 0.5, align_bytes=8192))),
    ("rw=randread bsrange=4k-10k norandommap", (
        AccessSpec(4096, 0.4), AccessSpec(8192, 0.4, align_bytes=4096), AccessSpec(10240, 0.2, align_bytes=4096))),
    ("rw=randread blockalign=512 norandommap", (AccessSpec(4096, align_bytes=512),)),
    ("rw=read thinktime=10ms thinktime_blocks=4", (AccessSpec(4096, random_share=0.0, delay_ns=10**7, burst=4),)),
    ("rw=read blockalign=64k", (AccessSpec(4096, random_share=0.0),)),
    ("rw=rw bs=4k,64k", (
        AccessSpec(4096, 0.5, 1.0, 0.0), AccessSpec(65536, 0.5, 0.0, 0.0, align_bytes=4096))),
    ("rw=randrw bs=4k,64k percentage_random=100,0 blockalign=1k norandommap", (
        AccessSpec(4096, 0.5, 1.0, 1.0, align_bytes=1024), AccessSpec(65536, 0.5, 0.0, 0.0, align_bytes=1024))),
    ("rw=read bs=4kib", (AccessSpec(4000, random_share=0.0),)),
    ("rw=randread:8 norandommap", (AccessSpec(4096, random_share=0.125),)),
])  # fmt: skip
def test_a_job_says_what_a_transfer_looks_like(options: str, expected: tuple[AccessSpec, ...]) -> None:
    assert lines(job(options)) == expected


def test_offsets_of_a_long_range_of_sizes_are_multiples_of_its_least() -> None:
    """A hundred sizes stand for 512 B to 1 MiB, of which the least is 5 KiB; fio aligns to 512 B."""
    assert {line.effective_align_bytes for line in lines(job("rw=randread bsrange=512-1m"))} == {512}


@pytest.mark.parametrize(("options", "flush"), [
    ("rw=write fdatasync=1", Flush(1)),
    ("rw=write fsync=32", Flush(32, FlushKind.FULL)),
    ("rw=write fdatasync=1k", Flush(1024)),
    ("rw=write fdatasync=0", None),
    ("rw=write fsync=0 fdatasync=2", Flush(2)),
    ("rw=randrw fsync=2", Flush(2, FlushKind.FULL)),
    ("rw=read fsync=1", None),
    # fio takes fsync where both are due, and the more frequent one is kept.
    ("rw=write fsync=1 fdatasync=1", Flush(1, FlushKind.FULL)),
    ("rw=write fsync=2 fdatasync=4", Flush(2, FlushKind.FULL)),
    ("rw=write fsync=10 fdatasync=1", Flush(1)),
])  # fmt: skip
def test_a_job_says_which_flushes_follow_its_writes(options: str, flush: Flush | None) -> None:
    assert job(options).flush == flush


def test_only_what_fio_makes_of_two_kinds_of_flushes_is_lost() -> None:
    text = "[j]\nrw=write\nfilename=/tmp/a\nfsync=2\nfdatasync=4\n"
    assert not [loss for loss in read_fio(text).losses if loss.kind is LossKind.LOST]


def test_only_the_writes_are_flushed_where_they_alone_have_a_rate() -> None:
    reads, writes = read_fio("[j]\nrw=rw\nfilename=/tmp/a\nrate_iops=,50\nfdatasync=1\n").workloads[0].streams
    assert (reads.flush, writes.flush) == (None, Flush(1))


@pytest.mark.parametrize(("options", "reason"), [
    ("rw=randread", "visits each block once"),
    ("rw=randread random_distribution=random", "visits each block once"),
    ("rw=randread norandommap=0", "approximated: [j] line 3: norandommap=0: fio visits each block once"),
    ("rw=rw", "each have a sequential position"),
    ("rw=read iodepth=8", "keeps one I/O outstanding"),
    ("rw=read size=20%", "a share of a target"),
    ("rw=randread random_distribution=pareto:0.2", "no such distribution"),
    ("rw=write sync=1", "lost: [j] line 3: sync=1: a workload has no synchronous writes (O_SYNC, O_DSYNC)"),
    ("rw=write sync=dsync", "nearest is fdatasync=1, a flush of its own after each write"),
    ("rw=write end_fsync=1", "lost: [j] line 3: end_fsync=1: a flush once, behind the last write"),
    ("rw=write fsync_on_close=1", "when the file is closed"),
    ("rw=write write_barrier=8", "makes every n-th write a barrier"),
    ("rw=write sync_file_range=wait_before:8", "starts or awaits the writing of page cache"),
    ("rw=read fdatasync=1", "elsewhere: [j] line 3: fdatasync=1: without effect beside the job's other options"),
    ("rw=write fdatasync=1 iodepth=4 ioengine=io_uring", "approximated: [j] line 3: fdatasync=1: in a queue"),
    ("rw=write fdatasync=1 iodepth=4 ioengine=io_uring", "more often than asked; here a flush follows writes"),
    ("rw=write fdatasync=1 filename=/tmp/a:/tmp/b", "counts the writes of all its files together"),
    ("rw=read iodepth=8 ioengine=libaio filename=/tmp/a:/tmp/b", "here 4 of each target, 8 in all"),
    ("rw=read iodepth=1 ioengine=libaio filename=/tmp/a:/tmp/b", "here 1 of each target, 2 in all"),
    ("rw=write fsync=10 fdatasync=3", "lost: [j] line 3: fsync=10: a stream has flushes of one kind: those of fdata"),
    ("rw=write fsync=2 fdatasync=3", "lost: [j] line 4: fdatasync=3: a stream has flushes of one kind: those of fs"),
    ("rw=read bssplit=4k/30:8k/30:16k/10",
     "approximated: [j] line 3: bssplit=4k/30:8k/30:16k/10: the percentages give 70: what is left has 8192"),
    ("rw=read bssplit=4k/50:6k/50", "6144 rounded down to multiples of 4096, as fio does"),
    ("rw=read bsrange=4k-16k bs_unaligned=1", "any number of bytes in between"),
    ("rw=read rate_iops=5 thinktime=9", "arrivals set the pace"),
    ("rw=write verify=crc32c", "each read checks the stamp"),
    ("rw=write verify=crc32c", "lost: [j] line 3: verify=crc32c"),
    ("rw=write verify=crc32c do_verify=0", "approximated: [j] line 3: verify=crc32c"),
    ("rw=read blockalign=64k", "blockalign=64k: without effect"),
    ("rw=randread percentage_random=50 blockalign=64k", "goes on at multiples of 65536; fio leaves no gap"),
    ("rw=randread thinktime=20ms thinktime_iotime=50ms", "thinktime=20ms: fio pauses after a time of I/O"),
    ("rw=randread thinktime=20ms thinktime_iotime=50ms", "a pause comes with a number of I/Os"),
    ("rw=randread numjobs=4 offset_increment=25% size=25% random_distribution=zoned:90/10:10/90",
     "lost: [j] line 6: random_distribution=zoned:90/10:10/90: fio has it in the part of each job"),
    ("rw=write zero_buffers", "zeros with a stamp"),
    ("rw=rw rwmixread=70 rate_iops=50", "50 % reads by the rates"),
    ("rw=rw rate=1m,2m bs=4k,64k", "[j] line 3: rate=1m,2m: 89 % reads by the rates"),
    ("rw=read numjobs=4", "a file of its own"),
])  # fmt: skip
def test_what_means_something_else_is_said(options: str, reason: str) -> None:
    assert reason in losses_of(options)


@pytest.mark.parametrize(("options", "region"), [
    ("filename=a size=16m", Region(0, 16 * MIB)),
    ("filename=a:b size=16m", Region(0, 8 * MIB)),
    ("filename=a:b size=16m offset=2m", Region(2 * MIB, 8 * MIB)),
    ("filename=a:b size=16m filesize=6m", Region(0, 6 * MIB)),
    ("filename=a size=4m filesize=12m", Region(0, 12 * MIB)),
    ("filename=a size=1m filesize=6m offset=2m", Region(2 * MIB, 4 * MIB)),
    ("filename=a size=1m filesize=4m-6m", Region(0, MIB)),
    ("nrfiles=4 filesize=1m", Region(0, 4 * MIB)),
    ("filename=a:b size=8m offset_increment=4m numjobs=3", Region(0, 12 * MIB)),
])  # fmt: skip
def test_a_size_is_divided_among_files_and_what_filesize_says_goes_first(options: str, region: Region) -> None:
    """As fio 3.33 was seen to read files of 16 MiB, by strace."""
    assert job(f"rw=randread norandommap {options}").region == region


def test_a_region_of_several_targets_is_written_as_the_size_of_all_together() -> None:
    stream = Stream(Mix((AccessSpec(4096),)), Closed(4), region=Region(MIB, 8 * MIB))
    text, _ = write_fio(Definition("x", (Workload("w", (stream,)),)), FioRun(("/a", "/b")))
    assert "size=16777216" in text.splitlines()
    assert read_fio(text).workloads[0].streams[0].region == Region(MIB, 8 * MIB)


@pytest.mark.parametrize(("spot", "zones"), [
    (HotSpot(0.0, 0.5, 0.00390625), "zoned:0/50:100/50"),
    (HotSpot(0.2, 0.5, 0.00390625), "zoned:20/50:80/50"),
    (HotSpot(0.0, 0.999, 0.0), "zoned:100/100"),
])  # fmt: skip
def test_zones_too_small_for_fio_leave_their_visits_to_the_others(spot: HotSpot, zones: str) -> None:
    """fio refuses zones whose shares do not add up to 100."""
    stream = Stream(Mix((AccessSpec(4096),)), Closed(4), offsets=spot)
    text, losses = write_fio(Definition("x", (Workload("w", (stream,)),)))
    assert f"random_distribution={zones}" in text.splitlines()
    assert "hot spot" in "\n".join(map(str, losses))


@pytest.mark.parametrize(("zones", "spot"), [
    ("zoned:50/5:30/15:20/", HotSpot(0.5, 0.05, 0.0)),
    ("zoned:/10:20/90", HotSpot(0.8, 0.1, 0.0)),
    ("zoned:50/50:50/50,90/10:10/90", HotSpot(0.9, 0.1, 0.0)),
    ("zoned:50/50:50/50,zoned:90/10:10/90", HotSpot(0.9, 0.1, 0.0)),
])  # fmt: skip
def test_zones_may_leave_the_rest_open_and_writes_may_have_their_own(zones: str, spot: HotSpot) -> None:
    """The first as in fio's examples/rand-zones.fio."""
    assert job(f"rw=randwrite norandommap random_distribution={zones}").offsets == spot
    if "," in zones:
        assert "zones of the writes" in losses_of(f"rw=randrw norandommap random_distribution={zones}")


@pytest.mark.parametrize(("kind", "exponent", "is_said"), [
    ("zipf", 1.1, False), ("zipf:1.2", 1.2, False), ("zipf:1.2:0.25", 1.2, True), ("zipf:1.2:0", 1.2, True),
    ("zipf:1.2:-1", 1.2, False), ("zipf:1.2/0.25", 1.2, False),
])  # fmt: skip
def test_the_centre_of_zipf_is_left_out_and_said(kind: str, exponent: float, is_said: bool) -> None:
    """fio 3.33 takes a centre after a colon, -1 for none, and reads over what follows a slash."""
    options = f"rw=randread norandommap random_distribution={kind}"
    assert job(options).offsets == Zipf(exponent)
    assert ("the centre of the distribution is left out" in losses_of(options)) is is_said


@pytest.mark.parametrize("kind", ["zipf:x", "zipf:1.2:x", "zipf:1.2:2", "zipf:1.2:"])
def test_a_zipf_that_fio_refuses_is_refused(kind: str) -> None:
    with pytest.raises(MalformedInput, match="line 2: expected"):
        job(f"random_distribution={kind} rw=randread")


@pytest.mark.parametrize("engine", ["cpuio", "exec", "filecreate", "filestat", "net", "falloc"])
def test_jobs_whose_engine_moves_no_blocks_are_left_out_and_said(engine: str) -> None:
    """A job that burns CPU has been a stream of sequential reads."""
    definition = read_fio(f"[a]\nioengine={engine}\n[b]\nrw=read")
    assert [workload.name for workload in definition.workloads] == ["b"]
    assert "the job is left out: this engine" in str(definition.losses[0])
    with pytest.raises(MalformedInput, match="a job that reads or writes"):
        read_fio(f"[a]\nioengine={engine}")


@pytest.mark.parametrize(("options", "said"), [
    ("", True), ("direct=0", True), ("buffered=1", True), ("direct=1", False), ("buffered=0", False),
])  # fmt: skip
def test_a_job_through_the_page_cache_is_told_how_to_stay_there(options: str, said: bool) -> None:
    text = "\n".join(["[j]", "rw=read", *options.split()])
    assert ("unless --buffered is given" in "\n".join(map(str, read_fio(text).losses))) is said


def test_a_start_that_is_not_delayed_loses_nothing() -> None:
    assert "startdelay" not in losses_of("rw=read startdelay=0")
    assert "startdelay" in losses_of("rw=read startdelay=4")


def test_other_names_of_an_option_are_known() -> None:
    definition = read_fio("[j]\nrw=read\ntimeout=2\nnr_files=1\nratemin=4k\nfill_fs=1\nblocksize_unaligned=1\n")
    assert definition.sweep.duration_ns == 2 * 10**9
    assert "does not know" not in "\n".join(map(str, definition.losses))


def test_data_and_verification_are_read() -> None:
    workload = read_fio("[j]\nrw=write\nbuffer_compress_percentage=40\ndedupe_percentage=30\nverify=md5").workloads[0]
    assert workload.data == DataPool(0.4, 0.3)
    assert workload.verification is Verification.STAMPS


@pytest.mark.parametrize(("bs", "block", "is_exact"), [
    ("4k", 4096, True), ("64k", 65536, True), ("1m", MIB, True), ("512", 4096, False), ("12k", 8192, False),
    ("4m", MIB, False), ("16k,8k", 8192, True),
])  # fmt: skip
def test_fio_repeats_whole_transfers_and_so_do_we(bs: str, block: int, is_exact: bool) -> None:
    definition = read_fio(f"[j]\nrw=randrw\nbs={bs}\ndedupe_percentage=30\n")
    assert definition.workloads[0].data == DataPool(0, 0.3, duplicate_block_bytes=block)
    assert ("dedupe_percentage" not in "\n".join(map(str, definition.losses))) is is_exact


def test_data_that_does_not_compress_is_called_random() -> None:
    definition = read_fio("[j]\nrw=write\ndedupe_percentage=30\n")
    said = " ".join(describe(definition.workloads[0]))
    assert "What is written is random bits, 30 % of its blocks of 4 KiB are duplicates" in said
    definition = read_fio("[j]\nrw=write\nbuffer_compress_percentage=40\n")
    assert "What is written is zeros for 40 %; each block" in " ".join(describe(definition.workloads[0]))


def test_blocks_that_fio_would_not_repeat_are_told() -> None:
    line = AccessSpec(65536, read_share=0)
    for block, is_told in ((4096, True), (65536, False)):
        data = DataPool(duplicate_ratio=0.3, duplicate_block_bytes=block)
        losses = LossList()
        workload = Workload("w", (Stream(Mix((line,)), Closed(1)),), data=data)
        assert "dedupe_percentage=30" in data_options(workload, workload.streams[0], losses)
        assert ("fio repeats whole transfers, of 64 KiB" in "\n".join(map(str, losses.as_tuple()))) is is_told


def test_trims_are_left_out_and_said() -> None:
    definition = read_fio("[a]\nrw=randtrim\n[b]\nrw=read")
    assert [workload.name for workload in definition.workloads] == ["b"]
    assert "does not trim" in str(definition.losses[0])
    with pytest.raises(MalformedInput, match="a job that reads or writes"):
        read_fio("[a]\nrw=trim")


@pytest.mark.parametrize(("text", "message"), [
    ("[j]\nrw=sideways", r"\[j\] line 2: expected one of"),
    ("[j]\nbssplit=4k/50:8k/60:16k/", r"percentages that add up to 100 \(they give 110\)"),
    ("[j]\nbssplit=4k/60:8k/50", r"they give 110"),
    ("[j]\nbs=99999999999999999999g", "a size"),
    ("[j]\nbs=0", "sizes from 1 byte"),
    ("[j]\nbs=${BS}", "without variables"),
    ("[j]\nbs=${BS}", r"found '\${BS}'.\n  Set BS in the environment, as for fio: BS=\.\.\. storscope"),
    ("[j]\niodepth=$ncpus", "Write the number itself"),
    ("[j]\nrwmixread=140\nrw=rw", "0 to 100"),
    ("[j]\niodepth=99999999999", "iodepth"),
    ("[j]\nnumjobs=0", r"line 2: expected a number from 1 to 1024 for numjobs"),
    ("[j]\nnumjobs=5000", r"line 2: expected a number from 1 to 1024 for numjobs"),
    ("[j]\nrw=randread\nrandom_distribution=zoned:50/10:50/10", "zones whose sizes add up"),
    ("bs=4k", "line 1: expected a section"),
    ("[j]\ninclude other.fio", "Put the included"),
    ("[j]\n= 4", "options like bs=4k"),
    ("[global]\nbs=4k", "a job section"),
])  # fmt: skip
def test_nonsense_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(StorscopeError, match=message):
        read_fio(text)


@given(st.text(max_size=300))
def test_garbage_is_an_error_of_ours_or_a_definition(garbage: str) -> None:
    try:
        read_fio("[job]\nrw=randrw\n" + garbage)
    except StorscopeError as error:
        assert error.message()


VARIABLES = "[j]\nrw=read\nioengine=null\nbs=${KIB}k\nsize=${SIZE}\nfilename=${TARGET}\n"


def test_variables_are_what_the_environment_has(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"KIB": "16", "SIZE": "64m", "TARGET": "/dev/sdx"}.items():
        monkeypatch.setenv(name, value)
    definition = read_definition(VARIABLES, "job.fio")
    (stream,) = definition.workloads[0].streams
    assert ([line.size_bytes for line in lines(stream)], stream.region) == ([16_384], Region(0, 64 * MIB))
    assert definition.targets == ("${TARGET}",)


@pytest.mark.needs("fio")
@pytest.mark.parametrize("variables", [{"KIB": "16", "SIZE": "64m", "TARGET": "x"}, {"KIB": "16", "TARGET": "x"}, {}])
def test_variables_are_taken_where_fio_takes_them(variables: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "job").write_text(VARIABLES)
    asked = ["fio", "--output-format=json", "job"]
    there = variables | {"PATH": os.environ["PATH"]}
    ran = subprocess.run(asked, cwd=tmp_path, env=there, capture_output=True, check=False)
    if ran.returncode:
        with pytest.raises(MalformedInput, match=r"Set [A-Z]+ in the environment"):
            read_fio(VARIABLES, environment=variables)
        return
    (found,) = json.loads(ran.stdout)["jobs"]
    (stream,) = read_fio(VARIABLES, environment=variables).workloads[0].streams
    assert found["read"]["io_bytes"] == stream.region.length_bytes == 64 * MIB
    assert found["read"]["total_ios"] * lines(stream)[0].size_bytes == 64 * MIB


def test_uniform_is_what_nothing_said_means() -> None:
    kinds: list[Any] = [job("rw=randread").offsets, job("rw=randread random_distribution=random").offsets]
    assert kinds == [Uniform(), Uniform()]


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("iodepth=1000000", "job.fio, [one] line 4: expected 1 to 32768 for iodepth, found 1000000"),
        ("rate=7e", "job.fio, [one] line 4: expected above 0, at most 1e9 per second for rate"),
        ("verify=crc32c\nbs=100", "job.fio, [one] line 4: expected sizes and alignments with a common divisor"),
    ],
)
def test_a_value_out_of_range_is_told_with_its_line(option: str, said: str) -> None:
    text = f"[global]\nioengine=libaio\n[one]\n{option}\nrw=randrw\n[two]\nrw=write\n"
    with pytest.raises(MalformedInput, match=re.escape(said)):
        read_fio(text, "job.fio")


_RESTING = (
    "sync=0", "sync=none", "end_fsync=0", "fsync_on_close=0", "write_barrier=0", "zonemode=none", "zonesize=0",
    "rate_min=0", "latency_target=0", "latency_percentile=100", "max_latency=0ms", "startdelay=0s", "trim_percentage=0",
    "thinktime_spin=0", "rw_sequencer=sequential", "dedupe_mode=repeat", "dedupe_global=false", "softrandommap=0",
    "lockfile=none", "atomic=0", "rate=0", "iodepth_low=0", "iodepth_low=8",
    "io_submit_mode=inline", "nrfiles=8\nfile_service_type=random:4", "file_service_type=zipf:1.2",
)  # fmt: skip


@pytest.mark.parametrize("option", _RESTING)
def test_an_option_that_asks_for_what_is_done_anyway_loses_nothing(option: str) -> None:
    """`sync=0` and its like were lost, and a doubt of each run of the job."""
    losses = read_fio(f"[a]\nioengine=libaio\nrw=read\niodepth=8\n{option}\n").losses
    assert [loss.what for loss in losses if loss.kind is not LossKind.ELSEWHERE] == []


@pytest.mark.parametrize("option", [
    "sync=1", "sync=dsync", "end_fsync=1", "zonemode=zbd", "rate_min=1k", "startdelay=5", "trim_percentage=10",
    "rw_sequencer=identical", "buffer_pattern=0", "wait_for=0", "lockfile=exclusive", "atomic=1", "readfua=1",
])  # fmt: skip
def test_an_option_that_asks_for_what_is_not_done_is_lost(option: str) -> None:
    losses = read_fio(f"[a]\nioengine=libaio\nrw=read\niodepth=8\n{option}\n").losses
    lost = [loss for loss in losses if loss.kind is LossKind.LOST]
    assert [loss.what for loss in lost] == [option]
    assert "does not know" not in lost[0].reason


@pytest.mark.parametrize(("options", "reason"), [
    ("io_submit_mode=offload", "lets as many threads as iodepth send, also with a synchronous engine"),
    ("nrfiles=8\nfile_service_type=zipf:1.2", "chooses some files more often than others"),
    ("filename=/a:/b\nfile_service_type=gauss:10", "chooses some files more often than others"),
])  # fmt: skip
def test_who_sends_and_which_file_is_chosen_are_of_the_load(options: str, reason: str) -> None:
    """They were told of as what concerns the host, and the target, alone."""
    losses = read_fio(f"[a]\nioengine=psync\nrw=read\n{options}\n").losses
    (lost,) = [loss for loss in losses if loss.kind is LossKind.LOST]
    assert lost.what == options.rpartition("\n")[2]
    assert lost.reason.startswith(reason)


def test_a_length_that_only_later_jobs_have_is_taken() -> None:
    """The runtime of a first job that has none was 'taken', and that of the measurement behind it lost."""
    definition = read_fio("[fill]\nrw=write\n[measure]\nstonewall\nrw=randread\nruntime=90\nramp_time=5\n")
    assert (definition.sweep.duration_ns, definition.sweep.ramp_up_ns) == (90 * NS_PER_S, 5 * NS_PER_S)
    said = "\n".join(map(str, definition.losses))
    assert "runtime of its own: there is one for all; the first that is given, 90 s, is taken" in said
    assert "ramp_time of its own: there is one for all; the first that is given, 5.00 s, is taken" in said


@pytest.mark.parametrize(("options", "is_said"), [
    ("runtime=3", True), ("runtime=3\ntime_based=0", True), ("runtime=3\ntime_based", False),
    ("runtime=3\ntime_based=1", False), ("runtime=0", False), ("time_based=1", False),
])  # fmt: skip
def test_a_runtime_that_fio_may_not_need_is_said(options: str, is_said: bool) -> None:
    """fio 3.33 reads 64 MiB in 0.1 s and ends, whatever its runtime is; here the whole time is measured."""
    losses = read_fio(f"[a]\nrw=read\nsize=64m\n{options}\n").losses
    said = [str(loss) for loss in losses if "ends a job sooner" in loss.reason]
    assert [one.partition(": without")[0] for one in said] == ["elsewhere: [a] line 4: runtime=3"] * is_said


def test_an_option_with_a_hyphen_is_read() -> None:
    """The file was refused."""
    losses = read_fio("[a]\nrw=randread\nhugepage-size=2m\n").losses
    assert "hugepage-size=2m" in {loss.what for loss in losses if loss.kind is LossKind.ELSEWHERE}


def test_a_slip_in_an_option_is_lost_with_the_option_that_was_meant() -> None:
    """Its depth would be 1 in silence, as the job's other options are read."""
    losses = read_fio("[a]\nrw=randread\nbs=4k\nsize=1g\nio_depth=8\nelephants=3\n").losses
    reasons = {loss.what: loss.reason for loss in losses if loss.kind is LossKind.LOST}
    assert reasons["io_depth=8"] == "storscope does not know what this option asks for; did you mean iodepth?"
    assert reasons["elephants=3"] == "storscope does not know what this option asks for"


@pytest.mark.parametrize(("range_", "mean_bytes"), [
    ("512-64k", 33_026), ("4k-792k", 407_636), ("4k-1000k", 514_165), ("4k-16k", 10_240), ("4k-1001k", 514_701),
])  # fmt: skip
def test_sizes_that_stand_for_a_range_have_its_mean(range_: str, mean_bytes: float) -> None:
    """Measured with fio 3.33 and its null engine. Of 198 multiples the first 100 stood for all."""
    found = lines(job(f"rw=randwrite bsrange={range_} norandommap"))
    assert len(found) <= 100
    assert sum(line.share for line in found) == pytest.approx(1)
    assert sum(line.share * line.size_bytes for line in found) == pytest.approx(mean_bytes, rel=0.003)


_TWO_GROUPS = """
[global]
size=10%
[reads]
rw=randread
startdelay=1
[trims]
rw=trim
[writes]
stonewall
rw=write
latency_target=5ms
"""


@pytest.mark.parametrize(
    ("name", "told", "untold"), [("reads", "startdelay", "latency_target"), ("writes", "latency_target", "startdelay")]
)
def test_one_of_several_workloads_does_not_carry_what_others_lost(name: str, told: str, untold: str) -> None:
    """The run would be doubted for what another job asks."""
    whole = read_fio(_TWO_GROUPS)
    said = " ".join(map(str, whole.only(name).losses))
    assert told in said and untold not in said
    assert ("rw=trim" in said) == (name == "reads"), "a job that is left out would have run beside its group"
    assert "direct not given" in said, "of the whole file"
    assert {*whole.only("reads").losses, *whole.only("writes").losses} == {*whole.losses}
