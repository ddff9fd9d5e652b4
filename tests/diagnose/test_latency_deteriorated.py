from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from storscope.diagnose.rules.latency_deteriorated import RULE
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Severity
from storscope.domain.recorder import Recorder
from tests.diagnose.evidence import HOUR_NS, START_NS, Writer, needs, only_finding, statements
from tests.support.cases import findings, judge, make_case

_DAY_NS = 24 * HOUR_NS
_MIDNIGHT_NS = START_NS // _DAY_NS * _DAY_NS


def _lines(values_ms: Sequence[float], *, media: str | None = None, times_ns: Sequence[int | None] = ()) -> Writer:
    def write(recorder: Recorder) -> None:
        device = EntityRef("esx", "device", "naa.6")
        if media is not None:
            recorder.fact(device, "media", media)
        for number, value in enumerate(values_ms):
            time_ns = times_ns[number] if times_ns else START_NS + number * HOUR_NS
            recorder.event(
                device, time_ns, "latency_deteriorated", "performance has deteriorated",
                value=value * 1e6, baseline=70e3, unit="ns",
            )  # fmt: skip

    return write


def test_lines_on_flash_that_only_the_ratio_wrote_are_healthy(tmp_path: Path) -> None:
    (statement,) = statements(judge(RULE, make_case(tmp_path, _lines([1.2, 0.9, 1.4] * 20, media="ssd"))))
    assert statement.startswith("60 lines about deteriorated latency on esx, but none reached what hurts")
    assert "1.40 ms, under 2.00 ms for flash" in statement


@pytest.mark.parametrize(("media", "found"), [("ssd", True), ("hdd", False)])
def test_flash_and_disk_have_their_own_bounds(media: str, found: bool, tmp_path: Path) -> None:
    assert bool(findings(RULE, make_case(tmp_path, _lines([5.0] * 4, media=media)))) is found


def test_absolute_latency_decides(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _lines([4.0, 23.0, 45.0, 30.0, 7.0]))))
    assert finding.severity is Severity.WARNING
    assert finding.numbers["lines_above"] == 3
    assert finding.numbers["latency_ns_max"] == 45e6
    assert "disk, assumed" in finding.summary


def test_one_line_only_informs(tmp_path: Path) -> None:
    assert only_finding(judge(RULE, make_case(tmp_path, _lines([12.0])))).severity is Severity.INFO


def test_severe_and_often_is_critical(tmp_path: Path) -> None:
    times = [START_NS + minute * 60_000_000_000 for minute in range(6)]
    finding = only_finding(judge(RULE, make_case(tmp_path, _lines([300.0] * 6, times_ns=times))))
    assert finding.severity is Severity.CRITICAL
    assert finding.numbers["lines_per_h_max"] == 6


def test_the_time_of_day_is_told(tmp_path: Path) -> None:
    nights = [_MIDNIGHT_NS + day * _DAY_NS + hour * HOUR_NS + 1 for day in range(4) for hour in (1, 2, 3)]
    finding = only_finding(judge(RULE, make_case(tmp_path, _lines([40.0] * 12, times_ns=nights))))
    assert "100 % came between 00:00 and 04:00 UTC" in finding.summary


def test_lines_without_times_are_judged_without_frequency(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _lines([40.0] * 4, times_ns=[None] * 4))))
    assert "carry no times" in finding.summary
    assert finding.start_ns is None


def test_of_lines_of_which_some_carry_times_it_is_said_how_many(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _lines([40.0] * 4, times_ns=[START_NS] + [None] * 3))))
    assert "At most 1 of the 1 with a time came within one hour." in finding.summary


def test_many_devices_of_one_host_are_one_finding(tmp_path: Path) -> None:
    def write(recorder: Recorder) -> None:
        for number in range(40):
            device = EntityRef("esx", "device", f"naa.{number}")
            recorder.event(device, START_NS + number, "latency_deteriorated", "x", value=50e6, baseline=1e6)

    assert len(only_finding(judge(RULE, make_case(tmp_path, write))).entities) == 40


def test_a_log_without_such_lines_is_healthy_and_no_log_is_not(tmp_path: Path) -> None:
    def other(recorder: Recorder) -> None:
        recorder.event(EntityRef("esx", "path", "vmhba1:C0:T0:L0"), START_NS, "path_up", "x")

    assert (
        "No line about deteriorated latency in 1 host log that tells no length of time."
        in statements(judge(RULE, make_case(tmp_path / "a", other)))[0]
    )
    assert needs(judge(RULE, make_case(tmp_path / "b")))


def test_thresholds_take_effect(tmp_path: Path) -> None:
    case = make_case(tmp_path, _lines([40.0] * 4))
    assert not findings(RULE, case, latency_ns_disk=50e6)


@pytest.mark.parametrize("count", [3, 8, 40])
def test_less_evidence_gives_no_more_severity(count: int, tmp_path: Path) -> None:
    """Severe lines without times are not worse than more of them with times, spread over days."""
    untimed = only_finding(
        judge(RULE, make_case(tmp_path / "untimed", _lines([300.0] * count, times_ns=[None] * count)))
    )
    timed = only_finding(judge(RULE, make_case(tmp_path / "timed", _lines([300.0] * 8))))
    assert untimed.severity is timed.severity is Severity.WARNING
    assert untimed.confidence < timed.confidence
