"""A volume behind a token bucket, as its cloud's monitoring tells of it: the limit itself is the truth."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from storscope.diagnose.case import Case
from storscope.diagnose.engine import evaluate
from storscope.diagnose.rules import rules
from storscope.diagnose.thresholds import load_thresholds
from storscope.domain.finding import Finding, Healthy, Outcome
from storscope.domain.units import KIB
from storscope.store import Store
from storscope.workbench.importing import import_paths
from tests.diagnose.limited_volume import Limits, Seen, serve, steady, wandering_load

_COUNT = 240
_STEP_S = 60.0
_START = dt.datetime(2026, 11, 20, 8, tzinfo=dt.UTC)
_VOLUME = "vol-0123456789abcdef0"


def seen(limits: Limits, high: float = 6_000) -> Seen:
    load = wandering_load(np.random.default_rng(1), _COUNT, 500, high)
    return serve(load, limits, np.random.default_rng(2), step_s=_STEP_S)


def amounts(one: Seen) -> dict[str, np.ndarray]:
    """Metric -> sums of each minute, but for the means of queue and balance."""
    found = {}
    for way, share in (("Read", one.read_share), ("Write", 1 - one.read_share)):
        found[f"Volume{way}Ops"] = np.round(one.ops_per_s * share * _STEP_S)
        found[f"Volume{way}Bytes"] = np.round(one.bytes_per_s * share * _STEP_S)
        found[f"VolumeTotal{way}Time"] = found[f"Volume{way}Ops"] * one.latency_s
    found["VolumeQueueLength"] = one.in_flight
    found["BurstBalance"] = np.round(100 * one.credits_left, 2)
    return found


def get_metric_data(one: Seen) -> str:
    """As the API answers: newest first, a label for each metric."""
    times = [(_START + dt.timedelta(seconds=_STEP_S * n)).isoformat() for n in range(_COUNT)]
    results = [
        {"Id": f"m{n}", "Label": f"{_VOLUME} {name}", "Timestamps": times[::-1], "StatusCode": "Complete",
         "Values": [float(value) for value in values[::-1]]}
        for n, (name, values) in enumerate(amounts(one).items())
    ]  # fmt: skip
    return json.dumps({"MetricDataResults": results, "Messages": []})


def found_in(folder: Path, *files: Path) -> list[Outcome]:
    store = Store.open(folder / "store", create=True)
    assert not import_paths(store, list(files)).failures
    return list(evaluate(Case(store), rules(), load_thresholds(rules())))


def of(outcomes: list[Outcome], rule: str) -> list[Finding]:
    return [one for one in outcomes if isinstance(one, Finding) and one.rule == rule]


def write(folder: Path, text: str) -> Path:
    path = folder / "evidence.json"
    path.write_text(text)
    return path


def test_the_limit_of_an_ebs_volume_is_found_in_cloudwatch_s_minutes(tmp_path: Path) -> None:
    path = write(tmp_path, get_metric_data(seen(Limits(ops_per_s=3_000))))
    outcomes = found_in(tmp_path, path)
    [cap] = of(outcomes, "throughput-cap")
    assert cap.title == f"Volume {_VOLUME} is held at 3,000 IOPS"
    assert cap.numbers["limit_ops_per_s"] == pytest.approx(3_000, rel=0.005)
    assert not of(outcomes, "impossible-values")
    assert not of(outcomes, "littles-law")
    assert not of(outcomes, "units-suspected")


def test_a_volume_that_nothing_holds_has_no_limit_in_its_minutes(tmp_path: Path) -> None:
    outcomes = found_in(tmp_path, write(tmp_path, get_metric_data(seen(Limits()))))
    assert not of(outcomes, "throughput-cap")
    assert not of(outcomes, "burst-credits-spent")
    assert not of(outcomes, "burst-credits-falling")


def spent() -> Seen:
    limits = Limits(ops_per_s=300, burst_ops_per_s=3_000, credits=5.4e6 / 2)
    load = steady(_COUNT, 4_000, 16 * KIB, most=32)
    return serve(load, limits, np.random.default_rng(2), step_s=_STEP_S)


def test_credits_that_are_spent_are_told_by_cloudwatch_s_minutes_and_shown_by_its_balance(tmp_path: Path) -> None:
    [burst] = of(found_in(tmp_path, write(tmp_path, get_metric_data(spent()))), "burst-credits-spent")
    assert burst.numbers["ops_per_s_after"] == pytest.approx(300, rel=0.02)
    assert burst.numbers["left_ratio_after"] < 0.02
    assert burst.confidence == 0.95


def test_the_same_fall_with_a_full_balance_is_none_of_credits(tmp_path: Path) -> None:
    one = dataclasses.replace(spent(), credits_left=np.ones(_COUNT))
    outcomes = found_in(tmp_path, write(tmp_path, get_metric_data(one)))
    assert not of(outcomes, "burst-credits-spent")
    assert any(
        isinstance(one, Healthy) and one.statement.startswith("Credits are not why the rate") for one in outcomes
    )


def statistics(metric: str, values: np.ndarray) -> str:
    """As get-metric-statistics prints one metric: in no order, and the volume nowhere."""
    said = "Average" if metric in ("VolumeQueueLength", "BurstBalance") else "Sum"
    points: list[dict[str, Any]] = [
        {"Timestamp": (_START + dt.timedelta(seconds=_STEP_S * n)).isoformat(), said: float(value), "Unit": "Count"}
        for n, value in enumerate(values)
    ]
    return json.dumps({"Label": metric, "Datapoints": points[::2] + points[1::2]})


def test_a_file_for_each_metric_is_one_volume_where_they_lie_in_one_folder(tmp_path: Path) -> None:
    folder = tmp_path / "volumes"
    folder.mkdir()
    for name, values in amounts(seen(Limits(ops_per_s=3_000))).items():
        (folder / f"{_VOLUME}_{name}.json").write_text(statistics(name, values))
    [cap] = of(found_in(tmp_path, folder), "throughput-cap")
    assert cap.title == f"Volume {_VOLUME} is held at 3,000 IOPS"
    store = Store.open(tmp_path / "store")
    assert [row["path"] for row in store.captures()] == [f"{folder}/{_VOLUME}_BurstBalance.json and 7 more"]
    assert import_paths(store, [folder]).known, "the same files are known"


def test_a_file_for_each_metric_is_one_volume_in_an_archive_too(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for name, values in amounts(seen(Limits(ops_per_s=3_000))).items():
            archive.writestr(f"{_VOLUME}/{name}.json", statistics(name, values))
    [cap] = of(found_in(tmp_path, tmp_path / "all.zip"), "throughput-cap")
    assert cap.title == f"Volume {_VOLUME} is held at 3,000 IOPS"


def test_one_that_is_damaged_leaves_the_others(tmp_path: Path) -> None:
    folder = tmp_path / "volumes"
    folder.mkdir()
    for name, values in amounts(seen(Limits(ops_per_s=3_000))).items():
        text = statistics(name, values)
        (folder / f"{_VOLUME}_{name}.json").write_text(text[:5_000] if name == "VolumeQueueLength" else text)
    assert of(found_in(tmp_path, folder), "throughput-cap")


def azure(one: Seen) -> str:
    """As az prints the metrics of a machine, by LUN."""
    metrics = {
        "Data Disk Read Operations/Sec": one.ops_per_s * one.read_share,
        "Data Disk Write Operations/Sec": one.ops_per_s * (1 - one.read_share),
        "Data Disk Read Bytes/sec": one.bytes_per_s * one.read_share,
        "Data Disk Write Bytes/sec": one.bytes_per_s * (1 - one.read_share),
        "Data Disk Latency": 1e3 * one.latency_s, "Data Disk Queue Depth": one.in_flight,
        "Data Disk Used Burst IO Credits Percentage": 100 * (1 - one.credits_left),
    }  # fmt: skip
    lun = {"name": {"value": "LUN"}, "value": "2"}
    machine = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines/db1/providers/x"
    value = [
        {"id": machine, "name": {"value": name}, "timeseries": [{"metadatavalues": [lun], "data": [
            {"timeStamp": (_START + dt.timedelta(seconds=_STEP_S * n)).isoformat(), "average": float(average)}
            for n, average in enumerate(values)
        ]}]}
        for name, values in metrics.items()
    ]  # fmt: skip
    return json.dumps({"interval": "PT1M", "value": value})


def test_the_limit_of_an_azure_disk_is_found_in_its_machine_s_minutes(tmp_path: Path) -> None:
    outcomes = found_in(tmp_path, write(tmp_path, azure(seen(Limits(ops_per_s=2_300)))))
    [cap] = of(outcomes, "throughput-cap")
    assert cap.title == "Device LUN 2 is held at 2,300 IOPS"
    assert not of(outcomes, "littles-law")


def test_credits_of_an_azure_disk_are_shown_by_what_is_used_of_them(tmp_path: Path) -> None:
    limits = Limits(ops_per_s=2_300, burst_ops_per_s=3_500, credits=1_800.0 * 1_200)
    one = serve(steady(_COUNT, 4_500, most=32), limits, np.random.default_rng(2), step_s=_STEP_S)
    [burst] = of(found_in(tmp_path, write(tmp_path, azure(one))), "burst-credits-spent")
    assert burst.title == "Device LUN 2 spent credits: 3,500 to 2,300 IOPS"
    assert "burst credits for operations of device LUN 2" in burst.summary
    assert burst.numbers["before_s"] == pytest.approx(1_800, abs=_STEP_S)
