"""The store, for a person and for files."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO

import click
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from storscope.cli.standard_streams import standard_output
from storscope.cli.text_table import harmless, terminal_width
from storscope.domain.errors import UsageError
from storscope.domain.rows import plain_rows
from storscope.domain.schema import SCHEMA_VERSION, TABLES
from storscope.domain.units import format_bytes, format_count
from storscope.domain.visible import visible
from storscope.store import Store
from storscope.store.whole_file import check_place, make_folder, whole_file

EXPORTED: Sequence[str] = (*(name for name in TABLES if name not in {"series", "timelines"}), "counters", "captures")
"""Tables as a query sees them; packed series leave as `counters`."""
_JSON_BATCH_ROWS = 10_000
_ANOTHER_PLACE = "Name another place with --output."
_NARROWEST_COLUMN = 9
"""Characters a column needs to be readable."""
_LEAST_FOLDED = 3
"""Captures of one sweep, series or search for a knee that are told together from this number on."""
_MOST_NOTES = 3
_COPIED = frozenset({"run", "capture"})
"""Columns of names that are typed again: not broken while another column can be."""
_PLAN = ["explain_key", "explain_value"]
"""Columns of the answer to EXPLAIN: a drawing."""


def print_info(store: Store, as_json: bool, *, every: bool = False) -> None:
    """What the store holds. Captures of one sweep are told together, unless `every` one is wanted."""
    captures = store.captures()
    size = sum(file.stat().st_size for file in store.path.rglob("*") if file.is_file())
    if as_json:
        rows = [{name: _plain(value) for name, value in row.items()} for row in captures]
        document = {"store": str(store.path), "schema_version": SCHEMA_VERSION, "size_bytes": size, "captures": rows}
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
        return
    click.echo(f"store {store.path}: schema version {SCHEMA_VERSION}, {_captures(len(captures))}, {format_bytes(size)}")
    folded: dict[str, list[dict[str, Any]]] = {}
    series = {} if every else series_of(store)
    runs = _only_runs(store)
    for row in captures:
        folded.setdefault(series.get(row["capture"], row["capture"]), []).append(row)
    for name, rows in folded.items():
        if name in series.values():
            _print_series(name, rows)
        else:
            _print_capture(rows[0], runs.get(rows[0]["capture"]))
    if any(name in series.values() for name in folded):
        click.echo("\n--all shows every capture.", err=True)


def _captures(count: int) -> str:
    return f"{format_count(count)} {'capture' if count == 1 else 'captures'}"


def series_of(store: Store) -> dict[str, str]:
    """Capture -> the sweep, series or search that it is a part of, where that has several captures."""
    rows = store.query(
        """SELECT capture, coalesce(parameters['sweep'], parameters['knee_search']) AS series FROM runs
           WHERE series IS NOT NULL"""
    ).to_pylist()
    counts = Counter(row["series"] for row in rows)
    return {row["capture"]: row["series"] for row in rows if counts[row["series"]] >= _LEAST_FOLDED}


def _only_runs(store: Store) -> dict[str, str]:
    """Capture -> the run in it, as other commands take it, and its name; of captures with a single run."""
    rows = store.query(
        "SELECT capture, any_value(run) AS run, any_value(name) AS name FROM runs GROUP BY capture HAVING count(*) = 1"
    ).to_pylist()
    return {row["capture"]: "  ".join(dict.fromkeys(filter(None, (row["run"], row["name"])))) for row in rows}


def _print_series(name: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Many captures as one."""
    by_target = {path.partition(" of ")[2] or path: path for path in reversed([str(row["path"]) for row in rows])}
    first, *others = reversed(by_target.values())  # the search for a knee and its visits are of one target
    more = f" and {len(others)} more" if others else ""
    click.echo(f"\n{click.style(name, bold=True)}  {_captures(len(rows))}  {harmless(first + more)}")
    times = [row[end] for row in rows for end in ("first_time", "last_time") if row[end] is not None]
    if times:
        click.echo(f"    time     {_short(min(times))} to {_short(max(times))}")
    counts: Counter[str] = Counter()
    for row in rows:
        counts.update(dict(row["row_counts"] or ()))
    click.echo(f"    rows     {', '.join(f'{format_count(count)} in {table}' for table, count in counts.items())}")
    notes = Counter(warning for row in rows for warning in row["warnings"] or ())
    for note, count in notes.most_common(_MOST_NOTES):
        click.echo(harmless(f"    note     {note}{f' ({count} captures)' if count > 1 else ''}"))
    if len(notes) > _MOST_NOTES:
        click.echo(f"    … and {format_count(len(notes) - _MOST_NOTES)} more notes")


def _print_capture(row: Mapping[str, Any], run: str | None) -> None:
    click.echo(f"\n{click.style(row['capture'], bold=True)}  {row['format']}  {harmless(row['path'])}")
    if run:
        click.echo(harmless(f"    run      {run}"))
    if row["first_time"] is not None:
        click.echo(f"    time     {_short(row['first_time'])} to {_short(row['last_time'])}")
    click.echo(harmless(f"    clock    {row['clock'] or 'no times'}"))
    counts = ", ".join(f"{format_count(count)} in {name}" for name, count in row["row_counts"] or ())
    click.echo(f"    rows     {counts}")
    for reason, count in row["omitted"] or ():
        click.echo(harmless(f"    left out {format_count(count)}: {reason}"))
    for warning in row["warnings"] or ():
        click.echo(harmless(f"    note     {warning}"))


def print_table(table: pa.Table, limit: int) -> None:
    """A table, cut at `limit` rows, which is said; on a terminal wrapped to it, but for what is copied from it."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if table.column_names == _PLAN:
        for line in "\n".join(map(str, table.column(_PLAN[-1]).to_pylist())).splitlines():
            click.echo(visible(line))
        return
    table = _with_distinct_names(table)
    rows = plain_rows(table.slice(0, limit))
    if table.num_columns * _NARROWEST_COLUMN > Console().width:
        _print_records(rows)
        _say_cut(table, limit)
        return
    shown = Table(show_edge=False, header_style="bold", pad_edge=False)
    for field in table.schema:
        kinds = (pa.types.is_floating, pa.types.is_integer, pa.types.is_decimal)
        numeric = any(is_one(field.type) for is_one in kinds)
        shown.add_column(
            Text(field.name), justify="right" if numeric else "left", overflow="fold", no_wrap=field.name in _COPIED
        )
    for row in rows:
        shown.add_row(*(Text(_cell(value)) for value in row.values()))
    Console(width=terminal_width(), height=25).print(shown)  # without a height a dumb terminal is 80 wide
    _say_cut(table, limit)


def _print_records(rows: Sequence[dict[str, Any]]) -> None:
    """A table too wide for the terminal: a block a row, absent values left out."""
    for number, row in enumerate(rows, 1):
        click.secho(f"── row {number}", bold=True)
        width = max(len(name) for name in row)
        for name, value in row.items():
            if value is not None:
                click.echo(f"{name.ljust(width)}  {_cell(value)}")


def _say_cut(table: pa.Table, limit: int) -> None:
    if table.num_rows > limit:
        click.echo(f"{format_count(table.num_rows)} rows, {limit} shown (--limit, or --format csv for all)", err=True)


def write_table(table: pa.Table, form: str, out: BinaryIO) -> None:
    """A table as CSV, Parquet or a JSON array of objects; absent is empty or null."""
    if form == "csv":
        pyarrow.csv.write_csv(_flat(table), out)
    elif form == "parquet":
        pq.write_table(table, out, compression="zstd")
    else:
        _write_json(table, out)


def export_tables(store: Store, form: str, tables: Sequence[str], output: Path, *, replaces: bool = False) -> None:
    """Writes tables to a file (one table) or a folder (several): all of them, each whole, or none.

    Raises UsageError, and writes none, where a file is in the way and not to be replaced.
    """
    for name in tables:
        if name not in EXPORTED:
            raise UsageError("a table", repr(name), hint="The tables are: " + ", ".join(EXPORTED) + ".")
    is_stdout = str(output) == "-"
    if len(tables) != 1 and (is_stdout or output.is_file()):
        raise UsageError(
            "a folder for several tables", f"{'standard output' if is_stdout else 'a file'}", where=str(output),
            hint="Name one table with --table, or a folder with --output.",
        )  # fmt: skip
    found = {name: store.query(f"SELECT * FROM {name}") for name in tables or EXPORTED}
    if is_stdout:
        write_table(found[tables[0]], form, standard_output())
        return
    if len(tables) == 1 and not output.is_dir():
        check_place(output, replaces=replaces)
        _write_whole(found[tables[0]], form, output)
        click.echo(f"{output}: {format_count(found[tables[0]].num_rows)} rows")
        return
    if not tables and not any(table.num_rows for table in found.values()):
        raise UsageError("evidence in the store", "none", where=str(store.path),
                         hint="Import something: storscope import FILE...")  # fmt: skip
    places = {name: output / f"{name}.{form}" for name, table in found.items() if table.num_rows or tables}
    with _folder(output), ExitStack() as files:  # none takes its place before all are written
        for path in places.values():
            check_place(path, replaces=replaces)
        for name, path in places.items():
            write_table(found[name], form, files.enter_context(whole_file(path, _ANOTHER_PLACE)))
    for name, path in places.items():
        click.echo(f"{path}: {format_count(found[name].num_rows)} rows")


@contextmanager
def _folder(path: Path) -> Iterator[None]:
    """The folder, made if it is not there; gone again if nothing came into it that was made for it."""
    is_new = not path.exists()
    make_folder(path)
    try:
        yield
    except BaseException:
        if is_new:
            with suppress(OSError):
                path.rmdir()
        raise


def _write_whole(table: pa.Table, form: str, path: Path) -> None:
    with whole_file(path, _ANOTHER_PLACE) as out:
        write_table(table, form, out)


def _with_distinct_names(table: pa.Table) -> pa.Table:
    """Columns of one name, as a join has them, numbered: as keys of a row the last one would hide the others."""
    names: list[str] = []
    for name in table.column_names:
        taken = {*names, *table.column_names}
        numbered = (f"{name}_{number}" for number in itertools.count(1))
        names.append(name if name not in names else next(other for other in numbered if other not in taken))
    return table.rename_columns(names)


def _write_json(table: pa.Table, out: BinaryIO) -> None:
    table = _with_distinct_names(table)
    out.write(b"[")
    separator = b"\n"
    for batch in table.to_batches(max_chunksize=_JSON_BATCH_ROWS):
        for row in plain_rows(pa.Table.from_batches([batch])):
            line = json.dumps({name: _plain(value) for name, value in row.items()}, ensure_ascii=False)
            out.write(separator + line.encode())
            separator = b",\n"
    out.write(b"\n]\n")


def _flat(table: pa.Table) -> pa.Table:
    """Nested columns as JSON text, and lengths of time as text: CSV has neither."""
    for index, field in enumerate(table.schema):
        if pa.types.is_nested(field.type) or pa.types.is_interval(field.type):
            texts = [None if value is None else _cell_text(value) for value in table.column(index).to_pylist()]
            table = table.set_column(index, field.name, pa.array(texts, pa.string()))
    return table


def _cell_text(value: Any) -> str:
    plain = _plain(value)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False, default=str)


def _plain(value: Any) -> Any:
    """As JSON has it: numbers as numbers, and as text what it has no form for."""
    if isinstance(value, float | Decimal):  # sums of whole numbers are decimals
        whole = isinstance(value, Decimal) and value == value.to_integral_value()
        return None if not math.isfinite(value) else int(value) if whole else float(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        pairs = bool(value) and isinstance(value[0], tuple) and not isinstance(value[0], pa.MonthDayNano)
        return {key: _plain(item) for key, item in value} if pairs else [_plain(item) for item in value]
    return _as_text(value)


def _as_text(value: Any) -> Any:
    """What JSON has no form for; anything else as it is."""
    if isinstance(value, dt.datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, pa.MonthDayNano):
        return f"P{value.months}M{value.days}DT{value.nanoseconds / 1e9:.9g}S"
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
    if isinstance(value, dt.datetime):
        return _instant(value)
    if isinstance(value, Decimal):
        return _cell(_plain(value))
    return visible(_cell_text(value))


def _instant(moment: dt.datetime) -> str:
    """To its last digit: intervals may be shorter than a second. 'Z' where it is known to be UTC."""
    fraction = f".{moment.microsecond:06}".rstrip("0") if moment.microsecond else ""
    return f"{moment:%Y-%m-%d %H:%M:%S}{fraction}{'Z' if moment.tzinfo else ''}"


def _short(moment: dt.datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%SZ")
