"""Hostile text for the importers of counters and configuration: no traceback, and no time without end."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from storscope.domain.errors import StorscopeError
from storscope.sources.evidence import Head
from storscope.sources.importer import Importer, ImportOptions
from storscope.sources.importers import (
    diskstats,
    eva_events,
    evaperf_csv,
    evaperf_text,
    iostat_text,
    msa_statistics,
    multipath_ll,
    nmon,
    node_exporter,
)
from tests.support.tables import read_text

SAMPLES = Path(__file__).parent
FAMILY = [
    module.IMPORTER
    for module in (
        diskstats,
        eva_events,
        evaperf_csv,
        evaperf_text,
        iostat_text,
        msa_statistics,
        multipath_ll,
        nmon,
        node_exporter,
    )
]
PIECES = (
    "|", "-", "-+", "` ", "virtual disk \\", "rebuild disk ", "Linux x (", "a) b", "1 ", "1,", '"', "Read Hit Req/s,",
    "Read  ", "8 0 sda 1 ", "dm-1 ", "(", "[size=", "2011-03-14 09:58:02 ", "Device ", "\x00", "\ufeff",
    'node_disk_io_now{device="sda"} ', 'a{b="c', "<RESPONSE>", "ZZZZ,T0001,", '{"',
)  # fmt: skip
STARTS = {
    "eva_events": "2011-03-14 09:58:02 ",
    "iostat_text": "Linux 6 (",
    "multipath_ll": "a (3600508b4000156d7) dm-1 x\n",
}


@pytest.mark.parametrize("importer", FAMILY, ids=lambda importer: importer.name)
@pytest.mark.parametrize("piece", PIECES)
def test_a_megabyte_of_one_piece_is_refused_or_read_at_once(importer: Importer, piece: str, tmp_path: Path) -> None:
    begun = time.process_time()
    mass = piece * (1_000_000 // len(piece))
    for text in (mass, STARTS.get(importer.name, "") + mass + "\n"):
        assert 0 <= importer.recognise(Head("x", text.encode()[: 256 * 1024], "utf-8")) <= 1
        try:
            read_text(importer, text, tmp_path, ImportOptions(interval_s=1))
        except StorscopeError as error:
            assert len(str(error)) < 1000
    assert time.process_time() - begun < 10


@pytest.mark.parametrize("importer", FAMILY, ids=lambda importer: importer.name)
def test_no_cut_of_any_sample_raises_anything_but_our_errors(importer: Importer, tmp_path: Path) -> None:
    for sample in sorted((SAMPLES / importer.name).glob("*.*")):
        if sample.suffix in (".jsonl", ".md"):
            continue
        raw = sample.read_bytes()
        for cut in range(0, len(raw), max(1, len(raw) // 40)):
            try:
                read_text(importer, raw[:cut] + b"\xff\xfe" * (cut % 2), tmp_path)
            except StorscopeError as error:
                assert error.expected
