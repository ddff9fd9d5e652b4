"""What a simulation says of requests that follow each other from drive to drive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from storscope.workbench.convoys import convoys_of, gathering

_DRIVES, _SLICES = 20, 100


def _report(queues: np.ndarray, groups: list[str] | None = None, spares: Sequence[int] = ()) -> dict[str, Any]:
    names = groups or ["pool"] * len(queues)
    return {
        "components": [
            {
                "kind": "drive",
                "group": name,
                "is_spare": number in spares,
                "throughput_per_s": float(number not in spares),
            }
            for number, name in enumerate(names)
        ]
        + [{"kind": "controller", "group": None}],
        "queue": {"mean": queues.tolist()},
    }


def _wandering() -> np.ndarray:
    queues = np.full((_DRIVES, _SLICES), 0.1)
    queues[np.arange(_SLICES) // 4 % _DRIVES, np.arange(_SLICES)] = 12
    return queues


def test_only_the_group_with_the_convoy_is_named() -> None:
    even = np.random.default_rng(1).geometric(0.3, (_DRIVES, _SLICES)) - 1.0
    both = np.concatenate([even, _wandering()])
    assert list(convoys_of(_report(both, ["a"] * _DRIVES + ["b"] * _DRIVES))) == ["b"]


def test_a_drive_that_is_always_the_fullest_is_no_convoy() -> None:
    queues = np.full((_DRIVES, _SLICES), 0.1)
    queues[7] = 12
    assert not convoys_of(_report(queues))


def test_a_run_shorter_than_a_slice_has_none() -> None:
    assert not convoys_of(_report(np.zeros((_DRIVES, 0))))
    assert not convoys_of({"components": [], "queue": {"mean": []}})


def test_requests_gather_at_a_drive_as_far_as_they_do() -> None:
    found = gathering(_report(_wandering()))
    assert found is not None
    assert found.fullest_share == pytest.approx(12 / (12 + 19 * 0.1))
    assert gathering(_report(np.zeros((_DRIVES, 5)))) is None
    assert gathering({"components": [], "queue": {"mean": []}}) is None


def test_spares_that_wait_change_nothing() -> None:
    with_spares = np.concatenate([_wandering(), np.zeros((2, _SLICES))])
    report = _report(with_spares, spares=(_DRIVES, _DRIVES + 1))
    assert gathering(report) == gathering(_report(_wandering()))
    assert convoys_of(report) == convoys_of(_report(_wandering()))
