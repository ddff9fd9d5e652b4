from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from storscope.diagnose.case import Case
from storscope.diagnose.rules import drive_failed
from storscope.diagnose.rules.controller_imbalance import RULE
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Finding, Severity
from storscope.domain.recorder import Recorder
from storscope.domain.verdict import ordered
from tests.diagnose.days import START_NS
from tests.diagnose.evidence import Writer, needs, only_finding, statements, write_series
from tests.support.cases import findings, judge, make_case


def _controllers(**columns: Mapping[str, float]) -> Writer:
    """`_controllers(A={"ops_per_s": 5})`: what each controller counted."""

    def write(recorder: Recorder) -> None:
        for name, values in columns.items():
            write_series(recorder, EntityRef("EVA", "controller", name), **values)

    return write


def _volumes(owners: Mapping[str, str], ops: float | None = None) -> Writer:
    def write(recorder: Recorder) -> None:
        for name, owner in owners.items():
            volume = EntityRef("EVA", "vdisk", name)
            recorder.fact(volume, "online_to", owner)
            recorder.link(volume, "owned_by", EntityRef("EVA", "controller", owner))
            if ops is not None:
                write_series(recorder, volume, ops_per_s=ops)

    return write


def test_an_even_split_is_healthy(tmp_path: Path) -> None:
    case = make_case(tmp_path, _controllers(A={"ops_per_s": 1100}, B={"ops_per_s": 900}))
    assert statements(judge(RULE, case)) == ["The controllers of EVA share the operations: A 55 %, B 45 %."]


def test_more_than_70_to_30_is_found(tmp_path: Path) -> None:
    case = make_case(tmp_path, _controllers(A={"ops_per_s": 1800}, B={"ops_per_s": 200}))
    finding = only_finding(judge(RULE, case))
    assert finding.title == "Controller A of EVA does most of the work"
    assert finding.numbers["share"] == 0.9
    assert "In all 2,000 operations/s." in finding.summary
    assert not findings(RULE, case, share_max=0.95)


def test_a_busy_processor_makes_it_critical(tmp_path: Path) -> None:
    case = make_case(tmp_path, _controllers(A={"cpu_busy_ratio": 0.93}, B={"cpu_busy_ratio": 0.12}))
    finding = only_finding(judge(RULE, case))
    assert finding.severity is Severity.CRITICAL
    assert "A 93 % busy, B 12 % busy" in finding.summary


def test_two_idle_controllers_are_not_compared(tmp_path: Path) -> None:
    case = make_case(tmp_path, _controllers(A={"cpu_busy_ratio": 0.05}, B={"cpu_busy_ratio": 0.01}))
    assert not findings(RULE, case)


def test_unequal_operations_of_idle_processors_are_for_information(tmp_path: Path) -> None:
    def judged(name: str, busy: float | Sequence[float]) -> Finding:
        def write(recorder: Recorder) -> None:
            for controller, ops, load in (("A", 1300, busy), ("B", 500, 0.01)):
                entity = EntityRef("EVA", "controller", controller)
                write_series(recorder, entity, ops_per_s=ops, cpu_busy_ratio=load)

        return only_finding(judge(RULE, make_case(tmp_path / name, write)))

    idle, busy = judged("idle", 0.06), judged("busy", 0.5)
    at_times = judged("at times", [0.03] * 29 + [0.9])
    assert re.search(r"In the busiest interval a processor was \d+ % busy\.", at_times.summary)
    assert "busiest interval" not in idle.summary
    severities = [finding.severity for finding in (idle, busy, at_times)]
    assert severities == [Severity.INFO, Severity.WARNING, Severity.WARNING]
    assert "No processor was busy enough" in idle.summary
    assert "No processor was busy enough" not in busy.summary
    a_while = judged("a while", [0.03] * 24 + [0.37] * 6)
    assert a_while.severity is Severity.INFO
    assert "No processor was busy enough for anybody to wait for it: 37 % at most." in a_while.summary
    volumes = _volumes({f"v{number}": "A" for number in range(6)})
    idle_owner = make_case(
        tmp_path / "owner", volumes, _controllers(A={"cpu_busy_ratio": 0.06}, B={"cpu_busy_ratio": 0})
    )
    assert only_finding(judge(RULE, idle_owner)).severity is Severity.WARNING


def test_the_load_of_one_volume_cannot_be_divided(tmp_path: Path) -> None:
    def judged(name: str, hog: float, busy: float | Sequence[float] | None, other: float = 50) -> Finding:
        def write(recorder: Recorder) -> None:
            for controller, ops, load in (("A", 2 * hog, busy), ("B", 100, 0.01)):
                known = {} if busy is None else {"cpu_busy_ratio": load}
                write_series(recorder, EntityRef("EVA", "controller", controller), ops_per_s=ops, **known)
            for volume, owner, ops in (("hog", "A", hog), ("vm", "B", other)):
                write_series(recorder, EntityRef("EVA", "vdisk", volume), ops_per_s=ops)
                recorder.fact(EntityRef("EVA", "vdisk", volume), "online_to", owner)

        return only_finding(judge(RULE, make_case(tmp_path / name, write)))

    alone = judged("alone", 2000, 0.5)
    assert alone.severity is Severity.INFO
    assert "hog brings 98 % of what the volumes do" in alone.summary
    assert alone.remedy.startswith("Nothing can be divided")
    assert judged("several", 400, 0.5).severity is Severity.WARNING
    assert judged("saturated", 2000, 0.9).severity is Severity.CRITICAL
    assert judged("saturated at times", 2000, [0.3] * 29 + [0.9]).severity is Severity.WARNING
    assert judged("load unknown", 2000, None).severity is Severity.WARNING
    assert judged("other unknown", 2000, 0.5, math.nan).severity is Severity.WARNING


@pytest.mark.parametrize("has_processors", [True, False])
def test_one_volume_is_the_load_though_it_rests_most_of_the_time(tmp_path: Path, has_processors: bool) -> None:
    at_work = [10 <= index < 20 for index in range(30)]

    def write(recorder: Recorder) -> None:
        for controller, ops, busy in (("A", 6000, 0.7), ("B", 400, 0.05)):
            known = {"cpu_busy_ratio": [busy if works else 0.01 for works in at_work]} if has_processors else {}
            values = [ops if works else 200 for works in at_work]
            write_series(recorder, EntityRef("EVA", "controller", controller), ops_per_s=values, **known)
        for volume, owner, loud, quiet in (("hog", "A", 3000, 0), ("vm1", "A", 60, 60), ("vm2", "B", 60, 60)):
            entity = EntityRef("EVA", "vdisk", volume)
            write_series(recorder, entity, ops_per_s=[loud if works else quiet for works in at_work])
            recorder.fact(entity, "online_to", owner)

    finding = only_finding(judge(RULE, make_case(tmp_path, write)))
    assert finding.remedy.startswith("Nothing can be divided")
    assert finding.severity is (Severity.INFO if has_processors else Severity.WARNING)
    when = "the processor of A was at least 30 % busy" if has_processors else "A did at least its mean of"
    assert f"Volume hog brings 96 % of what the volumes do while {when}" in finding.summary
    rows = finding.evidence[-1].rows
    assert rows == [["hog", 10, 3000], ["vm1", 10, 60], ["vm2", 10, 60]]


def test_the_volumes_operations_count_for_their_owner(tmp_path: Path) -> None:
    case = make_case(tmp_path, _volumes({"v1": "A", "v2": "A", "v3": "A", "v4": "A", "v5": "B"}, ops=500))
    assert "By operations: A 80 %, B 20 %." in only_finding(judge(RULE, case)).summary


def test_one_owner_of_every_volume_is_found_without_any_load(tmp_path: Path) -> None:
    def partner(recorder: Recorder) -> None:
        recorder.entity(EntityRef("EVA", "controller", "B"))

    case = make_case(tmp_path, _volumes({f"v{number}": "A" for number in range(6)}), partner)
    finding = only_finding(judge(RULE, case))
    assert finding.title == "Controller A of EVA owns all 6 volumes"
    assert finding.evidence[0].rows == [["A", 6]]


def test_an_array_with_one_controller_is_not_judged(tmp_path: Path) -> None:
    case = make_case(tmp_path, _volumes({f"v{number}": "A" for number in range(6)}, ops=500))
    assert needs(judge(RULE, case))


def test_divided_volumes_without_load_are_healthy(tmp_path: Path) -> None:
    case = make_case(tmp_path, _volumes({"v1": "A", "v2": "B", "v3": "A"}))
    assert statements(judge(RULE, case)) == ["The volumes of EVA are divided between the controllers: A 2, B 1."]


def _works(work: str) -> Writer:
    """A rebuild, restripe or scrub that begins on a disk group and does not end."""

    def write(recorder: Recorder) -> None:
        type_, attributes = ("rebuild_started", {"work": work}) if work != "scrub" else ("array_event", _SCRUB)
        recorder.event(EntityRef("EVA", "disk_group", "G1"), START_NS, type_, work, attributes=attributes)

    return write


_SCRUB = {"work": "scrub", "state": "running"}


def _outcomes(case: Case) -> list[Finding]:
    """The findings of this rule and of that on drives, in the order in which they are told."""
    return ordered([*judge(RULE, case), *judge(drive_failed.RULE, case)])[0]


@pytest.mark.parametrize("work", ["restripe", "scrub"])
@pytest.mark.parametrize("busy", [0.06, 0.34])
def test_what_drives_do_by_themselves_comes_before_a_processor_that_is_not_half_busy(
    work: str, busy: float, tmp_path: Path
) -> None:
    loads = {"A": {"ops_per_s": 1300, "cpu_busy_ratio": busy}, "B": {"ops_per_s": 50, "cpu_busy_ratio": 0.0}}
    first, second = _outcomes(make_case(tmp_path, _controllers(**loads), _works(work)))
    assert f"A {work} is running" in first.title
    assert (second.rule, second.severity) == (RULE.name, Severity.INFO)
    assert f"{work} runs on G1" in second.summary


def test_beside_a_restripe_a_processor_that_is_half_busy_or_not_known_stays_a_warning(tmp_path: Path) -> None:
    for number, busy in enumerate(({"cpu_busy_ratio": 0.55}, {})):
        loads = _controllers(A={"ops_per_s": 1300} | busy, B={"ops_per_s": 50} | busy)
        first, _ = _outcomes(make_case(tmp_path / str(number), loads, _works("restripe")))
        assert (first.rule, first.severity) == (RULE.name, Severity.WARNING)
        assert "restripe runs on G1" in first.summary


def test_a_processor_that_is_not_half_busy_is_a_warning_where_no_such_work_runs(tmp_path: Path) -> None:
    loads = _controllers(A={"cpu_busy_ratio": 0.34}, B={"cpu_busy_ratio": 0.0})
    assert only_finding(judge(RULE, make_case(tmp_path, loads))).severity is Severity.WARNING
