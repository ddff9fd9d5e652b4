"""What holds for every importer, whichever it is."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from storscope.domain.errors import InputError
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer
from storscope.sources.importers import importers, recognise
from tests.support.tables import Tables, read_tables, read_text

FOLDER = Path(__file__).parent
EXAMPLES = FOLDER.parent.parent / "examples"
NOT_SAMPLES = {".md", ".jsonl", ".py", ".toml", ".iostat"}

ALL = list(importers().values())
MUTANTS_PER_SAMPLE = 12
MAX_FUZZED_BYTES = 60_000


def samples_of(importer: Importer) -> list[Path]:
    """The files that have an expected table beside them."""
    files = [path for path in sorted((FOLDER / importer.name).glob("*")) if path.suffix not in NOT_SAMPLES]
    return [path for path in files if _expected(path).exists()]


def _expected(path: Path) -> Path:
    whole = path.with_name(f"{path.name}.expected.jsonl")
    return whole if whole.exists() else path.with_suffix(".expected.jsonl")


EVERY_SAMPLE = [(importer, path) for importer in ALL for path in samples_of(importer)]


def sample_ids(value: object) -> str | None:
    return value.name if isinstance(value, Path | Importer) else None


@pytest.mark.parametrize("importer", ALL, ids=lambda importer: importer.name)
def test_an_importer_has_evidence_and_describes_itself(importer: Importer) -> None:
    folder = FOLDER / importer.name
    assert samples_of(importer) or "examples" in (folder / "PROVENANCE.md").read_text(), "no samples"
    assert (folder / "PROVENANCE.md").exists()
    assert list(folder.glob("*.expected.jsonl")), "no expected tables"
    assert importer.carries
    for words in (importer.title, importer.supports, importer.how_to_capture):
        assert words.strip()


@pytest.mark.parametrize(("importer", "path"), EVERY_SAMPLE, ids=sample_ids)
def test_a_sample_is_recognised_as_its_own_format(importer: Importer, path: Path) -> None:
    head = Evidence(path).head
    assert recognise(head) is importer
    claims = {other.name: other.recognise(head) for other in ALL if other is not importer}
    rivals = [name for name, sure in claims.items() if sure >= importer.recognise(head)]
    assert not rivals


@pytest.mark.parametrize(("importer", "path"), EVERY_SAMPLE, ids=sample_ids)
def test_what_is_stored_is_finite_and_placed(importer: Importer, path: Path) -> None:
    tables = read_tables(importer, path)
    for row in tables.rows("observations"):
        assert row["system"], row
        assert row["duration_ns"] is None or row["duration_ns"] >= 0
        numbers = [value for value in row.values() if isinstance(value, float)]
        assert numbers
        assert all(math.isfinite(value) for value in numbers)
    for row in tables.rows("observations"):
        if row["read_ops_per_s"] == 0:
            assert row["read_latency_ns_mean"] is None, "nothing was read, so nothing was timed"
        if row["write_ops_per_s"] == 0:
            assert row["write_latency_ns_mean"] is None
    assert tables.notes.system is not None or not tables.rows("observations")


@pytest.mark.parametrize(("importer", "path"), EVERY_SAMPLE, ids=sample_ids)
def test_a_damaged_sample_is_read_or_refused_but_never_crashes(importer: Importer, path: Path, tmp_path: Path) -> None:
    chance = random.Random(path.name)
    content = path.read_bytes()[:MAX_FUZZED_BYTES]
    for number in range(MUTANTS_PER_SAMPLE):
        mutant = _mutated(content, chance)
        try:
            tables = read_text(importer, mutant, tmp_path)
        except InputError as error:
            assert error.where, f"mutant {number}: the error does not say where"
        else:
            _assert_no_infinite(tables)


def _mutated(content: bytes, chance: random.Random) -> bytes:
    kind = chance.randrange(5)
    at = chance.randrange(len(content))
    if kind == 0:
        return content[:at]
    if kind == 1:
        flipped = bytearray(content)
        for _ in range(20):
            flipped[chance.randrange(len(flipped))] = chance.randrange(256)
        return bytes(flipped)
    lines = content.splitlines(keepends=True)
    if kind == 2:
        chance.shuffle(lines)
    elif kind == 3:
        lines = [line for line in lines if chance.random() > 0.2]
    else:
        lines.insert(chance.randrange(len(lines) + 1), b"\xff\xfe\x00 1e999 -1 NaN , ; : { [ \" '\n")
    return b"".join(lines)


def _assert_no_infinite(tables: Tables) -> None:
    for row in tables.rows("observations"):
        assert all(math.isfinite(value) for value in row.values() if isinstance(value, float))


@settings(max_examples=150)
@given(raw=st.binary(max_size=2000))
def test_recognition_never_raises(raw: bytes) -> None:
    head = Head("noise", raw, "utf-8")
    for importer in ALL:
        assert 0 <= importer.recognise(head) <= 1


@settings(max_examples=150)
@given(words=st.text(max_size=500))
@example(words="(PDH-")
@example(words=r"Value of (?P<name>\S+) is (?P<value>.*)")
def test_prose_is_no_capture(words: str) -> None:
    assert recognise(Head("letter", words.encode(), "utf-8")) is None


_BY_LINES = {
    "node_exporter",
    "msa_statistics",
    "nmon",
    "vmware_log",
    "esxi_config",
    "iostat_text",
    "diskstats",
    "multipath_ll",
    "evaperf_text",
    "eva_events",
}


@pytest.mark.parametrize(
    ("importer", "path"),
    [(importer, path) for name, importer in importers().items() if name in _BY_LINES for path in samples_of(importer)],
    ids=sample_ids,
)
def test_lines_that_end_with_carriage_returns_alone_are_lines(importer: Importer, path: Path, tmp_path: Path) -> None:
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r"))
    found, plain = read_tables(importer, copy), read_tables(importer, path)
    assert recognise(Evidence(copy).head) is importer
    for table in found.tables:
        assert found.rows(table) == plain.rows(table), table
