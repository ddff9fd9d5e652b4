from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from storscope.domain.errors import MalformedInput
from storscope.sources.evidence import Evidence, Head
from storscope.sources.foreign import foreign
from storscope.sources.importers import recognise
from storscope.sources.importers.elbencho_csv import IMPORTER
from tests.support.golden import check_golden
from tests.support.tables import Tables, read_tables, read_text

PHASES = Path(__file__).parent / "elbencho_csv" / "phases_2.1_written.csv"
WRITE, READ, MIX = (f"nightly: {operation} 4 KiB random" for operation in ("WRITE", "READ", "RWMIX70"))


def observed(tables: Tables) -> dict[str, dict[str, Any]]:
    return {row["run"]: row for row in tables.rows("observations")}


def runs(tables: Tables) -> dict[str, dict[str, Any]]:
    return {row["run"]: row for row in tables.rows("runs")}


def lines() -> list[dict[str, str]]:
    heading, *rows = (line.split(",") for line in PHASES.read_text().splitlines())
    return [dict(zip(heading, row, strict=True)) for row in rows]


def test_the_sample_yields_the_expected_tables() -> None:
    check_golden(read_tables(IMPORTER, PHASES), PHASES.with_suffix(".expected.jsonl"))
    assert recognise(Evidence(PHASES).head) is IMPORTER


def test_the_figures_that_are_printed_are_reproduced() -> None:
    """They are cut to whole ones, so ours may be greater by less than one."""
    found = observed(read_tables(IMPORTER, PHASES)).values()
    for row, cells in zip(found, [cells for cells in lines() if cells["IOPS [last]"]], strict=True):
        seconds = row["duration_ns"] / 1e9
        assert seconds == int(cells["time ms [last]"]) / 1000
        for prefix, way in (("", ""), ("rwmix read ", "read_")) if "RWMIX" not in row["run"] else (
            ("", "write_"), ("rwmix read ", "read_")
        ):  # fmt: skip
            if not cells[f"{prefix}IOPS [last]"]:
                continue
            rate, size = row[f"{way}ops_per_s"], row[f"{way}bytes_per_s"] / 2**20
            assert 0 <= rate - int(cells[f"{prefix}IOPS [last]"]) < 1
            assert 0 <= size - int(cells[f"{prefix}MiB/s [last]"]) < 1
            assert 0 <= size * seconds - int(cells[f"{prefix}MiB [last]"]) < 1 + 1e-6
            assert row[f"{way}latency_ns_mean"] == 1000 * int(cells[f"{prefix}IO lat us [avg]"])


def test_rate_times_latency_is_the_configured_number_in_flight() -> None:
    tables = read_tables(IMPORTER, PHASES)
    for run, row in observed(tables).items():
        asked = runs(tables)[run]["outstanding"]
        assert row["ops_per_s"] * row["latency_ns_mean"] / 1e9 == pytest.approx(asked, rel=0.07), run


def test_outstanding_counts_hosts_threads_and_depth() -> None:
    tables = runs(read_tables(IMPORTER, PHASES))
    assert (tables[WRITE]["outstanding"], tables[WRITE]["workers"]) == (4 * 8, 4)
    assert (tables["READ 1 MiB sequential"]["outstanding"], tables["READ 1 MiB sequential"]["workers"]) == (32, 32)


def test_directions_are_those_of_the_operation() -> None:
    tables = read_tables(IMPORTER, PHASES)
    rows, found = observed(tables), runs(tables)
    assert [found[run]["read_ratio"] for run in (WRITE, READ, MIX)] == [0, 1, 0.7]
    assert (rows[WRITE]["read_ops_per_s"], rows[WRITE]["read_latency_ns_mean"]) == (0, None)
    assert rows[MIX]["read_ops_per_s"] / rows[MIX]["ops_per_s"] == pytest.approx(0.7, abs=0.001)
    assert rows[MIX]["latency_ns_mean"] == pytest.approx(0.7 * 800e3 + 0.3 * 1250e3, rel=0.001)
    assert rows[MIX]["latency_ns_max"] == 9_000_000


def test_a_slow_phase_is_told_by_its_amount() -> None:
    """5 IOPS of 4 KiB are printed as 0 MiB/s."""
    slow = observed(read_tables(IMPORTER, PHASES))["READ 4 KiB random"]
    assert (slow["ops_per_s"], slow["bytes_per_s"]) == (5, 5 * 4096)


def test_the_date_is_the_end_of_a_phase() -> None:
    first = runs(read_tables(IMPORTER, PHASES))[WRITE]
    assert first["time"] == dt.datetime(2026, 3, 1, 9, 0, 0, tzinfo=dt.UTC)


def test_phases_on_files_are_runs_with_counters_and_syncs_are_counted() -> None:
    tables = read_tables(IMPORTER, PHASES)
    series = {row["name"]: row["values"][0] for row in tables.rows("series") if row["run"] == "RMFILES"}
    assert series["entries/s [last]"] == 8000
    assert "RMFILES" not in observed(tables)
    assert tables.notes.omitted["phases that moved no data and made no entries (SYNC and the like)"] == 1


def test_a_last_line_that_was_cut_is_left_out(tmp_path: Path) -> None:
    text = PHASES.read_text()
    tables = read_text(IMPORTER, text[: text.rindex("150000")], tmp_path)
    assert len(tables.rows("runs")) == 5
    assert any("cut off" in reason for reason in tables.notes.omitted)


def test_a_heading_without_the_columns_of_results_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(MalformedInput, match="operation"):
        read_text(IMPORTER, "ISO date,label,path type,paths\n2026-03-01T10:00:00+0100,,dir,1\n", tmp_path)


def test_the_live_csv_says_what_to_import() -> None:
    live = b"Label,Phase,RuntimeMS,Rank,MixType,Done%,DoneBytes,MiB/s,IOPS\n,WRITE,5000,Total,,0,84533051392,16123\n"
    head = Head("live.csv", live, "utf-8")
    assert recognise(head) is None
    assert "--csvfile" in (foreign(head) or "")
