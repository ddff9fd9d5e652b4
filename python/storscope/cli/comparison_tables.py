"""A comparison as a table for elsewhere: Markdown to paste into a report, CSV for a spreadsheet.

Markdown has the words of the terminal. CSV has a row a figure in base units, ratios for changes and nothing for what is
absent, as the JSON has them (docs/compare-json.md).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Final

from storscope.cli.comparison_figures import Grid, grid_of_judged, grid_of_predictions
from storscope.cli.text_table import harmless
from storscope.domain.comparison import AFTER, BEFORE, Comparison, MetricRow, PairResult
from storscope.domain.comparison_words import side_names, side_words
from storscope.domain.entity import said_of

_FIGURES: Final = (
    "metric", "unit", "before", "after", "change", "change_low", "change_high", "p_value", "method", "values_before",
    "values_after",
)  # fmt: skip
_OFF: Final = ("off_by", "off_by_low", "off_by_high", "reason")
_STATUS: Final = ("status_before", "status_after")
_FORMULA: Final = ("=", "+", "-", "@", "\t")
"""What a spreadsheet takes for a formula where a text begins with it."""


def comparison_to_csv(comparison: Comparison) -> str:
    """A row for each figure, with a heading."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["name", "comparable", "predicted", *_FIGURES, "outcome", *_OFF, *_STATUS])
    for pair in comparison.pairs:
        about = [_cell(pair.name), "yes" if pair.is_comparable else "no", pair.predicted or ""]
        for row in pair.rows:
            outcome = row.outcome.value if row.outcome else ""
            writer.writerow([*about, *_fields(row, _FIGURES), outcome, *_fields(row, _OFF), *_statuses(pair)])
    return text.getvalue()


def _fields(row: MetricRow, names: Sequence[str]) -> list[object]:
    return ["" if (value := getattr(row, name)) is None else value for name in names]


def _statuses(pair: PairResult) -> list[str]:
    """How the runs of either side ended, each way once; nothing where no source tells."""
    found = [[run.status for run in pair.subjects if run.side == side and run.status] for side in (BEFORE, AFTER)]
    return [_cell("; ".join(dict.fromkeys(own))) for own in found]


def _cell(text: str) -> str:
    plain = harmless(text)
    return f"'{plain}" if plain.startswith(_FORMULA) else plain


def comparison_to_markdown(comparison: Comparison) -> str:
    """Tables of what is judged and of predictions, then what to beware of and what has no partner."""
    judged = [pair for pair in comparison.pairs if not pair.predicted]
    predicted = [pair for pair in comparison.pairs if pair.predicted]
    grids = grid_of_judged(judged, comparison.of_runs), grid_of_predictions(predicted, comparison.of_runs)
    sides = zip(side_words(comparison), (comparison.before, comparison.after), strict=True)
    blocks = [[f"- {word}: {_text('; '.join(side_names(side)) or side.source)}" for word, side in sides]]
    blocks += [[*_table(grid)] for grid in grids if grid.pairs]
    said = [(pair.name, warning) for pair in comparison.pairs for warning in pair.warnings]
    blocks.append([f"- {said_of(_text(name), _text(warning))}" for name, warning in said])
    blocks.append([f"- {_text(one.name)} ({one.side} only): {_text(one.reason)}" for one in comparison.unmatched])
    blocks.append([f"- {_text(note)}" for note in comparison.notes])
    return "\n\n".join("\n".join(lines) for lines in blocks if lines) + "\n"


def _table(grid: Grid) -> Iterator[str]:
    heads = [*grid.heads, *(["verdict"] if grid.has_verdict else [])]
    yield _line([grid.first, "metric", *heads])
    yield _line(["---", "---", *["---:" for _ in heads]])
    for (name, *_), lines in grid.pairs:
        for number, line in enumerate(lines):
            told = [line.verdict or ""] if grid.has_verdict else []
            yield _line([_text(name) if number == 0 else "", line.metric, *line.cells, *told])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _text(text: str) -> str:
    """Names come from captures: what Markdown or the HTML in it would read is taken as it is written."""
    escaped = "".join(f"\\{sign}" if sign in "\\`*_[]<>|" else sign for sign in harmless(text))
    return " ".join(escaped.split())
