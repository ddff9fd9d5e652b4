"""Clocks of several captures, brought together by the load they all saw.

Every pair of captures that may have seen the same load is compared: captures of one system, and captures of different
systems (an array and its host). Pairs that agree clearly are joined into trees; each capture's offset is counted from
the one in its tree whose clock is best known, of several the one that most others of its system go with. Offsets
smaller than a sampling interval are left alone. A source without times has no clock: where an importer had to guess
when it began, that says nothing against an offset of any size.

`apply_offsets` must be called before anything is read from the case.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.peers import LAYER_KINDS
from storscope.domain.units import NS_PER_S, format_span
from storscope.domain.verdict import Note, NotePlace
from storscope.model.bootstrap import Interval
from storscope.model.clock import Curve, Offset, estimate_offset

MAX_OFFSET_NS = 15 * 3_600 * NS_PER_S
"""Farther apart than any two zones and a mistake of summer time (UTC-12 to UTC+14 is rarely seen in one site)."""
_QUARTER_HOUR_NS = 900 * NS_PER_S
APPLIED_CORRELATION_MIN = 0.5
"""Of the changes of load; below it an offset is shown and not applied (ours)."""
GUESSED_CORRELATION_MIN = 0.8
"""The same for times that were a guess, which nothing else supports (ours)."""
_PIECES_APART_STEPS_MAX = 5
"""Captures of one format and system this near, one behind the other, are pieces of one capture (ours)."""
CAPTURES_MAX = 12
"""Pairs grow with the square; of more captures, those with the most intervals are compared."""


@dataclass(frozen=True, slots=True)
class CaptureClock:
    """How one capture's clock stands against a better known one."""

    capture: str
    reference: str
    offset_ns: Interval
    """What must be added to the times of `capture`."""
    correlation: float
    step_ns: int
    overlapping: bool
    """True when both cover the same time as recorded, at least in half of the shorter one."""
    guessed: bool = False
    """True when the source has no times, and nobody said when it began."""

    @property
    def matters(self) -> bool:
        """True when the clocks differ by at least one sampling interval, beyond doubt."""
        distance = min(abs(self.offset_ns.low), abs(self.offset_ns.high))
        return (
            self.offset_ns.low * self.offset_ns.high > 0
            and distance >= 0.5 * self.step_ns
            and (abs(self.offset_ns.estimate) >= self.step_ns)
        )

    @property
    def is_safe_to_apply(self) -> bool:
        """True when it matters, the loads agree well, and a repeated load is no likelier explanation.

        Captures that do not overlap as recorded may be two runs of the same jobs; then only a time zone is believed, or
        nearly the same load where the recorded time was a guess.
        """
        if self.guessed:
            return self.matters and self.correlation >= GUESSED_CORRELATION_MIN
        plausible = self.overlapping or self.whole_quarter_hours is not None
        return self.matters and self.correlation >= APPLIED_CORRELATION_MIN and plausible

    @property
    def whole_quarter_hours(self) -> int | None:
        """How many quarter hours the offset is, when it is that within its interval: most likely a time zone.

        None for times that were a guess, and have no zone.
        """
        if self.guessed:
            return None
        quarters = round(self.offset_ns.estimate / _QUARTER_HOUR_NS)
        slack = self.step_ns
        near = self.offset_ns.low - slack <= quarters * _QUARTER_HOUR_NS <= self.offset_ns.high + slack
        return quarters if quarters and near else None

    def words(self, names: Mapping[str, str]) -> str:
        """A sentence with the estimate and its interval; `names` gives a capture's file."""
        offset = self.offset_ns
        sign = "behind" if offset.estimate > 0 else "ahead of"
        low, high = sorted((abs(offset.low), abs(offset.high)))
        if self.guessed:
            later = f"{format_span(abs(offset.estimate))} {'later' if offset.estimate > 0 else 'earlier'}"
            return (
                f"the times of {names.get(self.capture, self.capture)} are a guess, as it has none; by the load that "
                f"{names.get(self.reference, self.reference)} saw, too, it was made {later} "
                f"(95 % interval {format_span(low)} to {format_span(high)}, r = {self.correlation:.2f})"
            )
        zone = "; whole quarter hours, so most likely a time zone" if self.whole_quarter_hours else ""
        return (
            f"the clock of {names.get(self.capture, self.capture)} is {format_span(abs(offset.estimate))} {sign} that "
            f"of {names.get(self.reference, self.reference)} (95 % interval {format_span(low)} to {format_span(high)}, "
            f"from the load both saw, r = {self.correlation:.2f}{zone})"
        )


def capture_clocks(case: Case) -> list[CaptureClock]:
    """The clock of every capture that saw the same load as a better known one; measured on the times as recorded."""
    if "capture_clocks" not in case.memo:
        curves = _curves(case)
        case.memo["capture_clocks"] = _from_references(case, curves, _pairs(case, curves))
    found: list[CaptureClock] = case.memo["capture_clocks"]
    return found


def estimate_offsets(case: Case) -> dict[str, int]:
    """Capture -> ns to add to its times; only captures whose clock differs beyond doubt."""
    return {clock.capture: round(clock.offset_ns.estimate) for clock in capture_clocks(case) if clock.is_safe_to_apply}


def apply_offsets(case: Case) -> None:
    """Brings the clocks of a case together and says so in its notes. Call before anything else is read."""
    clocks = [clock for clock in capture_clocks(case) if clock.is_safe_to_apply]
    names = capture_names(case)
    if clocks:
        case.clock_offsets_ns = estimate_offsets(case)
    case.notes.extend(
        Note(f"clocks brought together: {clock.words(names)}; its times were moved", NotePlace.LAST) for clock in clocks
    )
    unplaced = sorted(_guessed(case) - case.clock_offsets_ns.keys())
    if len(names) > len(unplaced):
        case.notes.extend(
            Note(
                f"the times of {names[capture]} are a guess, as it has none: it says nothing about what happened "
                "together with what others saw; import it again with --start and --interval"
            )
            for capture in unplaced
        )


def capture_names(case: Case) -> dict[str, str]:
    """Capture -> the file it came from."""
    return {str(row["capture"]): str(row["path"]) for row in case.store.captures()}


def _curves(case: Case) -> dict[str, tuple[str, Curve]]:
    """Capture -> (system, its total load), from the kind that stands for the system; times as recorded."""
    table = case.store.query(
        "SELECT capture, system, kind, epoch_ns(time) AS time_ns, max(duration_ns) AS duration_ns, "
        "sum(ops_per_s) AS rate FROM observations WHERE run IS NULL AND ops_per_s IS NOT NULL "
        "GROUP BY ALL HAVING max(duration_ns) > 0 ORDER BY capture, system, kind, time_ns"
    )
    if not table.num_rows or len(table.column("capture").unique()) < 2:
        return {}
    keys = list(zip(*(table.column(name).to_pylist() for name in ("capture", "system", "kind")), strict=True))
    arrays = [table.column(name).to_numpy() for name in ("time_ns", "duration_ns", "rate")]
    starts = [0, *(i for i in range(1, len(keys)) if keys[i] != keys[i - 1]), len(keys)]
    best: dict[str, tuple[tuple[int, int], str, Curve]] = {}
    for start, end in pairwise(starts):
        capture, system, kind = keys[start]
        rank = (LAYER_KINDS.index(kind) if kind in LAYER_KINDS else 99, start - end)
        if kind in LAYER_KINDS and (capture not in best or rank < best[capture][0]):
            times, durations, rate = (values[start:end] for values in arrays)
            durations = np.minimum(durations, np.append(np.diff(times), durations[-1]))
            best[capture] = (rank, system, Curve(times, durations, rate.astype(np.float64)))
    longest = sorted(best, key=lambda capture: (-len(best[capture][2].rate), capture))[:CAPTURES_MAX]
    return {capture: best[capture][1:] for capture in sorted(longest)}


def _pairs(case: Case, curves: Mapping[str, tuple[str, Curve]]) -> dict[tuple[str, str], Offset]:
    found = {}
    formats = {str(row["capture"]): row["format"] for row in case.store.captures()}
    for one, other in combinations(curves, 2):
        if (
            formats[one] == formats[other]
            and curves[one][0] == curves[other][0]
            and _adjoin(curves[one][1], curves[other][1])
        ):
            continue
        offset = estimate_offset(curves[one][1], curves[other][1], max_offset_ns=MAX_OFFSET_NS, seed=case.seed)
        if offset is not None:
            found[one, other] = offset
    return found


def _from_references(
    case: Case, curves: Mapping[str, tuple[str, Curve]], pairs: Mapping[tuple[str, str], Offset]
) -> list[CaptureClock]:
    """Offsets counted from the best known clock of each tree of captures, clearest pairs first."""
    neighbours: dict[str, dict[str, tuple[float, float, float, float]]] = defaultdict(dict)
    for (one, other), pair in pairs.items():
        o = pair.offset_ns
        neighbours[one][other] = (o.estimate, o.low, o.high, pair.correlation)
        neighbours[other][one] = (-o.estimate, -o.high, -o.low, pair.correlation)
    trust, guessed = _trust(case), _guessed(case)
    found: list[CaptureClock] = []
    reached: set[str] = set()
    company = _company(case, trust)
    for root in sorted(
        neighbours,
        key=lambda capture: (trust.get(capture, 9), -company.get(capture, 0), -len(curves[capture][1].rate), capture),
    ):
        if root in reached:
            continue
        tree = {root: (0.0, 0.0, 0.0, 1.0)}
        while edges := [
            (edge[3], here, there, edge)
            for here in tree
            for there, edge in neighbours[here].items()
            if there not in tree and there not in reached
        ]:
            _, here, there, edge = max(edges, key=lambda item: (item[0], item[1], item[2]))
            base = tree[here]
            tree[there] = (base[0] + edge[0], base[1] + edge[1], base[2] + edge[2], min(base[3], edge[3]))
        reached |= tree.keys()
        for capture, (estimate, low, high, correlation) in tree.items():
            if capture != root:
                step = int(max(np.median(curves[c][1].duration_ns) for c in (capture, root)))
                found.append(
                    CaptureClock(capture, root, Interval(estimate, low, high), correlation, step,
                                 _overlapping(curves[capture][1], curves[root][1]),
                                 capture in guessed and root not in guessed)
                )  # fmt: skip
    return sorted(found, key=lambda clock: clock.capture)


def _adjoin(one: Curve, other: Curve) -> bool:
    """Whether one ends where the other begins: pieces of one capture, which had one clock."""
    step_ns = float(max(np.median(one.duration_ns), np.median(other.duration_ns)))
    first, last = sorted((one, other), key=lambda curve: int(curve.start_ns[0]))
    gap_ns = int(last.start_ns[0]) - int(first.start_ns[-1] + first.duration_ns[-1])
    return -step_ns < gap_ns <= _PIECES_APART_STEPS_MAX * step_ns


def _overlapping(one: Curve, other: Curve) -> bool:
    spans = [(int(curve.start_ns[0]), int(curve.start_ns[-1] + curve.duration_ns[-1])) for curve in (one, other)]
    common = min(end for _, end in spans) - max(start for start, _ in spans)
    return common >= 0.5 * min(end - start for start, end in spans)


def _trust(case: Case) -> dict[str, int]:
    """Capture -> 0 when its source gave a zone, 1 when a zone was given for it, 2 when its times were rebuilt."""
    found = {}
    for row in case.store.captures():
        said = str(row.get("clock") or "")
        known = "in the file" in said or ("UTC" in said and "--timezone" not in said)
        found[str(row["capture"])] = 0 if known else 2 if "rebuilt" in said else 1
    return found


def _company(case: Case, trust: Mapping[str, int]) -> dict[str, int]:
    """Capture -> how many others of its system, by clocks as well known, cover some of the same time as recorded.

    Most of them may be no curve to compare (sums of jobs, logs): they would stay behind where it were moved.
    """
    timed = [row for row in case.store.captures() if row["first_time"] is not None and row["system"] is not None]
    return {
        str(one["capture"]): sum(
            one is not other
            and one["system"] == other["system"]
            and one["first_time"] <= other["last_time"]
            and other["first_time"] <= one["last_time"]
            and trust[str(other["capture"])] <= trust[str(one["capture"])]
            for other in timed
        )
        for one in timed
    }


def _guessed(case: Case) -> set[str]:
    """Captures of sources without times, of which nobody said when they began."""
    return {
        str(row["capture"])
        for row in case.store.captures()
        if "no times in the source" in (said := str(row.get("clock") or "")) and "--start" not in said
    }
