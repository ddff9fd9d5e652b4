"""From metrics of CloudWatch to observations: rates by the length of the period, latency by the number of operations.

An amount is converted where it is a Sum: where the source says so, or says nothing and nothing speaks against it.
Against it speak parts of an operation, less than a sector an operation, and operations that take less than a network
does; then it stays a counter, with a note. VolumeIdleTime stays a counter: it counts seconds in which nothing was
submitted, which a volume that is slow to answer has as well as an idle one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from storscope.domain import burst_credits, units
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.sources.importer import ImportOptions, shortened
from storscope.sources.importers._cloud_samples import (
    CloudSamples,
    Kept,
    Points,
    left_of_percent,
    write_columns,
    write_counters,
)
from storscope.sources.importers._cloudwatch_metrics import (
    AVERAGE,
    METRICS,
    MINIMUM,
    OPERATIONS_OF,
    SUM,
    TIMES,
    UNSAID,
    is_of_instance,
)

DEFAULT_SYSTEM: Final = "aws"
CARRIES: Final = (
    "read_ops_per_s", "write_ops_per_s", "read_bytes_per_s", "write_bytes_per_s", "read_latency_ns_mean",
    "write_latency_ns_mean", "queue_depth_mean",
    "BurstBalance, EBSIOBalance% and EBSByteBalance% as counters of credits that are left, others as they are",
)  # fmt: skip
"""What its metrics give, in whatever form they come; and what they do not."""
NOT_YET: Final = {
    "VolumeIdleTime as a busy share": "it counts seconds without a new operation, which slow volumes have too"
}
NEVER: Final = {
    "what limits a volume": "aws ec2 describe-volumes says it",
    "what happens within a minute": "the period is 60 s at least",
}
_LEAST_SIZE_BYTES: Final = 512.0
"""Of an operation: a sector."""
_LEAST_TIME_S: Final = 20e-6
"""Of an operation of network storage: a fast network's round trip alone takes as long (ours)."""
_MOST_NAMED: Final = 8


def entity_of(metric: str, name: str | None, options: ImportOptions) -> EntityRef:
    """What a metric is of: a volume, or the machine whose volumes it sums."""
    of_instance = is_of_instance(metric)
    kind, unnamed = ("vm", "instance") if of_instance else ("vdisk", "volume")
    return EntityRef(options.system or DEFAULT_SYSTEM, kind, name or unnamed)


@dataclass
class CloudWatchWriter:
    """Writes what was gathered."""

    samples: CloudSamples
    recorder: Recorder
    options: ImportOptions
    _no_sums: dict[str, str] = field(default_factory=dict)
    """Metric -> why it is not converted."""
    _without_times: list[EntityRef] = field(default_factory=list)
    """Volumes that have operations and no latency."""
    _by_queue: list[EntityRef] = field(default_factory=list)
    """Those of them whose queue tells one."""
    _is_taken: bool = False
    """Whether an amount was taken as a Sum that nothing called so."""

    def write(self) -> None:
        """Everything, and the notes."""
        notes = self.recorder.notes
        notes.tool, notes.system = "CloudWatch", self.options.system or DEFAULT_SYSTEM
        periods = self.samples.periods(self.options.interval_s)
        for entity, metrics in self.samples.things.items():
            self._write(entity, metrics, {kept: periods.get((entity, kept), 0) for kept in metrics})
        if self._is_taken:
            self.recorder.warn(
                "Nothing says by which statistic amounts were asked for: they were taken as sums over the period. Ask "
                "for Stat=Sum, of VolumeQueueLength and balances for Average."
            )
        for entities, so in (
            (self._without_times, ", which most rules need"),
            (self._by_queue, ": that of reads and writes together is derived from VolumeQueueLength"),
        ):
            if entities:
                self.recorder.warn(
                    f"No latency of {shortened(_named(entities))}{so}. Ask for VolumeTotalReadTime and "
                    "VolumeTotalWriteTime too."
                )
        for why in dict.fromkeys(self._no_sums.values()):
            names = [name for name, reason in self._no_sums.items() if reason == why]
            more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
            shown = ", ".join(shortened(name) for name in names[:_MOST_NAMED]) + more
            self.recorder.warn(
                f"Kept as counters that no rule reads: {shown}: {why}. Ask for Stat=Sum: a rate is the sum by the "
                "seconds of its period."
            )

    def _write(self, entity: EntityRef, metrics: Mapping[Kept, Points], periods: Mapping[Kept, int]) -> None:
        usable = {kept: points for kept, points in metrics.items() if self._has_period(kept, points, periods[kept])}
        sums = self._sums(usable)
        means = _means(usable)
        main_ns = _main_period([(periods[kept], len(usable[kept])) for kept in (*sums.values(), *means.values())])
        columns: dict[str, Points] = {}
        for name, kept in sums.items():
            column = METRICS[name].column
            if column and periods[kept] == main_ns:
                columns[column] = self._not_negative(usable[kept], 1.0, main_ns / units.NS_PER_S)
        for name, kept in means.items():
            column = METRICS[name].column
            if column and periods[kept] == main_ns:
                columns[column] = self._not_negative(usable[kept], METRICS[name].factor)
        for column, (time, operations) in TIMES.items():
            if time in sums and operations in sums and periods[sums[time]] == periods[sums[operations]] == main_ns:
                spent = self._not_negative(usable[sums[time]], units.NS_PER_S)
                columns[column] = _by(spent, usable[sums[operations]])
            _without_idle(columns, column)
        if entity.kind == "vdisk" and columns and not any("latency" in name for name in columns):
            is_told = all(columns.get(name) for name in ("read_ops_per_s", "write_ops_per_s", "queue_depth_mean"))
            (self._by_queue if is_told else self._without_times).append(entity)
        others = [kept for name, kept in (sums | means).items() if METRICS[name].column and periods[kept] != main_ns]
        self.recorder.omit(
            "values of another period than most of their volume's", sum(len(usable[kept]) for kept in others)
        )
        write_columns(self.recorder, entity, {name: points for name, points in columns.items() if points}, main_ns)
        balances = _balances(usable)
        for name, kept in balances.items():
            left = left_of_percent(self.recorder, usable[kept])
            write_counters(self.recorder, entity, {(name, burst_credits.UNIT): left}, periods[kept])
        converted = {*sums.values(), *means.values()} - {kept for kept in sums.values() if _is_counter(kept.metric)}
        converted |= set(balances.values())
        self._write_counters(
            entity, {kept: points for kept, points in usable.items() if kept not in converted}, periods
        )

    def _write_counters(self, entity: EntityRef, metrics: Mapping[Kept, Points], periods: Mapping[Kept, int]) -> None:
        by_period: dict[int, dict[tuple[str, str], Points]] = {}
        for kept, points in metrics.items():
            metric = METRICS[kept.metric]
            plain = kept.statistic in (UNSAID, SUM if metric.is_amount else AVERAGE)
            name = kept.metric if plain else f"{kept.metric}, {kept.statistic}"
            some = by_period.setdefault(periods[kept], {})
            some[name, metric.unit] = some.get((name, metric.unit), {}) | points
        for period_ns, counters in by_period.items():
            write_counters(self.recorder, entity, counters, period_ns)

    def _has_period(self, kept: Kept, points: Points, period_ns: int) -> bool:
        if kept.statistic == "SampleCount":
            self.recorder.omit("values of SampleCount, which count samples and no operations", len(points))
            return False
        if not period_ns:
            self.recorder.omit("metrics with one value only: its period is not known (say it: --interval)", len(points))
        return bool(period_ns)

    # Which are sums ----------------------------------------------------------------------------------------------

    def _sums(self, metrics: Mapping[Kept, Points]) -> dict[str, Kept]:
        """Metric -> the values that are its sums."""
        found: dict[str, Kept] = {}
        for name in dict.fromkeys(kept.metric for kept in metrics if METRICS[kept.metric].is_amount):
            sure, unsaid = Kept(name, SUM), Kept(name, UNSAID)
            if sure in metrics:
                found[name] = sure
            elif unsaid not in metrics:
                said = " and ".join(sorted(kept.statistic for kept in metrics if kept.metric == name))
                self._no_sums[name] = f"{said} of an amount is of one operation or of one sample, not of the period"
            elif METRICS[name].unit != "Seconds" and not _are_whole(metrics[unsaid].values()):
                self._no_sums[name] = "it has parts of one, as a mean has and no sum"
            else:
                found[name] = unsaid
                self._is_taken = True
        for name, kept in list(found.items()):
            if kept.statistic == UNSAID and self._contradicts(metrics, found, name):
                del found[name]
        return found

    def _contradicts(self, metrics: Mapping[Kept, Points], sums: Mapping[str, Kept], name: str) -> bool:
        """Whether so little comes on an operation that the values are no sums."""
        operations = sums.get(OPERATIONS_OF.get(name, ""))
        each = list(_by(metrics[sums[name]], metrics[operations]).values()) if operations else []
        least = _LEAST_TIME_S if METRICS[name].unit == "Seconds" else _LEAST_SIZE_BYTES
        if not any(each) or np.median([value for value in each if value > 0]) >= least:
            return False
        self._no_sums[name] = "an operation would have less than is possible, so it is a mean and no sum"
        return True

    def _not_negative(self, points: Points, factor: float, seconds: float = 1.0) -> Points:
        kept = {time_ns: value * factor / seconds for time_ns, value in points.items() if value >= 0}
        self.recorder.omit("values below zero, which no amount has", len(points) - len(kept))
        return kept


def _means(metrics: Mapping[Kept, Points]) -> dict[str, Kept]:
    """Metric -> the values that are its means, of those that have a canonical column."""
    wanted = [name for name, metric in METRICS.items() if metric.column and not metric.is_amount]
    return {
        name: kept
        for name in wanted
        if (kept := next((one for said in (AVERAGE, UNSAID) if (one := Kept(name, said)) in metrics), None))
    }


def _balances(metrics: Mapping[Kept, Points]) -> dict[str, Kept]:
    """Counter of credits that are left -> the values that tell it: the mean of a period, or else its least."""
    found: dict[str, Kept] = {}
    for name, metric in METRICS.items():
        said = (Kept(name, one) for one in (AVERAGE, UNSAID, MINIMUM))
        if metric.balance and (kept := next((one for one in said if one in metrics), None)):
            found[metric.balance] = kept
    return found


def _named(entities: list[EntityRef]) -> str:
    more = f" and {len(entities) - 3} more" if len(entities) > 3 else ""
    return ", ".join(entity.name for entity in entities[:3]) + more


def _is_counter(metric: str) -> bool:
    """Whether a sum has no canonical column and goes into no latency."""
    return METRICS[metric].column is None and not any(metric == time for time, _ in TIMES.values())


def _main_period(lengths: list[tuple[int, int]]) -> int:
    """The period, ns, of most values; of equal ones the shortest."""
    values: dict[int, int] = {}
    for length_ns, count in lengths:
        values[length_ns] = values.get(length_ns, 0) + count
    return min(values, key=lambda length_ns: (-values[length_ns], length_ns), default=0)


def _by(amounts: Points, operations: Points) -> Points:
    """What comes on one operation, where there were any."""
    return {time: value / operations[time] for time, value in amounts.items() if operations.get(time, 0) > 0}


def _without_idle(columns: dict[str, Points], latency: str) -> None:
    """Without operations there is no latency, whatever the source tells."""
    rates = columns.get(latency.replace("latency_ns_mean", "ops_per_s"))
    if rates is not None and latency in columns:
        columns[latency] = {time: value for time, value in columns[latency].items() if rates.get(time) != 0}


def _are_whole(values: Iterable[float]) -> bool:
    return all(float(value).is_integer() for value in values)
