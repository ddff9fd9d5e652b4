"""Processes of one job that one side tells one by one and the other as one run: fio's group_reporting does that.

fio names all of `numjobs=4` alike; imported they are `oltp #1` to `oltp #4`, each with the depth and the rate of one of
them, and with group_reporting `oltp`. Percentiles of four do not add up to those of all, so they are not put together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_CLONE: Final = re.compile(r"(?P<name>.+) #\d+")


def clones_words(name: str, others: Iterable[str]) -> str:
    """Why a run has no partner where it is one process of a job that the other side has as one; empty where not."""
    others = list(others)
    own = _CLONE.fullmatch(name)
    if own and own["name"] in others:
        return _said(f"the other side has one run '{own['name']}' of all processes, with group_reporting")
    clones = [other for other in others if (match := _CLONE.fullmatch(other)) and match["name"] == name]
    if not own and len(clones) > 1:
        return _said(f"the other side has a run for each of {len(clones)} processes, without group_reporting")
    return ""


def _said(words: str) -> str:
    return f"{words}; fio has to run with it on both sides, or on neither"
