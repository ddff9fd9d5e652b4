from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import json
import lzma
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from unittest.mock import patch

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from storscope.cli.main import run
from storscope.cli.show_store import _print_series, print_table
from storscope.diagnose.rules import rules
from storscope.diagnose.thresholds import load_thresholds
from tests.cli.test_hostile_input import JSON, storscope

ROOT = Path(__file__).parent.parent.parent
EQUALLOGIC = ROOT / "examples" / "equallogic"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    assert run(["import", str(JSON), "--store", str(tmp_path / "store")]) == 0
    return tmp_path / "store"


def test_importing_the_same_content_twice_is_noticed(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "another name.txt"
    copy.write_bytes(JSON.read_bytes())
    assert run(["import", str(copy), "--store", str(store)]) == 0
    assert "the store has this content as capture" in capsys.readouterr().out
    assert run(["import", str(copy), "--store", str(store), "--replace"]) == 0
    assert "1 read, 0 known" in capsys.readouterr().out


def test_standard_input_is_a_capture(tmp_path: Path) -> None:
    done = storscope("import", "-", "--store", tmp_path / "store", stdin=JSON.read_bytes())
    assert done.returncode == 0, done.stderr
    assert "standard input  iostat_json" in done.stdout


@pytest.mark.parametrize("suffix", ["zip", "tar.gz", "gz", "zst", "xz", "bz2"])
def test_archives_are_opened_by_content_not_by_name(tmp_path: Path, suffix: str) -> None:
    content, packed = JSON.read_bytes(), io.BytesIO()
    if suffix == "zip":
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("folder/iostat.json", content)
    elif suffix == "tar.gz":
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            archive.add(JSON, "iostat.json")
    else:
        pack = {"gz": gzip.compress, "zst": zstandard.compress, "xz": lzma.compress, "bz2": bz2.compress}[suffix]
        packed.write(pack(content))
    file = tmp_path / "misnamed.dat"
    file.write_bytes(packed.getvalue())
    done = storscope("import", file, "--store", tmp_path / "store", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["imported"][0]["format"] == "iostat_json"


def test_query_prints_a_table_csv_and_json(store: Path, capfd: pytest.CaptureFixture[str]) -> None:
    sql = "SELECT entity, count(*) AS samples FROM observations WHERE kind = 'device' GROUP BY 1"
    assert run(["store", "query", sql, "--store", str(store)]) == 0
    assert "vda" in capfd.readouterr().out
    assert run(["store", "query", sql, "--store", str(store), "--format", "csv"]) == 0
    assert '"vda",3' in capfd.readouterr().out
    assert run(["store", "query", sql, "--store", str(store), "--format", "json"]) == 0
    assert json.loads(capfd.readouterr().out) == [{"entity": "vda", "samples": 3}]


@pytest.mark.parametrize("form", ["csv", "parquet", "json"])
def test_export_keeps_every_row(store: Path, tmp_path: Path, form: str) -> None:
    assert run(["store", "export", "--store", str(store), "--format", form, "-o", str(tmp_path / "out")]) == 0
    file = tmp_path / "out" / f"observations.{form}"
    rows = {
        "csv": lambda: len(file.read_text().splitlines()) - 1,
        "parquet": lambda: pq.read_table(file).num_rows,
        "json": lambda: len(json.loads(file.read_text())),
    }[form]()
    assert rows == 6


def test_a_verdict_as_json_keeps_its_documented_form(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["diagnose", str(EQUALLOGIC), "--json"])
    verdict = json.loads(capsys.readouterr().out)
    jsonschema.validate(verdict, json.loads((ROOT / "docs" / "verdict.schema.json").read_text()))
    assert code == 1
    assert verdict["findings"]


def test_fail_on_decides_the_exit_code() -> None:
    assert run(["diagnose", str(JSON), "--fail-on", "critical", "--json"]) == 0
    assert run(["diagnose", str(EQUALLOGIC), "--fail-on", "critical", "--json"]) == 1


def test_every_rule_and_format_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "--json"]) == 0
    for rule in json.loads(capsys.readouterr().out):
        assert run(["explain", rule["name"]]) == 0
        shown = capsys.readouterr().out
        assert "Why it matters" in shown
        assert "References" in shown
    assert run(["formats", "--json"]) == 0
    for form in json.loads(capsys.readouterr().out):
        assert form["how_to_capture"]
        assert form["carries"]


def test_the_printed_thresholds_change_nothing_when_they_are_read_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["rules", "--thresholds"]) == 0
    file = tmp_path / "thresholds.toml"
    file.write_text(capsys.readouterr().out)
    assert run(["diagnose", str(JSON), "--thresholds", str(file), "--json"]) in {0, 1}
    read_back = load_thresholds(rules(), file)
    assert read_back == load_thresholds(rules())
    assert not read_back.overridden


def test_a_page_of_a_rule_shows_its_thresholds_to_the_last_digit(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "load-at-limit"]) == 0
    shown = capsys.readouterr().out
    for name, value in rules()["load-at-limit"].defaults().items():
        assert any(float(line.partition(" = ")[2]) == value for line in shown.splitlines() if f"  {name} = " in line)


def test_a_wrong_threshold_is_named_with_a_suggestion(tmp_path: Path) -> None:
    file = tmp_path / "thresholds.toml"
    file.write_text("[iscsi-port-idle]\nshare_maxx = 0.9\n")
    done = storscope("diagnose", JSON, "--thresholds", file)
    assert done.returncode == 2
    assert "share_maxx" in done.stderr
    assert "share_max" in done.stderr


def test_help_has_examples_for_every_verb() -> None:
    for verb in ("import", "diagnose", "formats", "rules", "explain", "demo"):
        done = storscope(verb, "--help")
        assert done.returncode == 0
        assert "Example" in done.stdout, verb


def test_a_file_that_cannot_be_read_is_not_passed_over(tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_bytes(JSON.read_bytes()[:700])
    assert run(["diagnose", str(JSON), str(broken), "--fail-on", "critical"]) == 2


def test_a_range_without_evidence_is_an_error_and_names_the_range_there_is(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["diagnose", "--store", str(store), "--since", "2031-01-01"]) == 2
    assert "2026-11-21 00:48:03Z" in capsys.readouterr().err
    assert run(["diagnose", "--store", str(store), "--since", "2026-02-01", "--until", "2026-01-01"]) == 2


def test_an_import_that_yields_nothing_leaves_no_store(tmp_path: Path) -> None:
    prose = tmp_path / "letter.txt"
    prose.write_text("Dear team,\n")
    assert run(["import", str(prose), "--store", str(tmp_path / "store")]) == 2
    assert not (tmp_path / "store").exists()
    assert run(["import", str(tmp_path / "mistyped"), "--store", str(tmp_path / "store")]) == 2
    assert not (tmp_path / "store").exists()


def test_an_archive_from_standard_input_is_read_like_the_folder(tmp_path: Path) -> None:
    packed = tmp_path / "captures.tgz"
    with tarfile.open(packed, "w:gz") as archive:
        archive.add(ROOT / "examples" / "noisy_neighbour", "captures")
    named = json.loads(storscope("diagnose", packed, "--json").stdout)
    piped = json.loads(storscope("diagnose", "-", "--json", stdin=packed.read_bytes()).stdout)
    assert [finding["title"] for finding in piped["findings"]] == [finding["title"] for finding in named["findings"]]


def test_a_table_too_wide_for_the_terminal_is_shown_as_records(store: Path) -> None:
    done = storscope("store", "query", "SELECT * FROM observations WHERE entity = 'vda' LIMIT 1", "--store", store)
    assert "── row 1" in done.stdout
    assert "read_ops_per_s" in done.stdout
    assert "write_ops_per_s" in done.stdout


def test_a_search_and_its_visits_have_one_target(capsys: pytest.CaptureFixture[str]) -> None:
    absent = dict.fromkeys(("first_time", "last_time", "row_counts", "warnings"))
    _print_series("knee-1", [{"path": f"{verb} of /mnt/a/file", **absent} for verb in ("knee", "bench", "bench")])
    assert "knee-1  3 captures  knee of /mnt/a/file\n" in capsys.readouterr().out


def test_a_query_into_a_pipe_keeps_its_lines_whole(store: Path) -> None:
    sql = "SELECT repeat('x', 70) AS run, repeat('y', 70) AS words"
    command = [sys.executable, "-m", "storscope", "store", "query", sql, "--store", store]
    plain = dict(os.environ)  # given by hand: readline sets COLUMNS behind Python's back, which children would inherit
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=120, env=plain)
    assert any("x" * 70 in line and "y" * 70 in line for line in done.stdout.splitlines())


def test_a_run_that_is_copied_from_a_terminal_is_not_broken(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = pa.table({"run": ["x" * 40], "words": [" ".join(["yy"] * 30)]})
    with patch.dict(os.environ, {"COLUMNS": "80"}):
        print_table(table, 10)
    assert "x" * 40 in capsys.readouterr().out


def test_text_that_breaks_its_line_is_shown_with_all_its_other_letters(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(pa.table({"words": ["Platte fällt aus\n→ ersetzt \x1b[2J"]}), 10)
    assert "Platte fällt aus\\n→ ersetzt \\x1b[2J" in capsys.readouterr().out


def test_the_plan_of_a_question_is_drawn(store: Path) -> None:
    done = storscope("store", "query", "EXPLAIN SELECT * FROM facts", "--store", store)
    assert sum(line.startswith("│") and line.rstrip().endswith("│") for line in done.stdout.splitlines()) > 3


def test_one_table_goes_to_standard_output_and_several_do_not(store: Path) -> None:
    done = storscope("store", "export", "--store", store, "--format", "csv", "--table", "captures", "-o", "-")
    assert done.stdout.startswith('"capture"')
    assert storscope("store", "export", "--store", store, "--format", "csv", "-o", "-").returncode == 2


def test_a_damaged_capture_is_named(store: Path) -> None:
    file = next(store.glob("capture=*/observations.parquet"))
    file.write_bytes(b"PAR1 not at all")
    done = storscope("diagnose", "--store", store)
    assert done.returncode == 2
    assert str(file.parent.name) in done.stderr
    assert "storscope store remove --store" in done.stderr


def test_a_closed_pipe_is_neither_success_nor_findings(store: Path) -> None:
    command = f"{sys.executable} -m storscope rules --thresholds | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.strip() in {"141", "0"}  # 0 when all was written before the reader left
    assert "Traceback" not in done.stderr


def test_a_report_is_written_also_if_nobody_reads_the_verdict(store: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-u", "-m", "storscope", "diagnose", "--store", store, "--report", report]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False, timeout=120)
    os.close(writer)
    assert done.returncode == 141
    assert report.is_file()
    assert "Traceback" not in done.stderr


def test_a_place_for_no_report_is_told_before_the_verdict(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", "--store", str(store), "--report", "/nowhere/report.html"]) == 2
    said = capsys.readouterr()
    assert not said.out
    assert "expected a folder that exists" in said.err


def test_a_store_is_diagnosed_by_its_path_too(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["diagnose", "--store", str(store)])
    named = capsys.readouterr().out
    assert run(["diagnose", str(store)]) == code
    assert capsys.readouterr().out == named


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("name = 'x'\n[[group]]\nname = 'g'\n", "is a design, no evidence (see: storscope simulate"),
        ("name = 'x'\n[[stream]]\noutstanding = 1\n", "is a workload, no evidence (see: storscope workload show"),
        ("[global]\nruntime=10\n[job]\nrw=read\n", "is a fio job, no evidence (see: storscope workload show"),
        ("Version 1.1.0\n'TEST SETUP ====\n", "is an Iometer configuration, no evidence"),
        (
            '{\n  "format": 1,\n  "capture": "ab12",\n  "run": "bench-7f",\n  "workload": {"streams": []}\n}\n',
            "is a result that storscope printed with --json, for programs; the run itself is in the store",
        ),
        ("R Hit   7563004   4  14368.0  28778.0\n", "is a block trace, no evidence (see: storscope fit drive"),
        ("8,0 3 1 0.000001829 697 Q R 223490 + 8 [db]\n", "is a block trace, no evidence"),
        ("[[stream]]\nname = 'hog'\nstart = '2m'\n", "is a schedule, no evidence (see: storscope simulate"),
        ("[[stream]]\nname = 'hog'\n", "no importer recognises its content"),
        ("Dear team,\n[please] look at the workload\n", "no importer recognises its content"),
    ],
)
def test_what_another_command_reads_is_told_with_that_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, words: str
) -> None:
    (tmp_path / "file").write_text(content)
    assert run(["diagnose", str(tmp_path / "file")]) == 2
    assert words in capsys.readouterr().err


def test_results_of_a_benchmark_that_no_rule_judges_lead_to_compare(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "table.csv"
    table.write_text(
        "DEVICE;SIZE;MODE;BLOCKSIZE;NUMJOBS;READMB;WRITEMB;READIOS;WRITEIOS\nsdb;10G;randread;4k;1;4;0;1024;0\n"
    )
    assert run(["diagnose", str(table)]) == 2
    said = " ".join(capsys.readouterr().out.split())
    assert "1 capture, " in said
    assert "It holds 1 benchmark run:" in said
    assert "storscope compare BEFORE AFTER" in said


@pytest.mark.parametrize("encoding", ["iso8859-1", "koi8-r", "ascii"])
def test_letters_that_the_locale_lacks_are_no_error(encoding: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from storscope.cli.entry import main; main()", "bench", str(tmp_path)]
    done = subprocess.run(
        [*command, "--workload", "oltp", "--size", "1M", "--dry-run"],
        capture_output=True, check=False, env={**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"},
    )  # fmt: skip
    assert done.stderr == b""
    assert done.returncode == 0
    assert b"Nothing has been written." in done.stdout


@pytest.mark.parametrize(("value", "is_coloured"), [("1", False), ("", True)])
def test_who_wants_no_colour_gets_none(value: str, is_coloured: bool) -> None:
    """See no-color.org: the variable counts if it is set and not empty."""
    terminal, side = os.openpty()
    environment = {**os.environ, "NO_COLOR": value, "TERM": "xterm"}
    command = [sys.executable, "-m", "storscope", "explain", "heavy-hitter"]
    with subprocess.Popen(command, stdout=side, env=environment) as process:
        os.close(side)
        shown = b""
        with contextlib.suppress(OSError):  # the end of a terminal
            while read := os.read(terminal, 65536):
                shown += read
    os.close(terminal)
    assert process.returncode == 0
    assert (b"\x1b[" in shown) == is_coloured
