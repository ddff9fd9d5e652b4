"""Top talkers: what of bad windows is told, and of whom it is not known."""

from __future__ import annotations

from pathlib import Path

import pytest

from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.domain.units import NS_PER_S as S
from storscope.report.layers import layers_of
from storscope.report.reading import Judged, read_evidence
from storscope.report.talkers import TalkerTable, talker_tables
from tests.report.evidence import START_NS
from tests.support.cases import make_store

BAD = {"array": [(START_NS + 60 * S, START_NS + 100 * S)]}
UNKNOWN = "Their figures are of the whole time only, so their part in the bad windows is not known."


def _array(recorder: Recorder) -> None:
    """Volumes every 10 s, drives in one interval over all, as a simulated array has them."""
    for name in ("v1", "v2"):
        for second in range(0, 100, 10):
            values = {"ops_per_s": 10.0, "latency_ns_mean": 2e7 if second >= 60 else 1e6}
            recorder.observe(EntityRef("array", "vdisk", name), START_NS + second * S, 10 * S, values)
    for name in ("d1", "d2"):
        values = {"ops_per_s": 20.0, "latency_ns_mean": 8e6}
        recorder.observe(EntityRef("array", "disk", name), START_NS, 100 * S, values)
        for second in range(0, 100, 10):  # queues alone tell no queue time
            recorder.observe(EntityRef("array", "disk", name), START_NS + second * S + 1, S, {"queue_depth_mean": 1.0})


def _tables(path: Path, bad: dict[str, list[tuple[int, int]]]) -> dict[str, TalkerTable]:
    store = make_store(path / "store", _array)
    return {table.kind: table for table in talker_tables(layers_of(read_evidence(Judged(store))), bad)}


def test_one_figure_of_all_the_time_says_nothing_of_bad_windows(tmp_path: Path) -> None:
    tables = _tables(tmp_path, BAD)
    assert list(tables["vdisk"].heads) == ["Operations", "Queue time", "In bad windows"]
    assert UNKNOWN not in tables["vdisk"].note
    assert [one.measures[2].words for one in tables["vdisk"].talkers] == ["8.00 s", "8.00 s"]
    assert list(tables["disk"].heads) == ["Operations", "Queue time"]
    assert UNKNOWN in tables["disk"].note
    assert "ordered by queue time." in tables["disk"].note


@pytest.mark.parametrize("bad", [{}, {"array": [(START_NS, START_NS + 100 * S)]}])
def test_without_bad_windows_or_within_one_nothing_is_unknown(
    bad: dict[str, list[tuple[int, int]]], tmp_path: Path
) -> None:
    disks = _tables(tmp_path, bad)["disk"]
    assert ("In bad windows" in disks.heads) is bool(bad)
    assert UNKNOWN not in disks.note
