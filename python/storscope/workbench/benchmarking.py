"""A benchmark: open the target, run the workload, store each interval while the next is measured."""

from __future__ import annotations

import functools
import hashlib
import platform
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import storscope
from storscope.bench.device_counters import DeviceWatch, asked_of
from storscope.bench.engine import DescriptorTarget, RunPlan
from storscope.bench.figures import Interval, Outcome
from storscope.bench.goals import Goal, Progress, fixed_time
from storscope.bench.joining import joined
from storscope.bench.judgement import Judgement
from storscope.bench.measuring import Measuring, Runs, parts_of
from storscope.bench.record import ENGINE, About, doubts_of, latency_of, record_run, status_of
from storscope.bench.safety import sweep
from storscope.bench.spool import Spooled, SpoolWriter, abandoned
from storscope.bench.targets import Ready, confined, ready_target
from storscope.domain.errors import StorscopeError
from storscope.domain.recorder import Recorder
from storscope.domain.units import NS_PER_S
from storscope.domain.workload import Workload
from storscope.store import CaptureInfo, Store
from storscope.workbench.engines import engine_of

_ID_LENGTH = 16


@dataclass(frozen=True)
class BenchSettings:
    """How a measurement is made. `size_bytes` is of a scratch file, or of the part of a target that is used."""

    duration_ns: int
    seed: int
    size_bytes: int | None = None
    permission: str | None = None
    direct: bool = True
    interval_ns: int = NS_PER_S
    engine: str = ENGINE
    """Which engine makes the I/Os: our own, or 'fio'."""
    goal: Goal | None = None
    """When a measurement ends; None is after `duration_ns`."""


@dataclass(frozen=True)
class Benched:
    """A measurement that is in the store as `capture`."""

    capture: str
    about: About
    outcome: Outcome
    judgement: Judgement | None = None
    """Which part of it counts, and how sure the figures are."""
    counted: Interval | None = None
    """That part; see `measured`."""

    @property
    def measured(self) -> Interval:
        """What the figures are of: the run without its warm-up."""
        return self.counted or self.outcome.total

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why its figures may mean less than they seem to."""
        return doubts_of(self.about, self.outcome, self.judgement)

    @property
    def status(self) -> str:
        """As in the table `runs`."""
        return status_of(self.outcome)


class BenchSession:
    """An open target, on which one measurement after another is made; each is a capture of its own."""

    def __init__(self, store: Store, ready: Ready, settings: BenchSettings, stop: Callable[[], bool]) -> None:
        self._store, self._ready, self._settings, self._stop = store, ready, settings, stop

    @property
    def target(self) -> Ready:
        """What is measured."""
        return self._ready

    @property
    def is_interrupted(self) -> bool:
        """Whether the user asked for an end: no further measurement should start."""
        return self._stop()

    def measure(
        self, workload: Workload, watch: Callable[[Interval], None] = lambda _: None, *, seed: int | None = None,
        duration_ns: int | None = None, labels: Mapping[str, str] | None = None, goal: Goal | None = None,
        follow: Callable[[Progress], None] = lambda _: None,
    ) -> Benched:  # fmt: skip
        """Runs a workload and stores what was measured, also when it ended early.

        `workload` may not ask for more than the one that the session was opened for: no writes if that only read.
        `labels` say what the run is part of; they are kept among its parameters. It ends as `goal` says, after
        `duration_ns` if that is given instead, else as the settings say. `follow` hears how far it has got, just before
        `watch` gets the interval.
        Raises ConfigError for one that does not fit the target.
        """
        settings = self._settings
        goal = goal or (settings.goal if duration_ns is None else None)
        goal = goal or fixed_time(workload, duration_ns or settings.duration_ns)
        settings = replace(
            settings, seed=settings.seed if seed is None else seed, duration_ns=goal.longest_ns, goal=goal
        )
        parts = parts_of(settings.interval_ns) if settings.engine == ENGINE else 1
        used = confined(workload, self._ready.confined_bytes)
        plan = RunPlan(
            used, (DescriptorTarget(self._ready.descriptor),), settings.duration_ns, settings.seed,
            settings.interval_ns // parts,
        )  # fmt: skip
        about = replace(_about(self._ready, used, settings), labels=labels or {}, goal=goal.explain())
        started, about = engine_of(settings.engine, plan, about)
        measuring = functools.partial(
            Measuring, goal=goal, interval_ns=settings.interval_ns, parts=parts, measure=latency_of(about)
        )
        return _measure(self._store, started, measuring, self._ready, about, watch, follow, self._stop)


@contextmanager
def bench_session(
    store: Store,
    target: str,
    workload: Workload,
    settings: BenchSettings,
    *,
    told: Callable[[str], None],
    stop: Callable[[], bool],
) -> Iterator[BenchSession]:
    """Opens a target for a workload and others like it: creates and fills what is needed, and takes it down at the end.

    First removes scratch files of runs that crashed, and stores what those had measured. Raises TargetRefused for a
    target that must not be written, ConfigError for a workload that does not fit, UsageError.
    """
    sweep()
    for capture in recover_runs(store):
        told(f"A run that was killed is in the store as {capture}, without its last interval.")
    with ready_target(
        target, workload, settings.size_bytes, permission=settings.permission, direct=settings.direct, told=told
    ) as ready:
        yield BenchSession(store, ready, settings, stop)


def bench(
    store: Store,
    target: str,
    workload: Workload,
    settings: BenchSettings,
    *,
    told: Callable[[str], None],
    watch: Callable[[Interval], None],
    stop: Callable[[], bool],
) -> Benched:
    """One measurement in a session of its own; see there."""
    with bench_session(store, target, workload, settings, told=told, stop=stop) as session:
        return session.measure(workload, watch)


def _measure(
    store: Store,
    started: Callable[[], AbstractContextManager[Runs]],
    measuring: Callable[[Runs], Measuring],
    ready: Ready,
    about: About,
    watch: Callable[[Interval], None],
    follow: Callable[[Progress], None],
    stop: Callable[[], bool],
) -> Benched:
    devices = DeviceWatch(ready.under, direct=ready.direct, extents=ready.extents)
    with started() as run, _spool(store, about) as spool:
        measurement = measuring(run)
        for interval in measurement.intervals(stop):
            spool.append(interval)
            follow(measurement.progress)
            watch(interval)
        outcome = run.outcome()
        outcome = replace(outcome, device=devices.compare(asked_of(outcome.result)))
        judgement = measurement.judgement(outcome)
        spool.end(outcome, judgement)
        counted = joined(each for each in Spooled(spool.path).intervals() if judgement.counts(each.start_ns))
        return Benched(_publish(store, spool.path), about, outcome, judgement, counted)


@contextmanager
def _spool(store: Store, about: About) -> Iterator[SpoolWriter]:
    """A spool that stays, also after an error, if anything is in it."""
    spool = SpoolWriter(store.path, about)
    try:
        yield spool
    except StorscopeError:
        if spool.is_empty:
            spool.discard()
        raise
    finally:
        spool.close()


def _about(ready: Ready, workload: Workload, settings: BenchSettings) -> About:
    now_ns = time.time_ns()
    return About(
        run=f"bench-{now_ns:x}",
        workload=workload,
        target=ready.name,
        target_kind=ready.kind,
        system=platform.node(),
        seed=settings.seed,
        version=storscope.__version__,
        planned_ns=settings.duration_ns,
        started_ns=now_ns,
        direct=ready.direct,
        doubts=ready.doubts,
        links=ready.under.links,
        prefill=ready.prefill,
    )


def recover_runs(store: Store) -> list[str]:
    """Stores what runs had measured whose process was killed; returns the captures. Runs under way are left alone."""
    captures = []
    for path in abandoned(store.path):
        try:
            captures.append(_publish(store, path))
        except ValueError:  # killed before anything was measured
            path.unlink()
    return captures


def _publish(store: Store, spool: Path) -> str:
    """Makes a capture of a spool and removes it. The capture is named by its content, so twice gives one."""
    spooled, digest = Spooled(spool), hashlib.sha256(spool.read_bytes()).hexdigest()
    info = CaptureInfo(
        id=digest[:_ID_LENGTH],
        path=f"bench of {spooled.about.target}",
        sha256=digest,
        size_bytes=spool.stat().st_size,
        format="storscope-bench",
        importer_version=1,
        imported_at_ns=time.time_ns(),
        imported_on=platform.node(),
        storscope_version=storscope.__version__,
        options={},
    )
    with store.writer(info) as writer:
        recorder = Recorder(writer.write)
        record_run(recorder, spooled.about, spooled.intervals(), spooled.outcome(), spooled.judgement())
        recorder.finish()
        writer.commit(recorder)
    spool.unlink()
    return info.id
