"""What a page says of a simulated run."""

from __future__ import annotations

from pathlib import Path

from storscope.domain.units import format_ratio
from storscope.report.page import render
from storscope.report.simulations import simulation_views
from storscope.sim.bottleneck import used_components
from storscope.store import Store
from storscope.workbench.diagnosing import diagnose
from storscope.workbench.simulated import Simulated
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of
from storscope.workbench.simulation_store import store_simulation
from tests.report.evidence import day_of_volumes
from tests.sim.designs import SMALL
from tests.support.cases import make_store


def _kept(path: Path) -> tuple[Store, Simulated]:
    store = Store.open(path / "store", create=True)
    simulated = simulate(plan_of(SMALL, "oltp", duration="20s"), started_ns=1_795_132_800_000_000_000)
    store_simulation(store, simulated)
    return store, simulated


def test_parts_of_the_time_and_components_are_those_of_the_simulation(tmp_path: Path) -> None:
    store, simulated = _kept(tmp_path)
    (view,) = simulation_views(store)
    assert view.system == "small"
    assert {(row[0], row[1]) for row in view.parts} == {
        (f"{target['host']}/{target['volume']}", direction)
        for target in simulated.array["targets"]
        for direction in ("reads", "writes")
        if sum(part["mean_ns"] for part in target[direction]["parts"])
    }
    assert all("drive" in row[3] for row in view.parts)
    drives = [one for one in simulated.array["components"] if one["kind"] == "drive"]
    assert view.components[0][0] == f"{len(drives)} disks of g"
    assert max(drives, key=lambda one: float(one["busy_ratio"]))["name"] in view.components[0][2]
    assert "controller A" in [row[0] for row in view.components]
    facts = dict(view.facts)
    assert "95 %" in facts["Operations"]
    assert facts["Seed"] == "1"
    assert facts["What bounds it"] == simulated.bottleneck.words
    most = used_components(simulated.window["components"])[0]
    assert facts["Most used"] == f"{most.words}, {format_ratio(most.ratio)}"
    assert view.design == SMALL


def test_the_page_shows_it_and_other_pages_have_no_such_section(tmp_path: Path) -> None:
    store, _ = _kept(tmp_path)
    page = render(diagnose(store), store)
    assert "Where the time of an operation went" in page
    assert 'href="#simulation"' in page
    measured = make_store(tmp_path / "measured", day_of_volumes(4, 30, 10))
    assert 'id="simulation"' not in render(diagnose(measured), measured)
