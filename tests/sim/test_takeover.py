"""A simulated controller fails: what is told of it, what bounds the run meanwhile, and what rules make of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from storscope.domain.access import AccessSpec, Mix
from storscope.domain.load import Open, Process
from storscope.domain.units import NS_PER_S
from storscope.domain.workload import Stream, Workload
from storscope.sim.design import read_design
from storscope.sim.replay import TraceSource
from storscope.sim.schedule import read_schedule
from storscope.sim.takeovers import failed_controllers, silences
from storscope.sim.traces.read import trace_from_text
from storscope.store import Store
from storscope.workbench.diagnosing import diagnose
from storscope.workbench.simulated import Simulated
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of, trace_plan_of
from storscope.workbench.simulation_store import store_simulation

_DESIGN = """\
name = "pair"
[[group]]
name = "g"
drive = "10k-sas"
count = 8
layout = "raid10"
[[volume]]
name = "v"
group = "g"
size = "64 GiB"
owner = "A"
[[volume]]
name = "w"
group = "g"
size = "64 GiB"
owner = "B"
[[controller]]
name = "A"
cost_per_op = "50 us"
[[controller]]
name = "B"
cost_per_op = "50 us"
[cache]
write = { size = "64 MiB", mirrored = true }
[[host]]
name = "h"
volumes = [{ volume = "v" }, { volume = "w" }]
"""
_FAILS = '[[at]]\ntime = "10s"\ncontroller_fails = { controller = "A", takeover = "5s" }\n'
_RETURNS = '[[at]]\ntime = "25s"\ncontroller_returns = "A"\n'


def _simulated(schedule: str, design: str = _DESIGN, names: str = "vw", outstanding: int = 1024) -> Simulated:
    load, mix = Open(200.0, Process.POISSON, outstanding), Mix((AccessSpec(8192, read_share=0.5),))
    streams = tuple(Stream(mix, load, name=name, targets=("vw".index(name),)) for name in names)
    made = read_design(design, "pair.toml", read_schedule(schedule, "s.toml"))
    return simulate(plan_of(made, Workload("two", streams), duration="40s"), started_ns=1_795_132_800_000_000_000)


@pytest.fixture(scope="module")
def taken_over() -> Simulated:
    return _simulated(_FAILS + _RETURNS)


def test_it_is_told_with_what_takes_over_and_for_how_long_what_is_sent_to_it_waits(taken_over: Simulated) -> None:
    assert [one.sentence for one in taken_over.happenings] == [
        "controller A fails: controller B takes over volume v; what is sent to it waits for 5.00 s",
        "controller B is alone and has nobody to mirror writes to: they go through",
        "controller B has taken over from controller A: what waited for that goes on",
        "controller A works again and gets back volume v",
        "controller B has its write cache again",
    ]
    assert [round(one.time_ns / NS_PER_S) for one in taken_over.happenings] == [10, 10, 15, 25, 25]


def test_meanwhile_that_bounds_the_run_and_nothing_else(taken_over: Simulated) -> None:
    before, silent, alone, after = [bound for _, bound in taken_over.bounds]
    assert (silent.kind, silent.name) == ("takeover", "A")
    assert silent.words.startswith(
        "Controller A has failed: what is sent to it waits until controller B has taken over. Of the rest: nothing is"
    )
    assert alone.words.endswith("Its first I/Os are those that waited for the takeover.")
    assert {before.kind, after.kind} == {"load"}
    assert taken_over.bottleneck.kind == "phases"
    assert "controller A has failed" in taken_over.bottleneck.words


def test_ios_of_its_volumes_wait_and_those_of_the_other_one_do_not(taken_over: Simulated) -> None:
    """200 a second come for 5 s, and wait for 0 to 5 s."""
    (silent,) = silences(taken_over.array)
    assert (silent.to_ns - silent.from_ns) == 5 * NS_PER_S
    spent = {("vw"[one.target], one.direction): one for one in taken_over.time_spent}
    waited = [spent["v", direction] for direction in ("reads", "writes")]
    seconds = sum(one.parts_ns["takeover"] * one.ios for one in waited) / NS_PER_S
    assert seconds == pytest.approx(200 * 5 * 2.5, rel=0.1)
    assert all("takeover" not in spent["w", direction].parts_ns for direction in ("reads", "writes"))


def test_a_failed_controller_does_not_count_as_one_that_idles(taken_over: Simulated) -> None:
    array = taken_over.array
    assert failed_controllers(array, 10 * NS_PER_S, 15 * NS_PER_S) == {"A"}
    assert failed_controllers(array, 9 * NS_PER_S, 15 * NS_PER_S) == set(), "it worked at first"
    assert failed_controllers(array, 15 * NS_PER_S, 40 * NS_PER_S) == set(), "it works in the end"
    assert failed_controllers(array, 26 * NS_PER_S, 40 * NS_PER_S) == set()


def test_rules_tell_it_as_the_cause(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store", create=True)
    store_simulation(store, _simulated(_FAILS))
    verdict = diagnose(store)
    assert verdict.findings[0].title == "Controller A of pair has failed"
    assert not {"ownership-flapping", "controller-imbalance"} & {one.rule for one in verdict.findings}
    (state,) = store.query("SELECT entity, value FROM facts WHERE name = 'state'").to_pylist()
    assert (state["entity"], state["value"]) == ("A", "failed")


def test_a_cache_that_nobody_mirrors_is_lost_with_it() -> None:
    simulated = _simulated(_FAILS, _DESIGN.replace(", mirrored = true", ""))
    assert simulated.status == "failed"
    (lost,) = simulated.lost
    assert lost.words.startswith("data of volume v is lost: only controller A had ")
    assert lost.words.endswith(" that hosts were told was written")


def test_one_that_returns_before_it_was_taken_over_from_ends_the_wait() -> None:
    (silent,) = silences(_simulated(_FAILS + _RETURNS.replace("25s", "12s")).array)
    assert silent.to_ns == 12 * NS_PER_S


def test_what_comes_too_late_or_changes_nothing_is_said() -> None:
    schedule = '[[at]]\ntime = "5s"\ncontroller_returns = "B"\n'
    schedule += '[[at]]\ntime = "2 min"\ncontroller_returns = "A"\n'
    schedule += '[[at]]\ntime = "3 min"\ncontroller_fails = { controller = "A" }\n'
    sentences = [one.sentence for one in _simulated(schedule).happenings]
    assert sentences == [
        "controller B works again: nothing happened, since it had not failed",
        "controller A works again: nothing happened, since the run ended at 40 s",
        "controller A fails: nothing happened, since the run ended at 40 s",
    ]


def _said(simulated: Simulated) -> list[str]:
    return [*simulated.judgement.doubts, *simulated.outcome.doubts]


def test_ios_that_were_late_because_of_a_takeover_are_not_told_to_ask_for_less() -> None:
    (said,) = _said(_simulated(_FAILS + _RETURNS, outstanding=16))
    assert said.startswith("I/Os waited 4.")
    assert "were in flight while nobody answered for controller A, from 10 s to 15 s. Only a shorter takeover" in said
    assert "Ask for less" not in said


def test_a_load_that_is_too_much_in_the_end_is_not_told_to_wait_for_the_takeover_before() -> None:
    limited = _DESIGN.replace('owner = "A"', 'owner = "A"\nlimit = { iops = 190 }')
    said = _said(_simulated(_FAILS + _RETURNS, limited, outstanding=800))
    assert any(one.startswith("The load is above what the array does: ") for one in said), said
    (late,) = [one for one in said if one.startswith("I/Os waited ")]
    assert "Only a shorter takeover" not in late


def test_a_takeover_that_outlasts_the_run_is_told_as_the_cause_of_what_was_not_done() -> None:
    why = "What is sent to controller A waits until controller B has taken over from it, at 100 s, and the run ended"
    fails = '[[at]]\ntime = "TIME"\ncontroller_fails = { controller = "A", takeover = "LENGTH" }\n'
    for time, length, names, told in (
        ("0 s", "100 s", "v", "No I/O was answered in the time that counts"),
        ("0 s", "100 s", "vw", "I/Os were never sent, the first of them waited"),
        ("39 s", "61 s", "vw", "I/Os were not done at the end and are in no latency"),
    ):
        schedule = fails.replace("TIME", time).replace("LENGTH", length)
        simulated = _simulated(schedule, names=names)
        said = _said(simulated)
        assert any(told in one and why in one for one in said), (told, said)
        for wrong in ("Most wait at", "above what the array does", "fell behind"):
            assert wrong not in " ".join(said)
        assert "controller_replaced" not in {one.kind for one in simulated.happenings}, "the run ended before"
        if time == "0 s":
            assert (simulated.bottleneck.kind, simulated.bottleneck.name) == ("takeover", "A")


def test_where_the_one_that_takes_over_fails_too_the_next_one_is_told() -> None:
    both = _FAILS + _FAILS.replace('"A"', '"B"').replace("5s", "2s")
    three = _DESIGN.replace("[cache]", '[[controller]]\nname = "C"\n[cache]')
    simulated = _simulated(both, three)
    assert [(one.controller, one.to) for one in silences(simulated.array)] == [("A", "C"), ("B", "C")]
    words = "Controller {} has failed: what is sent to it waits until controller C has taken over."
    _, both_silent, one_silent, _ = [bound.words for _, bound in simulated.bounds]
    assert both_silent.startswith(f"{words.format('A')} {words.format('B')}")
    assert one_silent.startswith(f"{words.format('A')} Of the rest: ")


def test_a_trace_that_waits_for_a_takeover_is_not_to_be_replayed_slower() -> None:
    rows = [f"{number / 50},{'vw'[number % 2]},R,{8192 * number},8192" for number in range(1000)]
    trace = trace_from_text("\n".join(["time_s,volume,op,offset_bytes,length_bytes", *rows]) + "\n", "t.csv")
    schedule = _FAILS.replace("5s", "50s")
    made = read_design(_DESIGN, "pair.toml", read_schedule(schedule, "s.toml"))
    (said,) = simulate(trace_plan_of(made, [TraceSource(trace)]), started_ns=0).doubts
    assert said.startswith("The array fell behind the trace: at ")
    assert said.endswith(
        "What is sent to controller A waits until controller B has taken over from it, at 60 s: latencies are of "
        "that wait."
    )
