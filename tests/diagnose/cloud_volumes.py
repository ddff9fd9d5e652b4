"""Minutes of volumes as a cloud tells them, with balances of their credits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from storscope.diagnose.case import Case
from storscope.domain import burst_credits
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.domain.units import KIB, NS_PER_S
from tests.diagnose.days import START_NS, record
from tests.diagnose.limited_volume import FloatArray, Limits, Seen, serve, steady
from tests.support.cases import make_case

COUNT = 240
STEP_S = 60.0
GP2 = Limits(ops_per_s=300, burst_ops_per_s=3_000, credits=5.4e6)
"""EBS gp2 of 100 GiB."""
MACHINE = "machine"


def cloud(
    folder: Path,
    volumes: Mapping[str, Seen],
    left: Mapping[tuple[str, str], FloatArray] | None = None,
    *,
    period: int = 1,
) -> Case:
    """Minutes of volumes, and balances by (name of the thing, counter): means over so many minutes.

    Where no balances are given each volume has the one of its bucket.
    """
    own = {(name, burst_credits.LEFT): one.credits_left for name, one in volumes.items()}

    def write(recorder: Recorder) -> None:
        for name, one in volumes.items():
            columns = {
                "ops_per_s": one.ops_per_s, "bytes_per_s": one.bytes_per_s, "latency_ns_mean": one.latency_s * NS_PER_S,
                "read_ops_per_s": one.ops_per_s * one.read_share,
                "write_ops_per_s": one.ops_per_s * (1 - one.read_share),
            }  # fmt: skip
            record(recorder, {name: row[None, :] for name, row in columns.items()}, [name], step_s=STEP_S, on=None)
        for (name, counter), shares in (own if left is None else left).items():
            means = shares[: len(shares) // period * period].reshape(-1, period).mean(axis=1)
            step_ns = round(period * STEP_S * NS_PER_S)
            times = START_NS + np.arange(len(means), dtype=np.int64) * step_ns
            thing = EntityRef("array", "vm" if name == MACHINE else "vdisk", name)
            timeline = recorder.timeline(times, np.full(len(means), step_ns))
            recorder.series(timeline, [thing], [counter], [burst_credits.UNIT], means[None, :])

    return make_case(folder, write)


def fallen(limits: Limits = GP2, **asked: float) -> Seen:
    """What fell when the credits were spent."""
    return serve(steady(COUNT, 4_000, 16 * KIB, most=32, **asked), limits, np.random.default_rng(2), step_s=STEP_S)
