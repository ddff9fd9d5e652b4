"""What is said of a host's full queue where its volumes rest on unlike storage, or those of another host do."""

from __future__ import annotations

from pathlib import Path

from storscope.diagnose.rules.host_queue_full import RULE
from storscope.domain.access import AccessSpec, Mix
from storscope.domain.finding import Finding
from storscope.domain.load import Closed
from storscope.domain.workload import Stream, Workload
from storscope.sim.design import read_design
from storscope.store import Store
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of
from storscope.workbench.simulation_store import store_simulation
from tests.support.cases import Case, findings

_DESIGN = """\
name = "two groups"
group = [
    { name = "slow", drive = "7200-sata", count = 2, layout = "raid10", segment = "64 KiB" },
    { name = "fast", drive = "nvme-ssd", count = 4, layout = "raid10", segment = "64 KiB" },
]
volume = [
    { name = "bulk", group = "slow", size = "200 GiB" },
    { name = "db", group = "fast", size = "100 GiB" },
    { name = "log", group = "slow", size = "100 GiB" },
]
"""
_ONE_HOST = 'host = [{ name = "h1", queue_limit = 16, volumes = [{ volume = "db" }, { volume = "bulk" }] }]\n'
_TWO_HOSTS = (
    'host = [{ name = "h1", queue_limit = 4, volumes = [{ volume = "db" }] }, '
    '{ name = "h2", volumes = [{ volume = "bulk" }] }]\n'
)
_READS = Workload(
    "reads",
    tuple(
        Stream(Mix((AccessSpec(8192),)), Closed(16), name=name, targets=(number,))
        for number, name in enumerate(("db", "bulk"))
    ),
)


def _found(path: Path, hosts: str) -> Finding:
    store = Store.open(path / "store", create=True)
    plan = plan_of(read_design(_DESIGN + hosts, "array.toml"), _READS, duration="10s")
    store_simulation(store, simulate(plan, started_ns=1_795_132_800_000_000_000))
    (finding,) = findings(RULE, Case(store))
    return finding


def test_drives_that_another_host_uses_are_not_behind_a_full_queue(tmp_path: Path) -> None:
    """It was "used to the full: the drives of slow", which that host never meets: with 16 places it does four times
    as much."""
    finding = _found(tmp_path, _TWO_HOSTS)
    assert "Nothing behind it is used to the full" in finding.summary
    assert "slow" not in finding.summary
    assert "raise the limit" in finding.remedy


def test_a_volume_that_waits_for_places_of_another_one_is_not_said_to_gain_nothing(tmp_path: Path) -> None:
    """ "A deeper queue would only move the waiting" holds of one volume: with 32 places the other does 33 times as
    much, and 25 times with 4 for the slow one."""
    finding = _found(tmp_path, _ONE_HOST)
    told = "used to the full: the drives of slow, which bulk is on; db rests on something else and waits for the same"
    assert told in finding.summary
    assert "only move the waiting" not in finding.summary
    assert "fewer places than the whole queue" in finding.remedy


def test_where_all_that_passes_the_queue_meets_full_drives_a_deeper_one_moves_the_waiting(tmp_path: Path) -> None:
    finding = _found(tmp_path, _ONE_HOST.replace('"db"', '"log"'))
    assert "used to the full: the drives of slow, so a deeper queue would only move the waiting" in finding.summary
