"""storscope store: info, query, export, check, remove."""

from __future__ import annotations

from pathlib import Path

import click

from storscope.cli.options import DEFAULT_STORE, store_option, typed
from storscope.cli.output_file import replace_option, replaces
from storscope.cli.standard_streams import standard_output
from storscope.cli.store_for_reading import store_for_reading
from storscope.cli.suggestions import Verbs

_FORMATS = click.Choice(["csv", "parquet", "json"])


@click.group("store", cls=Verbs, usual="info --store")
def command() -> None:
    """Look into the store, a directory of Parquet files that anything may read; prove that it is whole."""


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
    from storscope.domain.errors import UsageError

    if form != "table" and typed("limit"):
        raise UsageError("--limit with --format table", f"--format {form}, which has all rows",
                         hint="Say it in SQL: ... LIMIT 100")  # fmt: skip
    table = store_for_reading(store_path).query(sql)
    if form == "table":
        print_table(table, limit)
    else:
        write_table(table, form, standard_output())
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


@command.command("check", epilog="\b\nExample:\n  storscope store check --store incident-42")
@store_option
def check(store_path: Path | None) -> int:
    """Read every file to its end and prove that it is what was written. Exit code 1 if any is not.

    Each capture has the SHA-256 of its files beside them (SHA256SUMS, as sha256sum --check reads it). Every other
    command proves what it reads as well, and stops at the first file that is wrong; this one names them all.
    """
    from storscope.cli.store_upkeep import print_check
    from storscope.store import Store

    return print_check(Store.open(store_path or Path(DEFAULT_STORE)))


@command.command("remove", epilog=(
    "\b\nExamples:\n"
    "  storscope store remove 415fe3bf --store incident-42\n"
    "  storscope store remove sweep-1c9d04b2 --dry-run"
))  # fmt: skip
@store_option
@click.argument("captures", nargs=-1, required=True, metavar="CAPTURE...")
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
def remove(store_path: Path | None, captures: tuple[str, ...], dry_run: bool) -> int:
    """Take captures out of the store for good: all of them, or none where one of the names is wrong.

    CAPTURE is an id as `store info` prints it, or its beginning if no other begins so; or the name of a sweep, a series
    or a search for a knee, for all captures of it.
    """
    from storscope.cli.store_upkeep import remove_captures
    from storscope.store import Store

    remove_captures(Store.open(store_path or Path(DEFAULT_STORE)), captures, dry_run=dry_run)
    return 0
