"""What is advised where an array had not settled before something changed."""

from __future__ import annotations

import pytest

from storscope.sim.design import read_design
from storscope.sim.happenings import Happening
from storscope.sim.phases import Phase
from storscope.sim.schedule import read_schedule
from storscope.workbench.first_change import later_words
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of

_CACHED = """
name = "a cache that fills"
[[group]]
name = "g"
drive = "10k-sas"
count = 4
layout = "raid5"
[[volume]]
name = "v"
group = "g"
size = "100 GiB"
[[controller]]
name = "A"
cost_per_op = "50 us"
[cache]
write = { size = "128 MiB" }
[[host]]
name = "h"
volumes = [{ volume = "v" }]
[[background]]
name = "check"
kind = "scrub"
group = "g"
start = "0 s"
share = 0.01
"""
_LOAD = """
name = "two"
[[stream]]
name = "ends"
rate_per_s = 250
line = [{ size = "16k", read_share = "0%" }]
[[stream]]
name = "stays"
outstanding = 8
line = [{ size = "16k" }]
"""


def _level_doubt(schedule: str, design: str) -> str:
    made = read_design(design, "cached.toml", read_schedule(schedule, "s.toml") if schedule else None)
    simulated = simulate(plan_of(made, _LOAD, duration="4m"), started_ns=0)
    (doubt,) = (one for one in simulated.doubts if "still went from" in one or "nothing was scheduled" in one)
    return doubt


def test_where_a_stream_ends_first_its_end_is_to_come_later() -> None:
    without = _CACHED.partition("[[background]]")[0]
    assert _level_doubt('[[stream]]\nname = "ends"\nend = "30 s"\n', without).endswith("Let stream 'ends' end later.")
    lost = '[[at]]\ntime = "30 s"\ncache_lost = "A"\n'
    assert _level_doubt(lost, without).endswith("Let the first change come later.")


def test_where_work_ends_first_it_is_to_begin_later() -> None:
    doubt = _level_doubt("", _CACHED)
    assert " Let the scrub that ended at " in doubt and doubt.endswith(" begin later."), doubt


def _phases(*begins: Happening) -> list[Phase]:
    return [Phase(0, 5), Phase(5, 9, begins)]


def _own(kind: str, **form: object) -> Happening:
    return Happening(5, kind, "words", form={"scheduled": False, **form})


_ENDS = Happening(5, "stream_ends", "stream 'a' ends")
_FAILS = Happening(5, "drive_failed", "drive g/1 fails", form={"scheduled": True})


@pytest.mark.parametrize(
    ("begins", "said"),
    [
        ([_FAILS], "Let the first change come later"),
        ([_ENDS], "Let stream 'a' end later"),
        ([_ENDS, Happening(5, "stream_ends", "stream 'b' ends")], "Let stream 'a' and stream 'b' end later"),
        ([_ENDS] * 3, "Let its streams end later"),
        ([_ENDS, Happening(5, "stream_starts", "stream 'b' starts")], "Let the first change come later"),
        ([_own("task_failed", work="rebuild"), _FAILS], "Let the first change come later"),
        ([_own("controller_replaced", controller="A")], "Let controller A fail later"),
        ([_own("volume_moved", volume="v", to="B")], "Give volume v to controller B from the start (owner)"),
        (
            [_own("credits_spent", limit="volume v")],
            "With burst_left = 0 for volume v there are no credits, and the rate that lasts is simulated",
        ),
    ],
)
def test_what_is_no_beginning_by_the_schedule_is_not_said_to_come_later(begins: list[Happening], said: str) -> None:
    assert later_words(_phases(*begins)) == said
