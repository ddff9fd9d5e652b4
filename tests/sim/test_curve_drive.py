"""A drive given as a curve, where the curve tells nothing."""

from __future__ import annotations

import pytest

from storscope.domain.load import Closed
from storscope.domain.workload import Stream, Workload
from tests.sim.one_drive import READS, one_drive, run


@pytest.mark.parametrize(("depth", "iops"), [(1, 100.0), (2, 200.0), (4, 400.0), (8, 400.0)])
def test_below_its_first_point_it_responds_as_at_it(depth: int, iops: float) -> None:
    """One request at a time made 400 IOPS, which was measured with four."""
    workload = Workload("reads", (Stream(READS, Closed(depth), name="s"),))
    simulated = run(one_drive(qd=4, iops=400), workload, "5s")
    assert simulated.judgement.estimates["iops"].value == pytest.approx(iops, rel=0.01)
