"""Which host or array a capture is of that names none, told by the captures that were imported with it.

Only the captures of one import are compared, and a host is taken only when exactly one fits: it has a device or volume
of the same worldwide name; or one of the same plain name seen at the same time; or a capture of the same format and the
same devices that ends where this one begins (a text capture cut in pieces names its host in the first alone).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from storscope.domain.vocabulary import UNNAMED_SYSTEMS
from storscope.store import Store

_UNIQUE_NAMES = r"^(naa|eui|t10|mpx\.|uuid|wwn|nvme\.|3?[0-9a-f]{16,})"
"""Device names that only one device in the world has. 'sda' and 'loop0' identify nothing by themselves."""
_MOST_STEPS_BETWEEN = 5
"""Intervals that two pieces of one capture may be apart: its first report is left out, and some are cut in two."""
_KINDS = "('device', 'partition', 'datastore', 'vdisk')"


def hosts_of_unnamed(store: Store, systems: Mapping[str, str | None]) -> dict[str, str]:
    """Capture -> its host, for those of `systems` (capture -> the system it names) that name none and get one."""
    known = {capture: system for capture, system in systems.items() if system and system not in UNNAMED_SYSTEMS}
    unnamed = [capture for capture, system in systems.items() if known and system in UNNAMED_SYSTEMS]
    fitting = {capture: _hosts_with_a_disk(store, capture, known) for capture in unnamed}
    found = {capture: hosts.pop() for capture, hosts in fitting.items() if len(hosts) == 1}
    adjoining = {capture: _adjoining(store, capture, systems) for capture in unnamed if capture not in found}
    while more := _next_pieces(adjoining, known | found):
        found |= more
        adjoining = {capture: pieces for capture, pieces in adjoining.items() if capture not in more}
    return found


def _next_pieces(adjoining: Mapping[str, set[str]], hosts: Mapping[str, str]) -> dict[str, str]:
    """The captures whose neighbours in time are all of one host, as far as theirs are known."""
    beside = {capture: {hosts[piece] for piece in pieces & hosts.keys()} for capture, pieces in adjoining.items()}
    return {capture: found.pop() for capture, found in beside.items() if len(found) == 1}


def _hosts_with_a_disk(store: Store, capture: str, others: Iterable[str]) -> set[str]:
    """The hosts of `others` that share a device of a worldwide name with `capture`, or any at the same time."""
    rows = store.query(
        f"""SELECT DISTINCT other.system FROM entities mine JOIN entities other USING (kind, entity)
            JOIN captures here ON here.capture = mine.capture JOIN captures there ON there.capture = other.capture
            WHERE mine.capture = $capture AND list_contains($others, other.capture) AND kind IN {_KINDS}
              AND (regexp_matches(entity, $unique)
                   OR (here.first_time < there.last_time AND there.first_time < here.last_time))""",
        {"capture": capture, "others": list(others), "unique": _UNIQUE_NAMES},
    ).to_pylist()
    return {row["system"] for row in rows}


def _adjoining(store: Store, capture: str, others: Iterable[str]) -> set[str]:
    """The captures of the same format and exactly the same devices that end where `capture` begins, or the reverse.

    Times that were a guess adjoin nothing.
    """
    rows = store.query(
        f"""WITH disks AS (SELECT capture, list_sort(list(DISTINCT kind || ' ' || entity)) AS names FROM entities
                           WHERE list_contains($others, capture) AND kind IN {_KINDS} GROUP BY capture),
                 step AS (SELECT median(duration_ns) AS ns FROM observations
                          WHERE capture = $capture AND duration_ns > 0),
                 timed AS (SELECT capture, format, epoch_ns(first_time) AS first_ns, epoch_ns(last_time) AS last_ns
                           FROM captures WHERE first_time IS NOT NULL AND clock NOT LIKE 'no times in the source%')
            SELECT other.capture FROM disks mine JOIN disks other USING (names)
            JOIN timed here ON here.capture = mine.capture JOIN timed there ON there.capture = other.capture, step
            WHERE mine.capture = $capture AND other.capture <> $capture AND here.format = there.format
              AND least(abs(here.first_ns - there.last_ns), abs(there.first_ns - here.last_ns)) <= $steps * step.ns""",
        {"capture": capture, "others": list(others), "steps": _MOST_STEPS_BETWEEN},
    ).to_pylist()
    return {row["capture"] for row in rows}
