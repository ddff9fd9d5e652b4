from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from storscope.diagnose.rules.spike_in_step import RULE
from storscope.domain.finding import Healthy, NotEvaluated, Severity
from storscope.domain.recorder import Recorder
from storscope.domain.units import MIB
from tests.diagnose.days import FloatArray, day
from tests.support.cases import findings, judge, make_case

HOUR = 180  # intervals of 20 s


def cron(minute: int, *, members: int = 7, jitter: int = 2, every: int = 1) -> Callable[..., None]:
    """At that minute of each hour, `members` of the VMs spike within 40 s of one another."""

    def change(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        for start in range(0, ops.shape[1] - HOUR, HOUR * every):
            for column in range(members):
                first = start + minute * 3 + rng.integers(0, jitter + 1)
                ops[column, first : first + 2] *= 6
                latency[column, first : first + 2] *= 8

    return change


def vms(change: Callable[..., None] | None, **kwargs: object) -> Callable[[Recorder], None]:
    return day(change, volumes=8, count=12 * HOUR, kind="vm", system="esx", on=None, **kwargs)  # type: ignore[arg-type]


def test_a_cron_storm_is_found_with_its_minute(tmp_path: Path) -> None:
    [finding] = findings(RULE, make_case(tmp_path, vms(cron(17))))
    assert finding.numbers["minute_of_hour"] in {17, 18}
    assert len(finding.entities) == 7
    assert finding.severity is Severity.WARNING
    assert finding.evidence[0].rows[0][0] in {17, 18}


def test_too_few_in_step_are_no_storm(tmp_path: Path) -> None:
    [outcome] = judge(RULE, make_case(tmp_path, vms(cron(17, members=3))))
    assert isinstance(outcome, Healthy)


def test_the_innocent_common_spikes_at_no_fixed_minute_are_no_cron(tmp_path: Path) -> None:
    def anywhere(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        for first in rng.choice(np.arange(20, 2_000, 20), 14, replace=False) + rng.integers(0, 20, 14):
            ops[:, first : first + 2] *= 6

    [outcome] = judge(RULE, make_case(tmp_path, vms(anywhere)))
    assert isinstance(outcome, Healthy)
    assert "not at a fixed minute" in outcome.statement


def test_an_hour_of_common_work_is_no_spike(tmp_path: Path) -> None:
    def work(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        for hour in range(0, 12, 2):
            ops[:, hour * HOUR : hour * HOUR + 100] *= 6

    assert findings(RULE, make_case(tmp_path, vms(work))) == []


def test_the_same_minute_once_in_two_hours_counts(tmp_path: Path) -> None:
    [finding] = findings(RULE, make_case(tmp_path, vms(cron(0, every=2))))
    assert finding.numbers["storms"] >= 5


def test_thresholds_take_effect(tmp_path: Path) -> None:
    case = make_case(tmp_path, vms(cron(17)))
    assert findings(RULE, case, entities_share=0.95) == []
    assert findings(RULE, case, storms_min_count=50) == []
    assert findings(RULE, case, spike_factor=10) == []
    assert len(findings(RULE, make_case(tmp_path / "few", vms(cron(17, members=3))), entities_share=0.3)) == 1


def test_intervals_of_five_minutes_cannot_tell(tmp_path: Path) -> None:
    [outcome] = judge(RULE, make_case(tmp_path, vms(None, step_s=300)))
    assert isinstance(outcome, NotEvaluated)
    assert "60 s" in outcome.needs
    assert "esx" in outcome.needs


def test_spikes_that_take_long_since_they_are_large_are_information(tmp_path: Path) -> None:
    """32 ms for 4 MiB, which take 34 ms at 125 MB/s."""

    def large(rng: np.random.Generator, ops: FloatArray, moved: FloatArray, latency: FloatArray) -> None:
        usual = ops.copy()
        cron(17)(rng, ops, moved, latency)
        moved[ops > 1.5 * usual] = 4 * MIB * ops[ops > 1.5 * usual]

    [finding] = findings(RULE, make_case(tmp_path, vms(large)))
    assert finding.severity is Severity.INFO
