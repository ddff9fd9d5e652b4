"""Patterns that come back every day or every week, and rhythms of minutes or hours.

Values are laid out as a table of periods (days) by slots (hours). The pattern's strength is the share of the table's
variance that the slot means explain, corrected for what slots explain by chance. Whether it is real is asked by
turning every day by an angle of its own: that keeps how values hang together within a day and destroys what days have
in common; the p value is the share of such turned tables with a pattern as strong (a permutation test, so it needs no
assumption about the distribution). Times of day are UTC.

It needs three periods. Beware: with three days the least p value is about 0.002 at 24 slots, and any three bad nights
look like a habit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from storscope.domain.arrays import BoolArray, FloatArray, IntArray

HOUR_NS = 3_600_000_000_000
DAY_NS = 24 * HOUR_NS
WEEK_NS = 7 * DAY_NS
PERIODS_MIN = 3
_MONDAY_NS = 4 * DAY_NS
"""1970-01-01 was a Thursday; the week is counted from the Monday after it."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A test for a pattern."""

    share: float
    """Share of the variance that the time within the period explains, chance taken off; 0 to 1."""
    p_value: float
    periods: int
    profile: FloatArray
    """Mean of each slot."""


@dataclass(frozen=True, slots=True)
class RecurrentWindow:
    """Slots of the day that were bad on several of the last days."""

    first_slot: int
    last_slot: int
    """Inclusive; smaller than `first_slot` when the window runs over midnight."""
    days_bad: int
    days_looked_at: int


@dataclass(frozen=True, slots=True)
class Rhythm:
    """How regularly something comes back."""

    period_ns: float
    times: int
    """How often it came."""


_RHYTHM_TIMES_MIN = 5
"""Times from which a rhythm is told (ours): four gaps of chance (exponential) that are within a tenth of each other are
one case in some thousands."""
_RHYTHM_WITHIN = 0.1
"""Part of the period by which a gap may differ from it (ours)."""
_RHYTHM_SHARE = 0.8
"""Part of the gaps that must be one period; the others are several of them, as of one time that was too mild (ours)."""


def rhythm(starts_ns: IntArray, resolution_ns: int) -> Rhythm | None:
    """The period at which something that began at these times comes back; None where it is not regular.

    Gaps may differ by a tenth of the period, or by the `resolution_ns` of what told the times where that is no more
    than a quarter of it. For periods within a capture: what comes every day is told by `find_pattern`.
    """
    starts = np.sort(starts_ns)
    if len(starts) < _RHYTHM_TIMES_MIN:
        return None
    gaps = np.diff(starts).astype(np.float64)
    usual = float(np.median(gaps))
    within = max(_RHYTHM_WITHIN * usual, min(float(resolution_ns), usual / 4))
    periods = np.maximum(np.round(gaps / usual), 1.0)
    regular = np.abs(gaps - periods * usual) <= within
    if not regular.all() or (periods == 1).mean() < _RHYTHM_SHARE:
        return None
    return Rhythm(float(gaps.sum() / periods.sum()), len(starts))


def slot_table(
    time_ns: IntArray, values: FloatArray, *, period_ns: int = DAY_NS, slot_ns: int = HOUR_NS
) -> tuple[FloatArray, int]:
    """Mean value per period and slot (NaN where nothing was seen), and the number of the first period."""
    usable = np.isfinite(values)
    shifted = time_ns[usable] - (_MONDAY_NS if period_ns == WEEK_NS else 0)
    period, slot = shifted // period_ns, shifted % period_ns // slot_ns
    slots = int(period_ns // slot_ns)
    if not len(period):
        return np.empty((0, slots)), 0
    first = int(period.min())
    cell = (period - first) * slots + slot
    size = int(period.max() - first + 1) * slots
    count = np.bincount(cell, minlength=size)
    total = np.bincount(cell, weights=values[usable], minlength=size)
    table: FloatArray = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return table.reshape(-1, slots), first


def find_pattern(table: FloatArray, *, seed: int = 0, shuffles: int = 499) -> Pattern | None:
    """The pattern in a table of periods by slots; None when fewer than three periods are at least half filled."""
    table = table[np.isfinite(table).mean(axis=1) >= 0.5]
    periods, slots = table.shape
    if periods < PERIODS_MIN:
        return None
    observed = float(_slot_share(table[None])[0])
    rng = np.random.default_rng(seed)
    turns = rng.integers(0, slots, (shuffles, periods, 1))
    index = (np.arange(slots)[None, None, :] + turns) % slots
    turned = np.take_along_axis(np.broadcast_to(table, (shuffles, periods, slots)), index, axis=2)
    p_value = (1 + int((_slot_share(turned) >= observed - 1e-12).sum())) / (1 + shuffles)
    filled = np.isfinite(table)
    profile = np.where(filled, table, 0.0).sum(axis=0) / np.maximum(filled.sum(axis=0), 1)
    return Pattern(_corrected(observed, table), p_value, periods, np.where(filled.any(axis=0), profile, np.nan))


def _slot_share(tables: FloatArray) -> FloatArray:
    """Between-slot share of the variance, per table of shape (periods, slots)."""
    filled = np.isfinite(tables)
    values = np.where(filled, tables, 0.0)
    count = filled.sum(axis=1)
    mean = values.sum(axis=(1, 2)) / filled.sum(axis=(1, 2))
    slot_mean = values.sum(axis=1) / np.maximum(count, 1)
    between = (count * (slot_mean - mean[:, None]) ** 2).sum(axis=1)
    within = (np.where(filled, values - mean[:, None, None], 0.0) ** 2).sum(axis=(1, 2))
    share: FloatArray = np.where(within > 0, between / np.where(within > 0, within, 1.0), 0.0)
    return share


def _corrected(share: float, table: FloatArray) -> float:
    """Share with what slots explain by chance taken off (adjusted R squared)."""
    cells, slots = int(np.isfinite(table).sum()), table.shape[1]
    if cells <= slots:
        return 0.0
    return float(max(0.0, 1.0 - (1.0 - share) * (cells - 1) / (cells - slots)))


def recurrent_window(bad: BoolArray, known: BoolArray, *, last: int = 5, least: int = 3) -> RecurrentWindow | None:
    """The longest stretch of slots that were bad on `least` of the `last` days on which they were seen.

    `bad` and `known` are tables of days by slots; None when there is no such stretch or it fills the whole day.
    """
    recent_bad, recent_known = bad[-last:], known[-last:]
    often = (recent_bad & recent_known).sum(axis=0) >= least
    slots = len(often)
    if not often.any() or often.all():
        return None
    turn = int(np.flatnonzero(~often)[0])
    turned = np.roll(often, -turn)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], turned.astype(np.int8), [0]])))
    stretches = edges.reshape(-1, 2)
    start, end = stretches[int(np.argmax(stretches[:, 1] - stretches[:, 0]))]
    inside = [int((turn + slot) % slots) for slot in range(int(start), int(end))]
    days = int((recent_bad & recent_known)[:, inside].any(axis=1).sum())
    return RecurrentWindow(inside[0], inside[-1], days, int(recent_known.any(axis=1).sum()))
