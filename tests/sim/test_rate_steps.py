"""What bounds a run with rate steps is judged step by step, and a step that asked for too much is doubted."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from storscope.bench.rate_steps import RateStepFigures
from storscope.cli.show_simulation import print_simulated
from storscope.cli.simulation_json import simulated_to_json
from storscope.domain.access import AccessSpec, Mix
from storscope.domain.load import Process, RateStep, Steps
from storscope.domain.units import NS_PER_MS, NS_PER_S
from storscope.domain.workload import Stream, Workload
from storscope.sim.design import read_design
from storscope.sim.phases import Phase
from storscope.sim.schedule import read_schedule
from storscope.workbench.falling_behind import doubts_of_steps
from storscope.workbench.simulated import Simulated
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of
from storscope.workbench.stretches import stretches_of

_DESIGN = """\
name = "r5"
group = [{ name = "g", drive = "15k-sas", count = 8, layout = "raid5" }]
volume = [{ name = "v", group = "g", size = "1500 GiB" }]
host = [{ name = "h", volumes = [{ volume = "v" }] }]
"""


def _simulated(*steps: tuple[float, float], schedule: str = "", process: Process = Process.POISSON) -> Simulated:
    """8k reads at one rate after another, each (per second, for seconds)."""
    load = Steps(tuple(RateStep(rate, round(seconds * NS_PER_S)) for rate, seconds in steps), process)
    workload = Workload("steps", (Stream(Mix((AccessSpec(8192),)), load, name="s"),))
    design = read_design(_DESIGN, "r5.toml", read_schedule(schedule, "s.toml") if schedule else None)
    return simulate(plan_of(design, workload, duration=sum(seconds for _, seconds in steps)), started_ns=0)


def _behind(simulated: Simulated) -> list[str]:
    return [one for one in simulated.doubts if "did not keep up with what was asked" in one]


def test_a_step_that_fills_the_drives_is_told_though_they_are_used_to_a_sixth_on_average() -> None:
    """It said "Nothing is used to the full: the array does what it is asked for"."""
    burst = _simulated((100.0, 40), (5000.0, 10), (100.0, 40))
    quiet, filled, after = (bound for _, bound in burst.bounds)
    assert (quiet.kind, filled.kind, filled.name) == ("load", "drive", "g")
    assert filled.used_ratio == pytest.approx(1.0, abs=0.02)
    words = burst.bottleneck.words
    assert words.startswith("From 0 s to 40 s: nothing is used to the full: ")
    assert "From 40 s to 50 s: the 8 drives of g are used to > 99.9 %" in words
    assert after.words.endswith(" Its first I/Os are those that the step before left undone.")
    assert burst.bottleneck.kind == "phases"
    (doubt,) = _behind(burst)
    done = burst.rate_steps[1].ops_per_s
    assert done is not None
    assert done < 4700
    assert f"it did {done:,.0f} of 5,000 IOPS from 40 s to 50 s." in doubt


@pytest.mark.parametrize("process", list(Process))
@pytest.mark.parametrize("rate", [50.0, 500.0])
def test_steps_that_the_array_keeps_up_with_are_not_doubted(rate: float, process: Process) -> None:
    steps = _simulated((rate, 20), (2 * rate, 20), (rate / 2, 20), process=process)
    assert not _behind(steps)
    assert {bound.kind for _, bound in steps.bounds} == {"load"}
    assert "left undone" not in steps.bottleneck.words


def _step(asked: float | None, done: float | None, mean_ns: float | None, seconds: float = 10) -> RateStepFigures:
    length_ns = round(seconds * NS_PER_S)
    return RateStepFigures(0, length_ns, asked, length_ns, done, None, mean_ns, None, None)


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (_step(5000, 4820, 241 * NS_PER_MS, 9.9), True),
        (_step(5000, 4990, 20 * NS_PER_MS), False),
        (_step(100, 96, 5 * NS_PER_MS, 40), False),  # 160 of 4,000 fewer are 2.5 standard deviations
        (_step(100, 90, 5 * NS_PER_MS, 40), True),
        (_step(1000, 800, 3000 * NS_PER_MS), False),  # slow, but no slower at the end than at the beginning
        (_step(1000, 0, None), True),
        (_step(1000, None, None), False),
        (_step(None, 10, NS_PER_MS), False),
        (_step(100, 150, 500 * NS_PER_MS), False),
    ],
)
def test_less_than_was_asked_is_doubted_beyond_chance_and_what_was_on_its_way(
    step: RateStepFigures, said: bool
) -> None:
    assert bool(doubts_of_steps([step])) is said


def test_of_many_steps_some_are_named() -> None:
    (said,) = doubts_of_steps([_step(1000, 500, NS_PER_MS)] * 5)
    assert said.count("500 of 1,000 IOPS") == 3
    assert "less than asked at 2 more steps" in said


def test_phases_are_cut_at_steps_and_told_with_both() -> None:
    failure = '[[at]]\ntime = "15s"\ndrive_fails = { group = "g", index = 3 }\n'
    both = _simulated((100.0, 10), (400.0, 20), schedule=failure)
    spans = [(one.from_ns // NS_PER_S, one.to_ns // NS_PER_S) for one, _ in both.bounds]
    assert spans == [(0, 10), (10, 15), (15, 30)]
    assert len(both.phase_figures) == 2
    form = json.loads(json.dumps(simulated_to_json(both, "c")))
    assert [one["bottleneck"] for one in form["bounds"]] == [asdict(bound) for _, bound in both.bounds]
    assert [(one["from_ns"] // NS_PER_S, one["to_ns"] // NS_PER_S) for one in form["bounds"]] == spans


def test_steps_too_short_for_figures_are_put_to_the_one_before() -> None:
    """Intervals are 300 ms long."""
    every = _simulated(*[(100.0, 0.1)] * 300, (200.0, 30))
    assert 1 < len(every.bounds) < 110
    assert not [bound for _, bound in every.bounds if bound.kind == "unknown"]
    whole = Phase(0, 60 * NS_PER_S)
    step = RateStepFigures(0, NS_PER_S, *[None] * 2, *[None] * 5)  # type: ignore[arg-type]
    assert stretches_of([whole], [replace(step, end_ns=1)], every.intervals) == [whole]
    late = replace(step, start_ns=60 * NS_PER_S - 1, end_ns=60 * NS_PER_S)
    assert stretches_of([whole], [late], every.intervals) == [whole]
    assert stretches_of([], [step], ()) == []


def test_figures_of_all_steps_together_are_called_so(capsys: pytest.CaptureFixture[str]) -> None:
    print_simulated(_simulated((100.0, 10), (400.0, 10)))
    shown = capsys.readouterr().out
    assert "figures of all rate steps together\n" in shown
    assert "too little data" not in shown
