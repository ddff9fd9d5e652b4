from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from storscope.diagnose.case import Case
from storscope.diagnose.rules._load import headed
from storscope.diagnose.rules.flush_bound import RULE
from storscope.domain.entity import EntityRef
from storscope.domain.finding import Severity
from storscope.domain.recorder import Recorder
from storscope.domain.units import KIB
from storscope.store import Store
from storscope.workbench.importing import import_paths
from tests.diagnose.days import MS, FloatArray, record
from tests.diagnose.evidence import needs, only_finding, statements
from tests.diagnose.limited_volume import Seen, iostat_json
from tests.support.cases import findings, judge, make_case

_COUNT = 60


def committed(flush_ms: float, write_ms: float = 0.2, commits: float | None = None, reads: float = 20) -> Seen:
    """A loop of write and flush, or so many a second; beside some reads."""
    per_s = commits or 1_000 / (flush_ms + write_ms)
    ops = np.random.default_rng(0).normal(1, 0.02, _COUNT) * (per_s + reads)
    latency = np.full(_COUNT, write_ms / 1_000)
    return Seen(ops, 8 * KIB * ops, np.full(_COUNT, reads / (per_s + reads)), latency, ops * latency, np.ones(_COUNT))


def case_of(folder: Path, flush_ms: float, seen: Seen, *, counted: bool = True) -> Case:
    """By way of iostat's JSON, which counts flushes in aqu-sz as well; one flush a write."""
    document = json.loads(iostat_json({"sda": seen}))
    for report in document["sysstat"]["hosts"][0]["statistics"]:
        for line in report["disk"]:
            if counted:
                line["f/s"], line["f_await"] = line["w/s"], round(flush_ms, 2)
                line["aqu-sz"] = round(line["aqu-sz"] + line["f/s"] * line["f_await"] / 1_000, 2)
            else:
                del line["f/s"], line["f_await"]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "iostat.json").write_text(json.dumps(document))
    store = Store.open(folder / "store", create=True)
    assert not import_paths(store, [folder / "iostat.json"]).failures
    return Case(store)


def test_commits_that_wait_for_the_flushes_of_a_disk_are_found(tmp_path: Path) -> None:
    finding = only_finding(judge(RULE, case_of(tmp_path, 8.3, committed(8.3))))
    assert finding.severity is Severity.WARNING
    assert finding.title == "Device sda: flushes take 98 % of the time"
    assert "took 8.30 ms, a write 200 µs" in finding.summary
    assert "at most 118 a second" in finding.summary
    assert finding.numbers["flush_busy_ratio"] == pytest.approx(8.3 / 8.5, rel=0.02)
    assert finding.entities == (EntityRef("db1", "device", "sda"),)
    assert "group commit" in finding.remedy


def test_a_name_that_ends_with_a_colon_gets_no_second_one() -> None:
    """Perfmon names the disk of two drives "1 D: E:"."""
    assert headed("Device 1 D: E:") == "Device 1 D: E:"
    assert headed("Device sda") == "Device sda:"


def test_quick_flushes_are_none_however_many(tmp_path: Path) -> None:
    """As measured on a drive that answers them at once: 5,800 a second of 0.08 ms."""
    [statement] = statements(judge(RULE, case_of(tmp_path, 0.12, committed(0.12, 0.02))))
    assert "120 µs each in the mean (device sda)" in statement
    assert statement.startswith("Flushes are not what holds up the device of ")


def test_few_flushes_take_no_time(tmp_path: Path) -> None:
    [statement] = statements(judge(RULE, case_of(tmp_path, 8.3, committed(8.3, commits=20))))
    assert "and one was under way for at most 1" in statement


def test_where_writes_are_slow_as_well_flushes_are_not_the_matter(tmp_path: Path) -> None:
    """Their healthy sentence said that they take "at most 100 % of an interval"."""
    [statement] = statements(judge(RULE, case_of(tmp_path, 8.3, committed(8.3, 5.0))))
    assert statement.endswith(
        "was under way for most of an interval, it was quick, or reads and writes waited as long."
    )
    assert "100 %" not in statement


def test_a_few_intervals_are_not_told(tmp_path: Path) -> None:
    assert findings(RULE, case_of(tmp_path, 8.3, committed(8.3)), samples_min=_COUNT + 1) == []


def test_without_flushes_in_the_evidence_it_says_what_it_needs(tmp_path: Path) -> None:
    [needed] = needs(judge(RULE, case_of(tmp_path, 8.3, committed(8.3), counted=False)))
    assert "sysstat 12" in needed


def test_a_counter_that_fits_no_interval_is_no_evidence(tmp_path: Path) -> None:
    def write(recorder: Recorder) -> None:
        flat: dict[str, FloatArray] = {"ops_per_s": np.full((1, 20), 9.0), "latency_ns_mean": np.full((1, 20), MS)}
        record(recorder, flat, ["sda"], kind="device")
        for name in ("f/s", "f_await"):
            recorder.counter(EntityRef("array", "device", "sda"), 7, 1, name, "", 100.0)

    [statement] = statements(judge(RULE, make_case(tmp_path, write)))
    assert statement == "Nothing flushed 1 device of array."
