"""What answers a question: DuckDB over the files of some captures, and over nothing else.

It is made for one look at the directory: captures that come later it does not see, and `is_outdated` tells when one of
its own is gone or was replaced. What it was told to read it reads whole or not at all: files that a capture's own row
counts, and that are missing, have other rows or another content than was written, are an error, never another answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from storscope.domain.errors import DamagedStore, QueryError, StoreError
from storscope.domain.schema import CAPTURES, TABLES
from storscope.store.checksums import Proofs, changed, has_sums, look_at
from storscope.store.heard_meanwhile import heard_meanwhile
from storscope.store.machine_limits import limit_of
from storscope.store.views import BENEATH, VIEWS, stored_columns

if TYPE_CHECKING:
    import duckdb

_ROWS_AT_ONCE = 10_000
"""Rows in a part of an answer. Texts of a column have 2 GiB together in each part (offsets of Arrow have 32 bits), and
a single one may be a whole design."""
_CAPTURE_OF_FILE = "split_part(split_part(file, '/', -2), 'capture=', 2)"
"""In SQL. Where a question names captures, the engine opens their files only."""
_SCHEMAS: Final = TABLES | {"captures": CAPTURES}
_ROWS_THAT_SHOULD_BE = """SELECT capture, counted.key AS name, counted.value AS rows
    FROM (SELECT capture, unnest(map_entries(row_counts)) AS counted FROM stored_captures) ORDER BY ALL"""
_WORD = re.compile(r"\w+")
_OF_ALL = re.compile(r"\b(?:show|pragma|information_schema|(?:duckdb|pg|sqlite|query)\w*)\b", re.IGNORECASE)
"""In a question about the tables themselves, or one that finds out itself what it reads."""
_EXPLAIN = re.compile(r"\s*EXPLAIN\s+(?:ANALYZE\s+)?", re.IGNORECASE)
_PIVOT = re.compile(r"\s*(?:PIVOT|FROM|SELECT|WITH)\b", re.IGNORECASE)
"""Where a statement begins that the engine takes for several, as it first asks for the columns."""


class Engine:
    """DuckDB over the captures in these directories. Cheap to make: files are opened when something is asked."""

    def __init__(self, directories: Sequence[Path], proofs: Proofs) -> None:
        """`directories` are absolute, and named as captures are."""
        self._directories = directories
        self._proofs = proofs
        self._seen = {
            file: seen
            for table in _SCHEMAS
            for directory in directories
            if (seen := look_at(file := directory / f"{table}.parquet")) is not None
        }
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._defined: set[str] = set()
        """Views of the connection: those that questions named so far, as defining one opens its files."""
        self._is_defining = False
        """Whether an error is of a file, as a question has not begun."""

    def ask(self, sql: str, parameters: dict[str, Any] | list[Any] | None = None) -> pa.Table:
        """The answer to one statement that only reads, as Arrow.

        Raises QueryError with the engine's words when the SQL is refused, DamagedStore with the file when one is at
        fault, StoreError when the process ran out of something. Ctrl-C ends it.
        """
        import duckdb  # noqa: PLC0415  only questions need the engine, and it takes 80 ms to load

        try:
            connection = self._connected()
            if _only_reads(connection, sql):
                answer = heard_meanwhile(lambda: self._answer(connection, sql, parameters), connection.interrupt)
                if answer is not None:
                    return answer
        except duckdb.Error as error:
            at_fault = self._at_fault(error)
            if at_fault is not None:
                raise at_fault from error
            raise QueryError(_first_lines(str(error)), hint=_hint(str(error))) from error
        except MemoryError as error:
            raise self._limit(error) or error from error
        raise QueryError(
            "one statement that reads and returns rows", "another one, none or several", hint="Start with SELECT."
        )

    def is_outdated(self) -> bool:
        """Whether a file that it reads is gone or another one than before, or one is there that was missing."""
        files = (directory / f"{table}.parquet" for table in _SCHEMAS for directory in self._directories)
        return any(look_at(file) != self._seen.get(file) for file in files)

    def close(self) -> None:
        """Drops what it remembers of the files."""
        import duckdb  # noqa: PLC0415

        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(duckdb.OperationalError):  # a question that did not stop in time ends with the process
                connection.close()

    def _connected(self) -> duckdb.DuckDBPyConnection:
        import duckdb  # noqa: PLC0415

        if self._connection is None:
            self._proofs.prove(self._seen)
            connection = duckdb.connect(":memory:")
            # The engine, where it hears a signal itself, makes an error of its own of Ctrl-C.
            heard_meanwhile(lambda: self._prepare(connection), connection.interrupt)
            self._connection = connection
        return self._connection

    def _prepare(self, connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("SET enable_progress_bar = false")
        # The store is read through views only: no statement of a user's can reach other files or extensions.
        allowed = {name for file in self._seen for name in (str(file), _not_a_pattern(file))}
        connection.execute(f"SET allowed_paths = [{_listed(allowed)}]")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        self._defined.clear()
        self._check_rows(connection)

    def _answer(
        self, connection: duckdb.DuckDBPyConnection, sql: str, parameters: dict[str, Any] | list[Any] | None
    ) -> pa.Table | None:
        """None of a statement that returns no rows."""
        import duckdb  # noqa: PLC0415

        words = {word.lower().removeprefix("stored_") for word in _WORD.findall(sql)}
        self._define_views(connection, VIEWS if _OF_ALL.search(sql) else [name for name in VIEWS if name in words])
        try:
            relation = connection.sql(sql, params=parameters)
        except (duckdb.CatalogException, duckdb.BinderException):  # whose words name what is like what was not found
            self._define_views(connection, VIEWS)
            relation = connection.sql(sql, params=parameters)
        return None if relation is None else relation.to_arrow_table(_ROWS_AT_ONCE)

    def _define_views(self, connection: duckdb.DuckDBPyConnection, names: Iterable[str]) -> None:
        self._is_defining = True
        for name in (one for wanted in names for one in (*BENEATH.get(wanted, ()), wanted)):
            if name in self._defined:
                continue
            if name in _SCHEMAS:
                self._define(connection, name, _SCHEMAS[name])
            connection.execute(VIEWS[name])
            self._defined.add(name)
        self._is_defining = False

    def _define(self, connection: duckdb.DuckDBPyConnection, table: str, schema: pa.Schema) -> None:
        files = [file for file in self._seen if file.name == f"{table}.parquet"]
        columns = stored_columns(schema)
        if files:
            names = _listed(_not_a_pattern(file) for file in files)
            # Without hive partitioning: that makes columns of the folders above the store, too, if they have a '='.
            connection.execute(
                f"CREATE VIEW stored_{table} AS SELECT {columns} FROM (SELECT {_CAPTURE_OF_FILE} AS capture, * "
                f"FROM read_parquet([{names}], hive_partitioning = false, filename = 'file', union_by_name = true))"
            )
        else:
            empty = schema.append(pa.field("capture", pa.string())).empty_table()
            connection.register(f"empty_{table}", empty)
            connection.execute(f"CREATE VIEW stored_{table} AS SELECT {columns} FROM empty_{table}")

    def _check_rows(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Raises DamagedStore where a file is missing, or has other rows than its capture says.

        Rows are counted of captures without sums only: what is proved has them.
        """
        directories = {id_of(directory): directory for directory in self._directories}
        for directory in self._directories:
            if (file := directory / "captures.parquet") not in self._seen:
                raise damaged(file, "none")
        self._define_views(connection, ["captures"])
        should_be = connection.execute(_ROWS_THAT_SHOULD_BE).fetchall()
        unproved = {capture for capture, directory in directories.items() if not has_sums(directory)}
        names = _listed(_not_a_pattern(file) for file in self._seen if id_of(file.parent) in unproved)
        counted = f"SELECT file_name, num_rows FROM parquet_file_metadata([{names}])"
        rows_of = dict(connection.execute(counted).fetchall()) if names else {}
        for capture, table, rows in should_be:
            file = directories[capture] / f"{table}.parquet"
            is_there = file in self._seen
            found = rows if is_there and capture not in unproved else rows_of.get(str(file), 0)
            if found != rows:
                raise damaged(file, _rows(found) if is_there else "none", _rows(rows))

    def _limit(self, error: BaseException) -> StoreError | None:
        """What the process ran out of, where that is what an error says."""
        named = (file for file in self._seen if str(file) in str(error) or _not_a_pattern(file) in str(error))
        return limit_of(error, next(named, self._directories[0].parent if self._directories else ""))

    def _at_fault(self, error: duckdb.Error) -> StoreError | None:
        """The file that an error is of, or what ran out; None if it is of the question."""
        import duckdb  # noqa: PLC0415

        if isinstance(error, duckdb.OperationalError) and (limit := self._limit(error)) is not None:
            return limit
        of_a_question = (
            duckdb.ProgrammingError, duckdb.DataError, duckdb.PermissionException, duckdb.InterruptException,
        )  # fmt: skip
        has_begun = self._connection is not None and not self._is_defining
        if has_begun and isinstance(error, of_a_question) and not isinstance(error, duckdb.InvalidInputException):
            return None
        for file in self._seen:  # not all errors name theirs
            if str(file) in str(error) or _not_a_pattern(file) in str(error):
                return damaged(file, str(error))
        return next((found for file in self._seen if (found := damage_of(file)) is not None), None)


def damage_of(file: Path) -> DamagedStore | None:
    """What is wrong with a file of a capture; None if it can be read to its end.

    Raises StoreError where the process ran out of something.
    """
    import duckdb  # noqa: PLC0415

    try:
        columns = pq.ParquetFile(file).read().column_names
        with duckdb.connect(":memory:") as connection:
            relation = connection.read_parquet(_not_a_pattern(file), hive_partitioning=False)
            heard_meanwhile(relation.to_arrow_table, connection.interrupt)
    except (OSError, MemoryError, pa.ArrowException, duckdb.Error) as why:
        limit = limit_of(why, file)
        if limit is not None:
            raise limit from why
        return damaged(file, str(why))
    missing = set(_SCHEMAS[file.stem].names) - set(columns)
    return damaged(file, f"no column {min(missing)}") if missing else None


def _only_reads(connection: duckdb.DuckDBPyConnection, sql: str) -> bool:
    """Whether it is one statement, and can change nothing: neither files nor what later questions find."""
    import duckdb  # noqa: PLC0415

    statements = connection.extract_statements(sql)
    if len(statements) != 1:
        return False
    kind = statements[0].type
    if kind == duckdb.StatementType.EXPLAIN and (begun := _EXPLAIN.match(sql)):  # which runs it, if it says ANALYZE
        return _only_reads(connection, sql[begun.end() :])
    return kind == duckdb.StatementType.SELECT or (kind == duckdb.StatementType.MULTI and _PIVOT.match(sql) is not None)


def id_of(directory: Path) -> str:
    """Of the capture in a directory."""
    return directory.name.removeprefix("capture=")


def damaged(file: Path, found: str, expected: str = "a readable Parquet file") -> DamagedStore:
    """The error that names a file, and what to do."""
    return changed(file, _first_lines(found).splitlines()[0] if found.strip() else "another one", expected)


def _hint(error: str) -> str:
    if "TIMESTAMPTZ_NS" in error:
        return "Times are in nanoseconds, which few functions take. Write time::TIMESTAMPTZ, in microseconds."
    return "The tables are: " + ", ".join([*TABLES, "counters", "captures"]) + "."


def _rows(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"


def _listed(names: Iterable[str]) -> str:
    """As a list of texts in SQL, without its brackets."""
    return ", ".join("'" + name.replace("'", "''") + "'" for name in names)


def _not_a_pattern(file: Path) -> str:
    """The file's name as the engine takes it for that file alone, where it takes names for patterns."""
    return re.sub(r"([*?\[])", r"[\1]", str(file))


def _first_lines(text: str) -> str:
    return "\n".join(text.strip().splitlines()[:4]).rstrip(".")
