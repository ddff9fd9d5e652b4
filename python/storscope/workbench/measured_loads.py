"""The load that volumes were seen to bear: of each its mean over a time, or over the busiest window of all together.

Means are weighted by time and by operations. What is in flight is Little's law, rate x mean latency (J. D. C. Little,
A Proof for the Queuing Formula L = lambda W, Operations Research 9(3), 1961); where no latency is told, the queue that
the source counted. Between the intervals nothing is known: bursts shorter than these are in no figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from storscope.compare.selection import Selector
from storscope.diagnose.case import Case
from storscope.diagnose.peers import peers
from storscope.domain.arrays import BoolArray, FloatArray
from storscope.domain.entity import EntityRef
from storscope.domain.errors import UsageError
from storscope.domain.units import NS_PER_S
from storscope.store import Store
from storscope.store.series import Series, with_durations

VOLUME_KINDS = ("vdisk", "device", "datastore", "vm_disk", "filesystem", "partition", "job")
"""What a workload can be sent to in another place, the first that there is. The same I/Os are seen at each of them."""
_MOST_NAMED = 8


@dataclass(frozen=True)
class MeasuredLoad:
    """What one entity was asked for. None is not told by the evidence."""

    entity: EntityRef
    label: str
    measured_ns: int
    """The time that its intervals with a rate cover: the rate is the mean of that."""
    ops_per_s: float
    read_share: float | None
    read_bytes: float | None
    """Mean size of a read."""
    write_bytes: float | None
    mean_bytes: float | None
    """Mean size of all."""
    latency_ns: float | None
    in_flight: float | None
    busiest_per_s: float
    """Operations per second in its own busiest interval."""
    busiest_ns: int
    """When that began."""


@dataclass(frozen=True)
class MeasuredLoads:
    """The loads of several entities over the same time."""

    loads: tuple[MeasuredLoad, ...]
    start_ns: int
    end_ns: int
    interval_ns: int
    """The longest usual interval: what is shorter is in no figure."""
    is_peak: bool
    idle: tuple[EntityRef, ...]
    """Those that did nothing meanwhile."""
    other_kinds: tuple[str, ...]
    """Kinds that were measured too, and are left out since they carry the same I/Os."""
    nested: tuple[tuple[EntityRef, EntityRef], ...]
    """Of those chosen by name, which rests on which: its I/Os are counted twice."""


def measured_loads(
    case: Case, entity: str | None = None, *, at_peak: bool = False, window_ns: int | None = None
) -> MeasuredLoads:
    """The loads of the entities whose name, 'kind/name' or 'system/kind/name' fits the pattern `entity`.

    Without it, of all of the first kind in VOLUME_KINDS that has rates. At the peak: over the time of `window_ns`, but
    at least an interval, in which all of them together did most. Raises UsageError where there is nothing.
    """
    chosen = _named(case, entity) if entity is not None else _volumes(case)
    series = [with_durations(one) for one in chosen if len(one)]
    interval_ns = max(one.interval_ns for one in series)
    start_ns = min(int(one.time_ns[0]) for one in series)
    end_ns = max(int((one.time_ns + one.duration_ns).max()) for one in series)
    if at_peak:
        length_ns = max(interval_ns, window_ns or 0)
        start_ns = _busiest_start_ns(series, length_ns)
        end_ns = min(end_ns, start_ns + length_ns)
    cut = [(one, one.within(start_ns, end_ns)) for one in series]
    loads = [_load(case, one, part) for one, part in cut if _operations(part) > 0]
    if not loads:
        raise UsageError(
            "I/Os of volumes in that time",
            "none",
            hint=f"Idle all the time: {_named_some([one.entity.name for one in series])}.",
        )
    kinds = {one.entity.kind for one in series}
    others = {one.kind for one in case.series(*VOLUME_KINDS, needs=("ops_per_s",))} - kinds
    return MeasuredLoads(
        tuple(loads), start_ns, end_ns, interval_ns, at_peak,
        idle=tuple(one.entity for one, part in cut if _operations(part) == 0),
        other_kinds=() if entity is not None else tuple(kind for kind in VOLUME_KINDS if kind in others),
        nested=_nested(case, [load.entity for load in loads]),
    )  # fmt: skip


def has_volumes(store: Store) -> bool:
    """Whether a store tells rates of volumes of a running system."""
    return bool(store.query(
        "SELECT 1 FROM observations WHERE run IS NULL AND ops_per_s > 0 AND list_contains($kinds, kind) LIMIT 1",
        {"kinds": list(VOLUME_KINDS)},
    ).num_rows)  # fmt: skip


# Which ---------------------------------------------------------------------------------------------------------------


def _volumes(case: Case) -> list[Series]:
    """Of one kind only, as the next one carries the same I/Os; parts and wholes never together."""
    for kind in VOLUME_KINDS:
        systems = {one.system for one in case.series(kind, needs=("ops_per_s",))}
        found = [one for system in sorted(systems) for one in peers(case, system, kind)]
        if found:
            return found
    raise UsageError(
        "volumes or devices with operations per second", _present(case),
        hint=_cure(case) or "Others are taken by name: --entity 'KIND/NAME', with * and ?.",
    )  # fmt: skip


def _named(case: Case, pattern: str) -> list[Series]:
    selector = Selector(entity=pattern)
    found = [
        one
        for entity, one in case.series(needs=("ops_per_s",)).items()
        if selector.takes_entity(entity.kind, entity.name)
        or selector.takes_entity(f"{entity.system}/{entity.kind}", entity.name)
    ]
    if found:
        return found
    raise UsageError(
        f"something with operations per second that fits {pattern!r}", _present(case), where="--entity",
        hint=_cure(case) or "It is a pattern with * and ? for the name, KIND/NAME or SYSTEM/KIND/NAME.",
    )  # fmt: skip


def _present(case: Case) -> str:
    """'3 vdisk (vol1, vol2, vol3), 40 disk (...)': what has rates."""
    names: dict[str, list[str]] = {}
    for entity in sorted(case.series(needs=("ops_per_s",))):
        names.setdefault(entity.kind, []).append(entity.name)
    said = [f"{len(those)} {kind} ({_named_some(those)})" for kind, those in names.items()]
    return ", ".join(said) or _one_sided(case) or "nothing with operations per second over time"


def _one_sided(case: Case) -> str:
    """'reads per second of 2 vdisk (a, b), but no writes per second': what has the rate of one direction alone."""
    said = []
    for told, untold in (("read", "write"), ("write", "read")):
        found = case.series(*VOLUME_KINDS, needs=(f"{told}_ops_per_s",))
        names = [one.name for one in sorted(found) if not found[one].has(f"{untold}_ops_per_s")]
        if names:
            said.append(f"{told}s per second of {_named_some(names)}, but no {untold}s per second (nor those of all)")
    return "; ".join(said)


def _named_some(names: Sequence[str]) -> str:
    return ", ".join(names[:_MOST_NAMED]) + (", ..." if len(names) > _MOST_NAMED else "")


def _cure(case: Case) -> str:
    """What to do where nothing has a rate of all: rates of one direction, or benchmarks whose load was asked for."""
    if case.series(needs=("ops_per_s",)):
        return ""
    if _one_sided(case):
        return "Export the other rate too (0 where there was none), or that of all I/Os, and import again."
    return (
        "It holds benchmark runs, whose load is what they were told: storscope workload show FILE explains their file, "
        "or a built-in workload, and storscope simulate DESIGN --workload FILE asks a design for the same."
    ) if case.runs else ""  # fmt: skip


def _nested(case: Case, entities: Sequence[EntityRef]) -> tuple[tuple[EntityRef, EntityRef], ...]:
    known = set(entities)
    return tuple((upper, lower) for upper in entities for lower in sorted(case.components(upper) & known))


# How much ------------------------------------------------------------------------------------------------------------


def _operations(series: Series) -> float:
    """How many it did; NaN is none."""
    return _sum(series, "ops_per_s")


def _sum(series: Series, rate: str, only: BoolArray | None = None) -> float:
    """A rate over all of its time."""
    amounts = np.nan_to_num(series[rate]) * series.duration_ns / NS_PER_S
    return float((amounts if only is None else amounts[only]).sum())


def _busiest_start_ns(series: Sequence[Series], length_ns: int) -> int:
    """The start of the interval from which on, for so long, all together did most; of equal ones the first."""
    time_ns = np.concatenate([one.time_ns for one in series])
    amounts = np.concatenate([np.nan_to_num(one["ops_per_s"]) * one.duration_ns for one in series])
    order = np.argsort(time_ns, kind="stable")
    time_ns, before = time_ns[order], np.concatenate(([0.0], np.cumsum(amounts[order])))
    starts = np.unique(time_ns)
    first, last = np.searchsorted(time_ns, starts), np.searchsorted(time_ns, starts + length_ns)
    return int(starts[np.argmax(before[last] - before[first])])


def _load(case: Case, whole: Series, part: Series) -> MeasuredLoad:
    measured_ns = int(part.duration_ns[np.isfinite(part["ops_per_s"])].sum())
    ops_per_s = _operations(part) / (measured_ns / NS_PER_S)
    latency_ns = _mean(part, "latency_ns_mean", "ops_per_s")
    queue = part["queue_depth_mean"]
    counted = float(np.average(queue[np.isfinite(queue)], weights=part.duration_ns[np.isfinite(queue)])) \
        if np.isfinite(queue).any() else None  # fmt: skip
    busiest = int(np.nanargmax(whole["ops_per_s"]))
    return MeasuredLoad(
        entity=whole.entity,
        label=case.label(whole.entity),
        measured_ns=measured_ns,
        ops_per_s=ops_per_s,
        read_share=_read_share(part),
        read_bytes=_size(part, "read_"),
        write_bytes=_size(part, "write_"),
        mean_bytes=_size(part, ""),
        latency_ns=latency_ns,
        in_flight=counted if latency_ns is None else ops_per_s * latency_ns / NS_PER_S,
        busiest_per_s=float(whole["ops_per_s"][busiest]),
        busiest_ns=int(whole.time_ns[busiest]),
    )


def _mean(series: Series, column: str, rate: str) -> float | None:
    """Of a column by operation; None where no interval has both."""
    weights: FloatArray = np.nan_to_num(series[rate]) * series.duration_ns
    known = np.isfinite(series[column]) & (weights > 0)
    return float(np.average(series[column][known], weights=weights[known])) if known.any() else None


def _read_share(series: Series) -> float | None:
    both = np.isfinite(series["read_ops_per_s"]) & np.isfinite(series["write_ops_per_s"])
    reads, writes = (_sum(series, f"{word}_ops_per_s", both) for word in ("read", "write"))
    return reads / (reads + writes) if reads + writes > 0 else None


def _size(series: Series, begin: str) -> float | None:
    """The mean size of an operation; None where it was not told, or none was done."""
    ops, moved = f"{begin}ops_per_s", f"{begin}bytes_per_s"
    both = np.isfinite(series[ops]) & np.isfinite(series[moved])
    count, size = _sum(series, ops, both), _sum(series, moved, both)
    return size / count if count > 0 and size > 0 else None
