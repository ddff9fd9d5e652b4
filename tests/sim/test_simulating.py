"""A simulation from design to store: the same seed, the same figures; laws; schedules; judged like a measurement."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import storscope
from storscope.cli.options import DurationType
from storscope.diagnose.case import Case
from storscope.domain.access import AccessSpec, Mix
from storscope.domain.comparison import Outcome, Settings
from storscope.domain.entity import EntityRef
from storscope.domain.errors import ConfigError, UsageError
from storscope.domain.load import Closed, Open, Region
from storscope.domain.units import NS_PER_S
from storscope.domain.workload import Stream, Workload
from storscope.sim.design import read_design
from storscope.sim.schedule import read_schedule
from storscope.store import Store
from storscope.workbench.comparing import compare
from storscope.workbench.diagnosing import diagnose
from storscope.workbench.simulated import Simulated
from storscope.workbench.simulating import fitted, simulate
from storscope.workbench.simulating_many import plan_of, simulate_each
from storscope.workbench.simulation_store import store_simulation
from tests.sim.designs import SMALL

_STARTED_NS = 1_795_132_800_000_000_000


def _reads(outstanding: int = 4, name: str = "reads") -> Workload:
    return Workload(name, (Stream(Mix((AccessSpec(8192),)), Closed(outstanding), name=name),))


def _simulated(schedule: str = "", **options: object) -> Simulated:
    design = read_design(SMALL, "small.toml", read_schedule(schedule, "s.toml") if schedule else None)
    chosen = {"duration": "20s", "workload": _reads(), **options}
    plan = plan_of(design, chosen.pop("workload"), **chosen)  # type: ignore[arg-type]
    return simulate(plan, started_ns=_STARTED_NS)


def test_the_same_arguments_and_start_give_the_same_tables() -> None:
    first, second = (storscope.simulate(SMALL, _reads(), duration="5s", started_ns=_STARTED_NS) for _ in range(2))
    assert first == second
    (each,) = storscope.simulate_each([SMALL], _reads(), duration="5s", started_ns=_STARTED_NS)
    assert each.tables() == first


def test_the_latencies_of_each_volume_are_kept_as_distributions() -> None:
    simulated = _simulated()
    rows = [row for row in simulated.tables()["histograms"].to_pylist() if row["kind"] == "vdisk"]
    assert {row["run"] for row in rows} == {None}
    volume_of = [one.volume for one in simulated.plan.design.attachments]
    for volume in volume_of:
        counted = sum(sum(row["counts"]) for row in rows if row["entity"] == volume)
        whole = [cell for one in simulated.intervals for cell in one.form["cells"]]
        cells = [cell for cell in whole if volume_of[cell["target"]] == volume]
        assert counted == sum(cell["reads"]["ios"] + cell["writes"]["ios"] for cell in cells) > 0


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_out_of_range_is_refused_in_words(seed: int) -> None:
    with pytest.raises(UsageError, match=rf"a seed from 0 to 2\^64 - 1, found {seed}"):
        storscope.simulate(SMALL, _reads(), duration="5s", seed=seed)


def test_a_plain_duration_is_seconds_as_on_the_command_line() -> None:
    assert plan_of(SMALL, _reads(), duration="5").duration_ns == plan_of(SMALL, _reads(), duration="5s").duration_ns
    assert DurationType().convert("5", None, None) == DurationType().convert("5s", None, None)


@pytest.mark.parametrize("duration", [5, 5.0, np.float32(5), "5", "5.0", "5 s", "5000ms"])
@pytest.mark.parametrize("ios", [None, 300, "300", "0.3k", np.int64(300)])
def test_lengths_are_spelt_as_on_the_command_line(duration: Any, ios: Any) -> None:
    plan = plan_of(SMALL, _reads(), duration=duration, ios=ios)
    assert plan.duration_ns == 5 * NS_PER_S
    assert plan.ios == (None if ios is None else 300)


@pytest.mark.parametrize(
    "wrong", ["0s", 0, "0", "0.4ns", -1, "-5s", "soon", True, math.nan, math.inf, 10**9, "1" * 400, []]
)
def test_a_duration_without_length_or_end_is_refused_at_once(wrong: Any, tmp_path: Path) -> None:
    """The core takes a duration of 0 for none: such a run would not end."""
    (tmp_path / "t.csv").write_text("time_s,volume,op,offset_bytes,length_bytes\n0,esx1/data,R,0,4096\n")
    for asked in (
        lambda: storscope.simulate(SMALL, _reads(), duration=wrong),
        lambda: storscope.simulate_each([SMALL], _reads(), duration=wrong),
        lambda: storscope.simulate_trace(SMALL, tmp_path / "t.csv", duration=wrong),
    ):
        with pytest.raises(UsageError, match=r"a duration like '60s', .* at least 1ns and below 1,000,000,000s, found"):
            asked()


@pytest.mark.parametrize("wrong", [{"duration_ns": 0}, {"duration_ns": -1}, {"duration_ns": None, "ios": 0}])
def test_a_plan_without_length_is_not_started(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="of at least 1"):
        replace(plan_of(SMALL, _reads(), duration="1s"), **wrong).check()


def test_the_same_seed_gives_the_same_figures_and_another_seed_others() -> None:
    first, second, other = _simulated(seed=3), _simulated(seed=3), _simulated(seed=4)
    one, same, another = (json.dumps(run.array, default=lambda array: array.tolist()) for run in (first, second, other))
    assert one == same
    assert first.measured.all.response.counts == second.measured.all.response.counts
    assert one != another


def test_littles_law_holds_and_no_io_is_lost_between_generator_and_array() -> None:
    simulated = _simulated()
    total = simulated.outcome.total
    rate, service = total.per_s(total.all.ios), total.all.service.mean_ns
    assert rate is not None
    assert service is not None
    assert rate * service / NS_PER_S == pytest.approx(total.outstanding_mean, rel=0.01)
    assert total.outstanding_mean == pytest.approx(4 * 3, rel=0.001)  # per target of one worker
    ending = simulated.outcome.result["ending"]
    assert sum(sum(target["completed"]) for target in simulated.array["targets"]) == ending["completed"]


def test_the_tables_say_what_the_array_did(tmp_path: Path) -> None:
    simulated = _simulated()
    store = Store.open(tmp_path / "store", create=True)
    store_simulation(store, simulated)
    rows = store.query(
        "SELECT entity, avg(read_ops_per_s) AS rate FROM observations WHERE kind = 'vdisk' GROUP BY 1 ORDER BY 1"
    ).to_pylist()
    assert [row["entity"] for row in rows] == ["data", "log"]
    total = simulated.outcome.total
    assert sum(row["rate"] for row in rows) == pytest.approx(total.per_s(total.all.ios), rel=0.001)
    assert rows[0]["rate"] == pytest.approx(2 * rows[1]["rate"], rel=0.1)  # two hosts use it
    busy = store.query("SELECT busy_ratio FROM observations WHERE kind = 'disk' AND busy_ratio IS NOT NULL").to_pylist()
    assert len(busy) == 8
    links = store.query("SELECT count(*) AS n FROM links WHERE relation = 'lives_on' AND kind = 'vdisk'").to_pylist()
    assert links[0]["n"] == 2
    assert store.query("SELECT engine FROM runs").to_pylist()[0]["engine"] == "storscope-sim"


def test_nothing_is_told_of_the_time_behind_the_end() -> None:
    """Where some seconds of requests are in flight at the end, drives work on after it."""
    simulated = _simulated(duration="2s", workload=_reads(outstanding=1000))
    end_ns = simulated.judgement.to_ns
    assert end_ns == 2 * NS_PER_S < simulated.array["duration_ns"] - NS_PER_S
    table = simulated.tables()["observations"]
    ends_ns = table["time"].cast("int64").to_numpy() - _STARTED_NS + table["duration_ns"].to_numpy()
    assert ends_ns.max() == end_ns


def test_arrow_tables_come_without_a_store() -> None:
    tables = storscope.simulate(SMALL, "oltp", duration="5s", seed=2)
    assert tables["runs"].num_rows == 1
    assert tables["observations"].num_rows > 0
    assert tables["histograms"].num_rows > 0


def test_a_store_with_two_simulations_compares_and_diagnoses(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store", create=True)
    slow, fast = simulate_each(
        [SMALL, SMALL.replace('"small"', '"quick"').replace("7200-sata", "15k-sas").replace("200 GiB", "100 GiB")],
        _reads(), duration="60s",
    )  # fmt: skip
    for simulated in (slow, fast):
        store_simulation(store, simulated)
    sides = (f"run={slow.about.run}", f"run={fast.about.run}")
    (pair,) = compare(*sides, Settings(), store_path=store.path).pairs
    assert pair.is_comparable, pair.warnings
    outcomes = {row.metric: row.outcome for row in pair.rows}
    assert Outcome.BETTER in outcomes.values(), outcomes
    assert Outcome.WORSE not in outcomes.values(), outcomes
    verdict = diagnose(store)
    assert verdict.healthy or verdict.findings


@pytest.mark.parametrize(("rate_per_s", "max_outstanding"), [(2000.0, 16), (4000.0, 32_768)])
def test_what_cures_an_overload_is_told_as_better(rate_per_s: float, max_outstanding: int, tmp_path: Path) -> None:
    """Arrivals that were never sent waited longest; without them the latency before the cure is too low."""
    store = Store.open(tmp_path / "store", create=True)
    load = Open(rate_per_s, max_outstanding=max_outstanding)
    workload = Workload("arrivals", (Stream(Mix((AccessSpec(8192),)), load, name="arrivals", targets=(0,)),))
    quick = SMALL.replace('"small"', '"quick"').replace("7200-sata", "15k-sas").replace("200 GiB", "100 GiB")
    runs: dict[str, list[Simulated]] = {"slow": [], "fast": []}
    for seed in range(3):
        found = simulate_each([SMALL, quick.replace("count = 8", "count = 48")], workload, duration="10s", seed=seed)
        for simulated, side in zip(found, runs.values(), strict=True):
            store_simulation(store, simulated)
            side.append(simulated)
    assert {one.outcome.latency_bound for one in runs["slow"]} == {"lower"}
    assert {one.status for one in runs["fast"]} == {"ok"}
    before, after = ("run=" + "|".join(one.about.run for one in side) for side in runs.values())
    (pair,) = compare(before, after, Settings(), store_path=store.path).pairs
    (latency,) = (row for row in pair.rows if row.metric == "latency")
    assert latency.outcome is Outcome.BETTER, latency.reason
    assert latency.reason.startswith("at least so: the storage fell behind before")


def test_a_stream_runs_when_the_schedule_says() -> None:
    workload = Workload(
        "two",
        (
            Stream(Mix((AccessSpec(8192),)), Open(50.0), name="steady", targets=(0,)),
            Stream(Mix((AccessSpec(65536),)), Closed(32), name="hog", targets=(0,)),
        ),
    )
    simulated = _simulated('[[stream]]\nname = "hog"\nstart = "8s"\nend = "12s"\n', workload=workload)
    means: dict[bool, list[float]] = {True: [], False: []}
    for interval in simulated.intervals:
        hog = sum(cell.all.ios for cell in interval.cells if cell.form["cells"][0]["stream"] == 1)
        steady = [cell for cell in interval.cells if cell.form["cells"][0]["stream"] == 0]
        is_hogged = 8.5 <= interval.start_ns / NS_PER_S < 11.5
        is_quiet = interval.start_ns / NS_PER_S < 7.5 or interval.start_ns / NS_PER_S >= 13
        assert (hog > 0) or not is_hogged
        assert (hog == 0) or not is_quiet
        mean = steady[0].all.response.mean_ns if steady else None
        if mean is not None and (is_hogged or is_quiet):
            means[is_hogged].append(mean)
    hogged, quiet = (sum(means[key]) / len(means[key]) for key in (True, False))
    assert hogged > 2 * quiet


def test_a_failed_drive_slows_its_group() -> None:
    whole = _simulated(workload=_reads(16))
    degraded = _simulated('[[at]]\ntime = "1 ms"\ndrive_fails = { group = "g", index = 0 }\n', workload=_reads(16))
    assert degraded.measured.all.ios < 0.97 * whole.measured.all.ios


def test_a_run_goes_on_when_nobody_takes_its_intervals_any_more() -> None:
    """The core keeps few of them: without that a large array fills the memory with what waits to be read."""
    whole = fitted(plan_of(read_design(SMALL, "small.toml"), _reads(), duration="1s"))
    plan = replace(whole, interval_ns=NS_PER_S // 100)
    assert json.loads(plan.start(0).finish())["result"]["total"]["duration_ns"] == NS_PER_S
    begun = plan.start(0)
    assert begun.next(60.0) is not None
    del begun  # waits for its thread


def test_an_end_by_ios_is_kept_about() -> None:
    simulated = _simulated(duration=None, ios=20_000)
    assert simulated.outcome.result["ending"]["completed"] == 20_000


_TWO_SERVERS = """\
name = "two servers"
group = [{ name = "g", drive = "even", count = 32, layout = "raid0" }]
volume = [{ name = "v", group = "g", size = "900 GiB" }]
controller = [{ name = "A", servers = 2, cost_per_op = "1 ms" }]
host = [{ name = "h", volumes = [{ volume = "v" }] }]

[drives.even]
kind = "curve"
size = "1 TiB"
reads = [{ qd = 1, iops = 1000 }]
writes = [{ qd = 1, iops = 1000 }]
cv = 0
block = "4 KiB"
rate = "100 GB/s"
"""


def test_a_level_that_counts_for_nothing_in_the_figures_is_no_doubt() -> None:
    made = read_design(_TWO_SERVERS, "two.toml", None)
    simulated = simulate(plan_of(made, Workload("reads", _reads(64).streams), duration="60s"), started_ns=0)
    assert simulated.judgement.estimates["iops"].value == pytest.approx(2000, rel=0.01)
    assert simulated.judgement.doubts == ()


_UNLIKE = Workload("unlike", (*_reads(16, "fast").streams, Stream(Mix((AccessSpec(8192),)), Open(10.0), name="slow")))


def test_an_end_by_ios_is_one_of_all_streams_together() -> None:
    by_time = _simulated(workload=_UNLIKE)
    rate = by_time.judgement.estimates["iops"].value
    by_ios = _simulated(workload=_UNLIKE, duration=None, ios=round(30 * rate))
    assert by_ios.judgement.estimates["iops"].value == pytest.approx(rate, rel=0.05)
    assert by_ios.judgement.to_ns == pytest.approx(30 * NS_PER_S, rel=0.05)
    assert {cell["stream"] for cell in by_ios.measured.form["cells"]} == {0, 1}
    assert f"until the {round(30 * rate):,} I/Os that were asked for were made" in by_ios.judgement.ended
    ending = by_ios.outcome.result["ending"]
    assert ending["completed"] - ending["drained"] == round(30 * rate)


def test_unlike_streams_that_cannot_make_so_many_end_with_the_duration_or_their_own_end() -> None:
    schedule = "".join(f'[[stream]]\nname = "{name}"\nend = "2s"\n' for name in ("fast", "slow"))
    ended = _simulated(schedule, workload=_UNLIKE, duration=None, ios=10**6)
    assert "until its streams had ended" in ended.judgement.ended
    asked = _simulated(workload=_UNLIKE, duration="2s", ios=10**6)
    assert asked.judgement.to_ns == 2 * NS_PER_S
    assert asked.judgement.ended == "It ran for the 2.00 s that were asked for."


def test_a_run_of_no_whole_minutes_is_told_as_long_as_it_was() -> None:
    asked = _simulated(duration="150s")
    assert asked.judgement.ended == "It ran for the 2 min 30 s that were asked for."


def test_a_stream_that_the_workload_lacks_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^s.toml:2: stream\[0\].name: .* found 'hog'"):
        _simulated('[[stream]]\nname = "hog"\nstart = "8s"\n')


def test_tables_are_equal_for_equal_seeds() -> None:
    first, second = (_simulated(seed=9).tables() for _ in range(2))
    for name, table in first.items():
        counters = {"series", "timelines"}  # CPU time of the simulation itself is among the counters
        if name not in counters:
            assert table.equals(second[name]), name


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({"ios": "5X"}, "a number of I/Os for ios .or text like '5M'., a whole number from 1 to .*, found '5X'"),
        ({"ios": 0}, "whole number from 1 .*, found 0"),
        ({"ios": 1.5}, "found 1.5"),
        ({"seed": "x"}, "a seed, a whole number, found 'x'"),
        ({"seed": 1.0}, "a seed, a whole number, found 1.0"),
        ({"seed": True}, "a seed, a whole number, found True"),
        ({"seed": np.float64(1)}, "a seed, a whole number, found "),
        ({"seed": np.array([1, 2])}, "a seed, a whole number, found array"),
        ({"ios": np.int64(0)}, "whole number from 1 .*, found "),
        ({"started_ns": "now"}, "ns since 1970 for started_ns, .*, found 'now'"),
        ({"started_ns": -1}, "started_ns, a whole number from 0 .*, found -1"),
        ({"workload": None}, "a workload: a name, .*, found None"),
        ({"workload": {"*": 3}}, "a workload: a name, .*, found 3"),
        ({"design": None}, "a design: a file, its text or a Design, found None"),
        (
            {"design": read_design(SMALL, "small.toml"), "schedule": "s.toml"},
            "a schedule with the file or text of a design",
        ),
    ],
)
def test_wrong_arguments_are_told_in_the_words_of_the_caller(wrong: dict[str, Any], expected: str) -> None:
    asked: dict[str, Any] = {"design": SMALL, "workload": _reads(), **wrong}
    if "ios" not in wrong:
        asked["duration"] = "1s"
    with pytest.raises(UsageError, match=expected):
        storscope.simulate(**asked)


def test_whole_numbers_of_numpy_are_taken_as_pythons(tmp_path: Path) -> None:
    own = storscope.simulate(SMALL, _reads(), ios=300, seed=3, started_ns=_STARTED_NS)
    of_numpy = {"ios": np.int32(300), "seed": np.uint64(3), "started_ns": np.int64(_STARTED_NS)}
    assert storscope.simulate(SMALL, _reads(), **of_numpy) == own  # type: ignore[arg-type]
    (each,) = storscope.simulate_each([SMALL], _reads(), **of_numpy)  # type: ignore[arg-type]
    assert each.tables() == own
    (tmp_path / "t.csv").write_text("time_s,volume,op,offset_bytes,length_bytes\n0,esx1/data,R,0,4096\n")
    asked = {"outstanding": 2, "speed_up": 2.0, "started_ns": _STARTED_NS}
    given = {"outstanding": np.int16(2), "speed_up": np.float32(2), "started_ns": np.int64(_STARTED_NS)}
    one, other = (storscope.simulate_trace(SMALL, tmp_path / "t.csv", **kind) for kind in (asked, given))  # type: ignore[arg-type]
    assert one == other


def test_a_speed_up_is_a_number(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("time_s,volume,op,offset_bytes,length_bytes\n0,esx1/data,R,0,4096\n")
    for wrong in ("2", None, True):
        with pytest.raises(UsageError, match=f"a number for speed_up, found {wrong!r}"):
            storscope.simulate_trace(SMALL, tmp_path / "t.csv", speed_up=wrong)  # type: ignore[arg-type]


def test_several_designs_are_a_list() -> None:
    with pytest.raises(UsageError, match="a list of designs"):
        storscope.simulate_each(SMALL, _reads(), duration="1s")


def test_a_closed_loop_of_a_trace_is_a_whole_number(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("time_s,volume,op,offset_bytes,length_bytes\n0,esx1/data,R,0,4096\n")
    with pytest.raises(UsageError, match="outstanding, a whole number from 1 to 65,536, found 0"):
        storscope.simulate_trace(SMALL, tmp_path / "t.csv", outstanding=0)


@pytest.mark.parametrize(("drive", "tier"), [("sata-ssd", "flash"), ("7200-sata", "disk"), ("own", None)])
def test_what_the_drives_are_is_kept_for_the_rules(drive: str, tier: str | None, tmp_path: Path) -> None:
    rates = "[{ qd = 1, iops = 90 }]"
    own = f'[drives.own]\nkind = "curve"\nsize = "1 TB"\nreads = {rates}\nwrites = {rates}\n'
    own += 'cv = 1\nblock = "4 KiB"\nrate = "90 MB/s"\n'
    design = SMALL.replace('"7200-sata"', f'"{drive}"') + (own if drive == "own" else "")
    store = Store.open(tmp_path / "store", create=True)
    store_simulation(store, simulate(plan_of(design, "oltp", duration="2s")))
    found = Case(store).tier(EntityRef("small", "vdisk", "data"))
    if tier is None:
        assert found.is_assumed
    else:
        assert (found.name, found.known_from) == (tier, "a fact in the evidence")


def test_a_region_that_a_volume_does_not_have_is_refused_with_its_name() -> None:
    stream = Stream(Mix((AccessSpec(8192),)), Closed(1), name="far", region=Region(start_bytes=10**12), targets=(1,))
    with pytest.raises(ConfigError) as refused:
        simulate(plan_of(SMALL, Workload("w", (stream,)), duration="1s"))
    assert str(refused.value).startswith(
        "workload: streams[0].region: expected room for transfers of 8,192 bytes, found"
    )
    assert "esx1/log" in str(refused.value)
    assert "plan" not in str(refused.value)
