"""Benchmark results that were cut or overwritten: they are read or refused, and never crash."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storscope.domain.errors import MalformedInput
from storscope.sources.importer import Importer
from storscope.sources.importers import (
    diskspd_text,
    diskspd_xml,
    elbencho_csv,
    fio_json,
    fio_log,
    fio_terse,
    fio_text,
    iometer_csv,
    results_table,
    vdbench,
)
from tests.support.tables import read_text

HERE = Path(__file__).parent
MODULES = (
    diskspd_text,
    diskspd_xml,
    elbencho_csv,
    fio_json,
    fio_log,
    fio_terse,
    fio_text,
    iometer_csv,
    results_table,
    vdbench,
)
IMPORTERS = [module.IMPORTER for module in MODULES]
_SUFFIXES = (".json", ".txt", ".csv", ".terse", ".xml", ".html")
JUNK = [b'"', b"}", b"{", b",", b"-1", b"9" * 30, b"null", b"[]", b"nan", b"\xff", b"\n", b"=", b":", b"th=[", b"'",
        b"e999", b"0", b"(", b"/"]  # fmt: skip


def small_samples(importer: Importer) -> list[Path]:
    paths = sorted(path for path in (HERE / importer.name).iterdir() if path.suffix in _SUFFIXES)
    return [path for path in paths if path.stat().st_size < 40_000]


def read_or_refuse(importer: Importer, raw: bytes) -> None:
    with tempfile.TemporaryDirectory() as place:
        try:
            read_text(importer, raw, Path(place))
        except MalformedInput as error:
            assert "\n" not in error.where


@pytest.mark.parametrize("importer", IMPORTERS, ids=lambda importer: importer.name)
@settings(max_examples=40)
@given(data=st.data())
def test_a_file_cut_anywhere_is_read_or_refused(importer: Importer, data: st.DataObject) -> None:
    raw = data.draw(st.sampled_from(small_samples(importer))).read_bytes()
    read_or_refuse(importer, raw[: data.draw(st.integers(0, len(raw)))])


@pytest.mark.parametrize("importer", IMPORTERS, ids=lambda importer: importer.name)
@settings(max_examples=80)
@given(data=st.data())
def test_a_file_overwritten_in_places_is_read_or_refused(importer: Importer, data: st.DataObject) -> None:
    raw = bytearray(data.draw(st.sampled_from(small_samples(importer))).read_bytes())
    places = st.tuples(st.integers(0, len(raw) - 1), st.sampled_from([0, 1, 3, 10, 200]), st.sampled_from(JUNK))
    for start, length, junk in data.draw(st.lists(places, min_size=1, max_size=12)):
        raw[start : start + length] = junk
    read_or_refuse(importer, bytes(raw))
