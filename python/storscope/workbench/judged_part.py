"""Which part of a store a diagnosis judges.

A simulated run is a world of its own: its time is virtual, and runs of one design have the same names for different
things. So never more than one of them is judged at a time, and none beside counters and logs of running systems.
Results of benchmarks are judged run by run in any case, and stay beside both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from storscope.compare.selection import Selector
from storscope.domain.errors import UsageError
from storscope.domain.verdict import JudgedPart
from storscope.store import Store
from storscope.workbench.captures import SIMULATION

_MOST_NAMED = 4


@dataclass(frozen=True, slots=True)
class _Run:
    capture: str
    run: str
    name: str | None
    system: str | None
    sweep: str | None

    @property
    def words(self) -> str:
        of = " on ".join(filter(None, (self.name, self.system)))
        return f"{self.run} ({of})" if of else self.run


def judged_part(store: Store, run: str | None = None) -> tuple[Store, JudgedPart | None]:
    """The part of the store to judge, and what to say of it; None where it is all.

    With `run`: the captures of the run of this name or id, or of those that fit the pattern. Raises UsageError where
    there is none, or where they are several of which one is simulated.
    """
    simulated = [str(row["capture"]) for row in reversed(store.captures()) if row["format"] == SIMULATION]
    if run is not None:
        return _asked(store, run, simulated)
    if not simulated:
        return store, None
    runs = _runs(store)
    is_running = any(row["capture"] not in {*simulated, *runs} for row in store.captures())
    if not is_running and len(simulated) == 1:
        return store, None
    return _chosen(store, [runs[one][0] for one in simulated if one in runs], is_running=is_running)


def virtual_zero_ns(store: Store) -> int | None:
    """Where the clock of a store with one simulated run and nothing else began; None where there are real clocks.

    The first event of a simulated array says that it begins (sim/record_events.py).
    """
    captures = store.captures()
    if len(captures) != 1 or captures[0]["format"] != SIMULATION:
        return None
    rows = store.query("SELECT epoch_ns(min(time)) AS zero_ns FROM events WHERE kind = 'array'").to_pylist()
    found: int | None = rows[0]["zero_ns"]
    return found


def _asked(store: Store, asked: str, simulated: Sequence[str]) -> tuple[Store, JudgedPart]:
    selector = Selector(run=asked)
    every = [one for runs in _runs(store).values() for one in runs]
    found = [one for one in every if one.capture == asked or selector.takes_run(one.run, one.name, one.sweep)]
    of_simulations = [one for one in every if one.capture in simulated]
    if not found:
        raise UsageError(
            f"a run with the name or id {asked!r}", "none", where=str(store.path),
            hint=f"There are: {_listed(every)}." if every else "There are no runs.",
        )  # fmt: skip
    captures = {one.capture for one in found}
    if len(captures) > 1 and not captures.isdisjoint(simulated):
        raise UsageError(
            f"one run, since simulated runs are judged one by one, for {asked!r}", f"{len(found)}: {_listed(found)}",
            where=str(store.path), hint="Give the id of one of them.",
        )  # fmt: skip
    left_out = [one.run for one in of_simulations if one.capture not in captures]
    alone = found[0] if len(found) == 1 else None
    what = f"run {alone.words}" if alone else f"what the {len(found)} runs that fit {asked!r} belong to"
    return store.only(captures), JudgedPart(alone.run if alone else None, left_out, f"Only {what} was judged.")


def _chosen(store: Store, simulated: Sequence[_Run], *, is_running: bool) -> tuple[Store, JudgedPart]:
    """Without a wish: what was measured on running systems; where there is nothing of it, the latest simulated run."""
    left_out = list(simulated) if is_running else list(simulated[1:])
    hidden = {one.capture for one in left_out}
    kept = [str(row["capture"]) for row in store.captures() if row["capture"] not in hidden]
    one_by_one = f"Simulated runs are judged one by one, each with --run ID: {_listed(left_out)}."
    if is_running:
        count = "a simulated run" if len(left_out) == 1 else f"{len(left_out):,} simulated runs"
        words = f"Only what was measured was judged; the store also holds {count}. {one_by_one}"
        return store.only(kept), JudgedPart(None, [one.run for one in left_out], words)
    latest = simulated[0]
    words = f"Of {len(simulated):,} simulated runs only the latest was judged, {latest.words}. {one_by_one}"
    return store.only(kept), JudgedPart(latest.run, [one.run for one in left_out], words)


def _runs(store: Store) -> Mapping[str, list[_Run]]:
    """Capture -> its runs."""
    found: dict[str, list[_Run]] = {}
    for row in store.query("SELECT capture, run, name, system, parameters FROM runs").to_pylist():
        sweep = dict(row["parameters"] or ()).get("sweep")
        found.setdefault(row["capture"], []).append(_Run(row["capture"], row["run"], row["name"], row["system"], sweep))
    return found


def _listed(runs: Sequence[_Run]) -> str:
    """The first of them in words."""
    more = f"; {len(runs) - _MOST_NAMED:,} more" if len(runs) > _MOST_NAMED else ""
    return "; ".join(one.words for one in runs[:_MOST_NAMED]) + more
