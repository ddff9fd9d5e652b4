"""The live demonstration: a steady client, a hog beside it, the diagnosis, the remedy, and the proof that it helped.

Two processes bring the load (live_worker), each with a scratch file on the same storage, while the kernel's counters
are collected. The diagnosis sees nothing but what the store holds; nothing in the rules knows of this demonstration.
"""

from __future__ import annotations

import math
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from storscope.compare.endings import ENDED
from storscope.domain.comparison import Comparison, MetricRow, Outcome, Settings
from storscope.domain.errors import InputError
from storscope.domain.finding import Finding, Severity
from storscope.domain.units import NS_PER_S, format_bytes, format_duration, format_rate
from storscope.domain.verdict import Verdict
from storscope.domain.workload import Open, Workload
from storscope.report import write_report
from storscope.store import Store
from storscope.workbench.collecting import collecting
from storscope.workbench.comparing import compare
from storscope.workbench.diagnosing import diagnose
from storscope.workbench.live_client import Done, Seen, Worker
from storscope.workbench.live_lateness import Served, served
from storscope.workbench.live_loads import PRESSURES, Pressure, one_at_a_time, victim
from storscope.workbench.live_place import SCRATCH_BYTES, Place, place, undisturbed

PLAIN = 5.0
"""Times its quiet latency from which the harm is plain on a noisy machine too: no heavier hog is tried (ours)."""
HURTS = 2.0
"""Times its quiet latency from which it counts as hurt, if no hog does more (ours)."""
PROOF_METRICS = ("latency", "device_latency")
"""What the victim waits, and what the storage alone took of that: a busy machine spoils the first only."""
_TICK_S = 0.1
_ONSET_S = 0.5
"""What is left out after the hog begins: its first requests."""


@dataclass(frozen=True)
class Phases:
    """How long each part lasts, in seconds, and the interval of every measurement."""

    trial_s: float = 2.0
    quiet_s: float = 6.0
    burst_s: float = 6.0
    between_s: float = 4.0
    after_s: float = 1.5
    proof_s: float = 1.5
    rounds: int = 5
    """Of the proof: the victim is measured so often beside the hog, and so often beside the limited one."""
    interval_s: float = 0.25

    @property
    def incident_s(self) -> float:
        """Quiet, hog, quiet, hog, quiet."""
        return self.quiet_s + 2 * self.burst_s + self.between_s + self.after_s


@dataclass(frozen=True)
class LiveSettings:
    """What is wanted. Without `directory` a place is looked for; without `report` and `keep` nothing stays."""

    directory: Path | None = None
    report: Path | None = None
    keep: Path | None = None
    """Where the store goes; must not exist."""
    seed: int = 0
    scratch_bytes: int = SCRATCH_BYTES
    phases: Phases = Phases()
    pressures: Sequence[Pressure] = PRESSURES


class Teller(Protocol):
    """Tells the story to whoever watches."""

    def step(self, title: str) -> None:
        """A new part begins."""

    def say(self, sentence: str) -> None:
        """What happens."""

    def show(self, victim: Seen | None, hog: Seen | None) -> None:
        """How they are doing; called often. None while one does nothing."""

    def found(self, verdict: Verdict) -> None:
        """What the diagnosis says."""


@dataclass(frozen=True)
class LiveResult:
    """How it ended."""

    pressure: Pressure | None
    """What hurt the victim; None if nothing did, and then there is nothing else."""
    verdict: Verdict | None = None
    comparison: Comparison | None = None
    sides: tuple[str, str] | None = None
    """What `compare` takes for either side, of what was collected."""
    hog: str = ""
    """The entity that is the hog, as the store names it."""
    proof: tuple[Served, Served] | None = None
    """The victim's runs before and after the remedy, without what its own process added to them."""
    not_kept: str = ""
    """Why what was collected could not be kept, where that was asked for."""

    @property
    def first(self) -> Finding | None:
        """The finding that matters most."""
        return self.verdict.findings[0] if self.verdict and self.verdict.findings else None

    @property
    def is_named(self) -> bool:
        """Whether the diagnosis named the hog first, as more than an information."""
        first = self.first
        return first is not None and first.severity > Severity.INFO and first.entities[0].name == self.hog

    @property
    def improvement(self) -> MetricRow | None:
        """The victim's mean latency before and after the remedy; where that cannot be told, what the storage took."""
        rows = {row.metric: row for row in self.comparison.rows()} if self.comparison else {}
        latency, service = rows.get("latency"), rows.get("device_latency")
        is_told = latency is not None and latency.outcome is not Outcome.UNDECIDED
        return latency if is_told or service is None or service.outcome is Outcome.UNDECIDED else service


def live_demo(settings: LiveSettings, teller: Teller) -> LiveResult:
    """Plays it. Takes about a minute, in which it may be interrupted at any moment; what was asked for stays.

    Raises UsageError where there is no place for it, TargetRefused, StorscopeError if a process fails.
    """
    stack = ExitStack()
    try:
        chosen = stack.enter_context(place(settings.directory, settings.scratch_bytes))
        store = Store.open(stack.enter_context(_store_directory()), create=True)
        result = _Story(settings, teller, chosen, store, stack).play()
        if settings.keep is not None and result.verdict is not None:
            store.forget()
            return replace(result, not_kept=_copied(store.path, settings.keep))
        return result
    finally:
        with undisturbed():
            stack.close()


def _copied(store: Path, keep: Path) -> str:
    """Copies it, whole or not at all; returns why it could not be."""
    try:
        shutil.copytree(store, keep)
    except OSError as error:  # of several files it has their names and reasons, and no number
        shutil.rmtree(keep, ignore_errors=True)
        return error.strerror or str(error.args[0][0][2] if isinstance(error, shutil.Error) else error)
    return ""


@contextmanager
def _store_directory() -> Iterator[Path]:
    directory = Path(tempfile.mkdtemp(prefix="storscope-demo-store-"))
    try:
        yield directory / "store"
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@dataclass
class _Story:
    settings: LiveSettings
    teller: Teller
    place: Place
    store: Store
    stack: ExitStack
    """Takes down what was set up."""
    victim: Worker = field(init=False)
    hog: Worker = field(init=False)

    def play(self) -> LiveResult:
        self._open()
        pressure, alone_per_s = self._try_out()
        if pressure is None:
            return LiveResult(None)
        client = victim(alone_per_s)
        burst = self._incident(pressure, client)
        verdict = self._diagnose()
        comparison, sides, proof = self._prove(pressure, client, burst)
        return LiveResult(pressure, verdict, comparison, sides, self.hog.name, proof)

    # Opening ----------------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        size = format_bytes(self.place.scratch_bytes)
        self.teller.step(f"Two scratch files of {size} in {self.place.words}")
        self.victim, self.hog = (self.stack.enter_context(self._worker(name)) for name in ("victim", "hog"))
        ready = [worker.wait_ready() for worker in (self.victim, self.hog)]
        if not all(one["direct"] for one in ready):
            self.teller.say("The file system has no direct I/O: the page cache takes part, which may hide the hog.")
        proofs = {one["prefill"] for one in ready}
        proved = " The device's own counters prove it." if proofs <= {"the device", "not this run alone"} else ""
        self.teller.say(f"Filled, so that no read meets a hole.{proved}")

    def _worker(self, name: str) -> Worker:
        workload = one_at_a_time() if name == "victim" else self.settings.pressures[-1].workload()
        return Worker({
            "name": name, "store": str(self.store.path), "directory": str(self.place.directory),
            "size_bytes": self.place.scratch_bytes, "workload": workload.to_json(), "seed": self.settings.seed,
            "interval_ns": round(self.settings.phases.interval_s * NS_PER_S),
        })  # fmt: skip

    # Trying -----------------------------------------------------------------------------------------------------------

    def _try_out(self) -> tuple[Pressure | None, float]:
        """A pressure that hurts the victim, and what the storage does one at a time. Leaves no captures.

        The lightest one with plain harm, else the one with the most; None if that is not enough.
        """
        self.teller.step("How much load does this storage feel?")
        trial_s = self.settings.phases.trial_s
        self.victim.start(one_at_a_time(), trial_s / 2)
        probe = self._forgotten(self.victim)
        client = victim(probe.ops_per_s)
        self.teller.say(
            f"One request at a time it does {format_rate(probe.ops_per_s)}; the victim will ask for {asked_by(client)}."
        )
        worst, chosen = HURTS, None
        for pressure in self.settings.pressures:
            factor = self._trial(pressure, client)
            if factor is not None and factor >= worst:
                worst, chosen = factor, pressure
            if worst >= PLAIN and chosen is not None:
                break
        return chosen, probe.ops_per_s

    def _trial(self, pressure: Pressure, client: Workload) -> float | None:
        """Times its quiet latency that the victim waits beside the hog; None if it was too short to tell."""
        trial_s = self.settings.phases.trial_s
        self.victim.start(client, 2 * trial_s)
        self._pause(trial_s)
        self.hog.start(pressure.workload(), trial_s)
        began = time.monotonic()
        self._pause(trial_s)
        self._forgotten(self.hog)
        self._forgotten(self.victim)
        quiet_ns, loud_ns = self._usual_ns(0, began), self._usual_ns(began + _ONSET_S, began + trial_s)
        if quiet_ns is None:
            return None
        if loud_ns is None:
            self.teller.say(f"A hog with {pressure.words}: the victim gets no answer at all.")
            return math.inf
        self.teller.say(
            f"A hog with {pressure.words}: the victim's latency goes from {format_duration(quiet_ns)} to "
            f"{format_duration(loud_ns)}."
        )
        return loud_ns / quiet_ns

    def _forgotten(self, worker: Worker) -> Done:
        """A measurement that was only tried: it leaves the store again."""
        done = worker.wait_done(self._show)
        self.store.remove_capture(done.capture)
        return done

    def _usual_ns(self, from_s: float, to_s: float) -> float | None:
        """The victim's usual response between two moments: the median of its intervals' means."""
        length_s = self.settings.phases.interval_s
        inside = [one for one in self.victim.seen if one.at_s - length_s >= from_s and one.at_s <= to_s]
        timed = [one.latency_ns_mean for one in inside if one.latency_ns_mean is not None]
        return statistics.median(timed) if timed else None

    # The incident -----------------------------------------------------------------------------------------------------

    def _incident(self, pressure: Pressure, client: Workload) -> Done:
        """The victim throughout, the hog twice. Returns what the hog did the second time."""
        phases = self.settings.phases
        self.teller.step("The incident")
        with self._counters():
            self.victim.start(client, phases.incident_s)
            self.teller.say(f"The victim works alone: {asked_by(client)}, small random reads.")
            self._pause(phases.quiet_s)
            self._burst(pressure, "A hog starts beside it")
            self._pause(phases.between_s)
            burst = self._burst(pressure, "It is back")
            self.victim.wait_done(self._show)
        return burst

    def _burst(self, pressure: Pressure, words: str) -> Done:
        self.teller.say(f"{words}: {pressure.words}.")
        self.hog.start(pressure.workload(), self.settings.phases.burst_s)
        done = self.hog.wait_done(self._show)
        self.teller.say(f"The hog stops; it did {format_rate(done.ops_per_s)}.")
        return done

    @contextmanager
    def _counters(self) -> Iterator[None]:
        """The kernel's counters, collected meanwhile; where the kernel shows none the story goes on without."""
        interval_ns = round(self.settings.phases.interval_s * NS_PER_S)
        with ExitStack() as stack:
            try:
                background = stack.enter_context(collecting(self.store, interval_ns=interval_ns))
            except InputError as error:
                self.teller.say(f"The kernel's counters cannot be collected here: {error.message()}")
            else:
                for worker in (self.victim, self.hog):
                    background.watch_process(worker.pid)
                self.teller.say("The kernel's counters of devices and of both processes are collected meanwhile.")
            yield

    # What it was ------------------------------------------------------------------------------------------------------

    def _diagnose(self) -> Verdict:
        self.teller.step("The diagnosis, from nothing but what was collected")
        self.store.forget()
        verdict = diagnose(self.store, seed=self.settings.seed)
        if self.settings.report is not None:
            write_report(verdict, self.store, self.settings.report)
        self.teller.found(verdict)
        return verdict

    # What helps -------------------------------------------------------------------------------------------------------

    def _prove(
        self, pressure: Pressure, client: Workload, burst: Done
    ) -> tuple[Comparison, tuple[str, str], tuple[Served, Served]]:
        """The victim beside the hog and beside the limited hog, in turn, so that nothing else explains a difference."""
        limited = pressure.limited(burst.ops_per_s)
        rounds = self.settings.phases.rounds
        self.teller.step(f"The remedy: the hog limited to {asked_by(limited)}, a tenth of what it did")
        self.teller.say(f"Both are measured {rounds} times each, in turn: a drift of the storage cannot deceive then.")
        runs: dict[bool, list[str]] = {False: [], True: []}
        for number in range(rounds):
            # Who comes first changes from round to round.
            for is_limited in (False, True) if number % 2 == 0 else (True, False):
                runs[is_limited].append(self._beside(limited if is_limited else pressure.workload(), client))
        self.teller.step("The proof: the victim beside the hog, and beside the limited hog")
        self.store.forget()
        before, after = ("run=" + "|".join(runs[is_limited]) for is_limited in (False, True))
        settings = Settings(metrics=PROOF_METRICS, seed=self.settings.seed)
        comparison = _in_words(compare(before, after, settings, store_path=self.store.path))
        return comparison, (before, after), (served(self.store, runs[False]), served(self.store, runs[True]))

    def _beside(self, hog: Workload, client: Workload) -> str:
        """Measures the victim beside a hog; returns its run."""
        proof_s = self.settings.phases.proof_s
        self.hog.start(hog, proof_s + 2 * _ONSET_S)
        self._pause(_ONSET_S)
        self.victim.start(client, proof_s)
        done = self.victim.wait_done(self._show)
        self.hog.wait_done(self._show)
        return done.run

    # Waiting ----------------------------------------------------------------------------------------------------------

    def _pause(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            for worker in (self.victim, self.hog):
                worker.check()
            self._show()
            time.sleep(min(left, _TICK_S))

    def _show(self) -> None:
        self.teller.show(self.victim.latest(), self.hog.latest())


def _in_words(comparison: Comparison) -> Comparison:
    """With what the sides are in place of ten ids and of a scratch file that is about to go; and without the list of
    runs that came late and the option to judge them all the same, which the demonstration tells in its own words."""
    before = replace(comparison.before, source="the victim beside the hog", names=())
    after = replace(comparison.after, source="the victim beside the limited hog", names=())
    pairs = [
        replace(pair, warnings=[warning for warning in pair.warnings if not warning.startswith(ENDED)])
        for pair in comparison.pairs
    ]
    return replace(comparison, before=before, after=after, pairs=pairs)


def asked_by(workload: Workload) -> str:
    """The rate that an open loop asks for."""
    load = workload.streams[0].load
    assert isinstance(load, Open)
    return format_rate(load.rate_per_s)
