from __future__ import annotations

from pathlib import Path

import pytest

from storscope.diagnose.rules.impossible_values import RULE
from storscope.domain.entity import EntityRef
from tests.diagnose.evidence import Values, Writer, only_finding, statements, write_series
from tests.support.cases import findings, judge, make_case

_DISK = EntityRef("db1", "device", "sda")


def _series(samples: int = 30, **columns: Values) -> Writer:
    return lambda recorder: write_series(recorder, _DISK, samples, **columns)


def _once(usual: float, odd: float) -> list[float]:
    return [usual] * 29 + [odd]


def test_possible_values_are_healthy(tmp_path: Path) -> None:
    case = make_case(tmp_path, _series(ops_per_s=100, latency_ns_mean=5e6, latency_ns_max=9e6, busy_ratio=1.0))
    assert statements(judge(RULE, case)) == ["None of 30 intervals of 1 entity is impossible."]


@pytest.mark.parametrize(
    ("columns", "title"),
    [
        ({"ops_per_s": _once(100, -3)}, "Negative values on 1 entity of db1"),
        ({"latency_ns_mean": _once(5e6, -1)}, "Negative values on 1 entity of db1"),
        ({"read_hit_ratio": _once(0.5, 3.9)}, "Shares above 100 % on 1 entity of db1"),
        ({"busy_ratio": _once(0.5, 1.7)}, "Shares above 100 % on 1 entity of db1"),
        (
            {"ops_per_s": 100, "read_ops_per_s": 90, "write_ops_per_s": 40},
            "Parts exceed their whole on 1 entity of db1",
        ),
        ({"latency_ns_mean": 5e6, "latency_ns_max": _once(9e6, 1e6)}, "Means above their maximum on 1 entity of db1"),
        ({"ops_per_s": 500, "latency_ns_mean": 0}, "Latency of zero under load on 1 entity of db1"),
        ({"ops_per_s": _once(100, 4.8e18)}, "Values beyond any storage on 1 entity of db1"),
        ({"queue_depth_mean": _once(1, 4.2e9)}, "Values beyond any storage on 1 entity of db1"),
    ],
)
def test_each_impossibility_is_found(columns: dict[str, Values], title: str, tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _series(**columns))))
    assert finding.title == title
    assert finding.evidence[0].total_rows == finding.numbers["intervals"]


@pytest.mark.parametrize(
    "columns",
    [
        {"busy_ratio": 1.004},
        {"ops_per_s": 100.0, "read_ops_per_s": 60.0, "write_ops_per_s": 40.5},
        {"ops_per_s": 0.4, "latency_ns_mean": 0.0},
        {"ops_per_s": 500.0, "latency_ns_mean": [0.0] * 10 + [4000.0] * 20},
    ],
)
def test_rounding_is_not_impossible(columns: dict[str, Values], tmp_path: Path) -> None:
    assert not findings(RULE, make_case(tmp_path, _series(**columns)))


def test_idle_intervals_without_latency_are_not_zero(tmp_path: Path) -> None:
    case = make_case(tmp_path, _series(ops_per_s=0, latency_ns_mean=float("nan")))
    assert not findings(RULE, case)


def test_thresholds_take_effect(tmp_path: Path) -> None:
    case = make_case(tmp_path, _series(ops_per_s=5000))
    assert findings(RULE, case, ops_per_s_max=1000)
