"""What the rules about load share: words for entities and windows, and SQL for their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from storscope.diagnose.case import Case
from storscope.diagnose.directions import DIRECTIONS
from storscope.diagnose.peers import Grid
from storscope.diagnose.windows import rhythm_of_windows
from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows
from storscope.domain.units import format_span
from storscope.model.bootstrap import Interval
from storscope.store.sql import sql_list, sql_text

WINDOWS_IN_SQL = 12
"""A query names at most this many windows, the longest; more would hide what it asks."""

KIND_WORDS = {
    "vm": "VM", "vm_disk": "VM disk", "vdisk": "volume", "disk_group": "disk group", "datastore": "datastore",
    "filesystem": "file system",
}  # fmt: skip


def kind_word(kind: str, number: int = 1) -> str:
    """'volume', 'volumes': what a kind is called in a sentence."""
    word = KIND_WORDS.get(kind, kind.replace("_", " "))
    return word if number == 1 else f"{word}es" if word.endswith("s") else f"{word}s"


def named(case: Case, entity: EntityRef) -> str:
    """'volume v03', without the kind where the label says it."""
    label, word = case.label(entity), kind_word(entity.kind)
    return label if word.lower() in label.lower() else f"{word} {label}"


def opening(case: Case, entity: EntityRef) -> str:
    """'Volume v03', to begin a title with; a label that stands alone keeps its case."""
    name, label = named(case, entity), case.label(entity)
    return name if name == label else name[0].upper() + name[1:]


def headed(words: str) -> str:
    """'Device sdb:', to begin a title with; names that end with a colon, as drives of Windows do, keep one."""
    return f"{words.rstrip(':')}:"


def inside_sql(case: Case, windows: Sequence[tuple[int, int]]) -> str:
    """An SQL condition for rows that begin in one of the windows (the longest ones where there are many)."""
    return _inside_any(case, sorted(windows, key=lambda window: window[0] - window[1])[:WINDOWS_IN_SQL])


def _inside_any(case: Case, windows: Sequence[tuple[int, int]]) -> str:
    instant = case.instant()
    terms = " OR ".join(f"({instant} >= {start} AND {instant} < {end})" for start, end in sorted(windows))
    return f"({terms})" if terms else "true"


def rows_sql(case: Case, grid: Grid, *conditions: str) -> str:
    """An SQL condition for the observations a grid was made of."""
    names = [entity.name for entity in grid.entities]
    parts = [
        case.running, f"system = {sql_text(grid.system)}", f"kind = {sql_text(grid.kind)}", case.time_condition(),
        f"capture IN {sql_list(grid.captures)}" if grid.captures else "true", *conditions,
    ]  # fmt: skip
    if len(names) <= 100:
        parts.insert(3, f"entity IN {sql_list(names)}")
    return " AND ".join(part for part in parts if part != "true")


def talkers(case: Case, caption: str, grid: Grid, windows: Sequence[tuple[int, int]], of: str = "") -> EvidenceRows:
    """Load, latency and queue time of each entity of a grid, the most queue time first; those of its 'reads' or
    'writes' as well, where `of` names them."""
    if len(windows) > WINDOWS_IN_SQL:
        caption = f"{caption}: the {WINDOWS_IN_SQL} longest of {len(windows):,}"
    return _talkers(case, caption, rows_sql(case, grid, inside_sql(case, windows)), of)


def at_other_times(
    case: Case, grid: Grid, entity: EntityRef, windows: Sequence[tuple[int, int]], of: str = ""
) -> EvidenceRows:
    """The same of one entity outside of all the windows."""
    where = rows_sql(case, grid, f"entity = {sql_text(entity.name)}", f"NOT {_inside_any(case, windows)}")
    return _talkers(case, f"{opening(case, entity)} at other times", where, of)


def _talkers(case: Case, caption: str, where: str, of: str) -> EvidenceRows:
    begin = f"{DIRECTIONS[of]}_" if of else ""
    apart = f"{_load_columns(begin)}, " if of else ""
    return case.evidence(
        caption,
        f"""SELECT entity, {_load_columns("")}, {apart}
        round(avg(ops_per_s * latency_ns_mean) / 1e9, 3) AS in_flight_mean
        FROM observations WHERE {where} GROUP BY entity ORDER BY in_flight_mean DESC NULLS LAST, ops_per_s DESC""",
    )


def _load_columns(begin: str) -> str:
    """SQL for rates and mean latency, by the columns that begin so."""
    ops, moved, latency = (f"{begin}{name}" for name in ("ops_per_s", "bytes_per_s", "latency_ns_mean"))
    return f"""round(avg({ops}), 1) AS {ops}, round(avg({moved})) AS {moved},
        round(sum({ops} * {latency}) / nullif(sum({ops}) FILTER ({latency} IS NOT NULL), 0)) AS {latency}"""


def window_words(case: Case, windows: Sequence[tuple[int, int]]) -> str:
    """'the bad window 02:00 to 03:10 (70 min)' or '3 bad windows (2 h 05 min in all)'."""
    total = sum(end - start for start, end in windows)
    if len(windows) == 1:
        start, end = windows[0]
        return f"the bad window from {case.time_words(start)} to {case.time_words(end)} ({format_span(total)})"
    return f"{len(windows):,} bad windows ({format_span(total)} in all)"


def rhythm_words(case: Case, system: str) -> str:
    """'The bad windows come every 5 min (24 of them): ...', with a space before; empty where they are not regular."""
    found = rhythm_of_windows(case, system)
    if found is None:
        return ""
    return (
        f" The bad windows of {system} come every {format_span(found.period_ns)} ({found.times:,} of them): look for "
        "what has this timetable (a checkpoint, a flush of a cache, a cron job, a snapshot, monitoring)."
    )


def span_of(windows: Iterable[tuple[int, int]]) -> tuple[int | None, int | None]:
    """From the first start to the last end."""
    listed = list(windows)
    if not listed:
        return None, None
    return min(start for start, _ in listed), max(end for _, end in listed)


def between(interval: Interval, form: Callable[[float], str]) -> str:
    """'95 % interval 1.2 to 3.4' in the given format."""
    return f"{100 * interval.level:.0f} % interval {form(interval.low)} to {form(interval.high)}"
