"""Figures of several streams together are doubted where one of them did another share of the I/Os."""

from __future__ import annotations

import pytest

from storscope.compare import compare_sides, parse_side
from storscope.domain.comparison import Outcome, PairResult, Settings
from storscope.store import Store
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of
from storscope.workbench.simulation_store import store_simulation
from tests.compare.evidence import only, row

_DESIGN = """
name = "{name}"
[[group]]
name = "g"
drive = "10k-sas"
count = 4
layout = "raid10"
[[volume]]
name = "db"
group = "g"
size = "100 GiB"
[[volume]]
name = "backup"
group = "g"
size = "100 GiB"
{limit}
[[host]]
name = "h"
volumes = [{{ volume = "db" }}, {{ volume = "backup" }}]
"""
_LOAD = """
targets = ["db", "backup"]
[[workload]]
name = "db and backup"
[[workload.stream]]
name = "db"
targets = [0]
rate_per_s = 150
line = [{ size = "8k" }]
[[workload.stream]]
name = "backup"
targets = [1]
outstanding = 4
line = [{ size = "256k", random_share = 0 }]
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A database beside a backup: as it is, with the backup limited, and with another seed."""
    store = Store.open(tmp_path_factory.mktemp("shares") / "store", create=True)
    limit = 'limit = { bandwidth = "10 MB/s" }'
    for number, (name, said, seed) in enumerate((("free", "", 1), ("limited", limit, 1), ("again", "", 2))):
        plan = plan_of(_DESIGN.format(name=name, limit=said), _LOAD, duration="20s", seed=seed)
        store_simulation(store, simulate(plan, started_ns=10**18 + number * 10**12))
    return store


def _pair(store: Store, after: str, beside: str = "") -> PairResult:
    sides = [(store, parse_side(f"system={name}{beside}")) for name in ("free", after)]
    return only(compare_sides(sides[0], sides[1], Settings(metrics=("latency",)), version="test"))


def test_a_hog_that_is_held_back_is_told_beside_what_became_of_the_whole(store: Store) -> None:
    pair = _pair(store, "limited")
    assert row(pair, "latency").outcome is Outcome.WORSE
    (warning,) = (said for said in pair.warnings if "of the I/Os before" in said)
    assert warning.startswith("The stream 'db' did ")
    assert "stream=NAME beside run=" in warning


def test_the_stream_that_gains_is_better_by_itself(store: Store) -> None:
    pair = _pair(store, "limited", ",stream=db")
    assert row(pair, "latency").outcome is Outcome.BETTER
    assert not any("of the I/Os before" in said for said in pair.warnings)


def test_chance_is_no_other_mix(store: Store) -> None:
    assert not any("of the I/Os before" in said for said in _pair(store, "again").warnings)
