"""Requests that gather at one queue at a time, beside chance."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storscope.model.concentration import chance_share, concentration


@given(queues=st.integers(1, 5), requests=st.integers(1, 7))
def test_chance_is_the_mean_over_all_ways_to_spread(queues: int, requests: int) -> None:
    ways = [way for way in itertools.product(range(requests + 1), repeat=queues) if sum(way) == requests]
    assert chance_share(queues, requests) == pytest.approx(float(np.mean([max(way) for way in ways])) / requests)


def test_many_requests_by_chance_hold_the_harmonic_share() -> None:
    """The longest of N parts of a stick broken at random is H(N)/N of it."""
    assert chance_share(6, 10_000) == pytest.approx(sum(1 / k for k in range(1, 7)) / 6, rel=0.01)


def test_a_closed_network_of_like_servers_is_chance() -> None:
    """12 requests among 8 exponential servers, each request to a random one next: product form."""
    rng = np.random.default_rng(5)
    queues = np.bincount(rng.integers(0, 8, 12), minlength=8)
    seen = np.empty((8, 40_000))
    for step in range(seen.shape[1]):
        for _ in range(8):  # one event changes little
            working = np.flatnonzero(queues)
            queues[rng.choice(working)] -= 1
            queues[rng.integers(0, 8)] += 1
        seen[:, step] = queues
    # The embedded chain weights states by how many servers work: a bias of a few percent.
    found = concentration(seen, 4)
    assert found is not None
    assert abs(found.excess) < 0.05
    assert found.leaders == 8


def test_one_queue_that_is_always_the_fullest_does_not_move() -> None:
    queues = np.full((10, 50), 0.5)
    queues[3] = 20
    found = concentration(queues, 4)
    assert found is not None
    assert (found.leaders, found.moves) == (1, pytest.approx(1.0))
    assert found.excess > 0.6


def test_one_that_wanders_moves() -> None:
    queues = np.full((10, 50), 0.5)
    queues[np.arange(50) // 5, np.arange(50)] = 20
    found = concentration(queues, 4)
    assert found is not None
    assert found.leaders == 10
    assert found.moves > 5


def test_slices_with_few_requests_do_not_count() -> None:
    queues = np.zeros((4, 3))
    queues[0] = [1, 9, np.nan]
    found = concentration(queues, 4)
    assert found is not None
    assert found.slices == 1
    assert concentration(queues, 10) is None
    assert concentration(queues[:1], 1) is None


def test_slices_without_all_queues_do_not_count() -> None:
    """Each queue is told at instants of its own: no slice says which is the fullest."""
    queues = np.full((6, 60), np.nan)
    queues[np.arange(60) % 6, np.arange(60)] = 8
    assert concentration(queues, 4) is None
    queues[:, 30] = [8, 1, 1, 1, 1, 0]
    found = concentration(queues, 4)
    assert found is not None
    assert (found.slices, found.fullest_share) == (1, pytest.approx(8 / 12))


def test_a_queue_that_is_never_told_is_left_out() -> None:
    queues = np.full((3, 10), 4.0)
    queues[1] = np.nan
    found = concentration(queues, 4)
    assert found is not None
    assert (found.slices, found.chance_share) == (10, chance_share(2, 8))
