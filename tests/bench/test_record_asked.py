"""What a run is recorded to have asked for."""

from __future__ import annotations

from dataclasses import replace

from storscope.bench.record import in_sentences
from storscope.domain.access import AccessSpec, Mix
from storscope.domain.asked_load import asked_of
from storscope.domain.load import Closed
from storscope.domain.workload import Stream

_STREAM = Stream(Mix((AccessSpec(4096),)), Closed(31), workers=2)


def test_ios_are_outstanding_on_each_target_of_each_worker() -> None:
    assert asked_of([_STREAM], targets=2)["outstanding"] == 31 * 2 * 2


def test_a_stream_that_names_its_targets_keeps_them_on_these() -> None:
    assert asked_of([replace(_STREAM, targets=(1,)), _STREAM], targets=3)["outstanding"] == 31 * 2 * (1 + 3)


def test_doubts_are_kept_as_sentences() -> None:
    """What compare told again of a run had no end: '... use a quieter machine Not this run alone: ...'."""
    assert in_sentences(["I/Os left late", "Not the device."]) == "I/Os left late. Not the device."
    assert in_sentences([]) == ""
