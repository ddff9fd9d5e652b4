"""Text from captures inside SQL: quoted, as names may hold anything."""

from __future__ import annotations

from collections.abc import Iterable


def sql_text(value: str) -> str:
    """An SQL string literal of `value`, quotes escaped: names come from captures and may hold anything."""
    return "'" + value.replace("'", "''") + "'"


def sql_list(values: Iterable[str]) -> str:
    """SQL string literals for an IN list, sorted, each once. An empty list gives '(NULL)', which matches nothing."""
    return "(" + (", ".join(sql_text(value) for value in sorted(set(values))) or "NULL") + ")"
