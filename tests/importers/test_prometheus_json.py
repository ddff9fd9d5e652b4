"""Answers of Prometheus say what /proc/diskstats said at the times of the scrapes."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest

from storscope.cli.main import run
from storscope.domain import diskstats
from storscope.domain.errors import MalformedInput
from storscope.domain.units import NS_PER_S, ns_from_datetime
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importers import recognise
from storscope.sources.importers.prometheus_json import IMPORTER
from tests.support.golden import check_golden
from tests.support.mutants import mutants
from tests.support.tables import Tables, read_tables, read_text

SAMPLES = Path(__file__).parent / "prometheus_json"
CAPTURED = SAMPLES / "prometheus_2.42.json"
THE_SAME = SAMPLES / "the_same_diskstats.txt"
FIELDS = ("reads_completed_total", "read_bytes_total", "writes_completed_total", "written_bytes_total")


def of_disk(tables: Tables, name: str = "sda") -> list[dict[str, Any]]:
    return [row for row in tables.rows("observations") if row["entity"] == name]


def counters(host: str, reads: list[tuple[float, int]], field: str = FIELDS[0], **labels: str) -> dict[str, Any]:
    """One result: a counter of a host's disk at some times."""
    metric = {"__name__": f"node_disk_{field}", "device": "sda", "instance": f"{host}:9100", "job": "node"}
    return {"metric": metric | labels, "values": [[time, str(value)] for time, value in reads]}


def host_of(host: str, reads: list[tuple[float, int]]) -> list[dict[str, Any]]:
    """A disk that only reads, 4 KiB each."""
    scaled = {FIELDS[0]: 1, FIELDS[1]: 4096}
    return [counters(host, [(time, count * scaled.get(field, 0)) for time, count in reads], field) for field in FIELDS]


def answer(*results: dict[str, Any], **more: object) -> str:
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": list(results)}} | more)


def test_the_capture_is_recognised_and_yields_the_expected_tables() -> None:
    assert recognise(Evidence(CAPTURED).head) is IMPORTER
    check_golden(read_tables(IMPORTER, CAPTURED), CAPTURED.with_suffix(".expected.jsonl"))


def kernel_reads() -> list[tuple[int, int]]:
    """When the kernel's counters were read, and how many reads the disk had done."""
    found: list[tuple[int, int]] = []
    time_ns = 0
    for line in THE_SAME.read_text().splitlines():
        if disk := diskstats.parse(line):
            found.append((time_ns, disk["vda"]["rio"]))
        else:
            seconds, _, fraction = line.rstrip("Z").partition(".")
            time_ns = ns_from_datetime(dt.datetime.fromisoformat(f"{seconds}+00:00")) + int(fraction)
    return found


def test_an_interval_has_what_the_kernel_counted_within_and_around_it() -> None:
    truth, checked = kernel_reads(), 0
    for row in of_disk(read_tables(IMPORTER, CAPTURED), "vda"):
        begin = ns_from_datetime(row["time"])
        end = begin + row["duration_ns"]
        if begin < truth[0][0] or end > truth[-1][0]:
            continue
        within = [count for time, count in truth if begin <= time <= end]
        earlier = max(count for time, count in truth if time <= begin)
        later = min(count for time, count in truth if time >= end)
        told = row["read_ops_per_s"] * row["duration_ns"] / NS_PER_S
        assert within[-1] - within[0] - 0.5 <= told <= later - earlier + 0.5
        checked += 1
    assert checked >= 8


def test_hosts_are_told_apart_and_called_by_their_names(tmp_path: Path) -> None:
    name = {"metric": {"__name__": "node_uname_info", "nodename": "db1", "instance": "10.0.0.1:9100"},
            "values": [[time, "1"] for time in (1795000000.1, 1795000015.1)]}  # fmt: skip
    first = host_of("10.0.0.1", [(1795000000.1, 0), (1795000015.1, 150)])
    second = host_of("10.0.0.2", [(1795000003.2, 0), (1795000018.2, 300)])
    tables = read_text(IMPORTER, answer(*second, name, *first), tmp_path)
    found = {row["system"]: (row["read_ops_per_s"], row["read_bytes_per_s"]) for row in of_disk(tables)}
    assert found == {"db1": (10.0, 40_960.0), "10.0.0.2": (20.0, 81_920.0)}


def test_a_restart_of_the_host_is_a_reset_and_a_scrape_that_failed_a_longer_interval(tmp_path: Path) -> None:
    reads = [(1795000000.0, 5000), (1795000015.0, 5150), (1795000030.0, 30), (1795000060.0, 330)]
    tables = read_text(IMPORTER, answer(*host_of("h", reads)), tmp_path)
    assert [(row["duration_ns"] / NS_PER_S, row["read_ops_per_s"]) for row in of_disk(tables)] == [(15, 10), (30, 10)]
    assert tables.notes.omitted["intervals with a counter reset"] == 1


def test_answers_one_after_the_other_are_one_history(tmp_path: Path) -> None:
    later = answer(*host_of("h", [(1795000015.0, 150), (1795000030.0, 300)]))
    earlier = answer(*host_of("h", [(1795000000.0, 0), (1795000015.0, 150)]))
    tables = read_text(IMPORTER, f"{later}\n{earlier}\n", tmp_path)
    assert [row["read_ops_per_s"] for row in of_disk(tables)] == [10.0, 10.0]
    assert not tables.notes.omitted, "the sample that both have counts once"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (answer({"metric": {"device": "sda"}, "values": [[1795000000, "3.5"]]}), "without a name"),
        (answer(), "no result"),
        (answer({"metric": {"__name__": "node_load1", "device": "x"}, "values": [[1795000000, "1"]]}), "other metrics"),
        ('{"status":"error","errorType":"bad_data","error":"parse error"}', "parse error"),
    ],
)  # fmt: skip
def test_what_has_no_counters_is_refused_with_what_to_ask(text: str, words: str, tmp_path: Path) -> None:
    assert recognise(Head("answer", text.encode(), "utf-8")) is IMPORTER
    with pytest.raises(MalformedInput, match=words) as error:
        read_text(IMPORTER, text, tmp_path)
    assert "node_disk_.*" in error.value.message()


def test_an_error_of_something_else_is_none_of_prometheus() -> None:
    text = '{"errorMessage": "Task timed out", "errorType": "Sandbox.Timedout"}'
    assert recognise(Head("answer", text.encode(), "utf-8")) is None


def test_one_scrape_alone_is_refused_by_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "one.json").write_text(answer(*host_of("h", [(1795000000.0, 1)])))
    assert run(["import", str(tmp_path / "one.json"), "--store", str(tmp_path / "s")]) == 2
    assert "rates need two" in capsys.readouterr().err


def test_damage_is_an_error_or_rows_and_never_a_crash(tmp_path: Path) -> None:
    for mutant in mutants(CAPTURED, b'0123456789{}[]":,.-eE\n', count=80):
        try:
            tables = read_text(IMPORTER, mutant, tmp_path)
        except MalformedInput:
            continue
        assert all(row["duration_ns"] > 0 for row in tables.rows("observations"))
