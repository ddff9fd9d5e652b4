from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from storscope.diagnose.rules.controller_imbalance import RULE
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Finding, Severity
from storscope.domain.recorder import Recorder
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
