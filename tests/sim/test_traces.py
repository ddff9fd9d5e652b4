"""Block traces: what is read, and what is refused with its line."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storscope.domain.errors import InputError, UnknownFormat, UsageError
from storscope.sim.traces import Trace, read_trace
from storscope.sim.traces.read import trace_from_text
from storscope.sim.traces.trace import exact_ns

_DRIVE = "W Hit   11392096  12   1686.00000  40961.00000\nR Hit    7563004   4  14368.00000  28778.00000\n"
_BLKPARSE = """\
  8,0    3        1     0.000000000   697  G   W 223490 + 8 [kjournald]
  8,0    3        2     0.000001829   697  Q   W 223490 + 8 [kjournald]
  8,0    3        3     0.000002197   697  Q   R 223498 + 16 [(null) x + 3]
  8,0    3        4     0.000005533   697  D   W 223490 + 8 [kjournald]
  8,0    0        5     0.001000000   697  Q  FN [kjournald]
  8,0    0        6     0.002000000   697  Q   D 4096 + 2048 [fstrim]
  8,0    1        7     0.003000001     0  C   W 223490 + 8 [0]
  8,0    1        8     0.004000000   697  Q FWS 8 + 1 [kjournald]
CPU0 (8,0):
 Reads Queued:           0,        0KiB\t Writes Queued:           7,      128KiB
"""
_CSV = "# kept by hand\ntime_ms,op,volume,offset_sectors,length_bytes\n0.5,R,esx/a,8,4096\n1.5,write,b,0,512\n"


def _rows(trace: Trace) -> list[tuple[int, int, int, bool]]:
    columns = (trace.at_ns, trace.offset_bytes, trace.length_bytes, trace.is_write)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_a_drive_trace_has_service_and_thought() -> None:
    trace = trace_from_text(_DRIVE, "t")
    assert trace.format == "drive trace"
    assert _rows(trace) == [(0, 11392096 * 512, 6144, True), (42_647_000, 7563004 * 512, 2048, False)]
    assert trace.think_ns is not None
    assert trace.think_ns.tolist() == [40_961_000, 28_778_000]


def test_blkparse_tells_what_was_queued_and_the_rest_is_counted() -> None:
    trace = trace_from_text(_BLKPARSE, "t")
    assert trace.format == "blkparse"
    assert _rows(trace) == [
        (1_829, 223490 * 512, 4096, True), (2_197, 223498 * 512, 8192, False), (4_000_000, 4096, 512, True),
    ]  # fmt: skip
    assert trace.places == ("8,0",)
    assert trace.line.tolist() == [2, 3, 8]
    assert trace.left_out == {
        "other actions than Q": 2, "discards and flushes": 2, "issued (D) beside queued (Q)": 1,
    }  # fmt: skip


def test_what_was_only_issued_counts_if_nothing_was_queued() -> None:
    text = "\n".join(line for line in _BLKPARSE.splitlines() if "  Q " not in line)
    assert _rows(trace_from_text(text, "t")) == [(5_533, 223490 * 512, 4096, True)]


def test_csv_names_volumes_and_units() -> None:
    trace = trace_from_text(_CSV, "t")
    assert _rows(trace) == [(500_000, 4096, 4096, False), (1_500_000, 0, 512, True)]
    assert trace.places == ("esx/a", "b")
    assert trace.place is not None
    assert trace.place.tolist() == [0, 1]


_HEAD = "time_s,op,offset_bytes,length_bytes\n"


@pytest.mark.parametrize(
    ("text", "unit_ns", "ns"),
    [
        ("5e-05", 10**9, 50_000), ("1.5E+3", 10**9, 1_500 * 10**9), ("1e-9", 10**9, 1), ("1.7e9", 1, 1_700_000_000),
        ("1e-24", 10**9, 0), ("0e5", 1, 0),
    ],
)  # fmt: skip
def test_times_may_have_exponents(text: str, unit_ns: int, ns: int) -> None:
    """Python, NumPy and pandas write any time below 0.1 ms so."""
    assert exact_ns(text, unit_ns) == ns


@pytest.mark.parametrize(
    "text", ["e5", "1e", "1e-", "1e+-5", "1e5.0", "1e99", "1e-99999", "1e٣", "1ee5", "-1e5", "nan"]
)
def test_what_is_no_number_is_none(text: str) -> None:
    assert exact_ns(text, 1) is None


@pytest.mark.parametrize("first", [800_000_000, 1_700_000_000, 4_000_000_000])
def test_times_may_count_from_1970(first: int) -> None:
    """10,000 days from 1970 on were the end, in 1997."""
    trace = trace_from_text(f"{_HEAD}{first}.0,R,0,4096\n{first}.5,R,4096,4096\n", "t.csv")
    assert trace.duration_ns == 500_000_000


@pytest.mark.parametrize("late", ["864000001.5", "9300000000"])
def test_a_time_too_far_from_the_first_is_refused(late: str) -> None:
    with pytest.raises(InputError, match="at most 10000 days after the first"):
        trace_from_text(f"{_HEAD}0.5,R,0,4096\n{late},R,4096,4096\n", "t.csv")


@pytest.mark.parametrize("text", [_DRIVE, _BLKPARSE, _CSV.partition("\n")[2]])
def test_remarks_and_empty_lines_are_passed_over_and_counted_as_lines(text: str) -> None:
    first, *others = text.splitlines(keepends=True)
    remarked = trace_from_text(f"# a remark\n\n{first}# another\n\n{''.join(others)}", "t")
    plain = trace_from_text(text, "t")
    assert _rows(remarked) == _rows(plain)
    assert remarked.left_out == plain.left_out
    assert remarked.line.tolist() == [line + (2 if line == 1 else 4) for line in plain.line.tolist()]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (_DRIVE + "R Hit 1 4 1.0", "line 3: expected R or W, Hit or Miss"),
        (_DRIVE + "R Hit x 4 1.0 1.0", "line 3: expected a sector, found 'x'"),
        (_DRIVE + "R Hit 1 0 1.0 1.0", "line 3: expected 1 to 1073741824 bytes, found '0'"),
        (_DRIVE + "R Hit 1 4 nan 1.0", "line 3: expected microseconds, found 'nan'"),
        (_DRIVE + "R Hit 1 4 1.0 -1.0", "line 3: expected microseconds, found '-1.0'"),
        (_BLKPARSE.replace("CPU0", "UPS0"), "line 9: expected an event as blkparse prints it"),
        ("8,0 3 1 0.1 6 C W 2 + 8 [x]", "expected at least one request, found none"),
        ("8,0 3 1 0.2 6 Q W 2 + 8 [x]\n8,0 3 1 0.1 6 Q W 2 + 8 [x]", "line 2: expected a time not before"),
        ("time_s,op,offset_bytes\n0,R,0", "line 1: expected one column out of length_bytes, length_sectors"),
        ("time_s,op,offset_bytes,length_bytes,weight\n", "line 1: expected columns out of"),
        ("time_s,op,op,offset_bytes,length_bytes\n", "line 1: expected each column once, found 'op'"),
        ("time_s,time_ms,op,offset_bytes,length_bytes\n", "line 1: expected one column out of time_s"),
        ("time_s,op,offset_bytes,length_bytes\n0,R,0\n", "line 2: expected 4 cells as in the heading"),
        ("time_s,op,offset_bytes,length_bytes\n0,T,0,512\n", "line 2: expected R, W, read or write for op"),
        ("time_s,op,offset_bytes,length_bytes\n1,R,0,512\n0,R,0,512\n", "line 3: expected a time not before"),
        ("time_s,op,offset_bytes,length_bytes\n1,R,1e3,512\n", "line 2: expected a whole number for offset_bytes"),
        ("time_s,op,offset_bytes,length_bytes\n", "expected at least one request, found none"),
    ],
)  # fmt: skip
def test_what_is_no_request_is_named_with_its_line(text: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        trace_from_text(text, "t")
    assert said in str(error.value)


def test_what_is_no_trace_is_refused_with_what_would_be() -> None:
    with pytest.raises(UnknownFormat, match="blkparse"):
        trace_from_text("Device: r/s w/s\n", "t")


def test_a_file_that_cannot_be_read_or_is_no_text(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        read_trace(tmp_path / "absent")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="UTF-8"):
        read_trace(tmp_path / "binary")


_REQUESTS = st.lists(
    st.tuples(
        st.integers(0, 10**15), st.integers(0, 2**40), st.integers(1, 2**20), st.booleans(),
        st.sampled_from(["a", "esx/b", "c d"]),
    ),
    min_size=1,
)  # fmt: skip


@given(requests=_REQUESTS)
def test_csv_gives_back_what_was_written_to_the_nanosecond(requests: list[tuple[int, int, int, bool, str]]) -> None:
    requests = sorted(requests, key=lambda request: request[0])
    lines = [
        f"{at // 10**9}.{at % 10**9:09},{'W' if write else 'R'},{volume},{offset},{length}"
        for at, offset, length, write, volume in requests
    ]
    trace = trace_from_text("\n".join(["time_s,op,volume,offset_bytes,length_bytes", *lines]), "t")
    assert _rows(trace) == [request[:4] for request in requests]
    assert trace.place is not None
    assert [trace.places[number] for number in trace.place] == [request[4] for request in requests]


@given(st.text(max_size=200), st.sampled_from(["", _DRIVE, _BLKPARSE, _CSV]), st.integers(0, 400))
def test_any_text_is_a_trace_or_an_error_that_a_user_can_read(noise: str, start: str, at: int) -> None:
    try:
        trace = trace_from_text(start[:at] + noise + start[at:], "t")
    except InputError as error:
        assert str(error).startswith("t")
        return
    assert len(trace) >= 1
    assert bool(np.all(trace.length_bytes >= 1))
    assert bool(np.all(np.diff(trace.at_ns) >= 0))


def test_a_long_trace_takes_some_bytes_a_line_besides_its_text() -> None:
    """Ten million lines of 34 bytes took 5 GB: a tuple of numbers for each, and the text in four bytes a letter."""
    lines = 20_000
    rows = (f"{number / 1000:.6f},v{number % 300},R,{number * 8192},8192\n" for number in range(lines))
    text = "time_s,volume,op,offset_bytes,length_bytes\n" + "".join(rows)
    tracemalloc.start()
    try:
        trace = trace_from_text(text, "long.csv")
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(trace) == lines
    assert peak_bytes / lines < 100
