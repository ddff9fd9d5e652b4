"""What bounds a run with changes is told of its phases: a mean over unlike times hides the one that is full."""

from __future__ import annotations

import json
from dataclasses import asdict

from storscope.cli.simulation_json import simulated_to_json
from storscope.domain.access import AccessSpec, Mix
from storscope.domain.load import Closed, Open
from storscope.domain.workload import Stream, Workload
from storscope.sim.bottleneck import Bottleneck
from storscope.sim.bottleneck_phases import bottleneck_by_phase
from storscope.sim.design import read_design
from storscope.sim.phases import Phase
from storscope.sim.schedule import read_schedule
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of
from tests.sim.designs import SMALL

_LOAD = Bottleneck("load", None, 0.1, 0.5, "Nothing is used to the full.")
_DRIVES = Bottleneck("drive", "g", 0.98, 0.7, "The 8 drives of g are used to 98 %.")
_NONE = Bottleneck("unknown", None, None, None, "Not known.")


def _phases(*lengths_s: int) -> list[Phase]:
    ends = [sum(lengths_s[: index + 1]) * 10**9 for index in range(len(lengths_s))]
    return [Phase(end - length * 10**9, end) for end, length in zip(ends, lengths_s, strict=True)]


def test_a_burst_is_told_with_its_time_though_the_mean_of_the_run_is_low() -> None:
    accesses = Mix((AccessSpec(8192),))
    streams = (Stream(accesses, Open(20.0), name="quiet"), Stream(accesses, Closed(64), name="hog"))
    schedule = read_schedule('[[stream]]\nname = "hog"\nstart = "10s"\nend = "14s"\n', "s.toml")
    made = read_design(SMALL, "small.toml", schedule)
    simulated = simulate(plan_of(made, Workload("both", streams), duration="30s"), started_ns=0)
    assert [one.bounds.kind for one in simulated.phase_figures] == ["load", "drive", "load"]
    words = simulated.bottleneck.words
    assert "From 10 s to 14 s: the 8 drives of g are used to" in words
    assert "more outstanding I/Os would get more done" not in words  # the quiet phases have open streams alone
    form = json.loads(json.dumps(simulated_to_json(simulated, "c")))
    assert form["bottleneck"]["words"] == words
    assert [one["bottleneck"] for one in form["phases"]] == [asdict(one.bounds) for one in simulated.phase_figures]


def test_each_bottleneck_is_told_once_with_all_its_times() -> None:
    found = bottleneck_by_phase(list(zip(_phases(5, 10, 5, 7), (_LOAD, _DRIVES, _LOAD, _LOAD), strict=True)))
    assert found.words == (
        "From 0 s to 5.00 s and 15 s to 27 s (figures of 20 s to 27 s): nothing is used to the full. "
        "From 5.00 s to 15 s: the 8 drives of g are used to 98 %."
    )


def test_a_component_that_is_waited_for_is_not_one_that_is_only_busy() -> None:
    waited_for = Bottleneck("controller", "A", 1.0, 0.6, "Controller A is used to 100 %.")
    busy = Bottleneck("controller", "A", 0.82, 0.06, "Controller A is used to 82 %; they wait at the drives.")
    assert bottleneck_by_phase(list(zip(_phases(54, 180), (waited_for, busy), strict=True))).words == (
        "From 0 s to 54 s: controller A is used to 100 %. "
        "From 54 s to 3 min 54 s: controller A is used to 82 %; they wait at the drives."
    )


def test_times_without_an_answer_are_passed_over_and_many_are_counted() -> None:
    bounds = (_NONE, *(_LOAD, _DRIVES) * 5)
    words = bottleneck_by_phase(list(zip(_phases(*[1] * 11), bounds, strict=True))).words
    assert "Not known" not in words and "not known" not in words
    assert words.count("and 2 times more") == 2
    assert bottleneck_by_phase([(one, _NONE) for one in _phases(1, 2)]).words.endswith("not known.")


_LOST = """\
name = "lost"
group = [{ name = "g", drive = "15k-sas", count = 8, layout = "raid6" }]
volume = [{ name = "v", group = "g", size = "100 GiB" }]
controller = [{ name = "A", cost_per_op = "100 us" }]
cache = { write = { size = "64 MiB" } }
host = [{ name = "h", volumes = [{ volume = "v" }] }]
at = [{ time = "20s", cache_lost = "A" }]
"""


def test_phases_in_which_nothing_is_full_are_told_apart_by_where_the_time_goes() -> None:
    made = read_design(_LOST, "lost.toml", None)
    writes = Workload("writes", (Stream(Mix((AccessSpec(4096, read_share=0.0),)), Open(50.0)),))
    simulated = simulate(plan_of(made, writes, duration="40s"), started_ns=0)
    assert [one.bounds.kind for one in simulated.phase_figures] == ["load", "load"]
    before, after = simulated.bottleneck.words.split(" From ")
    assert before.startswith("From 0 s to 20 s: nothing is used")
    assert "of an I/O's time is controller service." in before
    assert after.startswith("20 s to 40 s: nothing is used")
    assert "controller service" not in after


def test_the_drive_that_reads_for_its_failed_partner_is_named() -> None:
    failure = '[[at]]\ntime = "15s"\ndrive_fails = { group = "g", index = 3 }\n'
    made = read_design(SMALL.split("[[host]]")[0] + '[[host]]\nname = "h"\nvolumes = [{ volume = "data" }]\n', "s.toml",
                       read_schedule(failure, "f.toml"))  # fmt: skip
    reads = Workload("reads", (Stream(Mix((AccessSpec(8192),)), Closed(32)),))
    simulated = simulate(plan_of(made, reads, duration="60s"), started_ns=0)
    whole, degraded = (one.bounds for one in simulated.phase_figures)
    assert (whole.kind, whole.name) == ("drive", "g")
    assert (degraded.kind, degraded.name) == ("drive", "g/2")
    assert "The 7 drives of g are used to" in degraded.words


def test_background_work_is_told_of_the_times_in_which_it_runs() -> None:
    """The longest phase, without it, does not speak for that in which reads take longer, nor the other way round."""
    scrub = '[[background]]\nname = "check"\nkind = "scrub"\ngroup = "g"\nstart = "10s"\nshare = 0.0003\n'
    few = Workload("few", (Stream(Mix((AccessSpec(8192),)), Open(100.0), name="few"),))
    simulated = simulate(plan_of(read_design(SMALL + scrub, "small.toml"), few, duration="60s"), started_ns=0)
    before, during, after = simulated.phase_figures
    assert during.phase.duration_ns < after.phase.duration_ns
    assert [one.bounds.background for one in (before, during, after)] == [None, "scrub 'check'", None]
    words = simulated.bottleneck.words
    alone, beside = words.index("From 0 s to 10 s and "), words.index("From 10 s to ")
    assert alone < beside < words.index(" Meanwhile scrub 'check'")
    assert words.count("Meanwhile") == 1
