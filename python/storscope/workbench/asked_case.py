"""The evidence that is asked about: of a store one part, between two times, by clocks that agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from storscope.diagnose.case import Case
from storscope.diagnose.clocks import apply_offsets
from storscope.domain.errors import StorscopeError, UsageError
from storscope.domain.moment import UTC_FORM, Moment, SinceStart
from storscope.domain.units import PLACEHOLDER_BEFORE_NS, format_time
from storscope.domain.verdict import JudgedPart
from storscope.store import Store
from storscope.store.time_frame import TimeFrame
from storscope.workbench.judged_part import judged_part, virtual_zero_ns


@dataclass(frozen=True)
class AskedCase:
    """A case with where its evidence begins and ends; None where nothing in it has a time."""

    case: Case
    part: JudgedPart | None
    """What of the store it is; None where it is all."""
    start_ns: int | None
    end_ns: int | None


def asked_case(
    store: Store, *, since: Moment | None = None, until: Moment | None = None, run: str | None = None,
    tier_patterns: Sequence[tuple[str, str]] = (), seed: int = 0,
) -> AskedCase:  # fmt: skip
    """The case of what the store holds, or of what `run` (a name, id or pattern) belongs to.

    Simulated runs never stand beside others; without `run`, `workbench/judged_part.py` says what is taken. Raises
    StorscopeError for an empty store, UsageError for runs that are not there and for times that it cannot take.
    """
    if not store.captures():
        raise StorscopeError(
            "evidence in the store", "none", where=str(store.path), hint="Import something: storscope import FILE..."
        )
    store, part = judged_part(store, run)
    zero_ns = virtual_zero_ns(store)
    since_ns, until_ns = (
        _instant(moment, option, store, part) for moment, option in ((since, "--since"), (until, "--until"))
    )
    if since_ns is not None and until_ns is not None and since_ns >= until_ns:
        found = " and ".join(format_time(instant, zero_ns) for instant in (since_ns, until_ns))
        raise UsageError("--since before --until", found)
    case = Case(store, since_ns, until_ns, tier_patterns, seed, zero_ns=zero_ns)
    apply_offsets(case)
    start_ns, end_ns = _time_range(store, case.time_frame)
    if start_ns is None:
        _require_no_range(store, case.time_frame, part)
    return AskedCase(case, part, start_ns, end_ns)


def _instant(moment: Moment | None, option: str, store: Store, part: JudgedPart | None) -> int | None:
    """In ns since 1970. Raises UsageError for a time since the start where there is no one simulated run."""
    if not isinstance(moment, SinceStart):
        return moment
    zero_ns = virtual_zero_ns(store)
    if zero_ns is not None:
        return zero_ns + moment.ns
    hint = "The time since the start is taken for one simulated run alone."
    if part is not None:
        hint += f" {part.words}"
    raise UsageError(f"{UTC_FORM}, as this was timed by real clocks", repr(moment.text), where=option, hint=hint)


def _require_no_range(store: Store, frame: TimeFrame, part: JudgedPart | None) -> None:
    """Nothing in a range that was asked for is an error where there is something outside of it."""
    first_ns, last_ns = _time_range(store, replace(frame, since_ns=None, until_ns=None))
    if first_ns is not None and (frame.since_ns is not None or frame.until_ns is not None):
        raise UsageError(
            "evidence between --since and --until",
            f"none; there is some from {_range(first_ns, last_ns, virtual_zero_ns(store))}",
            where=str(store.path),
            hint="" if part is None else part.words,
        )


def _range(first_ns: int, last_ns: int | None, zero_ns: int | None) -> str:
    words = f"{format_time(first_ns, zero_ns)} to {format_time(last_ns, zero_ns)}"
    return words if zero_ns is not None else f"{words} (UTC)"


def _time_range(store: Store, frame: TimeFrame) -> tuple[int | None, int | None]:
    """Where the evidence in a time frame begins and ends, by its clocks."""
    instant, condition = frame.instant(), frame.condition()
    row = store.query(
        f"""SELECT min(first) AS first, max(last) AS last FROM (
            SELECT {instant} AS first, {instant} + coalesce(duration_ns, 0) AS last
            FROM observations WHERE {condition}
            UNION ALL SELECT {instant}, {instant} FROM events WHERE {condition})
            WHERE first >= {PLACEHOLDER_BEFORE_NS}"""
    ).to_pylist()[0]
    last_ns = row["last"]
    if last_ns is not None and frame.until_ns is not None:
        last_ns = min(last_ns, frame.until_ns)  # what begins before may last longer, and is judged until then
    return row["first"], last_ns
