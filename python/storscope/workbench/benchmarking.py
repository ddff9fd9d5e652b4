"""A benchmark: open the target, run the workload, store each interval while the next is measured."""

from __future__ import annotations

import functools
import hashlib
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import storscope
from storscope.bench.cpu_quota import QuotaWatch
from storscope.bench.device_watches import DeviceWatches
from storscope.bench.direct_blocks import as_taken, check_blocks
from storscope.bench.engine import DescriptorTarget, RunPlan
from storscope.bench.figures import Interval, Outcome
from storscope.bench.goals import Goal, Progress, fixed_time
from storscope.bench.joining import joined
from storscope.bench.judgement import Judgement
from storscope.bench.measuring import Measuring, Runs, parts_of
from storscope.bench.preconditioning import TIMES, Amount, preconditioning
from storscope.bench.rate_steps import RateStepFigures, rate_step_figures
from storscope.bench.record import ENGINE, About, doubts_of, latency_of, record_run, status_of
from storscope.bench.safety import Swept, sweep
from storscope.bench.samples import Sample
from storscope.bench.shrinking import Sizes
from storscope.bench.spool import (
    Spooled,
    SpoolWriter,
    UnreadableSpool,
    abandoned,
    holds_nothing,
    set_aside,
    understood,
)
from storscope.bench.stamping import at_index, stamped_alike, targets_at
from storscope.bench.standstill import standstills
from storscope.bench.target_set import ready_targets
from storscope.bench.targets import Ready, Wish, confined
from storscope.domain.errors import StoreError
from storscope.domain.open_files import open_files_hint
from storscope.domain.recorder import Recorder
from storscope.domain.units import NS_PER_S, format_bytes
from storscope.domain.workload import Workload
from storscope.store import Store
from storscope.workbench.captures import capture_info, keep
from storscope.workbench.engines import AUTO, check_engine, check_load, engine_of


@dataclass(frozen=True)
class BenchSettings:
    """How a measurement is made. `size_bytes` is of a scratch file, or of the part of a target that is used;
    `permissions` are the words that allow to overwrite targets with content, one for each of these."""

    duration_ns: int
    seed: int
    size_bytes: int | None = None
    permissions: tuple[str, ...] = ()
    direct: bool = True
    interval_ns: int = NS_PER_S
    engine: str = ENGINE
    """Which engine makes the I/Os: our own, or 'fio'."""
    ioengine: str = AUTO
    """How our own makes them: by an io_uring, by threads, or by what a trial finds better."""
    goal: Goal | None = None
    """When a measurement ends; None is after `duration_ns`."""
    keep: bool = False
    """Whether scratch files stay."""
    doubts: tuple[str, ...] = ()
    """What is known beforehand of the workload that makes figures mean less; of what is measured, not of what is
    written before."""
    shared: bool = False
    """Whether others are meant to use the devices while something is measured, as the demonstration's hog is: that they
    do is then no doubt."""


@dataclass(frozen=True)
class Benched:
    """A measurement that is in the store as `capture`; an empty name if it found no room there."""

    capture: str
    about: About
    outcome: Outcome
    judgement: Judgement | None = None
    """Which part of it counts, and how sure the figures are."""
    counted: Interval | None = None
    """That part; see `measured`."""
    steps: tuple[RateStepFigures, ...] = ()
    """What it did at each rate step, if it has any."""
    samples: tuple[Sample, ...] = ()
    """The whole run in short pieces, warm-up included: a few hundred at most."""

    @property
    def measured(self) -> Interval:
        """What the figures are of: the run without its warm-up."""
        return self.counted or self.outcome.total

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why its figures may mean less than they seem to."""
        return doubts_of(self.about, self.outcome, self.judgement)

    @property
    def is_complete(self) -> bool:
        """Whether it came to its end: no error, and nobody interrupted it."""
        return self.outcome.error is None and not self.outcome.stopped

    @property
    def status(self) -> str:
        """As in the table `runs`."""
        return status_of(self.outcome)


class NotStored(StoreError):
    """What was measured is known, and the store did not take it; the hint says where it is meanwhile."""

    def __init__(self, benched: Benched, error: StoreError) -> None:
        self.benched = benched
        super().__init__(error.expected, error.found, where=error.where, hint=error.hint)


class BenchSession:
    """An open target, on which one measurement after another is made; each is a capture of its own."""

    def __init__(
        self, store: Store, ready: Sequence[Ready], workload: Workload, settings: BenchSettings,
        stop: Callable[[], bool],
    ) -> None:  # fmt: skip
        self._store, self._ready, self._settings, self._stop = store, tuple(ready), settings, stop
        self._workload = workload
        self._labels: dict[str, str] = {}

    @property
    def target(self) -> Ready:
        """What is measured; the first of several."""
        return self._ready[0]

    @property
    def targets(self) -> tuple[Ready, ...]:
        """What is measured, in the order that streams count targets."""
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
        Raises ConfigError for one that does not fit the target, NotStored if the store has no room in the end.
        """
        settings = self._settings
        goal = goal or (settings.goal if duration_ns is None else None)
        goal = goal or fixed_time(workload, duration_ns or settings.duration_ns)
        settings = replace(
            settings, seed=settings.seed if seed is None else seed, duration_ns=goal.longest_ns, goal=goal
        )
        parts = parts_of(settings.interval_ns) if settings.engine == ENGINE else 1
        used = confined(workload, self.target.confined_bytes)
        plan = RunPlan(
            self._stamped(used), tuple(DescriptorTarget(ready.descriptor) for ready in self._ready),
            settings.duration_ns, settings.seed, settings.interval_ns // parts, held=True, engine=settings.ioengine,
        )  # fmt: skip
        known = {**self._labels, **(labels or {})}
        taken = tuple(as_taken(ready, used, index) for index, ready in enumerate(self._ready))
        about = _about(taken, used, settings)
        about = replace(about, direct=all(ready.direct for ready in self._ready))  # as asked: fio's option
        about = replace(about, labels=known, goal=goal.explain(), doubts=(*settings.doubts, *about.doubts))
        started, about = engine_of(settings.engine, plan, about)
        measuring = functools.partial(
            Measuring, goal=goal, interval_ns=settings.interval_ns, parts=parts, measure=latency_of(about)
        )
        return _measure(
            self._store, started, measuring, taken, about, watch, follow, self._stop, shared=settings.shared
        )  # fmt: skip

    def _stamped(self, workload: Workload) -> Workload:
        """With stamps that all runs of the session verify; fio has none."""
        return stamped_alike(workload, self._workload) if self._settings.engine == ENGINE else workload

    def precondition(
        self, workload: Workload, watch: Callable[[Interval], None] = lambda _: None,
        follow: Callable[[Progress], None] = lambda _: None,
    ) -> list[Benched]:  # fmt: skip
        """Writes twice the capacity of each target that is open for writing, with the data and stamps of `workload`.

        Each is stored as a run of its own, and measurements that follow say what was done before them. Stops at the
        first that ended early. Raises UsageError for a target that is too small.
        """
        done: list[Benched] = []
        for index, ready in enumerate(self._ready):
            if ready.writable and all(run.is_complete for run in done):
                done.append(self._precondition(index, workload, watch, follow))
        written = [f"{run.about.target}: {format_bytes(run.measured.all.bytes)} by run {run.about.run}" for run in done]
        self._labels["preconditioned"] = "; ".join(written)
        return done

    def _precondition(
        self, index: int, workload: Workload, watch: Callable[[Interval], None], follow: Callable[[Progress], None]
    ) -> Benched:
        ready = self._ready[index]
        goal = Amount(TIMES * ready.size_bytes)
        settings = replace(self._settings, duration_ns=goal.longest_ns, goal=goal, engine=ENGINE)
        used = confined(preconditioning(workload, ready.size_bytes), ready.confined_bytes)
        parts = parts_of(settings.interval_ns)
        plan = RunPlan(
            at_index(used, index), targets_at(ready.descriptor, index), goal.longest_ns, settings.seed,
            settings.interval_ns // parts, max_bytes_per_worker=goal.bytes, held=True, engine=settings.ioengine,
        )  # fmt: skip
        about = replace(_about((ready,), used, settings), goal=goal.explain())
        started, about = engine_of(ENGINE, plan, about)
        measuring = functools.partial(Measuring, goal=goal, interval_ns=settings.interval_ns, parts=parts)
        return _measure(
            self._store, started, measuring, (ready,), about, watch, follow, self._stop, shared=settings.shared
        )  # fmt: skip


@contextmanager
def bench_session(
    store: Store,
    target: str | Sequence[str],
    workload: Workload,
    settings: BenchSettings,
    *,
    told: Callable[[str], None],
    stop: Callable[[], bool],
    filled: Callable[[int, int], None] = lambda _done_bytes, _total_bytes: None,
    writes: bool = False,
    blocks: bool = True,
) -> Iterator[BenchSession]:
    """Opens a target for a workload and others like it: creates and fills what is needed, and takes it down at the end.

    With several targets the streams of the workload name them by their index. `writes` opens them for writing also if
    the workload only reads, as preconditioning needs. `filled` hears how much of a scratch file is written. `blocks`
    refuses what O_DIRECT would; without it each measurement that it refuses fails by itself.

    First removes scratch files of runs that crashed, and stores what those had measured. Raises TargetRefused for a
    target that must not be written, ConfigError for a workload that does not fit, UsageError.
    """
    targets = [target] if isinstance(target, str) else list(target)
    check_engine(settings.engine, settings.ioengine)
    check_load(settings.engine, workload, len(targets))
    if blocks and settings.direct:
        check_blocks(targets, workload)
    for leftover in sweep():
        if leftover.is_news:
            run = "another run" if leftover.outcome is Swept.FOREIGN else "a run that was killed"
            told(f"A scratch file of {run}, {leftover}.")
    for said in recover_runs(store):
        told(said)
    wish = Wish(workload, settings.size_bytes, None, settings.direct, writes, told, filled, settings.keep)
    with ready_targets(targets, wish, settings.permissions) as ready:
        yield BenchSession(store, ready, workload, settings, stop)


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
    ready: Sequence[Ready],
    about: About,
    watch: Callable[[Interval], None],
    follow: Callable[[Progress], None],
    stop: Callable[[], bool],
    *,
    shared: bool,
) -> Benched:
    devices, sizes = DeviceWatches(ready, shared=shared), Sizes(ready)
    with started() as run, _spool(store, about) as spool:
        if run.hold():
            devices.look_again()
        run.begin()
        measurement = measuring(run)
        keeper = _Keeper(spool)
        quotas = QuotaWatch()
        with standstills() as still:
            for interval in measurement.intervals(lambda: keeper.full is not None or stop()):
                keeper.keep(interval)
                follow(measurement.progress)
                watch(interval)
            outcome = run.outcome()
        outcome = quotas.so_far().told(sizes.compare(devices.compare(outcome)))
        if about.engine == ENGINE:  # fio has a process of its own
            outcome = still.told(outcome, measurement.samples)
        judgement = measurement.judgement(outcome)
        counted = joined(each for each in Spooled(spool.path).intervals() if judgement.counts(each.start_ns))
        steps = rate_step_figures(about.workload, measurement.samples)
        benched = Benched("", about, outcome, judgement, counted, steps, tuple(measurement.samples))
        try:
            if keeper.full is not None:
                raise _says_where(spool.path, keeper.full)
            spool.end(outcome, judgement)
            return replace(benched, capture=_publish_now(store, spool.path))
        except StoreError as error:
            raise NotStored(benched, error) from error


class _Keeper:
    """Keeps intervals in a spool until there is no room for one; if that is the first, there is nothing to show."""

    def __init__(self, spool: SpoolWriter) -> None:
        self._spool = spool
        self.full: StoreError | None = None

    def keep(self, interval: Interval) -> None:
        """Raises StoreError for the first."""
        if self.full is not None:
            return
        try:
            self._spool.append(interval)
        except StoreError as error:
            if self._spool.is_empty:
                raise
            self.full = error


@contextmanager
def _spool(store: Store, about: About) -> Iterator[SpoolWriter]:
    """A spool that stays, also after an error or Ctrl-C, if anything is in it."""
    spool = SpoolWriter(store.path, about)
    is_done = False
    try:
        yield spool
        is_done = True
    finally:
        if spool.is_empty and not is_done:
            spool.discard()
        spool.close()


def _about(targets: Sequence[Ready], workload: Workload, settings: BenchSettings) -> About:
    now_ns, names = time.time_ns(), tuple(ready.name for ready in targets)
    prefills = [ready.prefill for ready in targets if ready.prefill is not None]
    doubts = [doubt if len(targets) == 1 else f"{ready.name}: {doubt}" for ready in targets for doubt in ready.doubts]
    return About(
        run=f"bench-{now_ns:x}",
        workload=workload,
        target=", ".join(names),
        targets=names if len(names) > 1 else (),
        target_kind=", ".join(dict.fromkeys(ready.kind for ready in targets)),
        system=platform.node(),
        seed=settings.seed,
        version=storscope.__version__,
        planned_ns=settings.duration_ns,
        started_ns=now_ns,
        direct=all(ready.direct for ready in targets),
        doubts=tuple(dict.fromkeys(doubts)),
        links=tuple(dict.fromkeys(link for ready in targets for link in ready.under.links)),
        prefill=prefills[0] if len(prefills) == 1 else None,
    )


def recover_runs(store: Store) -> Iterator[str]:
    """Stores what runs had measured whose process was killed, and says so of each. Runs under way are left alone.

    What cannot be read is set aside and named, once. Raises StoreError, OSError.
    """
    for path in abandoned(store.path):
        if holds_nothing(path):
            path.unlink()
            continue
        try:
            was_killed, capture = _was_killed(path), _publish(store, path)
        except UnreadableSpool as error:
            yield (
                f"A run that was killed cannot be stored: {error}. It is kept as {set_aside(path)}. To store it, "
                f"rename it to {path.name} and ask the store with the storscope that wrote it; if it is not needed, "
                "delete it."
            )
        else:
            whole = f"A run that had ended, and was not in the store yet, is there as {capture}."
            part = f"A run that was killed is in the store as {capture}, without its last interval."
            yield part if was_killed else whole


def _was_killed(spool: Path) -> bool:
    """Whether it has no outcome. One that has is whole, and only its capture is missing."""
    with understood():
        return status_of(Spooled(spool).outcome()) == "killed"


def _publish_now(store: Store, spool: Path) -> str:
    """The capture of a run that has just ended. Raises StoreError, which says where the run is meanwhile."""
    try:
        return _publish(store, spool)
    except StoreError as error:
        raise _says_where(spool, error) from error


def _says_where(spool: Path, error: StoreError) -> StoreError:
    more_files = open_files_hint(error.__cause__)
    remedy = f"{more_files} The next" if more_files else "Make room there: the next"
    hint = f"What was measured is in {spool}. {remedy} command that asks the store takes it."
    return StoreError(error.expected, error.found, where=error.where, hint=hint)


def _publish(store: Store, spool: Path) -> str:
    """Makes a capture of a spool and removes it. The capture is named by its content, so twice gives one."""
    spooled, digest = Spooled(spool), hashlib.sha256(spool.read_bytes()).hexdigest()
    info = capture_info(f"bench of {spooled.about.target}", digest, spool.stat().st_size, "storscope-bench")

    def record(recorder: Recorder) -> None:
        with understood():
            record_run(recorder, spooled.about, spooled.intervals(), spooled.outcome(), spooled.judgement())

    kept = keep(store, info, record)
    spool.unlink()
    return kept
