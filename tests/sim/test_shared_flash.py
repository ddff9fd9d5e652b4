"""Flash of a host before a volume that another host writes: it holds what was read since it was written last."""

from __future__ import annotations

import pytest

from storscope.domain.access import AccessSpec, Mix
from storscope.domain.load import Open
from storscope.domain.workload import Stream, Workload
from storscope.sim.design import read_design
from storscope.workbench.simulated import Simulated
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of

_DESIGN = """\
name = "shared"
[drives.quick]
kind = "curve"
size = "1 GiB"
block = "8 KiB"
cv = 0
reads = [{ qd = 1, iops = 10_000 }]
[[group]]
name = "g"
drive = "quick"
count = 1
layout = "raid0"
[[volume]]
name = "v"
group = "g"
size = "2 MiB"
[[host]]
name = "reader"
volumes = [{ volume = "v", flash_cache = { size = "32 MiB" } }]
[[host]]
name = "writer"
volumes = [{ volume = "v" }]
"""


def _simulated(reads_per_s: float, writes_per_s: float, duration: str = "120s") -> Simulated:
    reads = Stream(Mix((AccessSpec(8192, read_share=1.0),)), Open(reads_per_s), targets=(0,), name="reads")
    writes = Stream(Mix((AccessSpec(8192, read_share=0.0),)), Open(writes_per_s), targets=(1,), name="writes")
    plan = plan_of(read_design(_DESIGN, "shared.toml"), Workload("shared", (reads, writes)), duration=duration)
    return simulate(plan, started_ns=0)


@pytest.mark.parametrize("writes_per_s", [100.0, 500.0, 1500.0])
def test_reads_hit_what_was_read_after_it_was_written(writes_per_s: float) -> None:
    """With room for all of the volume, a block is there if the last to come to it was a read: r / (r + w) of them."""
    simulated = _simulated(500.0, writes_per_s)
    flash = simulated.window["targets"][0]["flash"]
    assert flash["hits"] / flash["reads"] == pytest.approx(500 / (500 + writes_per_s), rel=0.02)
    assert not any("still filling" in doubt for doubt in simulated.doubts)


def test_flash_that_is_outdated_seldom_is_filling_as_any_other() -> None:
    assert any("still filling" in doubt for doubt in _simulated(100.0, 1.0, "2s").doubts)
