"""Runs a workload on targets that are open, with the Rust generator, and yields its intervals as they complete.

The engine opens nothing by path: it gets descriptors that `bench.safety` checked. The core's errors become the error
tree here and nowhere else.
"""

from __future__ import annotations

import errno
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from storscope import _core
from storscope.bench.doubted_streams import of_stream, with_streams
from storscope.bench.figures import Interval, Outcome
from storscope.bench.room import check_count
from storscope.domain.errors import ConfigError, StorscopeError, TargetRefused
from storscope.domain.units import NS_PER_S, format_duration
from storscope.domain.workload import Workload

_PATIENCE_S = 0.1
"""How soon a request to stop is noticed."""
_PREPARED_S = 10.0
"""Workers prepare in less: a trial of the ring takes 0.2 s at most (crates/storscope-load/src/worker.rs)."""
_GLANCE_S = 0.0005
"""How often it is looked whether they have."""


@dataclass(frozen=True)
class DescriptorTarget:
    """An open file or block device. It stays the caller's."""

    descriptor: int

    def to_json(self) -> dict[str, Any]:
        """As the plan names it."""
        return {"kind": "fd", "fd": self.descriptor}


@dataclass(frozen=True)
class NoTarget:
    """No storage: `null` measures the generator alone, `nop` the generator with an io_uring."""

    kind: str
    size_bytes: int

    def to_json(self) -> dict[str, Any]:
        """As the plan names it."""
        return {"kind": self.kind, "size_bytes": self.size_bytes}


@dataclass(frozen=True)
class RunPlan:
    """What is run. Draws depend on `seed` alone. It ends after `duration_ns`; rate steps may end it before."""

    workload: Workload
    targets: tuple[DescriptorTarget | NoTarget, ...]
    duration_ns: int
    seed: int
    interval_ns: int = NS_PER_S
    max_failures: int = 0
    max_bytes_per_worker: int | None = None
    held: bool = False
    """Whether it starts only when its `begin` is called, or its intervals or outcome are asked for."""
    engine: str = "auto"
    """`io_uring`, `threads`, or the better of the two, which is tried before the run (docs/bench.md)."""

    def to_json(self) -> dict[str, Any]:
        """As crates/storscope-load/src/plan.rs reads it."""
        return {
            "workload": self.workload.to_json(),
            "targets": [target.to_json() for target in self.targets],
            "duration_ns": self.duration_ns,
            "seed": self.seed,
            "interval_ns": self.interval_ns,
            "max_failures": self.max_failures,
            "max_bytes_per_worker": self.max_bytes_per_worker,
            "held": self.held,
            "engine": self.engine,
        }


class EngineRun:
    """A run under way: iterate over it, then ask for its `outcome`."""

    def __init__(self, plan: RunPlan) -> None:
        """Starts it. Raises ConfigError for a plan that cannot be run, TargetRefused if a target does not open."""
        with _core_errors():
            self._run = _core.LoadRun(json.dumps(plan.to_json()))
        self._workload = plan.workload
        self._stopped = False

    @property
    def started_ns(self) -> int | None:
        """UTC that intervals count from; None while workers prepare."""
        return self._run.started_ns

    def hold(self) -> bool:
        """Waits until the workers of a plan that is held are ready, which takes I/O of its own: trials of the engine.

        False if that took too long: then it is not known which of them count.
        """
        deadline = time.monotonic() + _PREPARED_S
        while not (ready := self._run.is_ready) and time.monotonic() < deadline:
            time.sleep(_GLANCE_S)
        return ready

    def begin(self) -> None:
        """Lets the workers start, now or as soon as they are ready."""
        self._run.begin()

    def intervals(self, stop: Callable[[], bool] = lambda: False) -> Iterator[Interval]:
        """Each interval as soon as it is complete. Ends early, with what was measured, when `stop` says so."""
        self.begin()
        while (news := self._run.next(_PATIENCE_S)) is not None:
            form = json.loads(news)
            if form:
                yield Interval(form)
            if not self._stopped and stop():
                self._stopped = True
                self._run.stop()

    def end(self) -> None:
        """Ends the run because enough was measured, which is no interruption. Take the rest of the intervals."""
        self._run.stop()

    def outcome(self) -> Outcome:
        """Waits for the end. What ended the run early is in the outcome, not raised: there may be figures."""
        form = json.loads(self._run.finish())
        error = form["error"]
        return Outcome(
            form["result"],
            self._doubts(form),
            None if error is None else (error["kind"], explained(error["message"])),
            self._stopped,
        )

    def _doubts(self, form: Mapping[str, Any]) -> tuple[str, ...]:
        pairs = zip(form["result"]["doubts"], form["doubts_in_words"], strict=True)
        own = zip(form["result"]["stream_doubts"], form["stream_doubts_in_words"], strict=True)
        return (
            *(with_streams(doubt["kind"], in_units(said), self._workload) for doubt, said in pairs),
            *(of_stream(doubt["stream"], in_units(said), self._workload) for doubt, said in own),
        )


def buffer_bytes(workload: Workload, targets: int) -> int:
    """Memory for the data of all I/Os in flight on so many targets, which are not touched.

    Raises ConfigError where there is no room for it now, queues are deeper than a ring holds, or a target is missing.
    """
    check_count(workload, targets)
    plan = RunPlan(workload, (NoTarget("nop", 0),) * targets, duration_ns=1, seed=0)
    with _core_errors():
        return _core.plan_buffer_bytes(json.dumps(plan.to_json()))


_NANOSECONDS: Final = re.compile(r"\b(\d+) ns\b")
_BLOCKS: Final = (
    "; past the page cache offsets and sizes are multiples of the device's block, 512 or 4,096 bytes: "
    "choose such ones, or --buffered"
)


_NO_ROOM: Final = (
    "; no room is left there, or on what it lies on (a thin volume, an image with holes): others took it meanwhile, or "
    "what is overwritten goes to a new place before the old one is free (btrfs, extents shared with a snapshot or a "
    "copy): make room, or choose a smaller --size"
)
_QUOTA: Final = (
    "; a quota of the user, the group, the project or the subvolume is used up, whatever room the file system has "
    "(quota, repquota, btrfs qgroup show); what is overwritten may count twice for a while (btrfs): raise it, make "
    "room, or choose a smaller --size"
)
_IO_HINTS: Final = {errno.EINVAL: _BLOCKS, errno.ENOSPC: _NO_ROOM, errno.EDQUOT: _QUOTA}
"""Number -> what is behind an I/O that was refused though nothing is broken (open(2), O_DIRECT; write(2))."""
_SYSTEM_ERROR: Final = re.compile(r"\(os error (?P<number>\d+)\)")


def in_units(sentence: str) -> str:
    """A sentence of the core's with its times as people read them: '745 µs' for '745471 ns'."""
    return _NANOSECONDS.sub(lambda found: format_duration(float(found[1])), sentence)


_RING: Final = re.compile(r"io_uring_\w+.*\(os error (?P<number>\d+)\)$")
_WITHOUT_RING: Final = "leave --ioengine out, or choose --ioengine threads"
_RING_HINTS: Final = {
    errno.ENOMEM: f"; less memory may be locked than a ring needs (ulimit -l): allow more, or {_WITHOUT_RING}",
    **dict.fromkeys(
        (errno.EPERM, errno.EACCES, errno.ENOSYS),
        f"; a filter of the container (seccomp) or kernel.io_uring_disabled forbids it, or the kernel has none: "
        f"{_WITHOUT_RING}",
    ),
}
"""Number -> what is behind it (io_uring_setup(2)), and what to try."""


def explained(message: str) -> str:
    """What ended a run, with what is behind an I/O that was refused, and behind a ring that is."""
    if (ring := _RING.search(message)) is not None:
        return message + _RING_HINTS.get(int(ring["number"]), "")
    said = _SYSTEM_ERROR.search(message)
    return message if said is None else message + _IO_HINTS.get(int(said["number"]), "")


_EXPECTED: Final = {
    "failed": ("I/Os that succeed", "The target or what it lies on is failing; see the kernel's log."),
    "mismatch": ("blocks that hold what was written to them", "Data was corrupted, or storscope did not write it."),
    "device": ("an engine that works", "Look at the kernel's log, and at limits on locked memory (ulimit -l)."),
    "panicked": ("a generator that works", "This is a defect of storscope; please report it."),
}


_OF_THREADS: Final = "the system starts"
"""In the core's words on threads that it could not have, which tell what to do (crates/storscope-load/src/error.rs)."""


def run_error(kind: str, message: str) -> StorscopeError:
    """The error of the tree for one of the core's."""
    if kind in {"workload", "plan"}:
        return _plan_error(message)
    if kind == "open":
        return TargetRefused("a target that opens", message)
    expected, hint = _EXPECTED[kind]
    explanations = (*_IO_HINTS.values(), *_RING_HINTS.values(), _OF_THREADS)
    is_explained = any(words in message for words in explanations)  # these are nobody's failure
    return StorscopeError(expected, message, hint="" if is_explained else hint)


_PLAN_MESSAGE: Final = re.compile(
    r"(?:plan: |workload: )?(?P<where>[^:]+): expected (?P<expected>.+), found (?P<found>.+)", re.S
)
"""As the core words it (crates/storscope-load/src/error.rs)."""


def _plan_error(message: str) -> ConfigError:
    said = _PLAN_MESSAGE.fullmatch(message)
    if said is None:
        return ConfigError("a run that can be carried out", message)
    return ConfigError(said["expected"], said["found"], where=said["where"])


@contextmanager
def _core_errors() -> Iterator[None]:
    try:
        yield
    except _core.RunError as error:
        raise run_error(*error.args) from error
