"""Two sequential readers on mirrors: their rate is that of a state that ends by chance, and is doubted."""

from __future__ import annotations

import pytest

from storscope.domain.access import AccessSpec, Mix
from storscope.domain.load import Closed
from storscope.domain.units import KIB, MIB
from storscope.domain.workload import Stream, Workload
from storscope.sim.design import read_design
from storscope.workbench.simulated import Simulated
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of

_BY_CHANCE = "By chance each may come to have copies for itself"
_FOUND = "when each had found copies for itself"


def _design(readers: int, count: int = 24, segment: str = "64 KiB", **keys: str) -> str:
    choice = "".join(f'{key} = "{value}"\n' for key, value in keys.items())
    group = f'[[group]]\nname = "g"\ndrive = "7200-sata"\ncount = {count}\nsegment = "{segment}"\n{choice}'
    names = [f"v{number}" for number in range(readers)]
    volumes = "".join(f'[[volume]]\nname = "{name}"\ngroup = "g"\nsize = "400 GiB"\n' for name in names)
    attached = ", ".join(f'{{ volume = "{name}" }}' for name in names)
    return f'name = "mirrors"\n{group}{volumes}[[host]]\nname = "h"\nvolumes = [{attached}]\n'


def _read(
    design: str, seed: int = 1, *, readers: int = 2, size: int = MIB, outstanding: int = 16, duration: str = "60s",
    random_share: float = 0.0,
) -> Simulated:  # fmt: skip
    streams = tuple(
        Stream(
            Mix((AccessSpec(size, random_share=random_share),)),
            Closed(outstanding),
            targets=(number,),
            name=f"s{number}",
        )
        for number in range(readers)
    )
    plan = plan_of(read_design(design, "mirrors.toml"), Workload("readers", streams), duration=duration, seed=seed)
    return simulate(plan, started_ns=0)


def _rate(run: Simulated) -> float:
    return run.judgement.estimates["bandwidth"].value


def _doubt(run: Simulated) -> str:
    return " ".join(one for one in run.doubts if "sequential readers share the mirrors" in one)


def test_both_states_are_doubted_whichever_a_seed_comes_to() -> None:
    """One seed tells 2,760 MB/s and the next 1,000, both within a per cent and without another doubt."""
    slow, quick = (_read(_design(2, layout="raid10"), seed) for seed in (1, 2))
    assert _rate(quick) > 2.5 * _rate(slow)
    assert _FOUND in _doubt(quick)
    assert _BY_CHANCE in _doubt(slow)
    assert "2 sequential readers share the mirrors of g" in _doubt(slow)


@pytest.mark.parametrize("choice", ["round_robin", "shortest_queue", "primary"])
def test_other_choices_of_a_copy_know_one_state_only(choice: str) -> None:
    assert not _doubt(_read(_design(2, layout="raid10", read_choice=choice), duration="20s"))


def test_more_readers_than_copies_or_other_io_have_no_such_state() -> None:
    three, one = (_read(_design(count, layout="raid10"), readers=count, duration="20s") for count in (3, 1))
    assert not _doubt(three)
    assert not _doubt(one)
    assert not _doubt(_read(_design(2, layout="raid10"), random_share=1.0, duration="20s"))


def test_readers_that_have_their_copies_from_the_beginning_are_not_doubted() -> None:
    """One outstanding each on one pair: the idle copy is always that of the reader."""
    either, kept = (
        _read(_design(2, count=2, layout=layout), size=64 * KIB, outstanding=1, duration="20s")
        for layout in ("raid10", "raid1")
    )
    assert _rate(either) == pytest.approx(_rate(kept), rel=0.02)
    assert not _doubt(either)
    assert not _doubt(kept)


def test_readers_that_are_at_one_pair_at_a_time_come_to_no_other_state() -> None:
    """What they keep in flight is less than a row of segments: each is at both copies of a pair, then at the next."""
    short, longer = (
        _read(_design(2, count=8, segment="512 KiB", layout="raid10"), size=64 * KIB, duration=duration)
        for duration in ("20s", "5m")
    )
    assert _rate(short) == pytest.approx(_rate(longer), rel=0.02)
    assert not _doubt(short)
