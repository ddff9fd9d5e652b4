"""A doubt about some of the streams says which: the figures of all I/Os are others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from storscope.bench.doubted_streams import of_stream, valid_streams, with_streams
from storscope.bench.figures import Outcome
from storscope.cli.main import run
from storscope.domain.access import AccessSpec, Mix
from storscope.domain.load import Closed, Open
from storscope.domain.workload import Stream, Workload

_LINE = Mix((AccessSpec(4096),))
_LATE = "I/Os left 4.18 ms late at p99, of a response of 4.30 ms"
_EMPTY = "the generator left each place in the queue empty"


def _workload(*streams: Stream) -> Workload:
    return Workload("mixed", streams)


_MIXED = _workload(Stream(_LINE, Closed(32), name="hog"), Stream(_LINE, Open(100.0), name="victim"))


def test_a_doubt_about_arrivals_names_the_stream_that_has_them() -> None:
    assert with_streams("generator_late", _LATE, _MIXED) == f"of stream 'victim' (open loop) alone: {_LATE}"
    assert with_streams("places_empty", _EMPTY, _MIXED) == f"of stream 'hog' (closed loop) alone: {_EMPTY}"


def test_a_doubt_about_all_of_them_needs_no_name() -> None:
    alone = _workload(Stream(_LINE, Open(100.0), name="victim"))
    assert with_streams("generator_late", _LATE, alone) == _LATE
    assert with_streams("failures", "1 I/O failed", _MIXED) == "1 I/O failed"


def test_streams_without_a_name_of_their_own_are_told_by_number() -> None:
    twins = _workload(Stream(_LINE, Open(1.0), name="a"), Stream(_LINE, Closed(1)), Stream(_LINE, Open(2.0), name="a"))
    assert with_streams("overloaded", "2 were never sent", twins).startswith("of streams 'a 1', 'a 3' (open loop)")
    for kind in ("mean_late", "tail_late"):
        assert with_streams(kind, "delays", twins).startswith("of stream 2 (closed loop) alone: ")


def test_a_doubt_of_one_among_several_names_it() -> None:
    assert of_stream(1, _LATE, _MIXED) == f"of stream 'victim' alone: {_LATE}"


def test_streams_whose_latencies_mean_what_they_say_are_named() -> None:
    """An engine that does not judge streams apart (fio) is judged as a whole; so is a run that failed."""
    assert valid_streams(_MIXED, Outcome({"valid": False, "invalid_streams": [1]}, (), None)) == "stream 'hog'"
    assert valid_streams(_MIXED, Outcome({"valid": False, "invalid_streams": [0, 1]}, (), None)) == ""
    assert valid_streams(_MIXED, Outcome({"valid": False}, (), None)) == ""
    assert valid_streams(_MIXED, Outcome({"valid": True, "invalid_streams": []}, (), ("failed", "EIO"))) == ""
    assert valid_streams(_MIXED, Outcome({"valid": True}, (), None)) == "streams 'hog', 'victim'"


_BOTH = """
name = "both"
[[stream]]
name = "hog"
outstanding = 1
line = [{ size = "4k" }]
[[stream]]
name = "victim"
rate_per_s = 20_000_000
max_outstanding = 1
line = [{ size = "4k" }]
"""


def test_each_stream_is_marked_by_its_own_ios(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "both.toml").write_text(_BOTH)
    options = ["--workload", str(tmp_path / "both.toml"), "--size", "4M", "--duration", "500ms"]
    assert run(["bench", str(data), *options, "--store", str(tmp_path / "store"), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    valid = {cell["stream"]: cell["valid"] for cell in result["cells"]}
    assert not result["valid"]
    assert not valid["victim"]
    is_late = any("'hog'" in doubt and "each place in the queue empty" in doubt for doubt in result["doubts"])
    is_still = any("stood still" in doubt for doubt in result["doubts"])
    assert valid["hog"] is not (is_late or is_still), "its processor may be busy with something else, or paused"
