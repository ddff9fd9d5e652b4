"""Balances of burst credits as their source counts them: what was left when a rate fell, and when nothing was.

A balance is a mean over its interval, which may be five times as long as that of the rates. So what it was at a moment
is looked for within two intervals of it. While credits are spent as they are earned, its mean is nearly nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Settings
from storscope.diagnose.rules._asked import Asked
from storscope.diagnose.rules._falls import Fall
from storscope.diagnose.rules._intervals import median, seconds, told_once
from storscope.domain.burst_credits import BALANCES
from storscope.domain.entity import EntityRef
from storscope.model.overload import runs_of
from storscope.store.series import Series

MACHINE: Final = "vm"
"""The kind of thing whose balance is of all its volumes."""
_AROUND: Final = 2
"""Intervals of the balance, or of the rates where they are longer, around a moment (ours)."""


@dataclass(frozen=True)
class Balance:
    """The share of its credits that something has left, over time, in the column 'value'."""

    entity: EntityRef
    name: str
    """The counter."""
    series: Series

    @property
    def measure(self) -> str:
        """What its credits are counted in: 'ops', 'bytes', or empty where it may be either."""
        return BALANCES[self.name]

    @property
    def least(self) -> float:
        """The least share."""
        return float(self.series["value"].min())

    @property
    def last(self) -> float:
        """The share at the end."""
        return float(self.series["value"][-1])


@dataclass(frozen=True)
class AtFall:
    """What a balance was before a rate fell, and at the least around that moment."""

    balance: Balance
    at_first: float
    """When the higher rate began, or as far back as it is told."""
    before: float
    """The median of the time with the higher rate; NaN where nothing is told of it."""
    left: float

    def is_spent(self, settings: Settings) -> bool:
        """Whether it came to nothing then, and was not at nothing all the time before."""
        return self.left <= settings["left_ratio_spent"] < self.before

    def is_there(self, settings: Settings) -> bool:
        """Whether so much was left that it held nothing back."""
        return self.left >= settings["left_ratio_there"]


def balances_by_system(case: Case) -> dict[str, dict[EntityRef, list[Balance]]]:
    """System -> thing -> its balances."""
    if "balances" not in case.memo:
        found: dict[str, dict[EntityRef, list[Balance]]] = defaultdict(lambda: defaultdict(list))
        for entity, counters in sorted(case.counters(tuple(BALANCES)).items()):
            for name, series in sorted(counters.items()):
                told = told_once(series)
                if len(told):
                    found[entity.system][entity].append(Balance(entity, name, told))
        case.memo["balances"] = {system: dict(things) for system, things in found.items()}
    result: dict[str, dict[EntityRef, list[Balance]]] = case.memo["balances"]
    return result


def balances_of(case: Case, asked: Asked) -> list[Balance]:
    """Its own balances, and those of what it rests on; of several things together those of their machine."""
    if asked.parts:
        return machine_balances(case, asked)
    own = {one for entity in asked.entities for one in (entity, *case.components(entity))}
    return [balance for entity, found in _of_system(case, asked).items() if entity in own for balance in found]


def machine_balances(case: Case, asked: Asked) -> list[Balance]:
    """Those of the machine, where its system has one alone that has any."""
    machines = [found for entity, found in _of_system(case, asked).items() if entity.kind == MACHINE]
    return machines[0] if len(machines) == 1 else []


def _of_system(case: Case, asked: Asked) -> Mapping[EntityRef, list[Balance]]:
    return balances_by_system(case).get(asked.entities[0].system, {})


def at_fall(balance: Balance, fall: Fall) -> AtFall | None:
    """What a balance was when a rate fell; None where nothing is told of it from then on."""
    series, values = balance.series, balance.series["value"]
    slack_ns = _AROUND * max(series.interval_ns, fall.asked.series.interval_ns)
    around = np.abs(series.time_ns - fall.fell_ns) <= slack_ns
    if not (around & (series.time_ns >= fall.fell_ns)).any():
        return None
    # The interval in which the higher rate began may be told as well: it ends within it.
    earlier = (series.time_ns > fall.start_ns - series.interval_ns) & (series.time_ns < fall.fell_ns)
    before = values[earlier]
    return AtFall(
        balance, float(before[0]) if len(before) else float("nan"), median(before), float(values[around].min())
    )


def spent_at(case: Case, settings: Settings, fall: Fall) -> AtFall | None:
    """The balance that came to nothing when a rate fell, the thing's own before that of its machine."""
    both = [*balances_of(case, fall.asked), *machine_balances(case, fall.asked)]
    told = (at_fall(balance, fall) for balance in both)
    return next((one for one in told if one is not None and one.is_spent(settings)), None)


def ruled_out_by(case: Case, settings: Settings, fall: Fall) -> AtFall | None:
    """A balance that had credits left when a rate fell, where no other one was spent, so that it fell for another
    reason; None where there is none."""
    if spent_at(case, settings, fall) is not None:
        return None
    told = [
        at_fall(balance, fall)
        for balance in balances_of(case, fall.asked)
        if balance.measure in ("", fall.measure) or not fall.is_natural
    ]
    known = [one for one in told if one is not None]
    return min(known, key=lambda one: one.left) if known and all(one.is_there(settings) for one in known) else None


def is_told(case: Case, settings: Settings, asked: Asked) -> bool:
    """Whether balances tell by themselves if credits were spent: of nothing too little was left, or nothing of one."""
    balances = balances_of(case, asked)
    is_left = bool(balances) and all(one.least >= settings["left_ratio_there"] for one in balances)
    return is_left or any(spent_runs(settings, one) for one in balances)


def spent_runs(settings: Settings, balance: Balance) -> list[tuple[int, int]]:
    """(first, last) sample of each time, long enough to be no chance, in which nothing was left."""
    series = balance.series
    runs = runs_of(series["value"] <= settings["left_ratio_spent"], series.anew)
    length_s = seconds(series)
    return [(a, b) for a, b in runs if b > a and float(length_s[a : b + 1].sum()) >= settings["phase_s"]]
