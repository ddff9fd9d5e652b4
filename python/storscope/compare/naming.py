"""What runs and counters are called by whoever made them: by design or target and workload, not by ids.

Runs that were read from files of other tools are known by these, so they get no name here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from storscope.compare.subjects import Subject

SIMULATOR: Final = "storscope-sim"
"""The engine of simulated runs."""
RUNS_IN_SQL: Final = f"""
SELECT run || ' (' || coalesce(name, 'no name') || CASE WHEN engine = '{SIMULATOR}'
       THEN ' on ' || coalesce(system, 'a design') || ', simulated' ELSE '' END || ')' AS name
FROM runs ORDER BY time DESC, run"""
"""All runs of a store, the latest first, so that one of them can be recognised and typed."""
_MOST_NAMES = 3


def place_of(engine: str | None, system: str | None, target: str | None) -> str:
    """What something ran on: 'EVA 4400 (simulated)', '/dev/sdb of host1'; '' where only its source is known."""
    if engine == SIMULATOR:
        return f"{system or 'a design'} (simulated)"
    if not target:
        return ""
    return f"{target} of {system}" if system else target


def names_of(before: Sequence[Subject], after: Sequence[Subject]) -> tuple[list[str], list[str]]:
    """What each side is called; with the files of the designs, where both sides would be called the same."""
    one, other = ([_name(own, with_design=False) for own in _by_place(side)] for side in (before, after))
    if one == other:
        one, other = ([_name(own, with_design=True) for own in _by_place(side)] for side in (before, after))
    return _with_id(one, before), _with_id(other, after)


def began_ns_of(subjects: Sequence[Subject]) -> int | None:
    """When a single measured run that has a name began, which people know better than its id."""
    if len(subjects) != 1:
        return None
    own = subjects[0]
    return own.time_ns if own.is_run and own.place and not own.is_simulated else None


def _by_place(subjects: Sequence[Subject]) -> list[list[Subject]]:
    places: dict[tuple[str, str], list[Subject]] = {}
    for subject in subjects:
        if subject.place:
            places.setdefault((subject.place, subject.design), []).append(subject)
    return list(places.values())


def _name(subjects: Sequence[Subject], *, with_design: bool) -> str:
    """'oltp on EVA 4400 (simulated)', '12 access specifications on ...', 'counters of ...'."""
    first = subjects[0]
    place = first.place + (f", design {first.design}" if with_design and first.design else "")
    if not first.is_run:
        return f"counters of {place}"
    names = list(dict.fromkeys(subject.name for subject in subjects))
    what = ", ".join(names) if len(names) <= _MOST_NAMES else f"{len(names)} access specifications"
    return f"{what} on {place}"


def _with_id(names: list[str], subjects: Sequence[Subject]) -> list[str]:
    """Of a single run also its id, which selects it."""
    if len(subjects) != 1 or not subjects[0].is_run:
        return names
    return [f"{name}, run {subjects[0].key}" for name in names]


def runs_words(subjects: Sequence[Subject]) -> str:
    """Whether runs are benchmarks, simulated, or both."""
    if len({subject.is_simulated for subject in subjects}) > 1:
        return "benchmark and simulated runs"
    return "simulated runs" if subjects[0].is_simulated else "benchmark runs"


def counters_words(subjects: Sequence[Subject]) -> str:
    """Whether counters are those of running systems, of simulated arrays, or of both."""
    if len({subject.is_simulated for subject in subjects}) > 1:
        return "counters of running systems and of simulated arrays"
    return "counters of simulated arrays" if subjects[0].is_simulated else "counters of running systems"
