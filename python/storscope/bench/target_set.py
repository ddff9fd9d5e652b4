"""Several open targets at once, as the streams of a workload name them by their index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import combinations

from storscope.bench.room import check_count, check_room
from storscope.bench.safety import OPTION, Kernel, bytes_of, resolve, words_of
from storscope.bench.targets import (
    Ready,
    Wish,
    check_fits,
    confined,
    existing,
    is_new,
    scratch,
    scratch_size,
    used_size,
)
from storscope.domain.access import Copy
from storscope.domain.errors import UsageError
from storscope.domain.workload import Stream, Workload


@dataclass(frozen=True)
class Use:
    """What a workload does with one of its targets."""

    reads: bool
    writes: bool


def uses_of(workload: Workload, count: int) -> list[Use]:
    """Of each of `count` targets. Raises ConfigError for streams that name others, UsageError for an unused target."""
    check_count(workload, count)
    workload.check(count)
    uses = [_use(workload.streams, index) for index in range(count)]
    idle = [str(index + 1) for index, use in enumerate(uses) if not (use.reads or use.writes)]
    if idle:
        raise UsageError(
            f"targets that {workload.name!r} uses", f"{count} targets, of which number {', '.join(idle)} is not used",
            hint="Its streams name the targets they use; see: storscope workload show.",
        )  # fmt: skip
    return uses


def _use(streams: Sequence[Stream], index: int) -> Use:
    """As `writes_to` in crates/storscope-load/src/plan.rs: a copy writes its destination alone."""
    reads = writes = False
    for stream in streams:
        named = not stream.targets or index in stream.targets
        if isinstance(stream.access, Copy):
            reads |= named
            writes |= stream.access.destination == index
        elif named:
            reads |= stream.access.reads
            writes |= stream.access.writes
    return Use(reads, writes)


@contextmanager
def ready_targets(paths: Sequence[str], wish: Wish, typed: Sequence[str] = ()) -> Iterator[tuple[Ready, ...]]:
    """Opens, and if need be creates and fills, what a run needs; takes it down again at the end.

    A target is opened for writing if the workload writes to it, or `wish.writes` says so for all. What exists is opened
    before anything is created. `typed` are the words that allow to overwrite, each for the target that it identifies.
    Raises TargetRefused for what must not be written, ConfigError for a workload that does not fit, UsageError for
    targets that are the same or not used, and for a word that is of none of them.
    """
    uses = uses_of(wish.workload, len(paths))
    new = [is_new(path) for path in paths]
    words = words_for(paths, typed)
    wishes = [
        replace(wish, writes=wish.writes or use.writes, permission=word) for use, word in zip(uses, words, strict=True)
    ]
    with ExitStack() as stack:
        found = {
            index: existing(stack, path, one)
            for index, (path, one) in enumerate(zip(paths, wishes, strict=True))
            if not new[index]
        }
        _refuse_same(found.values())
        sizes = [
            found[index].size_bytes if index in found else scratch_size(wish.size_bytes, wish.workload, index)
            for index in range(len(paths))
        ]
        check_room(wish.workload, sizes)
        if any(new):
            check_fits(confined(wish.workload, wish.size_bytes if found else None), *sizes)
        for index, path in enumerate(paths):
            if new[index]:
                found[index] = scratch(stack, path, wishes[index], index)
        yield tuple(found[index] for index in range(len(paths)))


def words_for(paths: Sequence[str], typed: Sequence[str]) -> list[str | None]:
    """Of each path the word that allows to overwrite it, None without. Raises UsageError for one that is of none."""
    if typed and all(map(is_new, paths)):
        raise UsageError(f"no {OPTION}, as nothing existing would be overwritten", repr(typed[0]))
    kernel = Kernel()
    return words_of([resolve(path, kernel) for path in paths], typed, kernel)


def check_sizes(paths: Sequence[str], workload: Workload, size_bytes: int | None) -> None:
    """Whether a workload fits on targets that are not opened; what `ready_targets` and the engine would say.

    Raises ConfigError for one that does not, UsageError for a size that a target does not have.
    """
    new = [is_new(path) for path in paths]
    sizes = [
        scratch_size(size_bytes, workload, index) if new[index] else used_size(path, size_bytes)
        for index, path in enumerate(paths)
    ]
    check_room(workload, sizes)
    check_fits(confined(workload, None if all(new) else size_bytes), *sizes)


def _refuse_same(found: Iterable[Ready]) -> None:
    """The same one twice; and two that share bytes, if one of them is written: the other would be as well."""
    kernel = Kernel()
    for one, other in combinations([(ready, bytes_of(kernel, ready.descriptor)) for ready in found], 2):
        (first, its), (second, others) = one, other
        if its.identity == others.identity:
            raise UsageError("targets that differ", f"{second.name!r} is {first.name!r}")
        if (first.writable or second.writable) and its.overlap(others):
            raise UsageError(
                "targets that share no bytes", f"{second.name!r} and {first.name!r}, which do",
                hint="One is a part of the other, or rests on it: what is written to one changes the other.",
            )  # fmt: skip
