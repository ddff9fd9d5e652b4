"""Time without a record, what things of one name on several hosts are called, and which tier they are of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from storscope.diagnose.case import Case
from storscope.domain.recorder import Recorder
from storscope.domain.units import NS_PER_S
from storscope.domain.verdict import NotePlace
from tests.diagnose.days import MS, START_NS, entity
from tests.support.cases import make_case

_STEP_NS = 10 * NS_PER_S


def _recorded(recorder: Recorder, name: str, steps: Sequence[int], system: str = "db01") -> None:
    for step in steps:
        recorder.observe(
            entity(name, "device", system), START_NS + step * _STEP_NS, _STEP_NS,
            {"ops_per_s": 100.0, "latency_ns_mean": MS},
        )  # fmt: skip


def _noted(case: Case) -> list[str]:
    assert case.all_series
    return [note.words for note in case.notes if note.place is NotePlace.LAST and "not recorded" in note.words]


def test_time_without_a_record_is_told_with_the_longest_and_all(tmp_path: Path) -> None:
    steps = [*range(60), *range(138, 200), *range(230, 300)]
    [words] = _noted(make_case(tmp_path, lambda recorder: _recorded(recorder, "sda", steps)))
    assert "nothing of db01 for 13 min, from 2026-11-21 00:10:00Z to 2026-11-21 00:23:00Z" in words
    assert "2 such times, 18 min in all" in words


def test_a_device_that_is_idle_beside_others_and_a_lost_sample_are_no_hole(tmp_path: Path) -> None:
    def write(recorder: Recorder) -> None:
        _recorded(recorder, "sda", [*range(60), *range(138, 200)])
        _recorded(recorder, "sdb", [step for step in range(200) if step not in (50, 120)])

    assert _noted(make_case(tmp_path, write)) == []


def test_the_time_between_two_captures_is_no_hole(tmp_path: Path) -> None:
    def of(steps: Sequence[int]) -> object:
        return lambda recorder: _recorded(recorder, "sda", steps)

    case = make_case(tmp_path, of(range(60)), of(range(500, 560)))  # type: ignore[arg-type]
    assert len(case.store.captures()) == 2
    assert _noted(case) == []


def test_devices_of_one_name_are_told_with_their_hosts(tmp_path: Path) -> None:
    def write(recorder: Recorder) -> None:
        for name, system in (("sdb", "app1"), ("sdb", "app2"), ("sdc", "app2")):
            _recorded(recorder, name, range(3), system)

    case = make_case(tmp_path, write)
    labels = [case.label(entity(name, "device", "app2")) for name in ("sdb", "sdc")]
    assert labels == ["sdb of app2", "sdc"]


@pytest.mark.parametrize(
    ("name", "latency_ms", "read_part", "tier"),
    [
        ("sda", 0.25, 0.9, "flash"),
        ("sda", 0.25, 0.1, "disk"),  # a write cache is as quick
        ("sda", 5.0, 0.9, "disk"),
        ("t10.NVMe____SAMSUNG_MZQL27T6HBLA", 9.0, 0.9, "flash"),
    ],
)
def test_a_tier_is_told_without_latencies_of_reads(
    tmp_path: Path, name: str, latency_ms: float, read_part: float, tier: str
) -> None:
    def write(recorder: Recorder) -> None:
        columns = {
            "ops_per_s": 100.0, "latency_ns_mean": latency_ms * MS, "read_bytes_per_s": read_part * 1e6,
            "write_bytes_per_s": (1 - read_part) * 1e6,
        }  # fmt: skip
        times = START_NS + np.arange(20, dtype=np.int64) * _STEP_NS
        recorder.observe_columns(
            [entity(name, "device")],
            times,
            np.full(20, _STEP_NS),
            {key: np.full((1, 20), v) for key, v in columns.items()},
        )

    assert make_case(tmp_path, write).tier(entity(name, "device")).name == tier
