"""What is doubted of drives that are given as a curve."""

from __future__ import annotations

import pytest

import storscope

DESIGN = """\
name = "curves"
[drives.d]
kind = "curve"
size = "100 GiB"
block = "4k"
reads = [{{ qd = 1, iops = {iops} }}, {{ qd = 32, iops = {iops} }}]

[[group]]
name = "g"
drive = "d"
count = 4
layout = "{layout}"

[[volume]]
name = "v"
group = "g"
size = "{size}"

[[host]]
name = "h"
volumes = [{{ volume = "v" }}]
"""


@pytest.mark.parametrize(
    ("layout", "size", "iops", "doubt"),
    [
        ("raid0", "390 GiB", 75, None), ("raid0", "40 GiB", 75, "where a request goes: volumes use 10 %"),
        ("raid10", "190 GiB", 75, "which copy is nearer"), ("raid10", "20 GiB", 75, "where a request goes"),
        ("raid5", "290 GiB", 75, None), ("raid10", "20 GiB", 20_000, None),
    ],
)  # fmt: skip
def test_disks_as_curves_are_doubted_where_it_makes_a_difference(
    layout: str, size: str, iops: int, doubt: str | None
) -> None:
    design = DESIGN.format(layout=layout, size=size, iops=iops)
    (found,) = storscope.simulate_each([design], "random-8k-70-read", duration="20s")
    of_curves = [one for one in found.doubts if "given as a curve" in one]
    assert bool(of_curves) == (doubt is not None)
    assert doubt is None or doubt in of_curves[0]
