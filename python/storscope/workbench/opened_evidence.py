"""Evidence that Python callers ask, as a store: the one it is, the one that keeps it, or one for this question alone.

No store stays open, and a temporary one is removed on any way out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from storscope.domain.errors import InputError, UsageError
from storscope.store import Store
from storscope.workbench.brought import Reading, bring, store_of
from storscope.workbench.completing import completed
from storscope.workbench.evidence_arguments import refuse_reading
from storscope.workbench.import_summary import ImportSummary
from storscope.workbench.simulated import Simulated
from storscope.workbench.simulation_store import store_simulation
from storscope.workbench.temporary_stores import folder_for_stores, named_for

_NAMED = 3


@dataclass(frozen=True)
class Opened:
    """The store, and what of it is meant."""

    store: Store
    own: set[str] | None = None
    """Captures that the evidence stands for; None where it is the store."""
    run: str | None = None
    """The run that is meant, where the evidence is one."""
    said: Sequence[str] = ()
    """What became of runs that had been killed."""


@contextmanager
def opened_evidence(found: list[Path] | list[Simulated], kept: Path | None, reading: Reading) -> Iterator[Opened]:
    """The store that has the evidence: itself, the one that is kept, or one that is gone after the block."""
    paths = [one for one in found if isinstance(one, Path)]
    runs = [one for one in found if isinstance(one, Simulated)]
    if runs:
        refuse_reading(reading, "a simulated run")
        with _store_of_run(runs, kept) as opened:
            yield opened
    elif len(paths) == 1 and kept is None and Store.is_store(paths[0]):
        refuse_reading(reading, "a store")
        store = Store.open(paths[0])
        with forgotten(store):
            yield Opened(store, said=list(completed(store)))
    elif kept is not None:
        with _kept_store(kept) as store:
            said = list(completed(store))
            yield Opened(store, set(bring(store, paths, reading).captures), said=said)
    else:
        with store_of(paths, reading) as (store, summary):
            yield Opened(store, set(summary.captures))


@contextmanager
def _store_of_run(runs: Sequence[Simulated], kept: Path | None) -> Iterator[Opened]:
    if len(runs) > 1:
        raise UsageError(
            "one simulated run", f"{len(runs)}",
            hint="Each is a world of its own: [storscope.diagnose(run) for run in runs].",
        )  # fmt: skip
    if kept is not None:
        with _kept_store(kept) as store:
            said = list(completed(store))
            store_simulation(store, runs[0])
            yield Opened(store, run=runs[0].about.run, said=said)
        return
    with folder_for_stores() as folder, named_for(folder, [run_words(runs[0])]):
        store = Store.open(folder / "store", create=True)
        with forgotten(store):
            store_simulation(store, runs[0])
            yield Opened(store)


@contextmanager
def _kept_store(path: Path) -> Iterator[Store]:
    """The store, made where there is none; gone again if nothing came into it."""
    is_new = not path.exists()
    store = Store.open(path, create=True)
    with forgotten(store):
        try:
            yield store
        finally:
            if is_new:
                store.remove_if_empty()


@contextmanager
def forgotten(store: Store) -> Iterator[None]:
    """Leaves no file of the store open."""
    try:
        yield
    finally:
        store.forget()


@contextmanager
def explained(summaries: Sequence[ImportSummary], found: Sequence[object] = ()) -> Iterator[None]:
    """Where nothing could be read the error says why: a command prints it before, here it would be lost."""
    try:
        yield
    except InputError as error:
        if not summaries or summaries[-1].captures:
            raise
        skipped = sorted(summaries[-1].skipped, key=lambda one: not one.is_error)
        reasons = [f"{one.name}: {one.reason.removeprefix(f'{one.name}: ')}" for one in skipped]
        hint = few([*reasons, error.hint] if len(reasons) < _NAMED else reasons, "\n  ")
        raise InputError(error.expected, error.found, where=error.where or few(found, ", "), hint=hint) from error


def run_words(run: Simulated) -> str:
    """What a simulated run is called: 'EVA 4400 under oltp, seed 1'."""
    return f"{run.plan.design.name} under {run.plan.workload.name}, seed {run.plan.seed}"


def few(things: Sequence[object], between: str) -> str:
    """The first of many things in words, and how many more there are."""
    more = f"{between}and {len(things) - _NAMED:,} more" if len(things) > _NAMED else ""
    return between.join(map(str, things[:_NAMED])) + more
