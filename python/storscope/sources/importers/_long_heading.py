"""The heading of a table with a row for each time, thing and metric: which columns hold the metric and its value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from storscope.sources.importers._headings import words_of
from storscope.sources.importers._table_heading import KINDS, length_column, time_columns

_METRICS: Final = (
    "metricid", "metric id", "metric", "metric name", "metricname", "_field", "counter", "counter name", "counter id",
    "item", "item name", "field", "measure", "__name__",
)  # fmt: skip
"""Columns that name a metric, the surest first."""
_VALUES: Final = ("value", "_value", "average", "mean", "metric value")
_UNITS: Final = frozenset({"unit", "units", "unit name", "unitname"})
_NAMES: Final = frozenset({"entity", "name", "object", "object name", "element", "resource", "item host"})


@dataclass(frozen=True)
class LongHeading:
    """What the columns are, by index."""

    names: tuple[str, ...]
    times: tuple[int, ...]
    is_start: bool
    metric: int
    value: int
    unit: int | None
    length: tuple[int, float] | None
    entity: int | None
    entity_id: int | None
    instance: int | None
    things: tuple[tuple[str, int], ...]
    """Kind and column."""

    def cell(self, row: Sequence[str], index: int | None) -> str:
        """A cell without blanks around it; empty where there is no such column."""
        return "" if index is None else row[index].strip()


def long_heading_of(cells: Sequence[str]) -> LongHeading | None:
    """None for a line that is no heading of such a table."""
    names = tuple(cell.strip() for cell in cells)
    plain = [_plain(name) for name in names]
    times = time_columns(names)
    metric = next((plain.index(word) for word in _METRICS if word in plain), None)
    values = [index for index, name in enumerate(plain) if name in _VALUES]
    if not times or metric is None or len(values) != 1 or values[0] == metric:
        return None
    words = set(words_of(names[times[0]]))

    def column(*wanted: str) -> int | None:
        return next((index for index, name in enumerate(plain) if name in wanted), None)

    kinds: dict[str, int] = {}
    for index, name in enumerate(names):
        kind = KINDS.get(" ".join(words_of(name)))
        if kind is not None and index != metric:
            kinds.setdefault(kind, index)
    is_azure = column("time grain", "timegrain") is not None
    return LongHeading(
        names, times, is_azure or bool({"start", "begin"} & words), metric, values[0], column(*_UNITS),
        length_column(names), column(*_NAMES), column("entity id", "entityid"), column("instance"),
        tuple(kinds.items()),
    )  # fmt: skip


def _plain(name: str) -> str:
    """'Metric Name', 'metric_name' -> metric name; what begins with an underscore keeps it."""
    name = name.strip().lower()
    return name if name.startswith("_") else name.replace("_", " ")
