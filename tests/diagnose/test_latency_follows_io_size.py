from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from storscope.diagnose.rules.latency_follows_io_size import RULE
from storscope.domain.finding import Healthy, NotEvaluated, Severity
from storscope.domain.recorder import Recorder
from tests.diagnose.days import MS, FloatArray, day, entity
from tests.support.cases import findings, judge, make_case

KIB64 = 64 * 1024


def sizes(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
    """v01 and v02: 3 ms and 5 ms more per 64 KiB, sizes from 8 to 256 KiB."""
    for column in (1, 2):
        size = np.repeat(rng.uniform(8, 256, ops.shape[1] // 10), 10) * 1024
        moved[column] = ops[column] * size
        latency[column] = (3 * MS + 5 * MS * size / KIB64) * rng.gamma(80, 1 / 80, len(size))


def test_the_slope_is_found_with_its_interval(tmp_path: Path) -> None:
    [finding] = findings(RULE, make_case(tmp_path, day(sizes)))
    assert finding.severity is Severity.INFO
    assert set(finding.entities) == {entity("v01"), entity("v02")}
    assert finding.numbers["slope_ns_per_64kib"] == pytest.approx(5 * MS, rel=0.05)
    assert finding.numbers["slope_ns_per_64kib_low"] < 5 * MS < finding.numbers["slope_ns_per_64kib_high"]
    assert finding.numbers["explained_share"] > 0.8
    assert "MB/s" in finding.title


def test_a_backup_of_one_hour_a_day_is_seen(tmp_path: Path) -> None:
    def backup(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        hour = (np.arange(ops.shape[1]) // 30) % 24 == 2
        moved[0] = ops[0] * np.where(hour, 128, 8) * 1024
        latency[0] = np.where(hour, 30, 4) * MS * rng.gamma(80, 1 / 80, len(hour))

    [finding] = findings(RULE, make_case(tmp_path, day(backup, count=3 * 720, step_s=120)))
    assert finding.entities == [entity("v00")]
    assert finding.numbers["size_bytes_large"] == pytest.approx(128 * 1024)
    assert "from 4" in finding.summary
    assert finding.numbers["bytes_per_s_high"] > 100 * 100 * 1024


def test_what_speaks_against_the_size_is_said_and_not_its_opposite(tmp_path: Path) -> None:
    def hog(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        ops[:, 100:160] *= 8
        moved[:, 100:160] *= 8 * 32
        latency[:, 100:160] *= 9

    [loaded] = judge(RULE, make_case(tmp_path / "load", day(hog)))
    assert isinstance(loaded, Healthy)
    assert "operations per second explain" in loaded.statement
    assert "at most" not in loaded.statement
    [few] = judge(RULE, make_case(tmp_path / "sizes", day(sizes)), large_io_bytes=1e6)
    assert isinstance(few, Healthy)
    assert "none is large" in few.statement


def test_the_rows_are_those_of_the_captures_in_use(tmp_path: Path) -> None:
    [finding] = findings(RULE, make_case(tmp_path, day(sizes), day(sizes)))
    counts = [int(row[2]) for row in finding.evidence[0].rows if row[0] == "v01" and row[2] is not None]
    assert sum(counts) == 720


def test_a_load_of_one_size_is_healthy(tmp_path: Path) -> None:
    [healthy] = judge(RULE, make_case(tmp_path, day()))
    assert isinstance(healthy, Healthy)
    assert "%" in healthy.statement


def test_latency_that_others_make_is_not_explained_by_size(tmp_path: Path) -> None:
    def other(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        moved *= np.repeat(rng.uniform(1, 30, ops.shape[1] // 10), 10)
        latency *= np.repeat(rng.gamma(1, 2, ops.shape[1] // 8), 8)

    assert findings(RULE, make_case(tmp_path, day(other))) == []


def test_the_innocent_size_that_comes_with_load_is_not_blamed(tmp_path: Path) -> None:
    def hog(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        for start in (100, 400):
            ops[:, start : start + 60] *= 8
            moved[:, start : start + 60] *= 8 * 32
            latency[:, start : start + 60] *= 9

    assert findings(RULE, make_case(tmp_path, day(hog))) == []


def test_large_transfers_that_slow_small_ones_are_not_excused(tmp_path: Path) -> None:
    def neighbour(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        sizes(rng, ops, moved, latency)
        latency[0] = latency[1]

    [finding] = findings(RULE, make_case(tmp_path, day(neighbour)))
    assert finding.entities == [entity("v02")]


def test_small_sizes_explain_nothing_worth_saying(tmp_path: Path) -> None:
    def small(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        size = rng.uniform(4, 16, ops.shape) * 1024
        moved[:] = ops * size
        latency[:] = size / 4096 * MS

    case = make_case(tmp_path, day(small))
    assert findings(RULE, case) == []
    assert len(findings(RULE, case, large_io_bytes=8 * 1024)[0].entities) == 6


def test_thresholds_take_effect(tmp_path: Path) -> None:
    case = make_case(tmp_path, day(sizes))
    assert findings(RULE, case, explained_share=0.999) == []
    assert isinstance(judge(RULE, case, intervals_min_count=10_000)[0], NotEvaluated)


def test_without_bytes_it_names_what_it_needs(tmp_path: Path) -> None:
    def rates(recorder: Recorder) -> None:
        recorder.observe(entity("v00"), 0, 1, {"ops_per_s": 5.0, "latency_ns_mean": 1e6})

    [outcome] = judge(RULE, make_case(tmp_path, rates))
    assert isinstance(outcome, NotEvaluated)
    assert "bytes" in outcome.needs
