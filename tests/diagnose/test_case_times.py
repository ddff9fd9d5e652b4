"""Times finer than a microsecond reach rules and lists without an error."""

from __future__ import annotations

from pathlib import Path

from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from tests.support.cases import make_case

_FINE_NS = 1_700_000_000_000_000_001


def _fine_times(recorder: Recorder) -> None:
    recorder.run("r1", engine="fio", name="r1", system="a", time_ns=_FINE_NS)
    recorder.observe(EntityRef("a", "job", "r1"), _FINE_NS, 1, {"ops_per_s": 5.0}, run="r1")
    recorder.observe(EntityRef("a", "device", "sda"), _FINE_NS, 1, {"ops_per_s": 5.0})


def test_runs_captures_and_evidence_accept_nanoseconds(tmp_path: Path) -> None:
    case = make_case(tmp_path, _fine_times)
    assert case.runs[0]["time"].microsecond == 0
    assert case.store.captures()[0]["first_time"] is not None
    assert case.evidence("rows", "SELECT time FROM observations WHERE run IS NULL").rows
    assert int(next(iter(case.all_series.values())).time_ns[0]) == _FINE_NS, "series keep what Python datetimes cannot"
