"""fio's I/O logs as traces: what was captured, what fio writes now, and what is refused."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import storscope
from storscope.domain.errors import InputError, UsageError
from storscope.domain.text_kinds import IOLOG, text_kind
from storscope.sim.traces import read_trace
from storscope.sim.traces.read import trace_from_text

_V3 = """\
fio version 3 iolog
17 /mnt/scratch/t add
115 /mnt/scratch/t open
118 /mnt/scratch/t read 4046848 4096
330 /mnt/scratch/t write 49676288 8192
200317 /mnt/scratch/t sync 0 0
200420 /mnt/scratch/t trim 0 65536
400420 /mnt/scratch/t write 56377344 4096
2000085 /mnt/scratch/t close
"""
"""The form of a capture of fio 3.33, with a flush and a trim."""
_V2 = """\
fio version 2 iolog
/data/gen.dat add
/data/gen.dat open
/data/gen.dat read 65564672 4096
/data/gen.dat write 58109952 4096
/data/gen.dat close
"""
_DESIGN = """
name = "one"
[[group]]
name = "g"
drive = "10k-sas"
count = 2
layout = "raid1"
[[volume]]
name = "v"
group = "g"
size = "64 GiB"
[[host]]
name = "h"
volumes = [{ volume = "v" }]
"""


def _requests(text: str) -> list[tuple[int, int, int, bool]]:
    trace = trace_from_text(text, "t")
    columns = (trace.at_ns, trace.offset_bytes, trace.length_bytes, trace.is_write)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_version_3_has_times() -> None:
    assert _requests(_V3) == [
        (118_000, 4046848, 4096, False), (330_000, 49676288, 8192, True), (400_420_000, 56377344, 4096, True)
    ]  # fmt: skip
    trace = trace_from_text(_V3, "t")
    assert (trace.format, trace.has_times, trace.places) == ("fio iolog", True, ())
    assert trace.left_out == {"openings and closings of files": 3, "flushes": 1, "trims": 1}


def test_version_2_has_those_of_its_waits() -> None:
    waits = _V2.replace(
        "/data/gen.dat write", "/data/gen.dat wait 2500 0\n/data/gen.dat wait 500 0\n/data/gen.dat write"
    )
    assert [at_ns for at_ns, *_ in _requests(waits)] == [0, 3_000_000]
    assert trace_from_text(waits, "t").has_times
    assert not trace_from_text(_V2, "t").has_times


def test_a_name_may_hold_blanks_and_a_flush_may_be_of_a_range() -> None:
    """fio 3.33 writes both as they are: `na me`, and sync_file_range with its option of this name."""
    text = _V3.replace("/mnt/scratch/t", "/tmp/f l/the data").replace("sync 0 0", "sync_file_range 368640 0")
    trace = trace_from_text(text, "t")
    assert (len(trace), trace.places) == (3, ())
    assert trace.left_out == {"openings and closings of files": 3, "flushes": 1, "trims": 1}


@pytest.mark.parametrize("second", [_V3, "400500 /mnt/scratch/t writ" + _V3])
def test_one_of_several_jobs_is_refused_with_the_reason(second: str) -> None:
    """As fio 3.33 left one with numjobs=2, in which a line ends `writefio version 3 iolog`."""
    with pytest.raises(InputError) as caught:
        trace_from_text(_V3 + second, "t")
    assert "Several jobs wrote into it" in caught.value.hint
    assert caught.value.where == "t, line 10"


def test_files_are_places_where_there_are_several() -> None:
    trace = trace_from_text(_V3.replace("118 /mnt/scratch/t", "118 /mnt/scratch/other"), "t")
    assert trace.places == ("/mnt/scratch/other", "/mnt/scratch/t")


def test_one_without_times_needs_a_closed_loop(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(_DESIGN)
    (tmp_path / "io.log").write_text(_V2)
    with pytest.raises(UsageError, match="outstanding=8"):
        storscope.simulate_trace(tmp_path / "one.toml", tmp_path / "io.log")
    tables = storscope.simulate_trace(tmp_path / "one.toml", tmp_path / "io.log", outstanding=1)
    assert tables["runs"].num_rows == 1
    timed = tmp_path / "timed.log"
    timed.write_text(_V3)
    assert storscope.simulate_trace(tmp_path / "one.toml", timed)["runs"].num_rows == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (_V3.replace("version 3", "version 1"), "line 1.*version 2 or 3"),
        (_V3.replace("118 /mnt/scratch/t read 4046848 4096", "118 /mnt/scratch/t read 4046848"), "line 4"),
        (_V3.replace("118 /mnt", "x /mnt"), "line 4"),
        (_V3.replace("t sync 0 0", "t fly 0 0"), "line 6.*another action"),
        (_V3.replace("400420 ", "20 "), "line 8.*not before"),
        ("fio version 3 iolog\n17 /t add\n", "at least one request"),
        ("fio version 3 iolog\n17\n", "line 2"),
    ],
)
def test_what_is_no_entry_is_refused_with_its_line(text: str, said: str) -> None:
    with pytest.raises(InputError, match=f"(?s){said}") as caught:
        trace_from_text(text, "t")
    assert caught.value.where.startswith("t")


def test_it_is_known_wherever_it_is_given() -> None:
    assert text_kind(_V3) is IOLOG
    assert text_kind(_V2) is IOLOG


@pytest.mark.needs("fio")
def test_what_fio_records_now_has_its_rate_and_its_mix(tmp_path: Path) -> None:
    subprocess.run(
        ["fio", "--name=now", f"--filename={tmp_path / 'data'}", "--size=4M", "--rw=randrw", "--rwmixread=50",
         "--bs=4k", "--rate_iops=50,100", "--runtime=2", "--time_based", f"--write_iolog={tmp_path / 'io.log'}",
         "--output=/dev/null"],
        check=True, timeout=120,
    )  # fmt: skip
    trace = read_trace(tmp_path / "io.log")
    assert trace.duration_ns == pytest.approx(2e9, rel=0.1)
    assert set(trace.length_bytes.tolist()) == {4096}
    assert int(trace.offset_bytes.max()) < 4 << 20
    assert bool(np.all(np.diff(trace.at_ns) >= 0))
    for is_write, per_s in ((False, 50), (True, 100)):
        times = trace.at_ns[trace.is_write == is_write]
        assert len(times) <= 2 * per_s + 2, "never more than was asked for"
        assert len(times) > 0
