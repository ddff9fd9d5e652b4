"""A comparison: what differs between two sides, by how much, and whether that can be chance."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from storscope.domain.arrays import FloatArray, IntArray

NOT_THE_SAME_LOAD: Final = "not the same load"
"""The reason of rows whose two sides were driven differently."""
PREDICTION: Final = "prediction, not judged"
"""The reason of rows of which one side is simulated and the other measured."""
PART_OF_COMMITS: Final = "without its flushes, not judged"
"""The reason of rows on writes of runs that flush: a commit waits for both, and it says little which has the wait."""
Side = Literal["before", "after"]
BEFORE: Final = "before"
AFTER: Final = "after"


class Outcome(enum.StrEnum):
    """What may be said of a difference. A word, as the outcome of a whole comparison is."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "no difference shown"
    UNDECIDED = "cannot tell"


@dataclass(frozen=True, slots=True)
class Settings:
    """How to compare."""

    metrics: Sequence[str] = ()
    """Names of metrics; empty: the usual ones."""
    threshold: float = 0.05
    """Smallest change that matters, as a ratio."""
    level: float = 0.95
    seed: int = 0
    allow_different_load: bool = False
    """Judge also what was driven differently."""
    allow_failed: bool = False
    """Judge also runs that failed or lost data, and latencies that do not mean what they say."""
    entities_max: int = 10
    """Entities of running systems that are compared, the busiest first."""


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One figure on both sides. Ratios are of the value before: a change of 0.1 is 10 % more."""

    metric: str
    unit: str
    """'ns', '1/s', 'B/s', 'ratio' or '' (a plain number)."""
    better: str | None
    """'higher' or 'lower'; None for what is load rather than performance, which is not judged."""
    before: float
    after: float
    change: float | None
    change_low: float | None
    change_high: float | None
    """Bounds of the change; None without interval, or where the interval has no end on that side."""
    difference_low: float | None
    difference_high: float | None
    """Bounds of after - before, in `unit`."""
    p_value: float | None
    """Probability of a difference at least as large by chance alone, when there is none."""
    p_value_adjusted: float | None
    """The same, adjusted for the number of access specifications compared (Holm)."""
    method: str
    values_before: int
    values_after: int
    independent: float | None
    outcome: Outcome | None
    reason: str
    """Why the outcome is what it is; empty for a plain better or worse."""
    off_by: float | None = None
    """Of a prediction: predicted / measured - 1; None of all others."""
    off_by_low: float | None = None
    off_by_high: float | None = None
    """Its bounds, as those of the change."""


@dataclass(frozen=True, slots=True)
class Load:
    """What was configured; None where the source does not say."""

    block_bytes: float | None = None
    read_ratio: float | None = None
    random_ratio: float | None = None
    outstanding: float | None = None
    workers: float | None = None


@dataclass(frozen=True, slots=True)
class Distribution:
    """Mann-Whitney on whole latency distributions. Takes I/Os as independent, so its p value is too small."""

    probability_slower: float
    """That a random I/O after takes longer than a random one before; 0.5 without difference."""
    p_value: float


@dataclass(frozen=True, slots=True, eq=False)
class OverTime:
    """Figures of a subject by interval, in order of time. Times are since its start, a warm-up included."""

    begin_ns: IntArray
    end_ns: IntArray
    columns: Mapping[str, FloatArray]
    """`ops_per_s`, `bytes_per_s`, `latency_ns_mean` as far as the source has them; NaN where absent."""


@dataclass(frozen=True, slots=True)
class ComparedSubject:
    """One run, or one entity of a running system, as it was compared."""

    side: Side
    key: str
    """The run's id, or system/kind/entity."""
    name: str
    place: str
    """What it ran on: the target, or the design of a simulated run; empty where the source does not tell."""
    engine: str
    load: str
    """What was asked of the storage, in words."""
    began_ns: int | None
    """When its figures begin, after a warm-up."""
    duration_ns: int | None
    status: str
    """How it ended; empty where the source does not tell."""
    captures: Sequence[str]
    """The files that it is from."""
    over_time: OverTime | None = None
    """None where the source has no intervals."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class PairResult:
    """One access specification, or one entity, on both sides."""

    name: str
    load_before: Load
    load_after: Load
    runs_before: Sequence[str]
    runs_after: Sequence[str]
    rows: Sequence[MetricRow]
    is_comparable: bool
    """False when the two were driven differently, so that no difference can be blamed on the storage."""
    warnings: Sequence[str]
    """What makes the comparison doubtful."""
    notes: Sequence[str]
    distribution: Distribution | None = None
    pairing: Sequence[str] = ()
    """Of the notes those on how runs came together, where that is not plainly by one name."""
    missing: Sequence[str] = ()
    """Of the notes those on metrics that were looked for, which some run has and another lacks, or that were asked for:
    they have no row."""
    predicted: Side | None = None
    """The side that is simulated, where the other one was measured: a prediction, which is not judged."""
    subjects: Sequence[ComparedSubject] = ()
    """What was compared, the side before first; several of a side are repetitions."""

    def __repr__(self) -> str:
        """What it is, and the figures that were compared."""
        loud = "" if self.is_comparable else ", not the same load"
        return f"<PairResult {self.name!r}: {', '.join(row.metric for row in self.rows) or 'no figures'}{loud}>"


@dataclass(frozen=True, slots=True)
class Agreement:
    """What many access specifications say together of one metric: the sign test over their changes."""

    metric: str
    better: str
    """'higher' or 'lower'."""
    higher: int
    lower: int
    """Access specifications whose figure rose, and fell; what is even to the last digit is neither."""
    change_median: float
    change_median_low: float | None
    change_median_high: float | None
    p_value: float
    p_value_adjusted: float
    """Adjusted for the number of metrics (Holm)."""
    outcome: Outcome
    """Better, worse or cannot tell."""


@dataclass(frozen=True, slots=True)
class Unmatched:
    """What is on one side only."""

    side: str
    """'before' or 'after'."""
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """What one side was."""

    source: str
    """As the user named it."""
    captures: Sequence[str]
    """Files that were used."""
    subjects: int
    """Runs, or entities of running systems."""
    names: Sequence[str] = ()
    """What they are called by who made them: 'oltp on EVA 4400 (simulated)'; empty where only their source is known."""
    simulated: int = 0
    """How many of the subjects are simulated."""
    began_ns: int | None = None
    """When its figures begin, after a warm-up, where it is a single measured run that has a name."""


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """The whole answer of `storscope compare`. Like its pairs it equals only itself."""

    before: ComparedSide
    after: ComparedSide
    of_runs: bool
    """True for benchmark runs, False for counters of running systems."""
    pairs: Sequence[PairResult]
    unmatched: Sequence[Unmatched]
    notes: Sequence[str]
    level: float
    threshold: float
    seed: int
    storscope_version: str
    agreements: Sequence[Agreement] = ()
    """What access specifications say together; of none where they are few."""

    def rows(self) -> Iterator[MetricRow]:
        """Every row of every pair."""
        for pair in self.pairs:
            yield from pair.rows

    def count(self, outcome: Outcome) -> int:
        """Rows with that outcome."""
        return sum(row.outcome is outcome for row in self.rows())
