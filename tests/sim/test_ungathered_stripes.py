"""Sequential writes of parts of stripes, where nothing gathers them."""

from __future__ import annotations

import pytest

import storscope

DESIGN = """\
name = "parts"
[[group]]
name = "g"
drive = "7200-sata"
count = 5
layout = "raid5"
segment = "64 KiB"

[[volume]]
name = "v"
group = "g"
size = "100 GiB"

[[host]]
name = "h"
volumes = [{ volume = "v" }]
"""
CACHED = """
[[controller]]
name = "A"
cost_per_op = "20 us"
[cache.write]
size = "64 MiB"
"""
WRITES = """\
name = "writes"
[[stream]]
name = "backup"
outstanding = {outstanding}
[[stream.line]]
size = "{size}"
read_share = 0.0
random_share = {random}
"""


@pytest.mark.parametrize(
    ("size", "outstanding", "random", "design", "doubted"),
    [
        ("64 KiB", 8, 0.0, DESIGN, True), ("64 KiB", 1, 0.0, DESIGN, False), ("256 KiB", 8, 0.0, DESIGN, False),
        ("64 KiB", 8, 1.0, DESIGN, False), ("64 KiB", 8, 0.0, DESIGN + CACHED, False),
        ("64 KiB", 8, 0.0, DESIGN.replace('"100 GiB"', '"100 GiB"\nwrite_back = false') + CACHED, True),
        ("64 KiB", 8, 0.0, DESIGN.replace('"raid5"', '"raid0"'), False),
    ],
)  # fmt: skip
def test_parts_of_stripes_are_doubted_where_several_come_together_and_nothing_joins_them(
    size: str, outstanding: int, random: float, design: str, *, doubted: bool
) -> None:
    workload = WRITES.format(size=size, outstanding=outstanding, random=random)
    (found,) = storscope.simulate_each([design], workload, duration="10s")
    of_parts = [one for one in found.doubts if "part of a stripe of 256 KiB" in one]
    assert bool(of_parts) == doubted
    assert not doubted or "(backup of 64 KiB) go to g without a write cache" in of_parts[0]


@pytest.mark.parametrize(
    ("size", "start", "named"),
    [
        ("320 KiB", "0 B", "backup of 320 KiB"), ("512 KiB", "0 B", None), ("4224 KiB", "0 B", None),
        ("256 KiB", "64 KiB", "backup of 256 KiB, the first within a stripe"), ("256 KiB", "1 MiB", None),
    ],
)  # fmt: skip
def test_writes_longer_than_a_stripe_or_that_begin_within_one_leave_parts_too(
    size: str, start: str, named: str | None
) -> None:
    design = DESIGN.replace('"100 GiB"', f'"100 GiB"\nstart = "{start}"')
    (found,) = storscope.simulate_each([design], WRITES.format(size=size, outstanding=8, random=0.0), duration="10s")
    of_parts = [one for one in found.doubts if "part of a stripe of 256 KiB" in one]
    assert bool(of_parts) == (named is not None)
    assert not of_parts or f"({named}) go to g without a write cache" in of_parts[0]


def test_a_volume_behind_one_that_ends_within_a_stripe_begins_there() -> None:
    first, second = '[[volume]]\nname = "first"\ngroup = "g"\nsize = "{size}"\n', "\n[[volume]]"
    for size, doubted in (("100 MiB", False), ("100.0625 MiB", True)):
        design = DESIGN.replace(second, "\n" + first.format(size=size) + second)
        (found,) = storscope.simulate_each(
            [design], WRITES.format(size="256 KiB", outstanding=8, random=0.0), duration="5s"
        )
        assert any("the first within a stripe" in one for one in found.doubts) == doubted
