"""What is said of balances of burst credits: whose they are, what was left of them, and the rows of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from storscope.diagnose.case import Case
from storscope.diagnose.rules._asked_words import things_words
from storscope.diagnose.rules._balances import Balance
from storscope.diagnose.rules._entities import observed
from storscope.diagnose.rules._load import named
from storscope.domain.finding import EvidenceRows
from storscope.domain.units import format_ratio
from storscope.store.sql import sql_list

_COUNTED = {"": "burst credits", "ops": "burst credits for operations", "bytes": "burst credits for bytes"}


def credits_words(case: Case, balance: Balance) -> str:
    """'the burst credits of volume vol-1', 'the burst credits for bytes of VM i-1'."""
    return f"the {_COUNTED[balance.measure]} of {named(case, balance.entity)}"


def left_words(balances: Sequence[Balance]) -> str:
    """Of how many things never less than how much was left."""
    things, least = things_words({one.entity for one in balances}), min(one.least for one in balances)
    return f"Of the burst credits of {things} of {balances[0].entity.system} never less than {format_ratio(least)}"


def rows_of_balances(case: Case, caption: str, balances: Iterable[Balance]) -> EvidenceRows:
    """Each balance at the beginning, at the least, and at the end."""
    told = list(balances)
    names = sql_list(sorted({one.name for one in told}))
    return case.evidence(
        caption,
        f"""SELECT kind, entity, name, count(*) AS intervals, min(time) AS first_time, max(time) AS last_time,
        round(arg_min(value, time), 4) AS left_ratio_first, round(min(value), 4) AS left_ratio_min,
        arg_min(time, value) AS least_time, round(arg_max(value, time), 4) AS left_ratio_last
        FROM counters WHERE {observed(case, [one.entity for one in told], f"name IN {names}")}
        GROUP BY kind, entity, name ORDER BY left_ratio_last, kind, entity, name""",
    )
