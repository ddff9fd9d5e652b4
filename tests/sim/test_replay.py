"""A trace on a simulated array: its times, its answers, its tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import storscope
from storscope.cli.main import cli
from storscope.domain.errors import ConfigError, MalformedInput, UsageError
from storscope.domain.load import ThinkTime
from storscope.domain.units import NS_PER_MS, NS_PER_S
from storscope.sim.design import read_design
from storscope.sim.replay import TraceSource
from storscope.sim.schedule import read_schedule
from storscope.sim.traces.read import trace_from_text
from storscope.store import Store
from storscope.workbench.diagnosing import diagnose
from storscope.workbench.simulated import Simulated
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import trace_plan_of
from storscope.workbench.simulation_store import store_simulation

_HEAD = "time_ms,volume,op,offset_bytes,length_bytes"
_DESIGN = """\
name = "constant"

[drives.plain]
kind = "curve"
size = "100 GiB"
reads = [{ qd = 1, iops = 100 }]
writes = [{ qd = 1, iops = 100 }]
cv = 0
block = "4 KiB"
rate = "10 GB/s"

[[group]]
name = "g"
drive = "plain"
count = 1
layout = "raid0"

[[volume]]
name = "a"
group = "g"
size = "10 GiB"

[[volume]]
name = "b"
group = "g"
size = "1 GiB"

[[host]]
name = "h"
volumes = [{ volume = "a" }, { volume = "b" }]
"""
_STARTED_NS = 1_795_132_800_000_000_000


def _csv(*rows: str) -> str:
    return "\n".join([_HEAD, *rows])


def _replayed(*texts: str, pattern: str | None = None, **options: object) -> Simulated:
    sources = [TraceSource(trace_from_text(text, f"trace {number}"), pattern) for number, text in enumerate(texts)]
    plan = trace_plan_of(read_design(_DESIGN, "design"), sources, **options)  # type: ignore[arg-type]
    return simulate(plan, started_ns=_STARTED_NS)


def _count(simulated: Simulated) -> int:
    return simulated.outcome.total.all.ios


_SPACED = _csv(*(f"{20 * number},a,{'RW'[number % 2]},{number * 4096},4096" for number in range(100)))


def test_every_request_is_answered_in_its_direction_on_its_volume() -> None:
    simulated = _replayed(_csv("0,a,R,0,4096", "1,h/b,W,0,512", "900,b,W,4096,8192"))
    cells = {cell["target"]: cell for cell in simulated.outcome.total.form["cells"]}
    assert (cells[0]["reads"]["ios"], cells[0]["writes"]["ios"]) == (1, 0)
    assert (cells[1]["reads"]["ios"], cells[1]["writes"]["ios"], cells[1]["writes"]["bytes"]) == (0, 2, 8704)
    assert simulated.outcome.is_valid
    assert not simulated.doubts


def test_requests_come_at_their_times_and_a_faster_trace_is_shorter() -> None:
    once, twice = _replayed(_SPACED), _replayed(_SPACED, speed_up=2)
    assert once.array["duration_ns"] == pytest.approx(99 * 20 * NS_PER_MS + 10 * NS_PER_MS, rel=0.01)
    assert twice.array["duration_ns"] == pytest.approx(99 * 10 * NS_PER_MS + 10 * NS_PER_MS, rel=0.01)
    assert _count(once) == _count(twice) == 100


def test_an_open_loop_waits_for_nothing_and_the_wait_is_in_the_latency() -> None:
    """Ten at once at a drive that takes 10 ms each: the last waits for all."""
    simulated = _replayed(_csv(*(f"0,a,R,{number * 4096},4096" for number in range(10))))
    response = simulated.outcome.total.all.response
    assert response.max_ns == pytest.approx(100 * NS_PER_MS, rel=0.01)
    assert response.mean_ns == pytest.approx(55 * NS_PER_MS, rel=0.01)


def test_a_closed_loop_thinks_as_the_trace_says() -> None:
    lines = "".join(f"R Hit {8 * number} 8 1.0 5000.0\n" for number in range(10))
    simulated = _replayed(lines, pattern="a", outstanding=1)
    assert simulated.array["duration_ns"] == pytest.approx((10 * 10 + 9 * 5) * NS_PER_MS, rel=0.01)
    faster = _replayed(lines, pattern="a", outstanding=1, speed_up=5)
    assert faster.array["duration_ns"] == pytest.approx((10 * 10 + 9 * 1) * NS_PER_MS, rel=0.01)


def test_what_is_told_of_a_closed_loop_has_the_thought_of_its_trace() -> None:
    lines = "".join(f"R Hit {8 * number} 8 1.0 {think}\n" for number, think in enumerate([4000.0, 6000.0] * 5))

    def told(**options: Any) -> ThinkTime | None:
        (stream,) = _replayed(lines, pattern="a", **options).about.workload.streams
        return stream.think_time

    assert told(outstanding=2) == ThinkTime(5 * NS_PER_MS)
    assert told(outstanding=2, speed_up=5) == ThinkTime(NS_PER_MS)
    assert told() is None  # its times have it


def test_a_closed_loop_over_several_volumes_is_stored_with_what_it_keeps_in_flight(tmp_path: Path) -> None:
    both = _csv(*(f"0,{'ab'[number % 2]},R,{4096 * number},4096" for number in range(4000)))

    def stored(*texts: str, **options: object) -> float | None:
        simulated = _replayed(*texts, **options)
        (row,) = simulated.tables()["runs"].to_pylist()
        return row["outstanding"]  # type: ignore[no-any-return]

    assert stored(both, outstanding=8) == 8
    assert stored(both, _SPACED, outstanding=8) == 16, "each trace is a loop of its own"
    assert stored(both) is None
    store = Store.open(tmp_path / "store", create=True)
    store_simulation(store, _replayed(both, outstanding=8))
    assert "outstanding-mismatch" not in [finding.rule for finding in diagnose(store).findings]


@pytest.mark.parametrize(
    ("rows", "outstanding"),
    [
        ([f"{1000 * number},a,R,{4096 * number},4096" for number in range(3000)], 4),
        ([f"0,a,R,{4096 * number},4096" for number in range(3000)], 4),
        ([f"0,a,R,{4096 * number},4096" for number in range(3000)], None),
    ],
)
def test_a_replay_has_intervals_of_the_time_that_it_takes(rows: list[str], outstanding: int | None) -> None:
    """In a closed loop, or of one burst, the times of the trace do not tell it: here 50 min and none for 30 s."""
    simulated = _replayed(_csv(*rows), outstanding=outstanding)
    assert simulated.array["duration_ns"] == pytest.approx(30 * NS_PER_S, rel=0.01)
    assert 100 <= len(simulated.intervals) <= 300
    (kept,) = (one for name, one in simulated.judgement.estimates.items() if name == "iops")
    assert kept.value == pytest.approx(100, rel=0.01)
    assert kept.low is not None
    assert kept.low <= kept.value


def test_intervals_add_up_to_the_whole_and_nothing_is_left_out_as_warm_up() -> None:
    simulated = _replayed(_SPACED)
    assert sum(interval.all.ios for interval in simulated.intervals) == _count(simulated) == simulated.measured.all.ios
    ends = [interval.start_ns + interval.duration_ns for interval in simulated.intervals]
    assert [interval.start_ns for interval in simulated.intervals] == [0, *ends[:-1]]
    held = sum((one.outstanding_mean or 0) * one.duration_ns for one in simulated.intervals)
    service = simulated.outcome.total.all.service
    assert service.mean_ns is not None
    assert held == pytest.approx(service.mean_ns * service.count)  # Little's law
    assert "100 requests of the trace" in simulated.judgement.ended


def test_the_figures_are_of_every_request_the_last_one_too() -> None:
    simulated = _replayed(_csv("0,a,R,0,4096", "100,a,W,4096,4096", "200,a,R,8192,4096"))
    (kept,) = {one.value for name, one in simulated.judgement.estimates.items() if name == "iops"}
    assert kept == pytest.approx(3 / 0.210, rel=1e-6)
    alone = _replayed(_csv("0,a,R,0,4096")).judgement
    assert alone.estimates["mean"].value == 10 * NS_PER_MS
    assert alone.ended == "It ran for the one request of the trace."


def test_a_duration_ends_it_and_what_is_in_flight_is_drained() -> None:
    simulated = _replayed(_SPACED, duration_ns=NS_PER_S)
    assert _count(simulated) == 50
    assert simulated.outcome.result["ending"]["submitted"] == 50
    assert "of 100 requests 50 were due" in simulated.judgement.ended
    longer = _replayed(_SPACED, duration_ns=10 * NS_PER_S)
    assert longer.judgement.ended == "It ran for the 100 requests of the trace."


def test_a_replay_in_phases_has_no_intervals_and_one_that_loses_data_says_so() -> None:
    raid = _DESIGN.replace("count = 1", "count = 2").replace("raid0", "raid1")
    fails = '[[at]]\ntime = "1 s"\ndrive_fails = { group = "g", index = 0 }\n'
    in_phases, lost, whole = (
        simulate(trace_plan_of(read_design(raid, "d", schedule), [TraceSource(trace_from_text(_SPACED, "t"))]))
        for schedule in (
            read_schedule(fails, "s"), read_schedule(fails + fails.replace("0 }", "1 }"), "s"), None,
        )
    )  # fmt: skip
    assert len(in_phases.phase_figures) == 2
    assert all(one.low is None for one in in_phases.judgement.estimates.values())
    assert any(one.low is not None for one in whole.judgement.estimates.values())
    assert "100 requests of the trace" in in_phases.judgement.ended
    assert "data was lost" in lost.judgement.ended


def test_traces_run_side_by_side_each_a_stream() -> None:
    simulated = _replayed(_csv("0,a,R,0,4096"), _csv("0,b,W,0,4096", "5,b,W,0,4096"))
    assert {(cell["stream"], cell["target"]) for cell in simulated.outcome.total.form["cells"]} == {(0, 0), (1, 1)}


def test_what_does_not_lie_on_the_volume_is_named_with_its_line() -> None:
    with pytest.raises(MalformedInput, match=r"line 3: expected a request within h/b of 1073741824 bytes") as error:
        _replayed(_csv("0,b,R,0,4096", "1,b,R,1073741824,4096"))
    assert "1073745920 bytes" in str(error.value)


def test_places_that_the_design_does_not_have_are_named() -> None:
    with pytest.raises(UsageError, match=r"line 3: expected a volume of the design \(h/a, h/b\), found 'c'"):
        _replayed(_csv("0,a,R,0,4096", "1,c,R,0,4096"))
    with pytest.raises(UsageError, match="VOLUME=FILE"):
        _replayed("R Hit 0 8 1.0 1.0\n")
    with pytest.raises(UsageError, match="one volume or device"):
        _replayed(_csv("0,a,R,0,4096", "1,b,R,0,4096"), pattern="a")


def test_a_speed_up_of_nothing_and_streams_of_a_schedule_are_refused() -> None:
    with pytest.raises(UsageError, match="speed-up"):
        _replayed(_SPACED, speed_up=0)
    schedule = read_schedule('[[stream]]\nname = "x"\nstart = "1 s"\n', "s.toml")
    plan = trace_plan_of(read_design(_DESIGN, "design", schedule), [TraceSource(trace_from_text(_SPACED, "t"))])
    with pytest.raises(ConfigError, match=r"^s.toml:2: .*expected a schedule without"):
        simulate(plan)


def test_python_and_the_command_line_give_the_tables_and_figures(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(_SPACED)
    (tmp_path / "d.toml").write_text(_DESIGN)
    tables = storscope.simulate_trace(tmp_path / "d.toml", tmp_path / "t.csv", started_ns=_STARTED_NS)
    assert tables["histograms"].num_rows
    assert tables == storscope.simulate_trace(tmp_path / "d.toml", tmp_path / "t.csv", started_ns=_STARTED_NS)
    told = CliRunner().invoke(cli, [
        "simulate", str(tmp_path / "d.toml"), "--trace", str(tmp_path / "t.csv"), "--store", str(tmp_path / "store"),
        "--json",
    ])  # fmt: skip
    assert told.exit_code == 0, told.output
    found = json.loads(told.stdout)
    assert found["valid"]
    assert "CSV trace, 100 requests" in told.stderr
    refused = CliRunner().invoke(cli, ["simulate", str(tmp_path / "d.toml"), "--speed-up", "2", "--workload", "oltp"])
    assert refused.exception is not None
