"""What comes after a run's end is simulated, too, and a doubt says if it is something else.

The truths are longer runs of the same arrays.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from storscope.domain.units import NS_PER_S
from storscope.sim.design import Design, read_design
from storscope.sim.schedule import read_schedule
from storscope.workbench.simulated import Simulated
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of

_EQUALLOGIC = Path(__file__).parents[2] / "examples/designs/equallogic-15k-raid10.toml"
_DATABASE = """\
name = "database"
[[group]]
name = "g"
drive = "10k-sas"
count = 8
layout = "raid5"
segment = "64 KiB"
[[volume]]
name = "v"
group = "g"
size = "1 TiB"
[[controller]]
name = "A"
cost_per_op = "50 us"
[cache.write]
size = "64 MiB"
[cache.read]
size = "256 MiB"
[[host]]
name = "h"
volumes = [{ volume = "v" }]
"""
_DATABASE_LASTS_PER_S = 1382.0
"""Of `oltp`: what 20 minutes give with three seeds, to 0.9 %."""
_AHEAD = "The array had not settled, though nothing in the run itself tells: it was simulated on to "


def _database(schedule: str = "") -> Design:
    changes = read_schedule(schedule, "schedule.toml") if schedule else None
    return read_design(_DATABASE, "database.toml", changes)


def _equallogic() -> Design:
    return read_design(_EQUALLOGIC.read_text(encoding="utf-8"), str(_EQUALLOGIC))


def _simulated(design: Design, workload: str, duration: str, seed: int = 1) -> Simulated:
    return simulate(plan_of(design, workload, duration=duration, seed=seed), started_ns=0)


@pytest.mark.parametrize("seed", [1, 5, 6])
def test_a_level_that_falls_after_the_run_is_doubted(seed: int) -> None:
    """The figures of the minute do not move, and their interval is narrow."""
    minute, lasts = (_simulated(_equallogic(), "real-life", duration, seed) for duration in ("1m", "20m"))
    told, true = minute.judgement.estimates["iops"], lasts.judgement.estimates["iops"]
    assert told.low is not None and true.high is not None and told.low > 1.08 * true.high
    (doubt,) = minute.doubts
    assert doubt.startswith(f"{_AHEAD}3 min, to see what follows, and IOPS went from 2,6")
    assert doubt.endswith(" IOPS. Simulate longer, with --duration.")
    assert lasts.doubts == ()


@pytest.mark.parametrize("seed", [1, 3, 6])
def test_streams_that_change_places_in_a_full_write_cache_are_doubted(seed: int) -> None:
    """The log gives way to random writes for four minutes, in bursts of more than what it loses by each."""
    short = _simulated(_database(), "oltp", "2m", seed)
    iops = short.judgement.estimates["iops"]
    assert iops.low is not None and iops.low > 1.02 * _DATABASE_LASTS_PER_S
    (doubt,) = short.doubts
    assert doubt.startswith(f"{_AHEAD}6 min, to see what follows, and IOPS went from 1,")


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_what_has_settled_is_not_doubted(seed: int) -> None:
    settled = _simulated(_database(), "oltp", "8m", seed)
    assert settled.doubts == ()
    assert settled.judgement.estimates["iops"].value == pytest.approx(_DATABASE_LASTS_PER_S, rel=0.03)


def test_what_is_seen_ahead_is_no_part_of_the_run() -> None:
    minute = _simulated(_equallogic(), "real-life", "1m")
    last = minute.intervals[-1]
    assert minute.doubts
    assert minute.judgement.to_ns == last.start_ns + last.duration_ns == 60 * NS_PER_S
    assert minute.array["duration_ns"] < 61 * NS_PER_S


@pytest.mark.parametrize(
    ("schedule", "workload"),
    {
        "a stream that begins later": ('[[stream]]\nname = "log"\nstart = "90s"\n', "oltp"),
        "a drive that fails later": (
            '[[at]]\ntime = "90s"\ndrive_fails = { group = "g", index = 3 }\n', "random-8k-70-read",
        ),
    }.values(),
)  # fmt: skip
def test_what_is_scheduled_for_later_is_no_doubt(schedule: str, workload: str) -> None:
    """IOPS change then by a tenth, as was asked for."""
    simulated = _simulated(_database(schedule), workload, "1m")
    assert not any(doubt.startswith(_AHEAD) for doubt in simulated.doubts)


def test_a_load_that_ends_by_its_number_of_ios_is_looked_at_as_well() -> None:
    found = simulate(plan_of(_equallogic(), "real-life", ios=170_000, seed=3), started_ns=0)
    (doubt,) = found.doubts
    assert doubt.startswith(_AHEAD)
