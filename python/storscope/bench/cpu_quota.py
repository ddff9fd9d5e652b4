"""Whether a CPU quota held a measurement up: that of a container, a unit, or any control group above them.

Who has used up the quota of a period, of 100 ms as a rule, stands still until the next one. An I/O that is done
meanwhile is seen late, and a place in the queue of a closed loop stays empty, as if the device were slow. Such pauses
are too short for `standstill`, and in a closed loop nothing else shows them. The kernel counts them in cpu.stat: of
each group with a quota, the periods, those in which it was used up, and for how long CPUs had work of the group that
they were kept from (Documentation/scheduler/sched-bwc.rst).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from storscope.bench.control_groups import control_groups
from storscope.bench.figures import Outcome
from storscope.domain.units import NS_PER_US, format_count, format_ratio, format_span

_TOLD_RATIO: Final = 0.001
"""Of the run: p99.9 is the last percentile that is told."""
_INVALID_RATIO: Final = 0.05
"""As of `standstill`: throughput is wrong by as much."""


@dataclass(frozen=True)
class Quota:
    """What a control group with a quota has counted; or, as a difference, what came to pass in a time."""

    group: str
    periods: int
    used_up: int
    """Periods whose quota was used up."""
    kept_ns: int
    """Work of the group was kept from CPUs for so long, the sum over CPUs."""
    busy_ns: int | None
    """CPUs worked for the group for so long, the sum over CPUs; None where it is not told."""

    def since(self, before: Quota) -> Quota:
        """What came to pass from `before` on."""
        is_told = self.busy_ns is not None and before.busy_ns is not None
        busy_ns = (self.busy_ns or 0) - (before.busy_ns or 0) if is_told else None
        return Quota(
            self.group, self.periods - before.periods, self.used_up - before.used_up,
            self.kept_ns - before.kept_ns, busy_ns,
        )  # fmt: skip

    def still_ratio(self, run_ns: int, own_ns: int) -> float:
        """For which share of a run of `run_ns` the group stood still, at most; `own_ns` is this process's CPU time.

        Where less than one CPU is used on average, that is the time kept by the time of the run. Where more are, each
        of them is kept, and what counts is the share of the time that was wanted.
        """
        if self.kept_ns <= 0 or self.periods <= 0:
            return 0.0
        wanted_ns = self.kept_ns + (own_ns if self.busy_ns is None else self.busy_ns)
        return min(self.kept_ns / max(1, run_ns), self.kept_ns / wanted_ns, self.used_up / self.periods)


def quotas(root: Path = Path("/")) -> dict[str, Quota]:
    """Of each group that this process is in and that has a quota, by its path, as the files under `root` tell now."""
    groups = control_groups("cpu", root / "proc", root / "sys")
    found = (_quota(one.folder, one.path) for one in groups)
    return {one.group: one for one in found if one is not None}


def _quota(folder: Path, group: str) -> Quota | None:
    """None of a group that has no quota, or does not tell."""
    try:
        text = (folder / "cpu.stat").read_text(encoding="utf-8", errors="replace")
        told = {name: int(number) for name, _, number in (line.partition(" ") for line in text.splitlines())}
    except (OSError, ValueError):
        return None
    if not told.get("nr_periods"):
        return None
    kept_ns = told.get("throttled_time", told.get("throttled_usec", 0) * NS_PER_US)
    busy_us = told.get("usage_usec")
    return Quota(
        group, told["nr_periods"], told.get("nr_throttled", 0), kept_ns,
        None if busy_us is None else busy_us * NS_PER_US,
    )  # fmt: skip


@dataclass(frozen=True)
class HeldUp:
    """What quotas did in a time of `run_ns`, in which this process had the CPU for `own_ns`."""

    quotas: Sequence[Quota]
    run_ns: int
    own_ns: int

    @property
    def _worst(self) -> tuple[float, Quota | None]:
        ratios = [(one.still_ratio(self.run_ns, self.own_ns), one) for one in self.quotas]
        return max(ratios, key=lambda one: one[0], default=(0.0, None))

    def doubts(self) -> Iterator[str]:
        """In a sentence, if it shows in the figures."""
        ratio, quota = self._worst
        if quota is not None and ratio >= _TOLD_RATIO:
            yield (
                f"The CPU quota of the control group {quota.group} was used up in {format_count(quota.used_up)} of "
                f"{format_count(quota.periods)} periods: this process stood still for up to {format_ratio(ratio)} of "
                f"the time ({format_span(quota.kept_ns)} in all, over its CPUs). What was in flight then looks slow, "
                "and a closed loop was slower than the storage. Raise it (cpu.max or cpu.cfs_quota_us; the CPU limit "
                "of a container), or ask for less at once."
            )

    def told(self, outcome: Outcome) -> Outcome:
        """The outcome with the doubt; invalid if it was much of the run."""
        of_all = {"valid": False, "latency_bound": None, "invalid_streams": None}
        is_much = self._worst[0] >= _INVALID_RATIO
        result = {**outcome.result, **of_all} if is_much else outcome.result
        return replace(outcome, result=result, doubts=(*outcome.doubts, *self.doubts()))


class QuotaWatch:
    """Watches from when it is made."""

    def __init__(self, root: Path = Path("/")) -> None:
        """Of the groups as the files under `root` tell."""
        self._root, self._before = root, quotas(root)
        self._began_ns, self._own_ns = time.monotonic_ns(), time.process_time_ns()

    def so_far(self) -> HeldUp:
        """Until now. Of a group that had counted nothing before, all is of this time."""
        run_ns, own_ns = time.monotonic_ns() - self._began_ns, time.process_time_ns() - self._own_ns
        none = Quota("", 0, 0, 0, None)
        found = [one.since(self._before.get(group, none)) for group, one in quotas(self._root).items()]
        return HeldUp(found, run_ns, own_ns)
