"""An array whose level falls for minutes is doubted until the run is long enough.

The write cache fills with long runs of the hosts' logs. When it is full, 29 MiB of these are destaged at once from time
to time (13 full rows), and that room is written full of logs again, in a burst. Random writes take their part of it, so
that bursts come ever more seldom.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from storscope.sim.design import read_design
from storscope.workbench.simulated import Simulated
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of

_ROOT = Path(__file__).parents[2]
_EXAMPLES = _ROOT / "examples"
_LASTS_PER_S = 3658.0
"""What 60 simulated minutes give, to 1.4 %."""


def _simulated(design: str, workload: str, duration: str | None, seed: int = 1) -> Simulated:
    path = _ROOT / design
    plan = plan_of(read_design(path.read_text(encoding="utf-8"), str(path)), workload, duration=duration, seed=seed)
    return simulate(plan, started_ns=0)


@pytest.mark.parametrize(
    ("duration", "seed"), [("60s", 1), ("60s", 4), ("2m", 1), ("2m", 2), ("2m", 3), ("3m", 1), ("3m", 2), ("3m", 3)]
)
def test_a_level_that_falls_all_along_is_doubted_though_the_interval_is_wide(duration: str, seed: int) -> None:
    simulated = _simulated("examples/designs/msa1500-41-sata-raid5.toml", "oltp", duration, seed)
    iops = simulated.judgement.estimates["iops"]
    assert iops.low is not None and iops.low > 1.01 * _LASTS_PER_S
    assert any("The array had not settled: IOPS still went from" in doubt for doubt in simulated.doubts)


def test_after_five_minutes_it_is_still_doubted() -> None:
    """With this seed by the mean response: which figure tells it is a matter of draws."""
    simulated = _simulated("examples/designs/msa1500-41-sata-raid5.toml", "oltp", "5m", seed=2)
    iops = simulated.judgement.estimates["iops"]
    assert iops.low is not None and iops.low > 1.01 * _LASTS_PER_S
    assert any("The array had not settled: the mean response still went from" in doubt for doubt in simulated.doubts)


@pytest.mark.parametrize(("duration", "seed"), [("5m", 2), ("5m", 3), ("6m", 3), ("7m", 2)])
def test_a_level_that_falls_behind_a_warm_up_is_doubted_though_bursts_make_the_interval_wide(
    duration: str, seed: int
) -> None:
    """With these seeds a minute or more was left out as warm-up, and the rest told without a doubt."""
    simulated = _simulated("examples/designs/msa1500-41-sata-raid5.toml", "oltp", duration, seed)
    assert simulated.judgement.estimates["iops"].value > 1.09 * _LASTS_PER_S
    (doubt,) = (doubt for doubt in simulated.doubts if doubt.startswith("The array had not settled"))
    assert doubt.endswith("Simulate longer, with --duration.")


@pytest.mark.parametrize("seed", [2, 3])
def test_bursts_that_come_as_seldom_as_ever_are_not_doubted(seed: int) -> None:
    simulated = _simulated("examples/designs/msa1500-41-sata-raid5.toml", "oltp", "20m", seed)
    iops = simulated.judgement.estimates["iops"]
    assert not simulated.doubts
    assert iops.low is not None and iops.high is not None
    assert iops.low < _LASTS_PER_S < iops.high


def test_the_simulation_that_the_examples_suggest_gives_what_lasts() -> None:
    text = (_EXAMPLES / "README.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"`storscope simulate ([^`]+)`", text)
    design, *asked = shlex.split(command)
    options = dict(zip(asked[::2], asked[1::2], strict=True))
    simulated = _simulated(design, options["--workload"], options.get("--duration"))
    iops = simulated.judgement.estimates["iops"]
    assert not simulated.doubts
    assert iops.low is not None and iops.high is not None
    assert iops.low < _LASTS_PER_S < iops.high
