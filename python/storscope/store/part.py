"""Questions about a part of a store, as statements that give the same rows of the whole store."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from storscope.store.sql import sql_list

_WITH = re.compile(r"\s*WITH\s+(?!RECURSIVE\b)", re.IGNORECASE)


def of_part(sql: str, captures: Collection[str], tables: Sequence[str]) -> str:
    """`sql` over these captures only: each table that it names stands for its rows of them.

    `sql` is a SELECT, or a WITH that is not recursive.
    """
    named = [table for table in tables if re.search(rf"\b(?:FROM|JOIN)\s+{table}\b", sql, re.IGNORECASE)]
    if not named:
        return sql
    parts = ", ".join(
        f"{table} AS (SELECT * FROM main.{table} WHERE capture IN {sql_list(captures)})" for table in named
    )
    begun = _WITH.match(sql)
    return f"WITH {parts}, {sql[begun.end() :]}" if begun else f"WITH {parts} {sql}"
