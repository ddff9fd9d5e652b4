"""What came through another controller is a share of what got one, also where I/Os wait at queue limits before."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from storscope.sim.design import read_design
from storscope.sim.schedule import read_schedule
from storscope.store import Store
from storscope.workbench.diagnosing import diagnose
from storscope.workbench.simulated import Simulated
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of
from storscope.workbench.simulation_store import store_simulation

_DESIGN = """\
name = "proxied"
group = [{{ name = "g", drive = "15k-sas", count = 4, layout = "raid10" }}]
volume = [{{ name = "w", group = "g", size = "200 GiB", owner = "{owner}" }}]
controller = [{{ name = "A", cost_per_op = "10 us" }}, {{ name = "B", cost_per_op = "10 us" }}]
host = [{{ name = "h", {limit} volumes = [{{ volume = "w", via = "B" {lun_limit} }}] }}]
"""
_WORKLOAD = """\
name = "burst, then little"
[[stream]]
name = "burst"
rate_per_s = 2000
max_outstanding = 32768
line = [{ size = "4k" }]
[[stream]]
name = "trickle"
rate_per_s = 5
line = [{ size = "4k" }]
"""
_BURST = '[[stream]]\nname = "burst"\nend = "10s"\n'


def _simulated(schedule: str = _BURST, *, owner: str = "A", limit: str = "", lun_limit: str = "") -> Simulated:
    design = _DESIGN.format(owner=owner, limit=limit, lun_limit=lun_limit)
    made = read_design(design, "proxied.toml", read_schedule(schedule, "s.toml"))
    return simulate(plan_of(made, _WORKLOAD, duration="20s"), started_ns=1_795_132_800_000_000_000)


@pytest.mark.parametrize(
    "limits", [{}, {"limit": "queue_limit = 4,"}, {"lun_limit": ", queue_limit = 4"}], ids=["none", "host", "lun"]
)
def test_where_all_are_proxied_the_share_is_one(limits: dict[str, str]) -> None:
    """Those that wait at a limit have come, and are proxied only later: 0.4 of the burst, and 137 of what followed."""
    simulated = _simulated(**limits)
    assert simulated.window["targets"][0]["proxied_share"] == pytest.approx(1.0, abs=0.005)
    shares = [one.proxied_share for one in simulated.phase_figures]
    assert shares == pytest.approx([1.0] * len(shares), abs=0.005)
    assert len(shares) == 2
    assert all(share is not None and share <= 1.0 for share in shares)


def test_a_share_between_is_told_in_phases_whether_or_not_i_os_wait_at_a_limit() -> None:
    """The owner changes to the controller that the host uses; 5,000 wait then, of which none is proxied any more."""
    moves = _BURST + '[[at]]\ntime = "6s"\nvolume_moves = { volume = "w", to = "B" }\n'
    for limit in ("", "queue_limit = 4,"):
        found = [one.proxied_share for one in _simulated(moves, limit=limit).phase_figures]
        assert found == pytest.approx([1.0, 0.0, 0.0], abs=0.005)


def test_a_range_of_the_share_is_within_0_and_1_and_in_order(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store", create=True)
    store_simulation(store, _simulated(limit="queue_limit = 4,"))
    (finding,) = (one for one in diagnose(store).findings if one.rule == "proxied-operations")
    found = re.search(r"95 % interval (\d+) % to (\d+) %", finding.summary)
    assert found is not None
    assert int(found[1]) <= int(found[2]) <= 100
