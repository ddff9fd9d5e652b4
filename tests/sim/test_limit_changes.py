"""Limits of rates that change during a run: phases, words, what is stored, and what diagnosis says."""

from __future__ import annotations

from pathlib import Path

import pytest

from storscope.bench.workloads.toml_form import read_toml
from storscope.domain.units import NS_PER_S
from storscope.sim.design import read_design
from storscope.sim.rate_limits import allowed_over_time, rate_limits
from storscope.store import Store
from storscope.workbench.diagnosing import diagnose
from storscope.workbench.simulated import Simulated
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of
from storscope.workbench.simulation_store import store_simulation

DESIGN = """\
name = "neighbours"
[[group]]
name = "g"
drive = "10k-sas"
count = 8
layout = "raid10"

[[volume]]
name = "victim"
group = "g"
size = "300 GiB"
[[volume]]
name = "hog"
group = "g"
size = "300 GiB"

[[host]]
name = "h"
volumes = [{ volume = "victim" }, { volume = "hog" }]

[[at]]
time = "1m"
limits_change = { volume = "hog", limit = { iops = 100 } }
"""
LOADS = """\
name = "both"
[[stream]]
name = "victim"
targets = [0]
rate_per_s = 100
[[stream.line]]
size = "8k"
[[stream]]
name = "hog"
targets = [1]
outstanding = 64
[[stream.line]]
size = "8k"
"""


def _simulated(design: str = DESIGN, loads: str = LOADS) -> Simulated:
    made, workloads = read_design(design, "d.toml"), read_toml(loads, "w.toml").workloads
    return simulate(plan_of(made, workloads[0], duration="2m"), started_ns=1_795_132_800_000_000_000)


def test_a_hog_that_is_limited_lets_its_neighbour_go() -> None:
    found = _simulated()
    (change,) = found.happenings
    assert change.words == "the limit of volume hog is 100 IOPS from now on, no limit before"
    before, after = found.phase_figures
    assert before.phase.to_ns == after.phase.from_ns == 60 * NS_PER_S
    assert "8 drives of g" in before.bounds.words
    assert "rate limit of volume hog (100 IOPS)" in after.bounds.words
    assert after.rate_per_s == pytest.approx(200, rel=0.03)
    # All of the run is told by both.
    (limit,) = [one for one in found.window["components"] if one["kind"] == "rate_limit"]
    assert limit["allowed"] == "no limit until 60 s, then 100 IOPS"


def test_each_phase_is_told_by_the_limit_that_was_in_force() -> None:
    limited = DESIGN.replace('name = "hog"\ngroup = "g"', 'name = "hog"\ngroup = "g"\nlimit = { iops = 50 }')
    found = _simulated(limited)
    assert found.happenings[0].words == "the limit of volume hog is 100 IOPS from now on, 50.0 IOPS before"
    before, after = (one.bounds.words for one in found.phase_figures)
    assert "(50.0 IOPS)" in before
    assert "(100 IOPS)" in after


def test_a_change_between_two_minutes_is_told_by_the_second() -> None:
    change: dict[str, object] = {"kind": "limit_changed", "no_effect": None, "limit": "volume hog", "from": None}
    change["time_ns"] = 150 * NS_PER_S
    limit = {"name": "volume hog", "allows": None}
    assert allowed_over_time([change], limit, 0, 300 * NS_PER_S) == "no limit until 2 min 30 s, then no limit"


def test_the_names_of_limits_that_come_later_are_known() -> None:
    assert rate_limits(read_design(DESIGN, "d.toml").form) == {"volume hog": ["hog"]}


def test_a_limit_that_was_so_already_and_one_after_the_end_are_told() -> None:
    same = '\n[[at]]\ntime = "90s"\nlimits_change = { volume = "hog", limit = { iops = 100 } }\n'
    later = '\n[[at]]\ntime = "1h"\nlimits_change = { host = "h" }\n'
    _, again, never = _simulated(DESIGN + same + later).happenings
    assert again.sentence == "the limits of volume hog change: nothing happened, since they were so already"
    assert never.sentence == "the limits of host h change: nothing happened, since the run ended at 2 min"


def test_a_cloud_volume_can_be_changed_to_another_kind() -> None:
    found = _simulated(DESIGN.replace("{ iops = 100 }", '{ preset = "ebs-gp3", iops = 6000 }'))
    assert found.happenings[0].words.startswith("the limit of volume hog is 6,000 IOPS, 131 MB/s from now on")


def test_what_was_allowed_is_stored_with_its_times(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store", create=True)
    store_simulation(store, _simulated())
    told = store.query("SELECT value FROM facts WHERE name = 'allowed'").to_pylist()
    assert [one["value"] for one in told] == ["no limit until 60 s, then 100 IOPS"]


def test_a_rate_that_fell_since_its_limit_was_changed_is_not_taken_for_spent_credits(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store", create=True)
    store_simulation(store, _simulated())
    verdict = diagnose(store)
    assert not [one for one in verdict.findings if one.rule == "burst-credits-spent"]
    said = [one.statement for one in verdict.healthy if one.rule == "burst-credits-spent"]
    (why,) = [one for one in said if "Credits are not why the rate of volume hog fell" in one]
    assert "the limit of volume hog is 100 IOPS from now on, no limit before, the log says" in why


def test_credits_of_a_limit_that_came_later_are_judged_by_its_own_time() -> None:
    burst = '{ iops = 100, burst_iops = 200, burst_for = "3m" }'
    (doubt,) = [one for one in _simulated(DESIGN.replace("{ iops = 100 }", burst)).doubts if "credits" in one]
    # 200 a second since the change, for one of three minutes.
    assert "200 IOPS were let through" in doubt
    assert "lasts 120 s" in doubt
