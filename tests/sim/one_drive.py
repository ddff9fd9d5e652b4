"""An array of one drive that does exactly what its curve says, and workloads on it."""

from __future__ import annotations

from storscope.domain.access import AccessSpec, Mix
from storscope.domain.workload import Workload
from storscope.sim.design import Design, read_design
from storscope.sim.schedule import read_schedule
from storscope.workbench.simulated import Simulated
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of

READS = Mix((AccessSpec(4096),))
"""Of the size that the drive was measured with."""
_DESIGN = """\
name = "one"
group = [{{ name = "g", drive = "d", count = 1, layout = "raid0" }}]
volume = [{{ name = "v", group = "g", size = "1 GiB" }}]
host = [{{ name = "h", volumes = [{{ volume = "v" }}] }}]
drives = {{ d = {{ kind = "curve", size = "10 GiB", block = "4k", cv = 0, reads = [{{ qd = {qd}, iops = {iops} }}] }} }}
"""


def one_drive(schedule: str = "", *, qd: int = 1, iops: int = 100) -> Design:
    """A drive of exactly `iops` I/Os a second with `qd` in flight."""
    read = read_schedule(schedule, "s.toml") if schedule else None
    return read_design(_DESIGN.format(qd=qd, iops=iops), "one.toml", read)


def run(design: Design, workload: Workload, duration: str | None = None) -> Simulated:
    """A workload on it; without `duration` as long as its rate steps last."""
    return simulate(plan_of(design, workload, duration=duration), started_ns=0)
