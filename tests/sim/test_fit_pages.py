"""Two pages have the fits of the traces of DiskSim's authors: they have the same figures, and count them right.

The traces are not part of this repository, so the figures themselves are what `storscope fit drive TRACE` printed.
"""

from __future__ import annotations

import re
from pathlib import Path

_DOCS = Path(__file__).parents[2] / "docs"
_FIT, _DRIVES = ((_DOCS / f"{name}.md").read_text(encoding="utf-8") for name in ("fit", "drives"))
_COUNTS = ("none", "one", "two", "three", "four", "five")


def _rows(page: str, heads: str) -> dict[str, list[str]]:
    _, _, below = page.partition(f"\n| trace | parameters | {heads} |\n")
    lines = below.partition("\n\n")[0].splitlines()[1:]
    assert len(lines) == 5
    return {cells[0]: cells[1:] for cells in ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)}


def _of_drives() -> dict[str, list[str]]:
    return _rows(_DRIVES, "measured mean | predicted mean | distance | DiskSim | first half replayed")


def _percent(cell: str) -> float:
    return float(cell.removesuffix(" %"))


def test_both_pages_have_the_same_figures() -> None:
    of_fit = _rows(_FIT, "mean | distance | first half replayed | not determined")
    parameters, predicted, distance, replayed = 0, 2, 3, 5
    of_drives = {
        name: [row[n] for n in (parameters, predicted, distance, replayed)] for name, row in _of_drives().items()
    }
    assert {name: row[:4] for name, row in of_fit.items()} == of_drives


def test_the_page_counts_right_how_many_are_nearer_than_disksim_s() -> None:
    rows = _of_drives().values()
    assert all(abs(_percent(predicted)) < 2 for _, _, predicted, *_ in rows)
    below = sum(_percent(distance) < _percent(disksim) for _, _, _, distance, disksim, _ in rows)
    said = re.search(r"the distance is below DiskSim's on (\w+)", _DRIVES.replace("\n", " "))
    assert said is not None
    assert said[1] == _COUNTS[below]


def test_the_page_names_the_fit_that_is_worse_than_a_table() -> None:
    worse = [name for name, row in _of_drives().items() if _percent(row[3]) > _percent(row[5])]
    assert worse == ["Seagate Cheetah 9LP"]
    assert "The Cheetah is predicted worse than by a table" in _FIT
