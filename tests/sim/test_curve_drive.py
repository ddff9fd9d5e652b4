"""A drive given as a curve, where the curve tells nothing."""

from __future__ import annotations

import pytest

from storscope.domain.access import AccessSpec, Mix
from storscope.domain.load import Closed
from storscope.domain.workload import Stream, Workload
from storscope.sim.design import read_design
from tests.sim.one_drive import READS, one_drive, run


@pytest.mark.parametrize(("depth", "iops"), [(1, 100.0), (2, 200.0), (4, 400.0), (8, 400.0)])
def test_below_its_first_point_it_responds_as_at_it(depth: int, iops: float) -> None:
    """One request at a time made 400 IOPS, which was measured with four."""
    workload = Workload("reads", (Stream(READS, Closed(depth), name="s"),))
    simulated = run(one_drive(qd=4, iops=400), workload, "5s")
    assert simulated.judgement.estimates["iops"].value == pytest.approx(iops, rel=0.01)


_STEEP = """\
name = "steep"
group = [{ name = "g", drive = "d", count = 1, layout = "raid0" }]
volume = [{ name = "v", group = "g", size = "1 GiB" }]
host = [{ name = "h", volumes = [{ volume = "v" }] }]

[drives.d]
kind = "curve"
size = "10 GiB"
block = "4k"
cv = 0
reads = [{ qd = 1, iops = 1000 }]
writes = [{ qd = 1, iops = 1000 }, { qd = 8, iops = 8000 }]
rate = "100 MB/s"
"""
"""Reads one at a time, and writes eight: each takes 1 ms."""
_FIND_MS, _TRANSFER_MS = 1.0, (2**20 - 4096) / 100e3
"""What a request of 1 MiB takes by the curve, and for its rest at 100 MB/s."""


@pytest.mark.parametrize(
    ("size", "read_share", "depth", "used"),
    [
        (4096, 1.0, 1, 1.0),
        (4096, 0.0, 1, 1 / 8),
        (4096, 0.0, 4, 4 / 8),
        (4096, 0.0, 16, 1.0),
        (2**20, 0.0, 1, (_FIND_MS / 8 + _TRANSFER_MS) / (_FIND_MS + _TRANSFER_MS)),
    ],
)
def test_it_is_used_by_what_it_does_side_by_side(size: int, read_share: float, depth: int, used: float) -> None:
    """Of each direction as its own points say; of a transfer nothing goes on beside it."""
    mix = Mix((AccessSpec(size, read_share=read_share),))
    simulated = run(read_design(_STEEP, "steep.toml", None), Workload("w", (Stream(mix, Closed(depth)),)), "5s")
    (drive,) = simulated.window["components"]
    assert drive["used_ratio"] == pytest.approx(used, rel=0.005)
    assert simulated.bottleneck.kind == ("drive" if used > 0.8 else "load")


@pytest.mark.parametrize(("depth", "waits_ms"), [(1, 0.0), (4, 0.0), (16, 1.0)])
def test_what_writes_wait_in_it_is_told_by_their_own_points(depth: int, waits_ms: float) -> None:
    mix = Mix((AccessSpec(4096, read_share=0.0),))
    simulated = run(read_design(_STEEP, "steep.toml", None), Workload("w", (Stream(mix, Closed(depth)),)), "5s")
    (spent,) = simulated.time_spent
    assert spent.parts_ns.get("drive_queue", 0.0) / 1e6 == pytest.approx(waits_ms, abs=0.01)
