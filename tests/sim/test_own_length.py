"""A simulation that nobody gave a length takes the workload at its word, as a measurement does."""

from __future__ import annotations

import pytest

from storscope.bench.workloads.load import read_definition
from storscope.domain.units import NS_PER_S
from storscope.sim.design import read_design
from storscope.sim.schedule import read_schedule
from storscope.workbench.own_length import not_repeated
from storscope.workbench.simulated import Simulated
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of
from tests.sim.designs import SMALL

_STEPS = """\
name = "knee"
[[stream]]
name = "s"
steps = [{ rate_per_s = 40, duration = "50s" }, { rate_per_s = 60, duration = "50s" }]
line = [{ size = "4k" }]
"""
_SWEEP = """\
[sweep]
outstanding = [1, 4, 16]
duration = "30s"
ramp_up = "10s"
[[workload]]
name = "read"
stream = [{ outstanding = 1, line = [{ size = "4k" }] }]
"""
_PLAIN = 'name = "plain"\nstream = [{ name = "s", outstanding = 1, line = [{ size = "4k" }] }]\n'


def _run(workload: str, **asked: str) -> Simulated:
    return simulate(plan_of(read_design(SMALL, "small.toml"), workload, **asked), started_ns=0)  # type: ignore[arg-type]


def test_rate_steps_run_to_their_end() -> None:
    """The second was not run, and nothing said so."""
    whole = _run(_STEPS)
    assert [step.end_ns // NS_PER_S for step in whole.rate_steps] == [50, 100]
    assert whole.judgement.ended == "It ran for the 100 s that its rate steps last."
    assert _run(_STEPS, duration="50s").judgement.ended == (
        "It ran for the 50 s that were asked for; its rate steps would last 100 s."
    )  # fmt: skip


def test_steps_of_a_stream_that_begins_later_run_to_their_end_too() -> None:
    later = read_schedule('[[stream]]\nname = "s"\nstart = "20s"\n', "s.toml")
    assert plan_of(read_design(SMALL, "small.toml", later), _STEPS).duration_ns == 120 * NS_PER_S


def test_the_time_and_the_ramp_of_a_file_count_and_its_sweep_is_told() -> None:
    swept = _run(_SWEEP)
    assert swept.judgement.to_ns == 40 * NS_PER_S
    assert swept.judgement.from_ns >= 10 * NS_PER_S
    assert "the workload's own ramp-up" in swept.judgement.start
    (said,) = not_repeated(read_definition(_SWEEP, "sw.toml").sweep, "sw.toml")
    assert str(said).startswith("elsewhere: sw.toml: repeated with: outstanding 1, 4, 16: ")


@pytest.mark.parametrize("asked", [{"duration": "5s"}, {"ios": "500"}])
def test_what_is_asked_for_goes_before_it(asked: dict[str, str]) -> None:
    plan = plan_of(read_design(SMALL, "small.toml"), _SWEEP, **asked)  # type: ignore[arg-type]
    assert plan.ramp_ns == 0
    assert plan.duration_ns == (5 * NS_PER_S if "duration" in asked else None)


def test_what_says_nothing_of_its_length_is_simulated_for_a_minute() -> None:
    plan = plan_of(read_design(SMALL, "small.toml"), _PLAIN)
    assert (plan.duration_ns, plan.ramp_ns) == (60 * NS_PER_S, 0)
