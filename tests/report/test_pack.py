"""Chart data packed and unpacked; `tests/report/test_browser.py` unpacks with the page's own script."""

from __future__ import annotations

import base64
import gzip
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storscope.report.pack import Packer, island_json, rounded


def planes(packer: Packer, offset: int, count: int) -> bytes:
    raw = gzip.decompress(base64.b64decode(packer.text()))
    return np.frombuffer(raw, np.uint8)[offset : offset + 4 * count].reshape(4, count).T.tobytes()


@given(st.lists(st.floats(1e-6, 1e15), min_size=1))
def test_values_keep_four_digits(numbers: list[float]) -> None:
    exact = np.asarray(numbers)
    assert (np.abs(rounded(exact) - exact) <= 2.0**-14 * exact * 1.001).all()


def test_absent_stays_absent_and_zero_stays_zero() -> None:
    small = rounded(np.asarray([np.nan, 0.0, np.inf]))
    assert np.isnan(small[[0, 2]]).all()
    assert small[1] == 0


def test_times_come_back_to_the_millisecond() -> None:
    times = np.asarray([1_795_132_800_000_000_000, 1_795_132_820_123_000_000, 1_795_140_000_000_000_000])
    packer = Packer()
    packer.add_times(times)
    deltas = np.frombuffer(planes(packer, 0, 2), "<i4")
    assert packer.columns == [{"kind": "millis", "n": 2, "base": 1_795_132_800_000}]
    assert list(deltas) == [20_123, 7_179_877]


def test_years_apart_are_kept_to_the_second() -> None:
    packer = Packer()
    packer.add_times(np.asarray([0, 400 * 86_400 * 10**9]))
    assert packer.columns[0]["kind"] == "seconds"
    assert list(np.frombuffer(planes(packer, 0, 1), "<i4")) == [400 * 86_400]


def test_the_same_data_give_the_same_text() -> None:
    one, other = Packer(), Packer()
    for packer in (one, other):
        packer.add_values(np.linspace(0, 1, 100))
    assert one.text() == other.text()


@pytest.mark.parametrize("text", ["</script>", "<!--", "<script>", "&amp;", "\u2028", "'\"\\", "\udc80"])
def test_no_text_ends_the_data_island(text: str) -> None:
    island = island_json({"name": text})
    assert not set("<>&\u2028") & set(island)
    assert json.loads(island) == {"name": text}
