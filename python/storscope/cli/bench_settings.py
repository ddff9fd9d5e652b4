"""storscope bench: the settings of a measurement from the options that all its forms share."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from storscope.bench.goals import Goal
    from storscope.bench.workloads.loss import Loss
    from storscope.workbench.benchmarking import BenchSettings


def settings_of(
    chosen: Mapping[str, Any], duration_ns: int, *, interval_ns: int | None = None, goal: Goal | None = None,
    losses: Sequence[Loss] = (),
) -> BenchSettings:  # fmt: skip
    """What is asked for; without --seed a new one. No interval is that of all measurements.

    `losses` is what the workload's file asks for and is not measured.
    """
    from storscope.bench.workloads.loss import doubts_of_losses
    from storscope.domain.units import NS_PER_S
    from storscope.workbench.benchmarking import BenchSettings

    return BenchSettings(
        duration_ns=duration_ns,
        seed=secrets.randbits(32) if chosen["seed"] is None else chosen["seed"],
        size_bytes=chosen["size"],
        permissions=tuple(chosen["permissions"]),
        direct=not chosen["buffered"],
        interval_ns=NS_PER_S if interval_ns is None else interval_ns,
        engine=chosen["engine"],
        ioengine=chosen["ioengine"],
        goal=goal,
        keep=chosen["keep"],
        doubts=doubts_of_losses(losses),
    )
