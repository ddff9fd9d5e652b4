"""One run of the load generator, in a process of its own, through the road that users take: `bench.engine`.

    python -m benches._load_child '{"plan": ..., "path": ..., "direct": true}'

Prints what it counted as JSON. Without a path it measures no storage. The target is only read.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from storscope.bench.engine import DescriptorTarget, EngineRun, NoTarget, RunPlan
from storscope.bench.figures import Outcome
from storscope.domain.workload import Workload


def main() -> None:
    job = json.loads(sys.argv[1])
    with _target(job) as target:
        plan = RunPlan(
            Workload.from_json(job["workload"]), (target,), job["duration_ns"], job["seed"], job["interval_ns"]
        )
        run = EngineRun(plan)
        counts = [_ios(interval.form) for interval in run.intervals()]
        outcome = run.outcome()
    if outcome.error is not None:
        raise SystemExit(": ".join(outcome.error))
    print(json.dumps(_told(outcome, counts if job["counts"] else [])))


@contextmanager
def _target(job: dict[str, Any]) -> Iterator[DescriptorTarget | NoTarget]:
    if job["path"] is None:
        yield NoTarget(job["kind"], job["size_bytes"])
        return
    descriptor = os.open(job["path"], os.O_RDONLY | (os.O_DIRECT if job["direct"] else 0))
    try:
        yield DescriptorTarget(descriptor)
    finally:
        os.close(descriptor)


def _ios(form: Any) -> int:
    return int(form["submitted"])


def _told(outcome: Outcome, counts: list[int]) -> dict[str, Any]:
    total, ending = outcome.total, outcome.result["ending"]
    every = total.all
    return {
        "ios": every.ios,
        "iops": total.per_s(every.ios),
        "engine": outcome.engines,
        "service_ns_p50": every.service.quantile_ns(0.5),
        "service_ns_p99": every.service.quantile_ns(0.99),
        "lateness_ns_p50": every.lateness.quantile_ns(0.5),
        "lateness_ns_p99": every.lateness.quantile_ns(0.99),
        "elapsed_s": ending["elapsed_ns"] / 1e9,
        "submitted": ending["submitted"],
        "unsent": ending["unsent"],
        "valid": outcome.is_valid,
        "doubts": outcome.doubts,
        "counts": counts,
    }


if __name__ == "__main__":
    main()
