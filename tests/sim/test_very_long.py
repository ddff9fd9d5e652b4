"""Runs of years: the event list tells instants up to a horizon, which many components bring nearer."""

from __future__ import annotations

import pytest

from storscope.domain.access import AccessSpec, Mix
from storscope.domain.errors import UsageError
from storscope.domain.load import Open
from storscope.domain.units import NS_PER_S
from storscope.domain.workload import Stream, Workload
from storscope.sim.design import Design, read_design
from storscope.sim.replay import TraceSource
from storscope.sim.traces.read import trace_from_text
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of, trace_plan_of


def _design(drives: int = 60) -> Design:
    return read_design(
        f'name = "d"\n[[group]]\nname = "g"\ndrive = "10k-sas"\ncount = {drives}\nlayout = "raid10"\n'
        '[[volume]]\nname = "v"\ngroup = "g"\nsize = "100 GiB"\n[cache]\nread = { size = "1 GiB" }\n'
        '[[host]]\nname = "h"\nvolumes = [{ volume = "v" }]\n',
        "d.toml",
    )


def _seldom(rate_per_s: float) -> Workload:
    return Workload("seldom", (Stream(Mix((AccessSpec(8192),)), Open(rate_per_s), name="seldom"),))


def test_what_follows_a_run_of_many_years_does_not_run_for_ever() -> None:
    """It would be simulated for three times as long, to instants that the event list of 60 drives cannot tell."""
    simulated = simulate(plan_of(_design(), _seldom(1e-5), duration="2900d"), started_ns=0)
    assert simulated.status == "ok"
    assert simulated.measured.all.ios == pytest.approx(2900 * 0.864, rel=0.1)


def test_a_run_that_is_too_long_for_so_many_drives_is_refused() -> None:
    with pytest.raises(UsageError, match="at most 2919 d 0 h of simulated time with so many drives and links"):
        simulate(plan_of(_design(), _seldom(1e-5), duration="3000d"), started_ns=0)
    assert simulate(plan_of(_design(8), _seldom(1e-6), duration="3000d"), started_ns=0).status == "ok"


def test_so_seldom_an_io_that_they_never_become_enough_ends_the_run_nevertheless() -> None:
    simulated = simulate(plan_of(_design(), _seldom(3e-8), ios=20), started_ns=0)
    made = simulated.measured.all.ios
    assert made < 20
    words = f"which is as long as it can be simulated: {made} of the 20 I/Os that were asked for were made."
    assert simulated.judgement.ended == f"It ran for 70055 h 59 min 39 s, {words}"


def test_an_io_an_hour_does_not_take_longer_than_any_other() -> None:
    simulated = simulate(plan_of(_design(), _seldom(1 / 3600), ios=2_000), started_ns=0)
    assert simulated.wall_s < 5
    assert simulated.array["duration_ns"] == pytest.approx(2_000 * 3600 * NS_PER_S, rel=0.1)


@pytest.mark.parametrize("loop", [{}, {"outstanding": 1}])
def test_a_trace_with_a_gap_of_many_years_is_refused(loop: dict[str, int]) -> None:
    """Its last request never came, and neither did the end. A closed loop does not look at times."""
    trace = trace_from_text("time_s,op,offset_bytes,length_bytes\n0,r,0,4096\n300000000,r,8192,4096\n", "trace")
    plan = trace_plan_of(_design(), [TraceSource(trace)], **loop)
    if loop:
        assert simulate(plan, started_ns=0).measured.all.ios == 2
        return
    with pytest.raises(UsageError, match="at most 2919 d 0 h of simulated time"):
        simulate(plan, started_ns=0)
