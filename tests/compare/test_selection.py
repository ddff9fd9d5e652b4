from __future__ import annotations

from pathlib import Path

import pytest

from storscope.compare.selection import parse_side
from storscope.domain.errors import UsageError


def test_a_path_is_a_path_even_with_a_hash_in_its_name(tmp_path: Path) -> None:
    file = tmp_path / "a#run=b"
    file.touch()
    assert parse_side(str(file)).path == file
    assert parse_side(str(file)).selector.run is None


def test_part_of_a_store() -> None:
    side = parse_side("lab#run=base-*|old,since=2027-01-15T08:00,until=2027-01-15T10:00+01:00")
    assert side.path == Path("lab")
    assert side.selector.run == "base-*|old"
    assert side.selector.since == 1_800_000_000 * 10**9
    assert side.selector.until == 1_800_003_600 * 10**9


def test_a_comma_in_a_name_belongs_to_it() -> None:
    side = parse_side("run=/dev/sdx, randread, 4 KiB, iodepth 16,capture=ab")
    assert side.path is None
    assert side.selector.run == "/dev/sdx, randread, 4 KiB, iodepth 16"
    assert side.selector.capture == "ab"


def test_patterns_take_brackets_as_text() -> None:
    selector = parse_side("run=PhysicalDisk[0]*").selector
    assert selector.takes_run("x", "PhysicalDisk[0] C:")
    assert not selector.takes_run("x", "PhysicalDisk0")


def test_a_key_that_is_none_is_not_taken_for_a_missing_file() -> None:
    with pytest.raises(UsageError, match=r"expected one of run=\.\.\., .* found 'rnu=a'"):
        parse_side("rnu=a")
    with pytest.raises(UsageError, match="Did you mean 'stream'"):
        parse_side("streams=a")
    with pytest.raises(UsageError, match="expected what run= is to choose, found nothing"):
        parse_side("run=")


def test_several_names_are_joined_with_a_bar() -> None:
    selector = parse_side("run=a-*|b").selector
    assert [selector.takes_run(name, None) for name in ("a-1", "b", "b-1", "c")] == [True, True, False, False]


def test_a_capture_is_named_by_id_path_or_file() -> None:
    for text in ("1f3a", "before.csv", "results/*.csv"):
        assert parse_side(f"capture={text}").selector.takes_capture("1f3a99", "results/before.csv")
    assert not parse_side("capture=after*").selector.takes_capture("1f3a99", "results/before.csv")


def test_times_that_are_asked_for_leave_out_what_has_none() -> None:
    times = parse_side("since=2027-01-15T08:00").selector.times(None)
    start = 1_800_000_000 * 10**9
    assert times is not None
    assert times.take(start, None)
    assert not times.take(start - 1, None)
    assert not times.take(None, None)
    everything = parse_side("run=x").selector.times(None)
    assert everything is not None and everything.take(None, None)


def test_the_time_since_the_start_needs_a_start() -> None:
    selector = parse_side("run=a,since=0:02:00,until=2m30s").selector
    times = selector.times(1_000)
    assert times is not None
    assert (times.since_ns, times.until_ns) == (120 * 10**9 + 1_000, 150 * 10**9 + 1_000)
    assert selector.times(None) is None


@pytest.mark.parametrize(
    "text", ["no-such-file.csv", "lab#colour=red", "lab#run=", "since=tomorrow", "lab#run=a,,since=x"]
)
def test_what_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_side(text)


def test_a_name_may_hold_a_number_sign() -> None:
    """As fio's processes have: 'job #2'."""
    side = parse_side("run=pair #2")
    assert side.path is None
    assert side.selector.run == "pair #2"
    other = parse_side("a.store#run=pair #2")
    assert (other.path, other.selector.run) == (Path("a.store"), "pair #2")
