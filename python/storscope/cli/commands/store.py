"""storscope store: info, query, export."""

from __future__ import annotations

from pathlib import Path

import click

from storscope.cli.options import store_option
from storscope.cli.output_file import replace_option, replaces
from storscope.cli.store_for_reading import store_for_reading
from storscope.cli.suggestions import Verbs

_FORMATS = click.Choice(["csv", "parquet", "json"])


@click.group("store", cls=Verbs, usual="info --store")
def command() -> None:
    """Look into the store: a directory of Parquet files that anything may read."""


@command.command("info", epilog="\b\nExample:\n  storscope store info --store incident-42")
@store_option
@click.option("--all", "every", is_flag=True, help="Show each capture of a sweep, a series or a search for a knee.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON, with every capture.")
def info(store_path: Path | None, every: bool, as_json: bool) -> int:
    """Say which captures the store holds, their time ranges, clocks and sizes."""
    from storscope.cli.show_store import print_info

    print_info(store_for_reading(store_path), as_json, every=every)
    return 0


@command.command("query", epilog=(
    "\b\nExamples:\n"
    "  storscope store query \"SELECT kind, entity, avg(ops_per_s) FROM observations GROUP BY ALL\"\n"
    "  storscope store query \"SELECT * FROM events WHERE type = 'path_dead'\" --format csv"
))  # fmt: skip
@store_option
@click.argument("sql")
@click.option("--format", "form", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True)
@click.option("--limit", type=click.IntRange(min=1), default=100, show_default=True, help="Rows shown as a table.")
def query(store_path: Path | None, sql: str, form: str, limit: int) -> int:
    """Ask the store in SQL (DuckDB's dialect). Nothing outside the store can be read or written."""
    from storscope.cli.show_store import print_table, write_table

    table = store_for_reading(store_path).query(sql)
    if form == "table":
        print_table(table, limit)
    else:
        import sys

        write_table(table, form, sys.stdout.buffer)
    return 0


@command.command("export", epilog="\b\nExamples:\n"
    "  storscope store export --format csv --table observations -o observations.csv\n"
    "  storscope store export --format parquet -o export/")  # fmt: skip
@store_option
@click.option("--format", "form", type=_FORMATS, required=True)
@click.option("--table", "tables", multiple=True, help="Only these tables. [default: all that have rows]")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path),
              help="A new file for one table ('-' is standard output), a folder for several.")  # fmt: skip
@replace_option("Replace files that are there.")
def export(store_path: Path | None, form: str, tables: tuple[str, ...], output: Path) -> int:
    """Write tables of the store to files, whole or not at all."""
    from storscope.cli.show_store import export_tables

    export_tables(store_for_reading(store_path), form, tables, output, replaces=replaces())
    return 0
