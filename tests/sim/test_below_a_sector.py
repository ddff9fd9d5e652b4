"""I/Os of parts of a sector are doubted, those of whole ones are not."""

from __future__ import annotations

import pytest

from storscope.domain.access import AccessSpec, Mix
from storscope.domain.load import Closed
from storscope.domain.workload import Stream, Workload
from storscope.sim.design import read_design
from storscope.workbench.below_a_sector import doubts_of_sectors
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of
from tests.sim.designs import SMALL

_NO_WHOLE_SECTORS = 3000


@pytest.mark.parametrize(
    ("line", "is_doubted"),
    [
        (AccessSpec(1), True),
        (AccessSpec(_NO_WHOLE_SECTORS), True),
        (AccessSpec(4096, align_bytes=100), True),
        (AccessSpec(512), False),
        (AccessSpec(8192, align_bytes=512), False),
        (AccessSpec(1024 + 512), False),
    ],
)
def test_only_parts_of_sectors_are_doubted(line: AccessSpec, is_doubted: bool) -> None:
    workload = Workload("w", (Stream(Mix((line,)), Closed(4), name="odd"),))
    found = doubts_of_sectors(workload)
    assert bool(found) is is_doubted
    assert all(one.startswith("Stream odd asks for parts of a sector") for one in found)


def test_a_run_is_doubted_for_it() -> None:
    workload = Workload("w", (Stream(Mix((AccessSpec(_NO_WHOLE_SECTORS),)), Closed(4), name="odd"),))
    told = simulate(plan_of(read_design(SMALL, "d.toml", None), workload, duration="2s"), started_ns=0).doubts
    assert any("parts of a sector of 512 B" in doubt for doubt in told)
