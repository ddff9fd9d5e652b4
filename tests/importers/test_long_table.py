"""Tables with a row for each time, thing and metric: by tables whose every number is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from storscope.domain.errors import MalformedInput
from storscope.sources.evidence import Evidence
from storscope.sources.importers import importers, recognise
from storscope.sources.importers._vmware_counters import VmwareCounter, counter_of, named_of
from storscope.sources.importers.long_table import IMPORTER
from tests.support.golden import check_golden
from tests.support.tables import Tables, read_tables, read_text

SAMPLES = Path(__file__).parent / "long_table"
FILES = sorted(SAMPLES.glob("*.csv"))
HOSTS = SAMPLES / "powercli_hosts_written.csv"
VMS = SAMPLES / "powercli_vms_written.csv"
INFLUX = SAMPLES / "influx_annotated_written.csv"
AZURE = SAMPLES / "azure_written.csv"
DEVICE = "naa.600508b4000971fa0000a00001b60000"


def of(tables: Tables, entity: str) -> list[dict[str, Any]]:
    return sorted((row for row in tables.rows("observations") if row["entity"] == entity), key=lambda row: row["time"])


def table(metric: str, unit: str, values: tuple[str, ...] = ("1", "2")) -> str:
    rows = [f"{1_795_168_800 + 30 * n},v,{metric},{unit},{value}" for n, value in enumerate(values)]
    return "\n".join(["time,volume,metric,unit,value", *rows]) + "\n"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_sample_yields_the_expected_tables(path: Path) -> None:
    check_golden(read_tables(IMPORTER, path), path.with_suffix(".expected.jsonl"))


@pytest.mark.parametrize(
    ("metric", "unit", "column", "factor"),
    [
        ("disk.numberReadAveraged.average", "number", "read_ops_per_s", 1),
        ("disk.totalReadLatency.average", "millisecond", "read_latency_ns_mean", 1e6),
        ("disk.usage.average", "KBps", "bytes_per_s", 1024),
        ("virtualDisk.write.average", "", "write_bytes_per_s", 1024),
        ("datastore.totalWriteLatency.average", "ms", "write_latency_ns_mean", 1e6),
        ("storageAdapter.outstandingIOs.average", "number", "queue_depth_mean", 1),
        ("cpu.usage.average", "%", "cpu_busy_ratio", 0.01), ("disk.maxQueueDepth.average", "number", "queue_limit", 1),
        ("disk.kernelLatency.average", "millisecond", "kernel_latency_ns_mean", 1e6),
        ("disk.deviceLatency.average", "millisecond", "device_latency_ns_mean", 1e6),
        ("disk.deviceReadLatency.average", "millisecond", None, 1), ("disk.numberRead.summation", "number", None, 1),
        ("datastore.datastoreIops.average", "number", None, 1), ("virtualDisk.readLatencyUS.latest", "us", None, 1),
        ("disk.maxTotalLatency.latest", "millisecond", None, 1),
    ],
)  # fmt: skip
def test_a_counter_of_vmware_means_what_vmware_documents(
    metric: str, unit: str, column: str | None, factor: float
) -> None:
    found = counter_of(metric, unit)
    assert isinstance(found, VmwareCounter)
    assert (found.column, found.factor) == (column, factor)


@pytest.mark.parametrize(
    ("metric", "unit", "why"),
    [
        ("disk.totalReadLatency.average", "second", "documents ms"), ("cpu.usage.average", "", "hundredths"),
        ("mem.usage.average", "%", "other groups"), ("storagePath.read.average", "KBps", "other groups"),
        ("disk.read.average", "MBps", "documents kBps"),
    ],
)  # fmt: skip
def test_a_counter_with_another_unit_or_of_another_group_is_left_out(metric: str, unit: str, why: str) -> None:
    found = counter_of(metric, unit)
    assert isinstance(found, str)
    assert why in found


@pytest.mark.parametrize(
    ("group", "entity_id", "instance", "kind"),
    [
        ("disk", "HostSystem-host-1", DEVICE, "device"), ("disk", "HostSystem-host-1", "", "host"),
        ("datastore", "HostSystem-host-1", "5f1-2a", "datastore"), ("disk", "VirtualMachine-vm-1", "", "vm"),
        ("storageAdapter", "", "vmhba2", "adapter"), ("virtualDisk", "", "scsi0:0", "vm_disk"),
        ("datastore", "Datastore-datastore-3", "", "datastore"),
        ("disk", "", DEVICE, None), ("disk", "VirtualMachine-vm-1", DEVICE, None),
        ("disk", "ClusterComputeResource-domain-c7", "", None), ("cpu", "HostSystem-host-1", "3", None),
    ],
)  # fmt: skip
def test_the_kind_of_an_entity_and_the_instance_say_what_a_value_is_of(
    group: str, entity_id: str, instance: str, kind: str | None
) -> None:
    found = named_of(VmwareCounter(group, "x"), "e", entity_id, instance)
    assert (found if isinstance(found, str) else found[-1][0]) == kind or (kind is None and isinstance(found, str))


def test_a_host_its_devices_and_adapters_are_of_one_system() -> None:
    tables = read_tables(IMPORTER, HOSTS)
    host = "esx07.example.com"
    assert {row["system"] for row in tables.rows("observations")} == {host}
    found = of(tables, DEVICE)
    assert [row["read_ops_per_s"] for row in found] == [400, 500, 600]
    assert [row["read_bytes_per_s"] for row in found] == [3200 * 1024, 4000 * 1024, 4800 * 1024]
    assert [row["read_latency_ns_mean"] for row in found] == [5e6, 7e6, None]
    assert {row["duration_ns"] for row in found} == {20 * 10**9}
    assert [row["cpu_busy_ratio"] for row in of(tables, host)] == pytest.approx([0.455, 0.5025, 0.6])
    assert ("device", DEVICE, "member_of", "host", host) in tables.links()


def test_aborted_commands_of_an_interval_become_a_rate_where_its_length_is_said(tmp_path: Path) -> None:
    text = "Timestamp,Host,Instance,MetricId,Value,IntervalSecs\n" + "".join(
        f"{1_795_168_800 + 20 * n},e,naa.1,disk.commandsAborted.summation,{n},20\n" for n in range(3)
    )
    assert [row["aborts_per_s"] for row in of(read_text(IMPORTER, text, tmp_path), "naa.1")] == [0, 0.05, 0.1]
    unsaid = read_text(IMPORTER, text.replace(",IntervalSecs", "").replace(",20\n", "\n"), tmp_path)
    assert not unsaid.rows("observations")
    assert [row["name"] for row in unsaid.rows("series")] == ["disk.commandsAborted.summation"]


def test_of_two_metrics_that_mean_the_same_the_second_is_left_out_and_told(tmp_path: Path) -> None:
    text = table("Read IOPS", "") + table("Avg Read IOPS", "", ("8", "9")).partition("\n")[2]
    tables = read_text(IMPORTER, text, tmp_path)
    assert [row["read_ops_per_s"] for row in of(tables, "v")] == [1, 2]
    assert any("'Avg Read IOPS'" in warning and "already" in warning for warning in tables.notes.warnings)


def test_what_a_host_sums_over_its_devices_is_counted_once() -> None:
    tables = read_tables(IMPORTER, HOSTS)
    assert {row["read_ops_per_s"] for row in of(tables, "esx07.example.com")} == {None}
    assert "disk.numberReadAveraged.average, all devices" in {row["name"] for row in tables.rows("series")}


def test_what_a_host_sums_stands_for_it_where_no_device_is_in_the_file(tmp_path: Path) -> None:
    lines = [line for line in HOSTS.read_text().splitlines() if DEVICE not in line and "vmhba" not in line]
    found = of(read_text(IMPORTER, "\n".join(lines) + "\n", tmp_path), "esx07.example.com")
    assert [row["read_ops_per_s"] for row in found] == [410, 510, 610]


def test_disks_of_vms_of_one_name_are_two_things_and_the_newest_row_may_be_first() -> None:
    tables = read_tables(IMPORTER, VMS)
    assert {row["entity"] for row in tables.rows("observations")} == {"web1:scsi0:0", "db1:scsi0:0"}
    assert [row["write_ops_per_s"] for row in of(tables, "db1:scsi0:0")] == [200, 201, 202]
    assert ("vm_disk", "db1:scsi0:0", "member_of", "vm", "db1") in tables.links()
    assert any("ClusterComputeResource" in warning for warning in tables.notes.warnings)


def test_without_an_entity_id_nothing_tells_a_host_from_a_vm(tmp_path: Path) -> None:
    text = "Timestamp,Entity,MetricId,Value\n" + "".join(
        f"{1_795_168_800 + 20 * n},e,disk.usage.average,5\n" for n in range(2)
    )
    tables = read_text(IMPORTER, text, tmp_path)
    assert not tables.rows("observations")
    assert any("EntityId" in warning for warning in tables.notes.warnings)
    named = read_text(IMPORTER, text.replace("Entity", "VM", 1), tmp_path)
    assert {(row["kind"], row["bytes_per_s"]) for row in named.rows("observations")} == {("vm", 5 * 1024)}


def test_tables_with_other_tags_stand_in_one_file_of_influxdb() -> None:
    tables = read_tables(IMPORTER, INFLUX)
    assert [row["read_latency_ns_mean"] for row in of(tables, "sda")] == [2.5e6, 3.5e6, 4.5e6]
    assert [row["cpu_busy_ratio"] for row in of(tables, "db1")] == pytest.approx([0.4, 0.41, 0.42])
    assert {row["name"] for row in tables.rows("series")} == {"reads"}


def test_azure_stamps_the_start_of_an_interval() -> None:
    found = of(read_tables(IMPORTER, AZURE), "vm-db1")
    assert found[0]["time"].isoformat() == "2026-11-20T10:00:00+00:00"
    assert [row["read_ops_per_s"] for row in found] == [300, 301, 302]
    assert [row["latency_ns_mean"] for row in found] == [4.5e6, 5.5e6, 6.5e6]
    assert [row["read_bytes_per_s"] for row in found] == [1e6, 1e6 + 1, 1e6 + 2]
    assert [row["queue_depth_mean"] for row in found] == [2, 3, 4]


@pytest.mark.parametrize(
    ("metric", "unit", "column", "value"),
    [
        ("Read Latency", "us", "read_latency_ns_mean", 1e3), ("Read Latency (ms)", "ms", "read_latency_ns_mean", 1e6),
        ("Read Latency (ms)", "", "read_latency_ns_mean", 1e6), ("Write IOPS", "", "write_ops_per_s", 1),
        ("Throughput", "MiB/s", "bytes_per_s", 2**20), ("Utilization", "%", "busy_ratio", 0.01),
    ],
)  # fmt: skip
def test_a_metric_means_what_its_name_and_unit_say(
    metric: str, unit: str, column: str, value: float, tmp_path: Path
) -> None:
    assert of(read_text(IMPORTER, table(metric, unit), tmp_path), "v")[0][column] == pytest.approx(value)


@pytest.mark.parametrize(
    ("metric", "unit"),
    [("Read Latency", ""), ("Read Latency (ms)", "s"), ("Read Latency", "Count"), ("Utilization", ""), ("Foo", "ms")],
)
def test_a_metric_without_a_sure_unit_stays_a_counter_and_is_told(metric: str, unit: str, tmp_path: Path) -> None:
    tables = read_text(IMPORTER, table(metric, unit), tmp_path)
    assert not tables.rows("observations")
    assert [row["name"] for row in tables.rows("series")] == [f"{metric} ({unit})" if unit else metric]
    assert any(metric in warning for warning in tables.notes.warnings)


def test_a_table_without_such_a_heading_is_refused_with_one_as_an_example(tmp_path: Path) -> None:
    with pytest.raises(MalformedInput, match="names a metric"):
        read_text(IMPORTER, "a,b\n1,2\n", tmp_path)


def test_samples_of_other_importers_are_none_of_these() -> None:
    for name in importers():
        for path in (SAMPLES.parent / name).glob("*.csv"):
            if name != IMPORTER.name:
                assert recognise(Evidence(path).head) is not IMPORTER, path
