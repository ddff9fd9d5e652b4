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
