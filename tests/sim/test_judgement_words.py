"""What the generator doubts, in words that fit a simulation."""

from __future__ import annotations

from storscope.bench.figures import Outcome
from storscope.sim.design import read_design
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of
from storscope.workbench.simulation_judgement import worded

_ONE_DRIVE = """
name = "one drive"
[[group]]
name = "g"
drive = "15k-sas"
count = 1
layout = "raid0"
[[volume]]
name = "v"
group = "g"
size = "200 GiB"
[[host]]
name = "h"
volumes = [{ volume = "v" }]
"""
_TOO_MUCH = """
[[workload]]
name = "too much"
[[workload.stream]]
name = "all"
rate_per_s = 2000
line = [{ size = "4k" }]
"""


def test_arrivals_that_the_end_cut_off_are_told_in_units_and_of_the_array() -> None:
    doubt = {
        "kind": "unanswered", "waiting": 12_345, "arrivals": 90_000, "oldest_ns": 3_012_000_000,
        "response_ns_p99": 310_000_000,
    }  # fmt: skip
    (said,) = worded(Outcome({"doubts": [doubt]}, ("words of a real run",), None), []).doubts
    assert said == (
        "12,345 I/Os were not done at the end and are in no latency: one of them took 3.01 s in all, of a response of "
        "310 ms at p99. The array stood still or fell behind; a longer run tells how long that lasts."
    )


def test_no_longer_run_is_advised_where_the_load_is_too_much_to_settle() -> None:
    """One disk is asked for 2,000 random I/Os a second: its queue grows for good."""
    simulated = simulate(plan_of(read_design(_ONE_DRIVE, "one drive"), _TOO_MUCH, duration="2m"), started_ns=0)
    assert any(doubt.startswith("The load is above what the array does") for doubt in simulated.doubts)
    (level,) = (doubt for doubt in simulated.doubts if doubt.startswith("The array had not settled"))
    assert "the mean response still went from" in level
    assert level.endswith("No longer run lets it settle, since the load is too much.")
    assert not any("Simulate longer" in doubt for doubt in simulated.doubts)
