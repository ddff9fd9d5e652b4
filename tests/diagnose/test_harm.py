"""Whether the volumes on something wait too long: by the limits of latency-above-tier."""

from __future__ import annotations

from pathlib import Path

import pytest

from storscope.diagnose.rules._harm import harm_to
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Severity
from storscope.domain.recorder import Recorder
from tests.support.cases import make_case

_DISK = EntityRef("host", "device", "sda")
_SECOND = 10**9
_MS = 1e6


def _harm(path: Path, *intervals: dict[str, float]) -> Severity | None:
    def write(recorder: Recorder) -> None:
        recorder.fact(_DISK, "rotational", 1.0)
        for number, values in enumerate(intervals):
            recorder.observe(_DISK, number * 10 * _SECOND, 10 * _SECOND, values)

    return harm_to(make_case(path, write), [_DISK])


def _all(latency_ms: float, size_bytes: float = 4096, ops_per_s: float = 100) -> dict[str, float]:
    return {"ops_per_s": ops_per_s, "bytes_per_s": ops_per_s * size_bytes, "latency_ns_mean": latency_ms * _MS}


@pytest.mark.parametrize(
    ("latency_ms", "size_bytes", "harm"),
    [
        (5, 4096, Severity.INFO),
        (18, 4096, Severity.WARNING),
        (30, 4096, Severity.CRITICAL),
        (30, 1 << 20, Severity.WARNING),  # of 15 + 8.4 and 25 * 1.4 ms
        (30, 4 << 20, Severity.INFO),  # of 15 + 33.6 ms
    ],
)
def test_the_limits_are_those_of_the_tier_and_wider_for_large_blocks(
    tmp_path: Path, latency_ms: float, size_bytes: float, harm: Severity
) -> None:
    assert _harm(tmp_path, *[_all(latency_ms, size_bytes)] * 30) is harm


def test_a_tenth_of_the_operations_above_the_limit_is_felt(tmp_path: Path) -> None:
    assert _harm(tmp_path / "a", *[_all(3)] * 26, *[_all(20)] * 4) is Severity.WARNING
    assert _harm(tmp_path / "b", *[_all(3)] * 28, *[_all(20)] * 2) is Severity.INFO


def test_reads_are_not_hidden_by_writes_that_a_cache_took(tmp_path: Path) -> None:
    values = {
        "read_ops_per_s": 50.0, "read_latency_ns_mean": 60 * _MS, "write_ops_per_s": 450.0,
        "write_latency_ns_mean": 0.3 * _MS, "ops_per_s": 500.0, "latency_ns_mean": 6.27 * _MS,
    }  # fmt: skip
    assert _harm(tmp_path, *[values] * 30) is Severity.CRITICAL


def test_without_any_latency_nothing_is_known(tmp_path: Path) -> None:
    assert _harm(tmp_path, *[{"ops_per_s": 100.0}] * 30) is None
