"""storscope compare as a table for elsewhere, and what it says of units whether it read a file or a store."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from storscope.cli.main import run
from tests.compare import evidence
from tests.support.cases import make_store

ROOT = Path(__file__).parent.parent.parent
BEFORE = ROOT / "tests" / "importers" / "results_table" / "eva4400_before_published.csv"
AFTER = ROOT / "tests" / "compare" / "eva4400_after_published.csv"


def said(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    assert run(["compare", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def test_markdown_is_the_published_table(capsys: pytest.CaptureFixture[str]) -> None:
    """The rates and times are those of the field report."""
    lines = said(capsys, BEFORE, AFTER, "--format", "markdown").splitlines()
    assert "| access specification | metric | before | after | change | verdict |" in lines
    assert "| Max Throughput-100%Read | latency | 2.67 ms | 5.09 ms | +90.6 % | cannot tell |" in lines
    assert "|  | iops | 1,530 /s | 5,113 /s | +234 % | cannot tell |" in lines
    assert any(line.startswith("- Max Throughput-100%Read: Unequal concurrency") for line in lines)
    assert any(line.startswith("- RealLife-60%Rand-65%Read (before only): ") for line in lines)
    cells = [line.count("|") for line in lines if line.startswith("|")]
    assert set(cells) == {7}


def test_markdown_takes_names_as_they_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_store(tmp_path / "s", evidence.run("a|b <b>*c*</b>\x1b[31m"))
    make_store(tmp_path / "t", lambda recorder: recorder.warn("x"), evidence.run("a|b <b>*c*</b>\x1b[31m", 2000))
    text = said(capsys, tmp_path / "s", tmp_path / "t", "--format", "markdown")
    assert "| a\\|b \\<b\\>\\*c\\*\\</b\\>" in text
    assert "\x1b" not in text


def test_csv_has_a_row_a_figure_in_base_units(capsys: pytest.CaptureFixture[str]) -> None:
    rows = list(csv.DictReader(io.StringIO(said(capsys, BEFORE, AFTER, "--format", "csv"))))
    first = next(row for row in rows if row["metric"] == "latency")
    assert (first["name"], first["unit"], float(first["before"])) == ("Max Throughput-100%Read", "ns", 2.67e6)
    assert float(first["change"]) == pytest.approx(5.09 / 2.67 - 1)
    assert (first["p_value"], first["outcome"], first["predicted"]) == ("", "cannot tell", "")
    assert len(rows) == 8


def test_csv_holds_no_formulas(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_store(tmp_path / "s", evidence.run("=1+1"))
    make_store(tmp_path / "t", lambda recorder: recorder.warn("x"), evidence.run("=1+1", 2000))
    rows = list(csv.DictReader(io.StringIO(said(capsys, tmp_path / "s", tmp_path / "t", "--format", "csv"))))
    assert {row["name"] for row in rows} == {"'=1+1"}


def test_a_prediction_is_one_in_every_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_store(tmp_path / "m", evidence.run("a", 1000, engine="vdbench"))
    make_store(tmp_path / "s", evidence.run("a", 1500, engine="storscope-sim", id="simulation-1"))
    sides = (tmp_path / "m", tmp_path / "s", "--metric", "iops", "--format")
    lines = said(capsys, *sides, "markdown").splitlines()
    assert lines[0].startswith("- measured: ")
    assert "| a | iops | 1,500 /s | 1,000 /s | +50.0 % |" in lines
    (row,) = csv.DictReader(io.StringIO(said(capsys, *sides, "csv")))
    assert (row["predicted"], row["off_by"], row["outcome"]) == ("after", "0.5", "")


@pytest.mark.parametrize("is_before", [True, False])
def test_a_prediction_beside_a_run_that_failed_is_marked_in_every_form(
    is_before: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_store(tmp_path / "m", evidence.run("a", 1000, engine="vdbench", status="failed"))
    make_store(tmp_path / "s", evidence.run("a", 1500, engine="storscope-sim", id="simulation-1", status="ok"))
    names = ("m", "s") if is_before else ("s", "m")
    sides: list[str | Path] = [*(tmp_path / name for name in names), "--metric", "iops"]
    table = said(capsys, *sides)
    assert table.startswith("CANNOT TELL: the measured run failed or lost data")
    (line,) = (line for line in table.splitlines() if line.startswith("a "))
    assert line.split()[-4:] == ["+50.0", "%", "cannot", "tell"]
    lines = said(capsys, *sides, "--format", "markdown").splitlines()
    assert "| access specification | metric | predicted | measured | off by | verdict |" in lines
    assert "| a | iops | 1,500 /s | 1,000 /s | +50.0 % | cannot tell |" in lines
    (row,) = csv.DictReader(io.StringIO(said(capsys, *sides, "--format", "csv")))
    assert (row["outcome"], row["reason"]) == ("cannot tell", "the measured run failed or lost data")
    assert "| +50.0 % | cannot tell |" in said(capsys, *sides[:2], "--format", "markdown")
    in_flight = [line for line in said(capsys, *sides[:2], "--format", "markdown").splitlines() if "in_flight" in line]
    assert all(line.endswith(" (load) |") for line in in_flight), "it is not called a prediction either"
    assert in_flight
    ended = ("failed", "ok") if is_before else ("ok", "failed")
    assert (row["status_before"], row["status_after"]) == ended


def test_two_forms_at_once_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", str(BEFORE), str(AFTER), "--json", "--format", "csv"]) == 2
    assert "--json: expected it or --format csv, found both." in capsys.readouterr().err
    assert said(capsys, BEFORE, AFTER, "--format", "json") == said(capsys, BEFORE, AFTER, "--json")


def test_which_megabytes_are_meant_is_said_of_files_and_of_stores(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """337.78 is printed in the field report, of 10,809 I/Os of 32 KiB a second: 354 million bytes."""
    words = (
        "MB are 10^6 bytes here, and 2^20 in a table that was read: its 337.78 MB/s of Max Throughput-100%Read are 354"
    )
    assert words in " ".join(said(capsys, BEFORE, AFTER).split())
    for name, file in (("one", BEFORE), ("two", AFTER)):
        assert run(["import", str(file), "--store", str(tmp_path / name)]) == 0
    capsys.readouterr()
    assert words in " ".join(said(capsys, tmp_path / "one", tmp_path / "two").split())
    assert "10^6" not in said(capsys, tmp_path / "one", tmp_path / "two", "--metric", "iops")


def test_the_megabytes_of_iometer_are_said_too(capsys: pytest.CaptureFixture[str]) -> None:
    importers = ROOT / "tests" / "importers"
    sides = (importers / "fio_json" / "fio_3.33_status_interval_jsonplus.json", importers / "iometer_csv")
    text = " ".join(said(capsys, sides[0], sides[1] / "inst_1.1.0_written.csv").split())
    assert "MB are 10^6 bytes here, and 2^20 in Iometer's MBps: " in text
