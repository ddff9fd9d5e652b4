"""What runs are made of: each stream on each volume of a simulated one, each stream on each target of a benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from storscope.domain.units import format_count
from storscope.report.pack import Packer
from storscope.report.run_rows import OBSERVED, P99_NOTE, Key, Row, Run, Told, key_of, numbers, run_of, told
from storscope.report.scatter import Points, Scatter, run_scatter
from storscope.report.simulations import ENGINE
from storscope.report.wording import counted, natural


@dataclass(frozen=True)
class RunParts:
    """The parts as a table, and as a chart when there are enough of them."""

    title: str
    note: str
    heads: Sequence[str]
    numbers: Sequence[int]
    """Which columns are numbers."""
    rows: Sequence[Sequence[str]]
    scatter: Scatter | None


def run_parts(
    found: Sequence[Row], words_of: Mapping[Key, str], names: Mapping[Run, str], p99: Mapping[Key, str], packer: Packer,
    rows_max: int,
) -> RunParts:  # fmt: skip
    """Of the rows those with words of their own, run by run."""
    order = {run: number for number, run in enumerate(dict.fromkeys(run_of(row) for row in found))}
    rows = sorted(
        (row for row in found if key_of(row) in words_of),
        key=lambda row: (order[run_of(row)], natural(words_of[key_of(row)])),
    )
    runs = list(dict.fromkeys(run_of(row) for row in rows))
    kind = "volume" if all(row["engine"] == ENGINE for row in rows) else "target"
    columns: list[Told] = [(f"Stream on {kind}", lambda row: words_of[key_of(row)]), *told(OBSERVED, rows)]
    if len(runs) > 1:
        columns.insert(1, ("Run", lambda row: names[run_of(row)]))
    if p99:
        columns.append(("p99", lambda row: p99.get(key_of(row), "–")))
    heads = [head for head, _ in columns]
    return RunParts(
        title=f"Streams on {kind}s" + (f" of {names[runs[0]]}" if len(runs) == 1 else ""),
        note=_note(rows, runs, kind, any_tail=bool(p99), rows_max=rows_max),
        heads=heads,
        numbers=range(heads.index("Run") + 1 if len(runs) > 1 else 1, len(heads)),
        rows=[[words(row) for _, words in columns] for row in rows[:rows_max]],
        scatter=_scatter(rows, runs, words_of, kind, packer),
    )


def _note(rows: Sequence[Row], runs: Sequence[Run], kind: str, *, any_tail: bool, rows_max: int) -> str:
    whole = f"One {_word(rows)}run, {runs[0][1]}, in its parts" if len(runs) == 1 else f"{_many(rows, runs)} in parts"
    said = [f"{whole}: {counted(len(rows), f'stream on a {kind}', f'streams on {kind}s')}."]
    if any_tail:
        said.append(P99_NOTE)
    if len(rows) > rows_max:
        said.append(f"The first {rows_max} are shown.")
    return " ".join(said)


def _word(rows: Sequence[Row]) -> str:
    return "simulated " if all(row["engine"] == ENGINE for row in rows) else ""


def _many(rows: Sequence[Row], runs: Sequence[Run]) -> str:
    return f"{format_count(len(runs))} {_word(rows)}runs"


def _scatter(
    rows: Sequence[Row], runs: Sequence[Run], words_of: Mapping[Key, str], kind: str, packer: Packer
) -> Scatter | None:
    whole = f"one {_word(rows)}run" if len(runs) == 1 else _many(rows, runs)
    names = [words_of[key_of(row)] for row in rows]
    points = Points(f"Streams on {kind}s", "streams", f"streams on {kind}s of {whole}", names)
    return run_scatter(points, numbers(rows, "ops_per_s"), numbers(rows, "latency_ns_mean"), packer)
