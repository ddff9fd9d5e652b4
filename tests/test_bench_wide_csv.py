"""The benchmark of wide CSV runs, tiny, and measures what it says: both tools read the same values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from benches import _esxtop_like, wide_csv

from storscope.store import Store
from storscope.workbench import importing

COLUMNS, ROWS = 700, 90


def test_the_benchmark_runs_and_tells_time_and_memory(capsys: pytest.CaptureFixture[str]) -> None:
    result = wide_csv.main(columns=COLUMNS, rows=20, rounds=1)
    said = capsys.readouterr().out
    assert "x as fast as Polars at the work" in said
    assert "peak memory of the whole process / file" in said
    for run in (result.storscope, result.polars):
        assert 0 < run.work_s < run.process_s
        assert 0 < run.before_bytes <= run.peak_bytes


def test_the_same_arguments_make_the_same_file(tmp_path: Path) -> None:
    sizes = [_esxtop_like.write(tmp_path / name, COLUMNS, 3) for name in ("a", "b")]
    assert sizes[0] == sizes[1]
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_store_then_holds_what_polars_reads(tmp_path: Path) -> None:
    path = tmp_path / "esxtop.csv"
    _esxtop_like.write(path, COLUMNS, ROWS)
    table = pl.read_csv(path)
    store = Store.open(tmp_path / "store", create=True)
    importing.import_paths(store, [path])
    found = store.query(
        "SELECT kind, entity, name, list(value ORDER BY time) AS values FROM counters GROUP BY ALL"
    ).to_pylist()
    # esxtop's first sample has no interval of its own and is left out.
    columns = {name.split("\\", 3)[3]: table[name].to_list()[1:] for name in table.columns[1:]}
    groups = {"device": "Physical Disk SCSI Device", "path": "Physical Disk Path", "vm": "Virtual Disk",
              "vm_disk": "Virtual Disk", "process": "Physical Disk Per-Device-Per-World"}  # fmt: skip
    compared = 0
    for row in found:
        if row["kind"] == "host":
            name = row["name"]
        elif row["kind"] in groups and "\\" not in row["name"]:
            instance = row["entity"].replace("/", "-") if row["kind"] == "process" else row["entity"]
            name = f"{groups[row['kind']]}({instance})\\{row['name']}"
        else:
            continue
        assert row["values"] == columns[name]
        compared += 1
    assert compared > 100

    reads = store.query("SELECT entity, read_bytes_per_s AS v FROM observations WHERE kind = 'device' ORDER BY time")
    by_device: dict[str, list[float]] = {}
    for row in reads.to_pylist():
        by_device.setdefault(row["entity"], []).append(row["v"])
    for device, values in by_device.items():
        expected = np.array(columns[f"Physical Disk SCSI Device({device})\\MBytes Read/sec"]) * 1024**2
        assert values == expected.tolist()
