from __future__ import annotations

from storscope.bench.figures import Interval


def test_parts_are_told_in_the_order_of_streams_and_targets_whichever_worker_was_first() -> None:
    """Two runs of one workload would else show 'data' and 'log' in turn on the same line."""
    began = [(1, 0), (0, 1), (0, 0)]
    interval = Interval({"cells": [{"stream": stream, "target": target} for stream, target in began]})
    told = [(cell.form["cells"][0]["stream"], cell.form["cells"][0]["target"]) for cell in interval.cells]
    assert told == [(0, 0), (0, 1), (1, 0)]
