"""Counters of a running system at another load: what is judged, and which signs are sure all the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from storscope.domain.comparison import NOT_THE_SAME_LOAD, MetricRow, Outcome
from storscope.domain.comparison_answer import advice, answer
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from tests.compare.evidence import SECOND, START, compared, device, noisy, only, row

MS = 1e6
Writer = Callable[[Recorder], None]


def _day(rate: float, latency_ms: float, *, seed: int = 0) -> Writer:
    return device("sda", noisy(rate, seed=seed), noisy(latency_ms * MS, seed=seed + 1))


def _latency(path: Path, before: tuple[float, float], after: tuple[float, float], **settings: object) -> MetricRow:
    found = compared(path, [_day(*before)], [_day(*after, seed=5)], **settings)
    return row(only(found), "latency")


@pytest.mark.parametrize(("rate", "latency_ms"), [(400, 1.9), (2100, 4.8)], ids=["much less", "much more"])
def test_latency_at_another_load_is_not_judged(rate: float, latency_ms: float, tmp_path: Path) -> None:
    found = compared(tmp_path, [_day(1300, 3.5)], [_day(rate, latency_ms, seed=5)])
    assert row(only(found), "latency").outcome is Outcome.UNDECIDED
    assert row(only(found), "latency").reason == NOT_THE_SAME_LOAD
    assert row(only(found), "latency").change is not None, "the difference stays in the table"
    assert answer(found)[0] == "CANNOT TELL: not the same load."
    assert any("since=" in words for words in advice(found))
    assert only(found).warnings[0].startswith("NOT THE SAME LOAD: operations changed by ")


@pytest.mark.parametrize(
    ("rate", "latency_ms", "outcome"),
    [(1480, 1.9, Outcome.BETTER), (1150, 1.9, Outcome.BETTER), (1150, 4.8, Outcome.WORSE), (1480, 4.8, Outcome.WORSE)],
)
def test_a_small_difference_of_load_is_judged(rate: float, latency_ms: float, outcome: Outcome, tmp_path: Path) -> None:
    assert _latency(tmp_path, (1300, 3.5), (rate, latency_ms)).outcome is outcome


@pytest.mark.parametrize(
    ("rate", "latency_ms", "outcome", "why"),
    [(2600, 1.9, Outcome.BETTER, "though the load rose"), (600, 4.8, Outcome.WORSE, "though the load fell")],
)
def test_what_the_other_load_cannot_have_made_is_told(
    rate: float, latency_ms: float, outcome: Outcome, why: str, tmp_path: Path
) -> None:
    found = _latency(tmp_path, (1300, 3.5), (rate, latency_ms))
    assert (found.outcome, found.reason) == (outcome, why)


def test_another_load_is_judged_where_that_is_asked_for(tmp_path: Path) -> None:
    found = _latency(tmp_path, (1300, 3.5), (400, 1.9), allow_different_load=True)
    assert found.outcome is Outcome.BETTER


def _mixed(reads: float, writes: float, latency_ms: float, block: float = 8192.0) -> Writer:
    """Counters of a device with its reads, writes and bytes told."""

    def write(recorder: Recorder) -> None:
        sda = EntityRef("host", "device", "sda")
        for index, (scale, latency) in enumerate(zip(noisy(1.0), noisy(latency_ms * MS, seed=3), strict=True)):
            rates = {"read_ops_per_s": reads * scale, "write_ops_per_s": writes * scale}
            moved = {"read_bytes_per_s": reads * scale * block, "write_bytes_per_s": writes * scale * block}
            latencies = {"read_latency_ns_mean": latency, "write_latency_ns_mean": latency / 10}
            recorder.observe(sda, START + index * SECOND, SECOND, rates | moved | latencies)

    return write


def test_a_mean_that_falls_with_more_quick_writes_is_no_sure_sign(tmp_path: Path) -> None:
    found = compared(tmp_path, [_mixed(900, 100, 5.0)], [_mixed(900, 2000, 5.0)])
    assert row(only(found), "latency").outcome is Outcome.UNDECIDED


def test_larger_operations_are_another_load(tmp_path: Path) -> None:
    found = compared(tmp_path, [_mixed(900, 100, 5.0)], [_mixed(900, 100, 9.0, block=65_536.0)])
    assert row(only(found), "latency").reason == NOT_THE_SAME_LOAD
