from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from storscope.diagnose.case import Case
from storscope.diagnose.engine import evaluate
from storscope.diagnose.rules import rules
from storscope.diagnose.rules.member_slow import RULE
from storscope.diagnose.thresholds import load_thresholds
from storscope.domain.arrays import IntArray
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Finding, Healthy, NotEvaluated, Severity
from storscope.domain.recorder import Recorder
from storscope.domain.units import KIB
from tests.diagnose.days import MS, FloatArray, record
from tests.diagnose.evidence import needs, only_finding, statements
from tests.support.cases import findings, judge, make_case

_COUNT, _STEP_S = 240, 5
_SOME = np.arange(_COUNT) >= _COUNT // 2


def rng(seed: int = 4) -> np.random.Generator:
    return np.random.default_rng(seed)


def _rates(disks: int, *, noise: float = 0.05, common: float = 0.0, seed: int = 4) -> FloatArray:
    """What each member is asked for: 60 a second, with changes that all have and changes of its own."""
    made = rng(seed)
    return 60 * made.normal(1, common, _COUNT) * made.normal(1, noise, (disks, _COUNT))


def _array(
    reads: FloatArray,
    latency_ms: FloatArray,
    *,
    names: Sequence[str] = ("sda", "sdb", "sdc", "sdd"),
    whole: str | None = "md127",
    writes: FloatArray | None = None,
) -> Callable[[Recorder], None]:
    """Disks with these reads, two thirds as many writes, and latency; what reads their sum, where it is named."""
    writes = _rates(len(reads), seed=5) * 2 / 3 if writes is None else writes
    latency = np.broadcast_to(latency_ms, reads.shape) * rng(6).normal(1, 0.1, reads.shape) * MS

    def write(recorder: Recorder) -> None:
        _record(recorder, names, reads, writes, latency)
        if whole is not None:
            mean = (reads * latency).sum(axis=0) / reads.sum(axis=0)
            _record(recorder, [whole], reads.sum(axis=0)[None], writes.sum(axis=0)[None] / 2, mean[None])

    return write


def _record(
    recorder: Recorder, names: Sequence[str], reads: FloatArray, writes: FloatArray, latency: FloatArray
) -> None:
    columns = {
        "read_ops_per_s": reads, "write_ops_per_s": writes, "read_bytes_per_s": 16 * KIB * reads,
        "write_bytes_per_s": 16 * KIB * writes, "read_latency_ns_mean": latency, "write_latency_ns_mean": latency / 2,
    }  # fmt: skip
    record(recorder, columns, names, kind="device", system="pg01", step_s=_STEP_S, on=None)


def _without_row(whole: Callable[[Recorder], None], name: str, row: int) -> Callable[[Recorder], None]:
    """The same capture, of which one device lacks a row."""

    def write(recorder: Recorder) -> None:
        observed = recorder.observe_columns

        def observe(
            entities: Sequence[EntityRef], times: IntArray, lengths: IntArray, columns: dict[str, FloatArray]
        ) -> None:
            for at, one in enumerate(entities):
                kept = np.arange(len(times)) != (row if one.name == name else -1)
                own = {column: values[at : at + 1, kept] for column, values in columns.items()}
                observed([one], times[kept], lengths[kept], own)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(recorder, "observe_columns", observe)
            whole(recorder)

    return write


def _slow(
    which: int, disks: int = 4, slow_ms: float = 70, usual_ms: float = 6, when: object = slice(None)
) -> FloatArray:
    latency = np.full((disks, _COUNT), usual_ms)
    latency[which, when] = slow_ms  # type: ignore[call-overload]
    return latency


@pytest.mark.parametrize("common", [0.0, 0.25])
def test_the_slow_member_of_an_array_is_named(common: float, tmp_path: Path) -> None:
    """It stood under a green tick as "it is slow, not heavy", and no finding named the disk."""
    finding = only_finding(judge(RULE, make_case(tmp_path, _array(_rates(4, common=common), _slow(2)))))
    assert finding.title in {f"Device sdc is {times} times as slow as other members of md127" for times in (11, 12)}
    assert finding.severity is Severity.CRITICAL
    assert finding.entities == (EntityRef("pg01", "device", "sdc"), EntityRef("pg01", "device", "md127"))
    assert "Device md127 reads what they read together" in finding.summary
    assert "smartctl -a /dev/sdc" in finding.check
    assert finding.evidence[0].rows[0][0] == "sdc"


@pytest.mark.parametrize("name", ["sda", "sdc", "md127"])
def test_a_row_that_one_device_lacks_hides_no_array(name: str, tmp_path: Path) -> None:
    case = make_case(tmp_path, _without_row(_array(_rates(4), _slow(2)), name, 100))
    finding = only_finding(judge(RULE, case))
    assert finding.title.endswith("times as slow as other members of md127")
    assert finding.entities[0] == EntityRef("pg01", "device", "sdc")
    assert finding.numbers["members"] == 4
    assert finding.numbers["slow_s"] == (_COUNT - (name == "sdc")) * _STEP_S


def test_since_when_it_is_slow_is_told(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _array(_rates(4), _slow(1, when=_SOME)))))
    assert finding.numbers["slow_s"] == pytest.approx(_COUNT / 2 * 5)
    assert finding.start_ns is not None
    assert finding.end_ns is not None
    assert finding.end_ns - finding.start_ns == pytest.approx(_COUNT / 2 * 5e9, rel=0.02)


def test_of_a_mirror_that_reads_where_it_likes_the_writes_tell(tmp_path: Path) -> None:
    reads = _rates(2) * np.array([[1.8], [0.2]])
    same = np.tile(_rates(1, seed=8), (2, 1))
    case = make_case(
        tmp_path, _array(reads, _slow(1, 2, 6, 0.1), names=["nvme0n1", "nvme1n1"], whole="md0", writes=same)
    )
    finding = only_finding(judge(RULE, case))
    assert finding.title.startswith("Device nvme1n1 is ")
    assert finding.title.endswith("times as slow as other members of md0")


def test_without_a_device_above_three_alike_are_needed(tmp_path: Path) -> None:
    three = make_case(tmp_path / "3", _array(_rates(3), _slow(0, 3), names=["sdb", "sdc", "sdd"], whole=None))
    finding = only_finding(judge(RULE, three))
    assert finding.title.endswith("times as slow as 2 disks like it")
    assert finding.confidence < 0.8
    two = make_case(tmp_path / "2", _array(_rates(2), _slow(0, 2), names=["sdb", "sdc"], whole=None))
    assert "three disks with the same load" in needs(judge(RULE, two))[0]


def test_members_that_are_alike_are_healthy(tmp_path: Path) -> None:
    [statement] = statements(judge(RULE, make_case(tmp_path, _array(_rates(4), np.full((4, _COUNT), 6.0)))))
    assert statement.startswith("None of 4 members of md127 is slow beside the others: ")


def test_what_is_slow_beside_the_others_and_quick_for_its_tier_is_healthy(tmp_path: Path) -> None:
    assert findings(RULE, make_case(tmp_path, _array(_rates(4), _slow(2, slow_ms=9, usual_ms=2)))) == []


def test_a_disk_that_does_more_than_the_others_is_no_slow_member(tmp_path: Path) -> None:
    """Its load is what makes it wait: a hot spot, or a rebuild onto it."""
    reads = _rates(4) * np.array([[1], [1], [4], [1]])
    [statement] = statements(judge(RULE, make_case(tmp_path, _array(reads, _slow(2), whole=None))))
    assert statement.startswith("None of 3 disks of pg01 with like load")


def test_disks_that_are_slow_in_turn_are_no_slow_member(tmp_path: Path) -> None:
    """Streams that meet at one disk after the other: each is slow for a moment, and none for most of the time."""
    latency = np.full((4, _COUNT), 6.0)
    for at in range(_COUNT):
        latency[rng(at).integers(4), at] = 70
    assert findings(RULE, make_case(tmp_path, _array(_rates(4), latency))) == []


def test_where_half_of_them_are_slow_it_is_no_matter_of_one_drive(tmp_path: Path) -> None:
    latency = np.array([70.0, 70.0, 6.0, 6.0])[:, None] * np.ones(_COUNT)
    assert findings(RULE, make_case(tmp_path, _array(_rates(4), latency))) == []


def test_disks_that_do_nothing_are_no_members(tmp_path: Path) -> None:
    [outcome] = judge(RULE, make_case(tmp_path, _array(_rates(4) / 100, _slow(2), writes=np.zeros((4, _COUNT)))))
    assert isinstance(outcome, NotEvaluated)


def test_it_is_the_headline_and_nothing_healthy_excuses_it(tmp_path: Path) -> None:
    found = evaluate(_case(tmp_path), rules(), load_thresholds(rules()))
    ranked = sorted((one for one in found if isinstance(one, Finding)), key=lambda one: (-one.severity, -one.weight))
    assert ranked[0].rule == RULE.name
    [felt] = [one for one in ranked if one.rule == "latency-above-tier"]
    assert felt.remedy.startswith("See the finding that may be its cause: 'Device sdc is")
    assert not any("slow, not heavy" in one.statement or "queue time" in one.statement for one in found
                   if isinstance(one, Healthy))  # fmt: skip


def _case(tmp_path: Path) -> Case:
    return make_case(tmp_path, _array(_rates(4), _slow(2)))
