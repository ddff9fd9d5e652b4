"""What the generator doubts, in words that fit a simulation."""

from __future__ import annotations

from storscope.bench.figures import Outcome
from storscope.workbench.simulation_judgement import worded


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
