"""Load and latency over time: reads and writes apart where a window may be bad by one of them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from storscope.domain.recorder import Recorder
from storscope.report.layers import layers_of
from storscope.report.pack import Packer
from storscope.report.reading import judged_of, read_directions, read_evidence
from storscope.report.timeline import Timeline, timelines
from storscope.store import Store
from tests.diagnose.apart import apart, at, during, steady
from tests.diagnose.days import record
from tests.report.evidence import verdict_of
from tests.support.cases import make_store

_WINDOW = (at(100), at(160))


def _drawn(store: Store, *, is_bad: bool = True) -> Timeline:
    verdict = verdict_of(store, bad_windows={"array": [_WINDOW]} if is_bad else {})
    judged = judged_of(verdict, store)
    layers = layers_of(read_evidence(judged))
    found, _ = timelines(layers, verdict.bad_windows, Packer(), apart=partial(read_directions, judged))
    return found[0]


def _labels(timeline: Timeline) -> list[str]:
    choices = timeline.chart["choices"]
    assert isinstance(choices, list)
    return [choice["label"] for choice in choices]


def test_reads_and_writes_can_be_chosen_where_a_window_is_bad(tmp_path: Path) -> None:
    reads, writes = (steady(20, 3), during(steady(4, 3), 60, 3)), (steady(400, 3), steady(0.3, 3))
    store = make_store(tmp_path / "store", apart(reads, writes))
    timeline = _drawn(store)
    assert _labels(timeline)[:4] == [
        "All 3 virtual disks", "All 3 virtual disks: reads", "All 3 virtual disks: writes", "v00"
    ]  # fmt: skip
    assert "A window may be bad by reads or writes alone" in timeline.what
    calm = _drawn(store, is_bad=False)
    assert not [label for label in _labels(calm) if "reads" in label]
    assert "reads" not in calm.what


def test_the_reads_that_are_drawn_are_what_was_recorded(tmp_path: Path) -> None:
    reads, writes = (steady(20, 3), during(steady(4, 3), 60, 3)), (steady(400, 3), steady(0.3, 3))
    store = make_store(tmp_path / "store", apart(reads, writes))
    judged = judged_of(verdict_of(store, bad_windows={}), store)
    found = read_directions(judged, "vdisk")
    assert list(found) == ["reads", "writes"]
    [own] = {tuple(np.unique(track["latency_ns_mean"])) for track in found["reads"].values()}
    assert own == (4e6, 60e6)
    assert all((track["ops_per_s"] == 400).all() for track in found["writes"].values())


def test_volumes_that_do_not_all_tell_reads_and_writes_are_drawn_together(tmp_path: Path) -> None:
    def told_in_all(recorder: Recorder) -> None:
        record(recorder, {"ops_per_s": steady(50), "latency_ns_mean": steady(3e6)}, ["w00"])

    told_apart = apart((steady(20, 2), steady(4, 2)), (steady(400, 2), steady(0.3, 2)))
    timeline = _drawn(make_store(tmp_path / "store", told_apart, told_in_all))
    assert _labels(timeline) == ["All 3 virtual disks", "v00", "v01", "w00"]
    assert "reads" not in timeline.what


def test_what_cannot_be_chosen_is_told_with_its_kind(tmp_path: Path) -> None:
    """Sixty of what, was asked, where the chart was of one virtual disk on many disks."""

    def volume(recorder: Recorder) -> None:
        record(recorder, {"ops_per_s": steady(50), "latency_ns_mean": steady(3e6)}, ["v"])

    def disks(recorder: Recorder) -> None:
        names = [f"d{number:02}" for number in range(62)]
        record(recorder, {"ops_per_s": steady(5, 62), "latency_ns_mean": steady(4e6, 62)}, names, kind="disk")

    what = _drawn(make_store(tmp_path / "store", volume, disks), is_bad=False).what
    assert what == ("One virtual disk: v. The 60 disks with the most queue time can be chosen; 2 more cannot.")
