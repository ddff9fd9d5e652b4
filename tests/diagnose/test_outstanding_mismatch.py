from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from storscope.diagnose.case import Case
from storscope.diagnose.rules.outstanding_mismatch import RULE
from storscope.domain.access import AccessSpec, Mix
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Finding
from storscope.domain.load import Closed, Process, ThinkTime
from storscope.domain.recorder import Recorder
from storscope.domain.units import NS_PER_S
from storscope.domain.workload import Stream, Workload
from storscope.store import Store
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of
from storscope.workbench.simulation_store import store_simulation
from tests.diagnose.evidence import START_NS, Writer, needs, only_finding, statements
from tests.sim.designs import SMALL
from tests.support.cases import findings, judge, make_case

_BEFORE = (
    ("Max Throughput-100%Read", 2.67, 10809),
    ("RealLife-60%Rand-65%Read", 8.29, 3055),
    ("Max Throughput-50%Read", 34.03, 1530),
    ("Random-8k-70%Read", 8.64, 2866),
)
"""(spec, response time in ms, IOPS) of an EVA 4400 with 64 outstanding I/Os, as published in a field report."""
_AFTER = (("Max Throughput-100%Read", 5.09, 11686), ("Max Throughput-50%Read", 6.63, 5113))
"""The same array after the change."""


def _runs(rows: Sequence[tuple[str, float, float]], outstanding: float | None = 64,
          parameters: Mapping[str, str] | None = None) -> Writer:  # fmt: skip
    def write(recorder: Recorder) -> None:
        for name, response_ms, iops in rows:
            recorder.run(name, engine="iometer", name=name, system="eva4400", outstanding=outstanding,
                         parameters=parameters)  # fmt: skip
            recorder.observe(
                EntityRef("eva4400", "job", name), START_NS, 60_000_000_000,
                {"ops_per_s": iops, "latency_ns_mean": response_ms * 1e6}, run=name,
            )  # fmt: skip

    return write


def test_the_published_table_names_the_rows_that_cannot_have_kept_64_in_flight(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _runs(_BEFORE))))
    assert finding.title == "4 of 4 runs cannot have kept 64 I/Os in flight"
    for words in ("= 24.8 of 64", "= 25.3 of 64", "= 28.9 of 64", "= 52.1 of 64"):
        assert words in finding.summary
    rows = {row[0]: row[-2] for row in finding.evidence[0].rows}
    assert {name: round(float(str(value)), 1) for name, value in rows.items()} == {
        "Random-8k-70%Read": 24.8, "RealLife-60%Rand-65%Read": 25.3, "Max Throughput-100%Read": 28.9,
        "Max Throughput-50%Read": 52.1,
    }  # fmt: skip


def test_a_row_that_fits_is_listed_as_healthy_beside_one_that_does_not(tmp_path: Path) -> None:
    outcomes = judge(RULE, make_case(tmp_path, _runs(_AFTER)))
    assert only_finding(outcomes).title == "1 of 2 runs cannot have kept 64 I/Os in flight"
    assert "Max Throughput-100%Read (5.09 ms x 11,686/s = 59.5 of 64)" in statements(outcomes)[0]


def test_the_threshold_takes_effect(tmp_path: Path) -> None:
    case = make_case(tmp_path, _runs(_BEFORE))
    assert findings(RULE, case, mismatch_ratio_max=0.2)[0].numbers["runs"] == 3


def test_more_than_configured_is_another_finding(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, make_case(tmp_path, _runs([("randread", 10.0, 12800)]))))
    assert finding.title == "1 of 1 run had more I/Os in flight than configured"
    assert finding.numbers["in_flight_ratio_max"] == pytest.approx(2.0)


@pytest.mark.parametrize(
    "parameters",
    [{"rate_iops": "500"}, {"thinktime": "1000"}, {"line 1": "4096 B, share 100 %, delay 5 ms, burst 8"}],
)
def test_runs_paced_on_purpose_are_left_out(parameters: dict[str, str], tmp_path: Path) -> None:
    case = make_case(tmp_path, _runs(_BEFORE, parameters=parameters))
    assert "not paced on purpose" in needs(judge(RULE, case))[0]


_LINE = AccessSpec(8192)
_OURS = {
    "think time": Stream(Mix((_LINE,)), Closed(64), think_time=ThinkTime(10_000_000, Process.POISSON)),
    "delay": Stream(Mix((_LINE, replace(_LINE, delay_ns=5_000_000))), Closed(64)),
    "neither": Stream(Mix((_LINE,)), Closed(64)),
}


@pytest.mark.parametrize("pacing", _OURS)
def test_our_own_runs_are_left_out_when_their_workload_waits_on_purpose(pacing: str, tmp_path: Path) -> None:
    workload = json.dumps(Workload("ours", (_OURS["neither"], _OURS[pacing])).to_json(), sort_keys=True)
    case = make_case(tmp_path, _runs(_BEFORE, parameters={"workload": workload}))
    assert bool(findings(RULE, case)) == (pacing == "neither")


@pytest.mark.parametrize("is_scheduled", [True, False])
def test_a_simulated_run_is_left_out_when_a_stream_is_there_for_a_part_of_it(
    is_scheduled: bool, tmp_path: Path
) -> None:
    drive = '[[at]]\ntime = "1s"\ndrive_fails = { group = "g", index = 1 }\n'
    stream = '[[stream]]\nname = "hog"\nstart = "5s"\n'
    schedule = tmp_path / "schedule.toml"
    schedule.write_text(drive + stream if is_scheduled else drive)
    streams = tuple(Stream(Mix((_LINE,)), Closed(16), name=name) for name in ("hog", "quiet"))
    plan = plan_of(SMALL, Workload("two", streams), duration="10s", schedule=schedule)
    store = Store.open(tmp_path / "simulated", create=True)
    store_simulation(store, simulate(plan))
    outcomes = judge(RULE, Case(store))
    assert bool(needs(outcomes)) == is_scheduled
    assert bool(statements(outcomes)) != is_scheduled


def test_a_delay_of_zero_is_no_pacing(tmp_path: Path) -> None:
    case = make_case(tmp_path, _runs(_BEFORE, parameters={"line 1": "4096 B, share 100 %, delay 0 ms, burst 1"}))
    assert findings(RULE, case)


def test_unknown_outstanding_is_not_judged(tmp_path: Path) -> None:
    assert needs(judge(RULE, make_case(tmp_path, _runs(_BEFORE, outstanding=None))))


def test_a_run_told_in_intervals_is_judged_over_its_whole_length(tmp_path: Path) -> None:
    def intervals(recorder: Recorder) -> None:
        recorder.run("r", engine="fio", name="r", system="db1", outstanding=32)
        second_ns = 1_000_000_000
        for number, (ops, latency_ns, seconds) in enumerate(((16000, 2e6, 3), (3200, 10e6, 1))):
            recorder.observe(
                EntityRef("db1", "job", "r"), START_NS + number * 3 * second_ns, seconds * second_ns,
                {"ops_per_s": ops, "latency_ns_mean": latency_ns}, run="r",
            )  # fmt: skip

    assert "= 32.0 of 32" in statements(judge(RULE, make_case(tmp_path, intervals)))[0]


def test_a_run_that_stalls_keeps_no_more_in_flight_than_it_was_told(tmp_path: Path) -> None:
    """What waits through intervals without a completion is told by those that complete it: their time counts too."""

    def stalled(recorder: Recorder) -> None:
        recorder.run("r", engine="vdbench", name="r", system="db1", outstanding=8)
        for number, (ops, latency_ns) in enumerate(((8.0, 2e9), (0.0, None))):
            values = {"ops_per_s": ops} | ({} if latency_ns is None else {"latency_ns_mean": latency_ns})
            start_ns = START_NS + number * NS_PER_S
            recorder.observe(EntityRef("db1", "job", "r"), start_ns, NS_PER_S, values, run="r")

    assert "= 8.0 of 8" in statements(judge(RULE, make_case(tmp_path, stalled)))[0]


def test_a_run_without_operations_is_not_judged(tmp_path: Path) -> None:
    assert judge(RULE, make_case(tmp_path, _runs((("idle", 0.0, 0),))))[0].__class__ is not Finding


def test_parts_of_a_run_do_not_compete_with_the_whole(tmp_path: Path) -> None:
    def with_disks(recorder: Recorder) -> None:
        _runs([("randread", 5.0, 12800)])(recorder)
        recorder.observe(
            EntityRef("eva4400", "device", "disk 1"), START_NS, 60_000_000_000,
            {"ops_per_s": 6400, "latency_ns_mean": 5e6}, run="randread",
        )  # fmt: skip

    assert not findings(RULE, make_case(tmp_path, with_disks))


def _a_minute_in_two_halves(**parameters: str) -> Writer:
    """32 in flight for 30 s, then 16 for 30 s."""

    def write(recorder: Recorder) -> None:
        recorder.run("r", engine="fio", name="r", system="db1", outstanding=32, time_ns=START_NS,
                     duration_ns=60 * NS_PER_S, parameters=parameters)  # fmt: skip
        for number in range(60):
            figures = {"ops_per_s": 16000, "latency_ns_mean": 2e6 if number < 30 else 1e6}
            recorder.observe(EntityRef("db1", "job", "r"), START_NS + number * NS_PER_S, NS_PER_S, figures, run="r")

    return write


@pytest.mark.parametrize(
    ("since_s", "until_s", "words"),
    [(1, 20, "= 32.0 of 32"), (40, None, "= 16.0 of 32"), (20, 40, "= 24.0 of 32")],
)
def test_a_part_of_a_run_is_judged_by_what_it_did_then(
    since_s: int, until_s: int | None, words: str, tmp_path: Path
) -> None:
    until_ns = None if until_s is None else START_NS + until_s * NS_PER_S
    case = replace(make_case(tmp_path, _a_minute_in_two_halves()), since_ns=START_NS + since_s * NS_PER_S,
                   until_ns=until_ns)  # fmt: skip
    outcomes = judge(RULE, case)
    found = statements(outcomes) or [only_finding(outcomes).summary]
    assert words in found[0]


def test_a_run_that_was_paced_on_purpose_is_so_in_all_its_parts(tmp_path: Path) -> None:
    """Asked from a second after its start on it was a warning."""
    case = make_case(tmp_path, _a_minute_in_two_halves(rate_iops="16000"))
    for since_s in (0, 1, 59):
        assert needs(judge(RULE, replace(case, since_ns=START_NS + since_s * NS_PER_S)))
    assert not replace(case, since_ns=START_NS + 60 * NS_PER_S).runs
    assert not replace(case, until_ns=START_NS).runs
