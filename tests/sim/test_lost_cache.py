"""A controller that loses its write cache: what is dirty of its volumes goes to the drives, and no more than that."""

from __future__ import annotations

import pytest

import storscope
from storscope.workbench.simulated import Simulated

_DESIGN = """\
name = "two"
group = [{ name = "g", drive = "10k-sas", count = 4, layout = "raid10" }]
controller = [{ name = "A", cost_per_op = "20 us" }, { name = "B", cost_per_op = "20 us" }]
host = [{ name = "h", volumes = [{ volume = "a" }, { volume = "b" }] }]

[[volume]]
name = "a"
group = "g"
size = "10 GiB"
owner = "A"

[[volume]]
name = "b"
group = "g"
size = "10 GiB"
owner = "B"

[cache.write]
size = "256 MiB"
"""
_ORDERS = pytest.mark.parametrize("order", ["age", "address"])
_AT_2_S = '\n[[at]]\ntime = "2 s"\n'
_A_LOST = _AT_2_S + 'cache_lost = "A"\n'
_FOUR_MIB = """\
name = "writes"
[[stream]]
rate_per_s = 1000
region = { start = "0g", length = "4m" }
line = [{ size = "16k", read_share = 0 }]
"""
"""Less than the low watermark of 25.6 MiB: nothing is destaged. A volume has 256 pages of it."""


def _run(changes: str, volumes: str = "*", order: str = "age") -> Simulated:
    text = f'{_DESIGN}order = "{order}"\n{changes}'
    (run,) = storscope.simulate_each([text], {volumes: _FOUR_MIB}, duration="8s")
    return run


def _drive_operations(run: Simulated) -> float:
    return sum(one["throughput_per_s"] for one in run.array["components"] if one["kind"] == "drive")


@_ORDERS
def test_volumes_of_the_other_controller_are_written_back_as_before(order: str) -> None:
    """They were destaged as soon as they were written: 1,000 a second for which drives had done nothing."""
    assert _drive_operations(_run("", "b", order)) == 0
    assert _drive_operations(_run(_A_LOST, "b", order)) == 0


@_ORDERS
def test_what_is_dirty_of_its_own_volumes_goes_to_the_drives(order: str) -> None:
    whole, lost = _run("", order=order), _run(_A_LOST, order=order)
    assert whole.array["cache"]["dirty_pages"] == 512
    assert lost.array["cache"]["dirty_pages"] == 256
    assert lost.array["cache"]["writes_through"] == pytest.approx(3_000, rel=0.05)


@pytest.mark.parametrize("first", ["loss", "move"])
def test_a_volume_that_moves_to_it_is_written_through_too(first: str) -> None:
    move = _AT_2_S + 'volume_moves = { volume = "b", to = "A" }\n'
    run = _run(_A_LOST + move if first == "loss" else move + _A_LOST)
    assert run.array["cache"]["dirty_pages"] == 0


def test_once_both_are_lost_or_back_it_is_all_or_nothing() -> None:
    both = _A_LOST + _AT_2_S + 'cache_lost = "B"\n'
    assert _run(both).array["cache"]["dirty_pages"] == 0
    back = both + "".join(f'\n[[at]]\ntime = "3 s"\ncache_restored = "{name}"\n' for name in "AB")
    assert _run(back).array["cache"]["dirty_pages"] == 512
