"""Drives with a write cache hold up writes as long as was measured: github.com/louwrentius/fio-plot.

Random 4 KiB writes over the whole of a drive and of md's RAID 10 of four (fio, direct I/O): completions per second, and
standard deviation and 99th percentile of the response in ms, by outstanding writes. No number of the array was used to
fit anything; of the single drive its rate was, and how large batches are was read off the deviations of both.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from storscope import simulate_each
from storscope.sim.design import read_design
from storscope.workbench.simulated import Simulated

_ALONE = {
    1: (123.8, 3.09, 17.2),
    2: (124.6, 4.48, 27.1),
    4: (124.0, 151.1, 434.1),
    8: (124.3, 267.3, 1837.1),
    16: (123.2, 410.5, 1904.2),
    32: (122.4, 574.9, 1937.8),
    64: (123.5, 574.6, 2197.8),
}
_ARRAY = {
    1: (290.4, 13.38, 9.66),
    2: (287.1, 37.83, 89.6),
    4: (282.6, 84.9, 280.6),
    8: (281.0, 138.7, 1011.7),
    16: (287.5, 205.5, 1011.7),
    32: (288.3, 285.5, 1028.1),
    64: (285.7, 367.2, 1368.1),
    128: (290.1, 522.6, 2113.5),
}
_FIRST_OF_ARRAY = 4
"""Below, one of four drives held up a write now and then, which the model does not: 3.5 and 7 ms for 13 and 38."""
_FIRST_WHOLE = 8
"""At four outstanding the 99th percentile lies where those held up begin, and is 3 to 4 times too high."""


def _design(drive: str, count: int, layout: str, size: str, more: str = "") -> str:
    return (
        f'name = "d"\n{more}[[group]]\nname = "g"\ndrive = "{drive}"\ncount = {count}\nlayout = "{layout}"\n'
        f'segment = "512 KiB"\n[[volume]]\nname = "v"\ngroup = "g"\nsize = "{size}"\n'
        '[[host]]\nname = "h"\nvolumes = [{ volume = "v" }]\n'
    )


def _writes(outstanding: int) -> str:
    return (
        f'[[workload]]\nname = "w"\n[[workload.stream]]\nname = "s"\noutstanding = {outstanding}\n'
        'line = [{ size = "4k", read_share = 0 }]\n'
    )


@cache
def _run(drive: str, count: int, layout: str, size: str, outstanding: int, more: str = "") -> Simulated:
    design = _design(drive, count, layout, size, more)
    (simulated,) = simulate_each([design], _writes(outstanding), duration="20m", seed=1)
    return simulated


def _spread_ms(simulated: Simulated) -> tuple[float, float]:
    """Standard deviation and 99th percentile without the first sixth, in which the caches fill."""
    count: Counter[float] = Counter()
    for interval in simulated.intervals[len(simulated.intervals) // 6 :]:
        for cell in interval.form["cells"]:
            found = cell["writes"]["response"]
            edges = zip(found["bucket_low_ns"], found["bucket_high_ns"], found["bucket_count"], strict=True)
            for low_ns, high_ns, ios in edges:
                count[(low_ns + high_ns) / 2e6] += ios
    ios = sum(count.values())
    mean = sum(ms * share for ms, share in count.items()) / ios
    variance = sum((ms - mean) ** 2 * share for ms, share in count.items()) / ios
    below = 0
    for ms in sorted(count):
        below += count[ms]
        if below >= 0.99 * ios:
            return variance**0.5, ms
    raise AssertionError


@pytest.mark.parametrize("outstanding", _ALONE)
def test_a_single_drive_holds_up_writes_as_measured(outstanding: int) -> None:
    per_s, sd_ms, p99_ms = _ALONE[outstanding]
    simulated = _run("sata-500gb", 1, "raid0", "465 GiB", outstanding)
    found_sd, found_p99 = _spread_ms(simulated)
    assert simulated.judgement.estimates["iops"].value == pytest.approx(per_s, rel=0.08)
    assert sd_ms / 1.5 < found_sd < 1.5 * sd_ms
    most = 4 if outstanding == _FIRST_OF_ARRAY else 1.7
    assert p99_ms / most < found_p99 < most * p99_ms


@pytest.mark.parametrize("outstanding", _ARRAY)
def test_four_drives_in_mirrors_hold_up_writes_as_measured(outstanding: int) -> None:
    per_s, sd_ms, p99_ms = _ARRAY[outstanding]
    simulated = _run("samsung-f1-1tb", 4, "raid10", "1861 GiB", outstanding)
    found_sd, found_p99 = _spread_ms(simulated)
    assert simulated.judgement.estimates["iops"].value == pytest.approx(per_s, rel=0.08)
    if outstanding >= _FIRST_OF_ARRAY:
        assert sd_ms / 1.5 < found_sd < 1.5 * sd_ms
    if outstanding >= _FIRST_WHOLE:
        assert p99_ms / 2 < found_p99 < 2 * p99_ms


def test_a_short_stroke_of_cached_writes_is_doubted_and_only_that() -> None:
    word = "(write_cache.order)"
    assert word in " ".join(_run("samsung-f1-1tb", 4, "raid10", "186 GiB", 8).doubts)
    assert word not in " ".join(_run("samsung-f1-1tb", 4, "raid10", "1861 GiB", 8).doubts)
    assert word not in " ".join(_run("10k-sas", 4, "raid10", "30 GiB", 8).doubts)


_OWN = """[drives.own]
kind = "mechanical"
size = "1 TB"
turns_per_min = 7200
seek = { form = "data_sheet", track_to_track = "1 ms", average = "9 ms", full_stroke = "15 ms" }
outer_rate = "100 MB/s"
inner_rate = "50 MB/s"
overhead = "0.3 ms"
write_cache = { size = "16 MiB", extents = 256, window = 24WORDS }
"""


def test_what_a_design_leaves_out_of_its_cache_is_five_eighths_from_three_waiting_on() -> None:
    left_out = _OWN.replace("WORDS", "")
    said = _OWN.replace("WORDS", ', batch = 160, batch_from = 3, order = "nearest"')
    one = _OWN.replace("WORDS", ", batch = 1")
    found = [_spread_ms(_run("own", 1, "raid0", "900 GiB", 8, more)) for more in (left_out, said, one)]
    assert found[0] == found[1]
    assert found[0][0] > 10 * found[2][0]


@pytest.mark.parametrize("words", [", batch = 257", ", batch = 0", ", batch_from = 0", ', order = "sideways"'])
def test_a_cache_that_makes_no_sense_is_refused(words: str) -> None:
    key = words.strip(", ").split(" ", maxsplit=1)[0]
    with pytest.raises(Exception, match=key if key != "order" else "nearest"):
        read_design(_design("own", 1, "raid0", "900 GiB", _OWN.replace("WORDS", words)), "design.toml")
