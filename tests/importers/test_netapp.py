"""NetApp's statistics: differences of cumulative counters by the array's own clock, of ONTAP and of E-Series arrays."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storscope.cli.main import run
from storscope.domain.entity import EntityRef
from storscope.domain.errors import MalformedInput
from storscope.domain.recorder import Recorder
from storscope.domain.units import NS_PER_S
from storscope.sources.evidence import Evidence
from storscope.sources.importers import recognise
from storscope.sources.importers._polls import Polls
from storscope.sources.importers.eseries_statistics import IMPORTER as ESERIES
from storscope.sources.importers.ontap_rest import IMPORTER as ONTAP
from tests.support.golden import check_golden
from tests.support.mutants import mutants
from tests.support.tables import Tables, read_tables, read_text

VOLUMES = Path(__file__).parent / "ontap_rest" / "volumes.json"
ANSWERS = Path(__file__).parent / "eseries_statistics" / "answers.json"
BOTH = [(ONTAP, VOLUMES), (ESERIES, ANSWERS)]
ARRAY = "eseries-5fb4bdf7"


def observations(tables: Tables, entity: str) -> list[dict[str, Any]]:
    return [row for row in tables.rows("observations") if row["entity"] == entity]


def record(name: str = "v1", place: str = "storage/volumes", **statistics: object) -> dict[str, Any]:
    return {"name": name, "svm": {"name": "s"}, "_links": {"self": {"href": f"/api/{place}/1"}},
            "statistics": {"timestamp": "2026-11-01T08:00:00Z", "status": "ok"} | statistics}  # fmt: skip


def raw(second: int, reads: float, us: float = 0.0, **more: object) -> dict[str, Any]:
    """Statistics of an object that only reads, so many seconds after eight."""
    return {"timestamp": f"2026-11-01T08:{second // 60:02}:{second % 60:02}Z", "iops_raw": {"read": reads},
            "latency_raw": {"read": us}, "throughput_raw": {"read": 4096 * reads}} | more  # fmt: skip


def answer(*records: dict[str, Any], **more: object) -> str:
    return json.dumps({"records": list(records), "num_records": len(records)} | more) + "\n"


@pytest.mark.parametrize(("importer", "sample"), BOTH)
def test_every_sample_is_recognised_and_yields_the_expected_tables(importer: Any, sample: Path) -> None:
    assert recognise(Evidence(sample).head) is importer
    check_golden(read_tables(importer, sample), sample.with_suffix(".expected.jsonl"))


# ONTAP ----------------------------------------------------------------------------------------------------------------


def test_rates_and_latencies_of_a_volume_are_differences_of_its_counters() -> None:
    first, second, third = observations(read_tables(ONTAP, VOLUMES), "osc:osc_iscsi_vol01")
    for row in (first, second):
        assert row["duration_ns"] == 30 * NS_PER_S
        assert (row["read_ops_per_s"], row["write_ops_per_s"]) == (300.0, 10.0)
        assert (row["read_bytes_per_s"], row["write_bytes_per_s"]) == (300 * 8192.0, 10 * 4096.0)
        assert (row["read_latency_ns_mean"], row["write_latency_ns_mean"]) == (500_000.0, 900_000.0)
    assert third["read_ops_per_s"] == 0.0
    assert third["read_latency_ns_mean"] is None, "nothing was read"


def test_a_partial_answer_is_left_out_and_a_reset_is_no_rate() -> None:
    tables = read_tables(ONTAP, VOLUMES)
    before, over = observations(tables, "osc:osc_vol01")
    assert (before["duration_ns"], over["duration_ns"]) == (30 * NS_PER_S, 60 * NS_PER_S)
    assert (before["read_ops_per_s"], over["read_ops_per_s"]) == (100.0, 50.0), "3,000 reads each"
    first, last = observations(tables, "osc:RahulTest")
    assert (first["read_ops_per_s"], last["read_ops_per_s"]) == (200.0, 1.0)
    assert last["read_latency_ns_mean"] == 250_000.0
    assert tables.notes.omitted["intervals with a counter reset"] == 1
    assert tables.notes.omitted['statistics of a status that is not "ok": sums of a part of the array'] == 1


def test_a_volume_lives_on_its_aggregates() -> None:
    links = read_tables(ONTAP, VOLUMES).links()
    assert ("vdisk", "osc:RahulTest", "lives_on", "disk_group", "test1") in links
    assert ("vdisk", "osc:RahulTest", "lives_on", "disk_group", "umeng_aff300_aggr2") in links


@pytest.mark.parametrize("has_links", [True, False])
def test_luns_stand_for_their_volume_and_nodes_tell_their_processors(has_links: bool, tmp_path: Path) -> None:
    def poll(second: int, reads: int) -> str:
        records = (
            record("/vol/v1/l1", "storage/luns", **raw(second, reads)),
            record("v1", **raw(second, reads)) | {"aggregates": []},
            record("v2", **raw(second, 2 * reads)) | {"aggregates": []},
            record("a1", "storage/aggregates", **raw(second, reads))
            | {"svm": None, "node": {"name": "n1"}, "block_storage": {"primary": {"disk_class": "solid_state"}}},
            record("n1", "cluster/nodes", timestamp=raw(second, 0)["timestamp"], processor_utilization_raw=25 * second,
                   processor_utilization_base=100 * second) | {"svm": None},
            record("q", "storage/qtrees", **raw(second, reads)),
        )  # fmt: skip
        return answer(*(one if has_links else one | {"_links": None} for one in records))

    tables = read_text(ONTAP, poll(10, 100) + poll(20, 200), tmp_path)
    found = {(row["kind"], row["entity"]): row for row in tables.rows("observations")}
    assert set(found) == {("vdisk", "s:/vol/v1/l1"), ("vdisk", "s:v2"), ("disk_group", "a1"), ("controller", "n1")}
    assert found["vdisk", "s:/vol/v1/l1"]["read_ops_per_s"] == 10.0
    assert found["controller", "n1"]["cpu_busy_ratio"] == 0.25
    assert ("vdisk", "s:/vol/v1/l1", "lives_on", "vdisk", "s:v1") in tables.links()
    assert ("disk_group", "a1", "owned_by", "controller", "n1") in tables.links()
    assert [(row["entity"], row["name"], row["value"]) for row in tables.rows("facts")] == [("a1", "media", "ssd")]
    assert tables.notes.omitted["intervals of volumes whose LUNs were polled, too"] == 1


def test_an_answer_that_goes_on_is_told(tmp_path: Path) -> None:
    more = {"_links": {"next": {"href": "/api/storage/volumes?start.uuid=1"}}}
    tables = read_text(ONTAP, answer(record(**raw(0, 1)), **more) + answer(record(**raw(9, 2)), **more), tmp_path)
    assert any("goes on" in said for said in tables.notes.warnings)


def test_one_poll_alone_is_refused_with_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.json").write_text(answer(record(**raw(0, 1))))
    assert run(["import", str(tmp_path / "p.json"), "--store", str(tmp_path / "s")]) == 2
    assert "rates need two polls" in capsys.readouterr().err


def test_records_without_statistics_are_refused_with_what_to_ask(tmp_path: Path) -> None:
    with pytest.raises(MalformedInput, match="list of records"):
        read_text(ONTAP, '{"records": 3, "iops_raw": 1}\n', tmp_path)


@pytest.mark.parametrize("command", ["import", "diagnose"])
def test_polls_in_a_file_each_are_one_capture_in_the_order_of_their_times(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder := tmp_path / "polls").mkdir()
    for number in range(12):
        (folder / f"poll-{number}.json").write_text(answer(record(**raw(30 * number, 300 * number, 60_000 * number))))
    assert run([command, str(folder), "--store", str(tmp_path / "s")]) == 0
    query = "SELECT count(*) n, min(read_ops_per_s) least, max(read_ops_per_s) most FROM observations"
    capsys.readouterr()
    assert run(["store", "query", query, "--store", str(tmp_path / "s"), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"n": 11, "least": 10.0, "most": 10.0}]


# E-Series -------------------------------------------------------------------------------------------------------------


def test_rates_of_volumes_drives_pools_and_controllers_are_differences() -> None:
    tables = read_tables(ESERIES, ANSWERS)
    drive = observations(tables, "S492NA0M401823")[0]
    assert (drive["system"], drive["kind"], drive["duration_ns"]) == (ARRAY, "disk", 60 * NS_PER_S)
    assert (drive["read_ops_per_s"], drive["write_ops_per_s"]) == (10.0, 2.0)
    assert (drive["read_bytes_per_s"], drive["write_bytes_per_s"]) == (81_920.0, 8_192.0)
    assert drive["read_latency_ns_mean"] == pytest.approx(400_000.0)
    assert observations(tables, "nvme")[0]["read_hit_ratio"] == 0.25
    a = observations(tables, "A")[0]
    assert (a["kind"], a["read_ops_per_s"]) == ("controller", 20.0)
    assert a["cpu_busy_ratio"] == pytest.approx((0.3 + 0.6 + 0.9) / 3)


def test_the_captured_answer_tells_microseconds_and_a_per_cent_each_second() -> None:
    """Why the importer takes them so: an NVMe drive reads 128 KiB, and nothing is busier than its maximum."""
    captured = json.loads(ANSWERS.read_text().splitlines()[0])
    drive = next(one for one in captured["diskStats"] if one["volGroupName"] == "nvme")
    assert drive["readBytes"] / drive["readOps"] == pytest.approx(131_072, rel=0.01)
    assert 100 < drive["readTimeTotal"] / drive["readOps"] < drive["readTimeMax"] < 1_000
    for one in captured["controllerStats"]:
        seconds = (int(one["observedTimeInMS"]) - int(one["lastResetTimeInMS"])) / 1_000
        for part in one["cpuUtilizationStats"]:
            assert part["sumCpuUtilization"] / seconds <= 1.05 * part["maxCpuUtilization"]
            assert part["sumCpuUtilization"] ** 2 / seconds <= 1.01 * part["ssqCpuUtilization"], "Cauchy and Schwarz"


def test_an_interval_with_a_reset_is_no_rate_of_that_volume_alone() -> None:
    tables = read_tables(ESERIES, ANSWERS)
    assert sorted(len(observations(tables, name)) for name in ("6", "vmware-hdd4")) == [1, 2]
    assert tables.notes.omitted["intervals with a counter reset"] == 1


def test_a_processor_is_busy_for_no_more_than_all_the_time_which_is_counted(tmp_path: Path) -> None:
    def poll(second: int) -> str:
        one = {"controllerId": "070000000000000000000002", "observedTime": f"2026-11-01T08:00:{second:02}.000+00:00",
               "observedTimeInMS": "1", "cpuUtilizationStats": [{"sumCpuUtilization": 101 * second}]}  # fmt: skip
        return json.dumps({"controllerStats": [one]}) + "\n"

    tables = read_text(ESERIES, poll(10) + poll(40), tmp_path)
    assert [(row["entity"], row["cpu_busy_ratio"]) for row in tables.rows("observations")] == [("B", 1.0)]
    assert tables.notes.omitted["busy shares of processors above 1 cut to 1"] == 1


def test_volumes_are_served_by_controllers_and_drives_are_in_the_pool_that_they_name() -> None:
    links = read_tables(ESERIES, ANSWERS).links()
    assert ("vdisk", "vmware-hdd4", "owned_by", "controller", "A") in links
    assert ("vdisk", "vmware-hdd4", "lives_on", "disk_group", "hdd") in links
    assert ("disk", "S492NA0M401823", "member_of", "disk_group", "nvme") in links


def test_objects_without_a_time_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MalformedInput, match="objects in volumeStats"):
        read_text(ESERIES, '{"volumeStats": [{"volumeId": "1", "observedTimeInMS": "x"}]}\n', tmp_path)


# Both -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("importer", "sample"), BOTH)
def test_damage_is_an_error_or_rows_and_never_a_crash(importer: Any, sample: Path, tmp_path: Path) -> None:
    for mutant in mutants(sample, b'0123456789{}[]":,.-eE\n', count=60):
        try:
            tables = read_text(importer, mutant, tmp_path)
        except MalformedInput:
            continue
        for row in tables.rows("observations"):
            assert row["duration_ns"] > 0
            assert all(row[f"{kind}_ops_per_s"] is None or row[f"{kind}_ops_per_s"] >= 0 for kind in ("read", "write"))


@given(
    steps=st.lists(st.tuples(st.integers(1, 10**6), st.integers(0, 10**9)), min_size=2, max_size=30),
    seed=st.integers(0, 99),
)
def test_what_is_told_adds_up_to_the_difference_of_the_last_and_the_first_in_whatever_order_polls_come(
    steps: list[tuple[int, int]], seed: int
) -> None:
    seen, time_ns, count = [], 10**18, 0
    for step_ms, done in steps:
        time_ns, count = time_ns + step_ms * 10**6, count + done
        seen.append((time_ns, float(count)))
    polls, thing = Polls(Recorder(lambda table, batch: None), ["ops"]), EntityRef("a", "vdisk", "v")
    for time, counter in random.Random(seed).sample(seen, len(seen)):
        polls.see(thing, time, [counter])
    (changes,) = polls.changes()
    assert changes.spans_ns.sum() == seen[-1][0] - seen[0][0]
    told = float((changes.per_s("ops") * (changes.spans_ns / NS_PER_S)).sum())
    assert told == pytest.approx(seen[-1][1] - seen[0][1], rel=1e-9)


def test_what_a_poll_does_not_tell_stays_unknown() -> None:
    polls, thing = Polls(Recorder(lambda table, batch: None), ["ops", "us"]), EntityRef("a", "vdisk", "v")
    for second, counters in enumerate(([0.0, 0.0], [5.0, math.nan], [10.0, 80.0])):
        polls.see(thing, second * NS_PER_S, counters)
    (changes,) = polls.changes()
    assert changes.per_s("ops").tolist() == [5.0, 5.0]
    assert np.isnan(changes.per_s("us")).all()
