from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from storscope.diagnose.rules import uneven_drives
from storscope.diagnose.rules.convoy import RULE
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Severity
from storscope.domain.recorder import Recorder
from storscope.domain.units import NS_PER_S
from tests.diagnose.evidence import START_NS, Writer, needs, only_finding, statements, write_series
from tests.support.cases import findings, judge, make_case

_DRIVES, _SLICES, _STAY = 24, 240, 5


def _group(queues: np.ndarray, *, step_ns: int = NS_PER_S // 10) -> Writer:
    def write(recorder: Recorder) -> None:
        for number, queue in enumerate(queues):
            drive = EntityRef("EVA", "disk", f"1.{number + 1}")
            recorder.link(drive, "member_of", EntityRef("EVA", "disk_group", "default"))
            write_series(recorder, drive, len(queue), step_ns=step_ns, queue_depth_mean=queue)

    return write


def _background() -> np.ndarray:
    return np.random.default_rng(7).exponential(0.3, (_DRIVES, _SLICES))


def _convoy() -> np.ndarray:
    """Twenty requests at one drive for half a second, then at the next."""
    queues = _background()
    queues[np.arange(_SLICES) // _STAY % _DRIVES, np.arange(_SLICES)] += 20
    return queues


def test_a_hot_spot_that_moves_is_found(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _group(_convoy()))))
    assert finding.severity is Severity.WARNING
    assert finding.entities[0] == EntityRef("EVA", "disk_group", "default")
    assert "24 drives held the most in turn" in finding.summary
    assert finding.numbers["fullest_share"] == pytest.approx(0.75, abs=0.05)
    assert finding.numbers["steady_share"] < 0.1


def test_drives_that_do_nothing_are_not_counted(tmp_path: Path) -> None:
    with_idle = np.concatenate([_convoy(), np.zeros((2, _SLICES))])
    finding = only_finding(judge(RULE, make_case(tmp_path, _group(with_idle))))
    assert "one of the 24 drives" in finding.summary
    alone = only_finding(judge(RULE, make_case(tmp_path / "alone", _group(_convoy()))))
    assert finding.numbers == alone.numbers
    assert finding.entities == alone.entities


def test_drives_in_a_convoy_are_not_called_alike(tmp_path: Path) -> None:
    """Their means are alike, and each is fine most of the time."""
    case = make_case(tmp_path, _group(_convoy()))
    assert not statements(judge(uneven_drives.RULE, case))
    assert statements(judge(uneven_drives.RULE, make_case(tmp_path / "even", _group(_background() + 1))))


def test_queues_as_deep_by_chance_are_healthy(tmp_path: Path) -> None:
    queues = np.random.default_rng(3).geometric(0.2, (_DRIVES, _SLICES)) - 1.0
    (statement,) = statements(judge(RULE, make_case(tmp_path, _group(queues))))
    assert "the fullest drive of default holds" in statement


def test_one_drive_that_stays_the_fullest_is_no_convoy(tmp_path: Path) -> None:
    queues = _background()
    queues[4] += 20
    assert not findings(RULE, make_case(tmp_path, _group(queues)))


def test_a_single_request_at_a_time_is_no_convoy(tmp_path: Path) -> None:
    queues = np.zeros((_DRIVES, _SLICES))
    queues[np.arange(_SLICES) % _DRIVES, np.arange(_SLICES)] = 2
    (statement,) = statements(judge(RULE, make_case(tmp_path, _group(queues))))
    assert statement.startswith("Fewer than 4 requests")


def test_even_means_over_long_intervals_say_nothing(tmp_path: Path) -> None:
    whole = np.full((_DRIVES, 24), 3.0)
    assert needs(judge(RULE, make_case(tmp_path, _group(whole, step_ns=20 * NS_PER_S))))


def test_drives_with_instants_of_their_own_say_nothing(tmp_path: Path) -> None:
    """Even queues, each told a little after the other: no instant has more than one drive."""

    def write(recorder: Recorder) -> None:
        for number in range(_DRIVES):
            drive = EntityRef("EVA", "disk", f"1.{number + 1}")
            recorder.link(drive, "member_of", EntityRef("EVA", "disk_group", "default"))
            for slice_ in range(_SLICES):
                begin = START_NS + slice_ * NS_PER_S + number * 1_000_000
                recorder.observe(drive, begin, NS_PER_S, {"queue_depth_mean": 6.0})

    assert "at the same instants" in needs(judge(RULE, make_case(tmp_path, write)))[0]


def test_the_evidence_counts_the_same_instants(tmp_path: Path) -> None:
    queues = _convoy()
    queues[:, ::2] = np.where(np.arange(_DRIVES)[:, None] == 3, 20.0, np.nan)
    finding = only_finding(judge(RULE, make_case(tmp_path, _group(queues))))
    assert "24 drives held the most in turn" in finding.summary
    assert max(int(row[1]) for row in finding.evidence[0].rows) < 3 * _STAY


def test_without_queues_it_says_what_it_needs(tmp_path: Path) -> None:
    assert "queue depth per drive" in needs(judge(RULE, make_case(tmp_path, lambda _: None)))[0]


def test_thresholds_take_effect(tmp_path: Path) -> None:
    case = make_case(tmp_path, _group(_convoy()))
    assert not findings(RULE, case, excess_min=0.95)
    assert not findings(RULE, case, moves_min=40)
    assert not findings(RULE, case, requests_min=50)
    assert not findings(RULE, case, slices_min=1000)
    assert not findings(RULE, case, drives_min_count=25)
