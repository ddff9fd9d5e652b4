"""Numbers with units, names made harmless."""

from __future__ import annotations

import pytest

from storscope.domain.finding import Cell
from storscope.report.wording import (
    cell_words,
    column_words,
    confidence_words,
    harmless,
    kind_word,
    listed,
    time_range,
    unbroken,
)


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("latency_ns_mean", 18_500_000, "18.5 ms"),
        ("latency_ns_p99", 830.0, "830 ns"),
        ("time_ns", 1_795_132_800_000_000_000, "2026-11-20 00:00:00Z"),
        ("read_bytes_per_s", 93_100_000.0, "93.1 MB/s"),
        ("ops_per_s", 2844.2, "2,844 IOPS"),
        ("forwarded_per_s", 12.0, "12.0 /s"),
        ("size_bytes", 4096, "4 KiB"),
        ("busy_ratio", 0.98, "98 %"),
        ("share", 0.5, "50 %"),
        ("speed_mbit", 1000.0, "1,000 Mbit/s"),
        ("tx_packets", 374_175_073, "374,175,073"),
        ("p_value", 0.0000123, "1.23e-05"),
        ("tx_packets", None, "–"),
        ("link_up", True, "yes"),
        ("first_time", "2012-10-25 16:01:54.286000+00:00", "2012-10-25 16:01:54.286Z"),
        ("first_time", "2012-10-25 16:01:54+00:00", "2012-10-25 16:01:54Z"),
        ("text", "it ended at 16:01:54+00:00", "it ended at 16:01:54+00:00"),
    ],
)
def test_a_cell_carries_the_unit_of_its_column(column: str, value: Cell, words: str) -> None:
    assert cell_words(column, value) == words


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("latency_ns_mean", "latency mean"), ("ops_per_s", "ops"), ("bytes_per_s", "bytes"),
        ("tx_packets", "tx packets"),
        ("size_bytes", "size"), ("busy_ratio", "busy"), ("bytes", "bytes"),
    ],
)  # fmt: skip
def test_a_head_leaves_the_unit_to_the_cells(column: str, words: str) -> None:
    assert column_words(column) == words


def test_a_range_names_a_day_once() -> None:
    start = 1_795_132_800_000_000_000
    assert time_range(start, start + 7_800 * 10**9) == "2026-11-20 00:00:00Z to 02:10:00Z (2 h 10 min)"
    assert time_range(None, None) == "no times in it"


def test_controls_direction_marks_and_lone_surrogates_become_visible() -> None:
    assert harmless("a\x00b\u202ec\udc80d\x1b[31m") == "a\ufffdb\ufffdc\ufffdd\ufffd[31m"
    assert harmless("Übung 日本 µs\n") == "Übung 日本 µs\n"


def test_words() -> None:
    assert kind_word("vdisk", 2) == "virtual disks"
    assert kind_word("vswitch", 2) == "vSwitches"
    assert kind_word("process", 2) == "processes"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(list("abcdefgh"), 3) == "a, b and 6 more"
    assert [confidence_words(c) for c in (0.97, 0.85, 0.7, 0.5, 0.1)] == [
        "almost certain", "very likely", "likely", "plausible", "a suspicion, verify first",
    ]  # fmt: skip


def test_prose_keeps_a_number_with_its_unit_and_breaks_elsewhere() -> None:
    said = "85 % of 12 volumes took 15.0 ms or 7 d 12 h at 12.4 GB/s and 3,000 IOPS: 2 min in 40 minutes, 4 KiB"
    kept = "85_% of 12 volumes took 15.0_ms or 7_d 12_h at 12.4_GB/s and 3,000_IOPS: 2_min in 40 minutes, 4_KiB"
    assert unbroken(said) == kept.replace("_", "\u00a0")
    assert unbroken("528 µs ± < 0.1 % mean, p99 < 5 ms, a < b") == "528_µs ±_<_0.1_% mean, p99 <_5_ms, a < b".replace(
        "_", "\u00a0"
    )
