"""Whatever a file holds: a clear message, exit code 2, no traceback, nothing half-written."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from storscope.sources import expand
from storscope.store import Store

JSON = Path(__file__).parent.parent / "importers" / "iostat_json" / "sysstat_12.6_debian12.json"


def storscope(*arguments: str | Path, stdin: bytes = b"") -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "storscope", *map(str, arguments)],
        input=stdin, capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    )


def assert_refused(done: subprocess.CompletedProcess[str], store: Path, *words: str) -> None:
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stdout + done.stderr
    if store.exists():
        assert Store.open(store).captures() == []
        assert not [path for path in store.iterdir() if path.name != "storscope-store.json"]


HOSTILE = {
    "binary": (os.urandom(200_000), "binary"),
    "zeros": (b"\0" * 100_000, "binary"),
    "empty": (b"", "is empty"),
    "blank": (b"\n" * 1000, "no importer recognises"),
    "prose": (b"Dear storage team,\nour disks are slow.\n", "no importer recognises"),
    "one_brace": (b"{" * 100_000, "no importer recognises"),
    "cut_json": (JSON.read_bytes()[:700], "iostat"),
    "cut_gzip": (gzip.compress(JSON.read_bytes())[:-40], "a complete archive"),
    "fake_zip": (b"PK\x03\x04" + os.urandom(3000), "a complete archive"),
    "fake_zstd": (b"\x28\xb5\x2f\xfd" + os.urandom(3000), "a complete archive"),
    "shift_jis": ("性能が劣化しました。\n".encode("shift_jis") * 50, "no importer recognises"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_content_is_refused(tmp_path: Path, name: str) -> None:
    content, word = HOSTILE[name]
    file = tmp_path / "capture"
    file.write_bytes(content)
    assert_refused(storscope("import", file, "--store", tmp_path / "store"), tmp_path / "store", word)


def test_a_damaged_archive_takes_nothing_else_with_it(tmp_path: Path) -> None:
    folder = tmp_path / "b\udcfcro"  # of no UTF-8
    folder.mkdir()
    (folder / "a.gz").write_bytes(gzip.compress(JSON.read_bytes())[:-40])
    (folder / "b.json").write_bytes(JSON.read_bytes())
    done = storscope("import", folder, "--store", tmp_path / "store")
    assert done.returncode == 2
    assert "1 read, 0 known, 0 skipped, 1 FAILED" in done.stdout
    assert "b\N{LATIN SMALL LETTER U WITH DIAERESIS}ro/a.gz: expected a complete archive" in done.stdout + done.stderr
    assert len(Store.open(tmp_path / "store").captures()) == 1


def test_a_capture_that_yields_no_row_is_refused_and_not_known_afterwards(tmp_path: Path) -> None:
    file, store = tmp_path / "esxtop.csv", tmp_path / "store"
    counter = "\\\\h\\Physical Disk SCSI Device(naa.1)\\Reads/sec"
    file.write_text(f'"(PDH-CSV 4.0) (UTC)(0)","{counter}"\n' + '"13/13/2026 10:00:00","1"\n' * 3)
    for _ in range(2):
        assert_refused(storscope("import", file, "--store", store), store, "found none", "3 left out", "13/13/2026")


def test_a_known_capture_that_was_read_with_other_options_says_so(tmp_path: Path) -> None:
    def imported(*options: str) -> str:
        return storscope("import", JSON, "--store", tmp_path / "store", *options).stdout

    assert "1 read" in imported()
    assert "other options" not in imported()
    assert "other options; --replace reads it anew" in imported("--keep-first")
    assert "1 read" in imported("--keep-first", "--replace")
    assert "other options" not in imported("--keep-first")


def test_a_hundred_megabytes_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "line"
    file.write_bytes(b"vda 1.0 " * (100 * 1024**2 // 8))
    assert_refused(storscope("import", file, "--store", tmp_path / "store"), tmp_path / "store")
    forced = storscope("import", file, "--store", tmp_path / "store", "--as", "iostat_text")
    assert_refused(forced, tmp_path / "store", "lines of at most 16 MiB", "line 1 is longer")


def test_a_zip_bomb_is_stopped_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("esxtop.csv", b"0" * (400 * 1024**2))
    assert bomb.stat().st_size < 1024**2
    assert_refused(storscope("import", bomb, "--store", tmp_path / "store"), tmp_path / "store", "at most")


def test_nested_archives_end_somewhere(tmp_path: Path) -> None:
    content = JSON.read_bytes()
    for _ in range(expand.MAX_DEPTH + 1):
        content = gzip.compress(content)
    file = tmp_path / "deep.gz"
    file.write_bytes(content)
    assert_refused(storscope("import", file, "--store", tmp_path / "store"), tmp_path / "store", "nested at most")


def test_an_archive_cannot_write_outside(tmp_path: Path) -> None:
    file = tmp_path / "slip.tar"
    with tarfile.open(file, "w") as archive:
        member = tarfile.TarInfo("../../escaped.json")
        member.size = JSON.stat().st_size
        archive.addfile(member, io.BytesIO(JSON.read_bytes()))
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    done = storscope("import", file, "--store", tmp_path / "store")
    assert done.returncode == 0, done.stderr
    assert not (tmp_path.parent / "escaped.json").exists()
    assert "is no regular file inside an archive" in done.stdout
    assert "root:" not in done.stdout


def test_a_good_file_beside_a_bad_one_is_kept_and_the_exit_code_says_so(tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_bytes(JSON.read_bytes()[:700])
    done = storscope("import", JSON, bad, "--store", tmp_path / "store")
    assert done.returncode == 2
    assert "1 read" in done.stdout
    assert "FAILED" in done.stderr
    assert len(Store.open(tmp_path / "store").captures()) == 1


def test_a_failure_names_its_file_once(tmp_path: Path) -> None:
    """Errors of a line begin with the file's name, too."""
    bad = tmp_path / "bad.csv"
    bad.write_text("# hostname;interval;timestamp;DEV;tps[...];IFACE;rxpck/s[...]\n")
    done = storscope("import", bad, "--store", tmp_path / "store")
    assert f"FAILED   {bad}: line 1: expected" in done.stderr
    assert done.stderr.count("bad.csv") == 1


def test_control_characters_of_a_capture_do_not_reach_the_terminal(tmp_path: Path) -> None:
    file = tmp_path / "evil.json"
    file.write_bytes(JSON.read_bytes().replace(b'"vda"', b'"\\u001b[2Jvda<script>alert(1)</script>"'))
    done = storscope("import", file, "--store", tmp_path / "store")
    assert done.returncode == 0, done.stderr
    shown = storscope("store", "query", "SELECT DISTINCT entity FROM observations", "--store", tmp_path / "store")
    assert "<script>" in shown.stdout, "data is kept as it is"
    assert "\x1b" not in shown.stdout


_MARK = "\x1b]0;owned\x07\u202e\x9b2J"
"""The terminal's title, letters from right to left, a clear screen in one byte."""
_METRICS = "time,volume,metric,unit,value\n" + "".join(
    f"2026-11-20 10:0{minute}:00,d{_MARK}b,{metric},,1200\n"
    for minute in range(5)
    for metric in ("Read IOPS", f"Reads{_MARK}")
)
_DESIGN = """name = "N@"
[[group]]
name = "g@"
drive = "10k-sas"
count = 4
layout = "raid5"
[[controller]]
name = "c@"
[[volume]]
name = "v@"
group = "g@"
size = "1 GiB"
[[host]]
name = "h@"
volumes = [{ volume = "v@" }]
[[background]]
name = "b@"
kind = "scrub"
group = "g@"
"""


def assert_harmless(done: subprocess.CompletedProcess[str], code: int = 0) -> None:
    assert done.returncode == code, done.stdout + done.stderr
    odd = {letter for letter in done.stdout + done.stderr if not letter.isprintable() and letter != "\n"}
    assert not odd, done.stdout + done.stderr


def test_no_command_prints_a_control_character_of_a_capture(tmp_path: Path) -> None:
    """Notes of an import, what was left out, queries of findings: all of them have words of the file."""
    store, table = tmp_path / "store", tmp_path / f"t{_MARK}.csv"
    table.write_text(_METRICS)
    done = storscope("import", table, "--store", store)
    assert "Kept as counters that no rule reads" in done.stdout
    assert_harmless(done)
    for asked in (["store", "info"], ["diagnose", "--verbose"], ["store", "query", "FROM captures"]):
        assert_harmless(storscope(*asked, "--store", store))
    assert_harmless(storscope("diagnose", table, "--verbose"))
    (capture,) = Store.open(store).capture_ids()
    assert_harmless(storscope("store", "remove", capture, "--store", store))


def test_no_command_prints_a_control_character_of_a_design_or_an_error(tmp_path: Path) -> None:
    design = tmp_path / "design.toml"
    design.write_text(_DESIGN.replace("@", _MARK.replace("\x1b", "\\u001b").replace("\x07", "\\u0007")))
    assert_harmless(storscope("simulate", design, "--check"))
    assert_harmless(storscope("simulate", design, "--workload", "oltp", "--ios", "200", "--store", tmp_path / "kept"))
    for wrong in (tmp_path / f"absent{_MARK}.toml", tmp_path):
        assert_harmless(storscope("simulate", wrong, "--check"), code=2)
    assert_harmless(storscope("store", "info", "--store", tmp_path / f"absent{_MARK}"), code=2)
    assert_harmless(storscope("store", "remove", f"{_MARK}123", "--store", tmp_path), code=2)


def test_missing_files_and_wrong_options_are_usage_errors(tmp_path: Path) -> None:
    for arguments, word in (
        (("import", tmp_path / "absent"), "nothing of that name"),
        (("import", JSON, "--as", "nonsense"), "Known are"),
        (("import", JSON, "--timezone", "Mars/Olympus"), "Europe/Berlin"),
        (("diagnose", JSON, "--since", "yesterday"), "2026-11-20T22:00"),
        (("diagnose", JSON, "--thresholds", tmp_path / "absent.toml"), "readable TOML"),
        (("store", "info"), "store"),
        (("diagnos",), "Did you mean 'diagnose'"),
    ):
        done = storscope(*arguments, *(["--store", tmp_path / "no-store"] if arguments[0] == "store" else []))
        assert done.returncode == 2, (arguments, done.stdout, done.stderr)
        assert word in done.stderr, done.stderr
        assert "Traceback" not in done.stderr


def test_the_end_of_a_line_in_a_name_makes_no_line_of_its_own(tmp_path: Path) -> None:
    evidence = tmp_path / "evidence"
    evidence.mkdir()
    (evidence / "a\nFAILED   b.json").write_bytes(JSON.read_bytes())
    (evidence / "c\nread     d.json").touch()
    done = storscope("import", evidence, "--store", tmp_path / "store")
    assert [line.split()[0] for line in done.stdout.splitlines() if line[:1] != " "] == ["read", "skipped", "1"]
    again = storscope("import", evidence, "--store", tmp_path / "store")
    assert [line.split()[0] for line in again.stdout.splitlines() if line[:1] != " "] == ["known", "skipped", "0"]
    told = storscope("diagnose", evidence, "--verbose")
    assert not [line for line in told.stderr.splitlines() if line.startswith(("FAILED", "read"))]
