"""A doubt about some of the streams says which: the figures of all I/Os are others."""

from __future__ import annotations

from storscope.bench.doubted_streams import with_streams
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
