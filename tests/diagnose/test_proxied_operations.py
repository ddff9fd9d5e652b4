from __future__ import annotations

from pathlib import Path

import pytest

from storscope.diagnose.rules.proxied_operations import RULE
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Severity
from storscope.domain.recorder import Recorder
from storscope.domain.vocabulary import SIMULATED_FACT
from tests.diagnose.evidence import START_NS, STEP_NS, Writer, needs, only_finding, statements, write_series
from tests.support.cases import findings, judge, make_case


def _volume(share: float, name: str = "v1", ops: float = 1000) -> Writer:
    return lambda recorder: write_series(
        recorder, EntityRef("EVA", "vdisk", name), read_ops_per_s=0.7 * ops, write_ops_per_s=0.3 * ops,
        forwarded_per_s=share * ops,
    )  # fmt: skip


def test_little_forwarding_is_healthy(tmp_path: Path) -> None:
    (statement,) = statements(judge(RULE, make_case(tmp_path, _volume(0.03))))
    assert "none has more than 3 % forwarded (v1)" in statement


@pytest.mark.parametrize(("share", "severity"), [(0.2, Severity.WARNING), (0.7, Severity.CRITICAL)])
def test_the_share_decides(share: float, severity: Severity, tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _volume(share))))
    assert finding.severity is severity
    assert finding.numbers["forwarded_share_max"] == pytest.approx(share)
    assert ("will transfer ownership of v1" in finding.summary) is (severity is Severity.CRITICAL)


def test_a_simulated_array_is_checked_in_its_design(tmp_path: Path) -> None:
    """It has no hosts whose paths could be listed, and moves no volume unless its design says so."""
    measured = only_finding(judge(RULE, make_case(tmp_path / "measured", _volume(0.7))))
    assert "esxcli storage nmp path list" in measured.check
    assert measured.summary.endswith("an EVA will transfer ownership of v1.")
    simulated = only_finding(
        judge(
            RULE,
            make_case(
                tmp_path / "simulated", _volume(0.7),
                lambda recorder: recorder.fact(EntityRef("EVA", "array", "EVA"), SIMULATED_FACT, 1000),
            ),
        )
    )  # fmt: skip
    assert "esxcli" not in simulated.check
    assert "simulate again and compare" in simulated.check
    assert simulated.summary.endswith("an EVA will transfer ownership of v1; a design does so with [transition].")


def test_a_volume_that_moved_is_told_with_the_time(tmp_path: Path) -> None:
    """As simulated: nothing is forwarded until it moves, and all of it from then on; the mean is of both."""

    def moved(recorder: Recorder) -> None:
        entity = EntityRef("EVA", "vdisk", "v1")
        recorder.event(entity, START_NS + 10 * STEP_NS, "ownership_changed", "v1 moves to B", attributes={"owner": "B"})

    assert "moved" not in only_finding(judge(RULE, make_case(tmp_path / "stays", _volume(0.2)))).summary
    summary = only_finding(judge(RULE, make_case(tmp_path / "moves", _volume(0.2), moved))).summary
    assert summary.endswith(" v1 moved to B at 2023-11-14 22:16:40Z: see whether hosts go on by the paths of before.")


def test_what_a_move_ended_is_told_as_over(tmp_path: Path) -> None:
    """As simulated with a transition: all is forwarded until the array moves the volume to where its reads come."""

    def moved(recorder: Recorder) -> None:
        entity = EntityRef("EVA", "vdisk", "v1")
        write_series(recorder, entity, 30, ops_per_s=1000, forwarded_per_s=[1000] * 10 + [0] * 20)
        recorder.event(entity, START_NS + 10 * STEP_NS, "ownership_changed", "v1 moves to B", attributes={"owner": "B"})

    summary = only_finding(judge(RULE, make_case(tmp_path, moved))).summary
    assert "a second. v1 moved to B at " in summary
    assert summary.endswith(", and since then 0 % are forwarded: it is over.")


def test_volumes_of_one_array_are_one_finding(tmp_path: Path) -> None:
    case = make_case(tmp_path, *[_volume(0.2 + number / 100, f"v{number}") for number in range(9)])
    assert len(only_finding(judge(RULE, case)).entities) == 9


def test_a_controller_does_not_compete_with_its_volumes(tmp_path: Path) -> None:
    def controller(recorder: Recorder) -> None:
        write_series(recorder, EntityRef("EVA", "controller", "A"), ops_per_s=1000, forwarded_per_s=200)

    case = make_case(tmp_path, _volume(0.2), controller)
    assert [entity.kind for entity in only_finding(judge(RULE, case)).entities] == ["vdisk"]


def test_a_nearly_idle_volume_is_not_judged(tmp_path: Path) -> None:
    assert not findings(RULE, make_case(tmp_path, _volume(0.9, ops=2)))


def test_thresholds_take_effect(tmp_path: Path) -> None:
    case = make_case(tmp_path, _volume(0.2))
    assert not findings(RULE, case, forwarded_share_max=0.3)


def _paths(optimised: float, unoptimised: float, with_optimised: bool = True) -> Writer:
    def write(recorder: Recorder) -> None:
        device = EntityRef("esx", "device", "naa.1")
        for name, rate, state in (("vmhba1:C0:T0:L0", optimised, "active"),
                                  ("vmhba1:C0:T1:L0", unoptimised, "active unoptimized")):  # fmt: skip
            if state == "active" and not with_optimised:
                continue
            path = EntityRef("esx", "path", name)
            recorder.link(path, "leads_to", device)
            recorder.fact(path, "group_state", state)
            write_series(recorder, path, ops_per_s=rate)

    return write


def test_io_over_non_optimised_paths_is_found(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _paths(900, 100))))
    assert finding.numbers["unoptimised_share_max"] == pytest.approx(0.1)


def test_without_an_optimised_path_there_is_no_choice(tmp_path: Path) -> None:
    assert needs(judge(RULE, make_case(tmp_path, _paths(0, 900, with_optimised=False))))


def _sides(owner: tuple[float, float], other: tuple[float, float], samples: int = 30) -> Writer:
    """A volume with (reads, writes) per second at its owner A and at B, as evaperf counts them per controller."""

    def write(recorder: Recorder) -> None:
        volume = EntityRef("EVA", "vdisk", "v1")
        write_series(
            recorder, volume, read_ops_per_s=owner[0] + other[0], write_ops_per_s=owner[1] + other[1],
            forwarded_per_s=sum(other),
        )  # fmt: skip
        for index in range(samples):
            for side, (reads, writes) in (("A", owner), ("B", other)):
                for name, value in (("Read Hit Req/s", 0.25 * reads), ("Read Miss Req/s", 0.75 * reads),
                                    ("Write Req/s", writes), ("Write Latency (ms)", 7.0)):  # fmt: skip
                    recorder.counter(volume, START_NS + index * STEP_NS, STEP_NS, f"{name} via {side}", "per_s", value)

    return write


def test_reads_are_divided_by_reads(tmp_path: Path) -> None:
    """An EVA moves a volume by its reads: few operations may be most of the reads."""
    finding = only_finding(judge(RULE, make_case(tmp_path, _sides(owner=(40, 900), other=(60, 0)))))
    assert finding.numbers["forwarded_share_max"] == pytest.approx(0.6)
    assert finding.severity is Severity.CRITICAL
    assert "60 % of v1's reads" in finding.title
    assert finding.evidence[1].rows
    assert "With most reads on the wrong side" in finding.summary


def test_forwarded_writes_are_not_taken_for_reads(tmp_path: Path) -> None:
    (statement,) = statements(judge(RULE, make_case(tmp_path, _sides(owner=(100, 0), other=(1, 900)))))
    assert "none has more than 0.99 % forwarded" in statement


def test_the_reads_of_an_interval_that_could_be_either_sides_are_left_out(tmp_path: Path) -> None:
    """Both sides with as many operations: whose reads were forwarded is not known, the share of operations is."""
    finding = only_finding(judge(RULE, make_case(tmp_path, _sides(owner=(90, 10), other=(10, 90)))))
    assert finding.numbers["forwarded_share_max"] == pytest.approx(0.5)
    assert "operations are forwarded" in finding.title


@pytest.mark.parametrize(("latency_ms", "severity"), [(4.3, Severity.WARNING), (17, Severity.CRITICAL)])
def test_most_reads_on_the_wrong_side_are_critical_only_where_it_may_hurt(
    latency_ms: float, severity: Severity, tmp_path: Path
) -> None:
    def volume(recorder: Recorder) -> None:
        write_series(
            recorder, EntityRef("EVA", "vdisk", "v1"), ops_per_s=200, forwarded_per_s=200, read_ops_per_s=140,
            write_ops_per_s=60, latency_ns_mean=latency_ms * 1e6,
        )  # fmt: skip

    finding = only_finding(judge(RULE, make_case(tmp_path, volume)))
    assert finding.severity is severity
    assert finding.numbers["above_transfer_share"] == 1
