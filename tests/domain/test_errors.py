"""Errors survive what programs do to them: they are copied, and come out of a pool of processes."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from storscope.bench.figures import Outcome
from storscope.bench.record import About
from storscope.domain import errors
from storscope.domain.errors import StorscopeError, UsageError
from storscope.domain.workload import AccessSpec, Closed, Mix, Stream, Workload
from storscope.workbench.benchmarking import Benched, NotStored


def _kinds(kind: type[StorscopeError] = StorscopeError) -> list[type[StorscopeError]]:
    return [kind, *(one for child in kind.__subclasses__() for one in _kinds(child))]


def _pickled(error: StorscopeError) -> StorscopeError:
    copied = pickle.loads(pickle.dumps(error))
    assert isinstance(copied, StorscopeError)
    return copied


_PLAIN = [kind for kind in _kinds() if kind.__module__ == errors.__name__]


@pytest.mark.parametrize("kind", _PLAIN)
@pytest.mark.parametrize("again", [_pickled, copy.copy, copy.deepcopy])
def test_a_copy_says_the_same(kind: type[StorscopeError], again: Callable[[StorscopeError], StorscopeError]) -> None:
    error = kind("a file", "none", where="run.json", hint="Look again.")
    copied = again(again(error))
    assert type(copied) is kind
    assert str(copied) == str(error) == "run.json: expected a file, found none.\n  Look again."
    assert copied.args == error.args
    assert (copied.expected, copied.found, copied.where, copied.hint) == ("a file", "none", "run.json", "Look again.")


def test_one_that_carries_a_measurement_keeps_it() -> None:
    workload = Workload("reads", (Stream(Mix((AccessSpec(4096),)), Closed(1)),))
    about = About("bench-1", workload, "/dev/sdx", "device", "host", 1, "0.1.0", 10**9, 0, direct=True)
    error = NotStored(Benched("", about, Outcome({}, (), None)), errors.StoreError("room", "none", where="store"))
    copied = pickle.loads(pickle.dumps(error))
    assert str(copied) == str(error) == "store: expected room, found none."
    assert copied.benched == error.benched


def _fails() -> None:
    raise UsageError("a file that can be read", "none", where="x")


def test_out_of_a_pool_of_processes_they_have_one_full_stop() -> None:
    with ProcessPoolExecutor(1, get_context("spawn")) as pool, pytest.raises(UsageError) as raised:
        pool.submit(_fails).result()
    assert str(raised.value) == "x: expected a file that can be read, found none."
