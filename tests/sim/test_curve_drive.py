"""A drive given as a curve, where the curve tells nothing."""

from __future__ import annotations

import pytest

from storscope.domain.access import AccessSpec, Mix
from storscope.domain.load import Closed
from storscope.domain.workload import Stream, Workload
from storscope.sim.design import read_design
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of

_DEEP = """\
name = "deep"
group = [{ name = "g", drive = "d", count = 1, layout = "raid0" }]
volume = [{ name = "v", group = "g", size = "1 GiB" }]
host = [{ name = "h", volumes = [{ volume = "v" }] }]
drives = { d = { kind = "curve", size = "10 GiB", block = "4k", cv = 0, reads = [{ qd = 4, iops = 400 }] } }
"""


@pytest.mark.parametrize(("depth", "iops"), [(1, 100.0), (2, 200.0), (4, 400.0), (8, 400.0)])
def test_below_its_first_point_it_responds_as_at_it(depth: int, iops: float) -> None:
    """One request at a time made 400 IOPS, which was measured with four."""
    workload = Workload("reads", (Stream(Mix((AccessSpec(4096),)), Closed(depth), name="s"),))
    simulated = simulate(plan_of(read_design(_DEEP, "deep.toml"), workload, duration="5s"), started_ns=0)
    assert simulated.judgement.estimates["iops"].value == pytest.approx(iops, rel=0.01)
