"""A run with many volumes and drives keeps fewer intervals, so that its record stays of a size that can be read."""

from __future__ import annotations

import numpy as np
import pytest

from storscope.domain.access import AccessSpec, Mix
from storscope.domain.load import Open
from storscope.domain.workload import Stream, Workload
from storscope.sim.design import Design, read_design
from storscope.workbench.simulated import Simulated
from storscope.workbench.simulating import fitted, most_intervals, simulate
from storscope.workbench.simulating_many import plan_of


def _design(volumes: int, drives: int) -> Design:
    text = f'name = "many"\n[[group]]\nname = "g"\ndrive = "15k-sas"\ncount = {drives}\nlayout = "raid10"\n'
    text += "".join(f'[[volume]]\nname = "v{one}"\ngroup = "g"\nsize = "1 GiB"\n' for one in range(volumes))
    served = ", ".join(f'{{ volume = "v{one}" }}' for one in range(volumes))
    return read_design(f'{text}[[host]]\nname = "h"\nvolumes = [{served}]\n', "many.toml")


def _simulated(volumes: int, drives: int = 8) -> Simulated:
    return simulate(plan_of(_design(volumes, drives), "random-8k-70-read", duration="1s"), started_ns=0)


@pytest.mark.parametrize(
    ("volumes", "drives", "most"),
    [(2, 8, 512), (100, 96, 204), (8, 512, 200), (400, 8, 50), (4, 2000, 50), (900, 8, 32), (4, 4096, 32)],
)
def test_of_much_in_each_fewer_intervals_are_kept(volumes: int, drives: int, most: int) -> None:
    assert most_intervals(plan_of(_design(volumes, drives), "random-8k-70-read", duration="1s")) == most


def test_a_run_of_many_volumes_is_recorded_in_few_intervals_and_loses_no_io() -> None:
    simulated = _simulated(400)
    assert len(simulated.intervals) == 50
    assert sum(one.all.ios for one in simulated.intervals) == simulated.outcome.total.all.ios
    assert [one.start_ns for one in simulated.intervals] == [number * 20_000_000 for number in range(50)]
    tables = simulated.tables()
    of_volumes, of_all = 400 * 50, 50
    directions = 2 * 3 * (of_volumes + of_all) + 2 * of_volumes
    assert tables["histograms"].num_rows <= directions
    slices = 8 * simulated.plan.slices
    assert tables["observations"].num_rows <= 2 * of_volumes + 2 * of_all + slices + 8


def test_volumes_that_are_silent_are_told_as_such_without_a_place_in_each_interval() -> None:
    """Of thousands a run would take minutes for them. The record tells all of them in each interval."""
    volumes = 40
    workload = Workload("few", (Stream(Mix((AccessSpec(4096),)), Open(20.0), name="few"),))
    simulated = simulate(plan_of(_design(volumes, 8), workload, duration="2s"), started_ns=0)
    for interval in simulated.intervals:
        assert len(interval.form["cells"]) == sum(cell.all.ios > 0 for cell in interval.cells) < 5
    assert [cell.form["cells"][0]["target"] for cell in simulated.measured.cells] == list(range(volumes))
    assert 0 in {cell.all.ios for cell in simulated.measured.cells}
    assert sum(cell.all.ios for cell in simulated.measured.cells) == simulated.measured.all.ios > 20
    rows = simulated.tables()["observations"].select(["run", "kind", "entity", "ops_per_s"]).to_pylist()
    parts = [row["ops_per_s"] for row in rows if row["run"] and row["kind"] != "job"]
    assert len(parts) == volumes * len(simulated.intervals)
    assert sum(parts) == pytest.approx(sum(row["ops_per_s"] for row in rows if row["kind"] == "job"))


def test_of_very_many_volumes_about_thirty_intervals_are_left() -> None:
    assert len(_simulated(900).intervals) == 29, "200 of 7 each"


def test_the_confidence_of_figures_does_not_depend_on_how_many_intervals_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    every = _simulated(4)
    monkeypatch.setattr("storscope.workbench.simulating._MOST_CELL_INTERVALS", 4 * 40)
    fewer = _simulated(4)
    assert (len(every.intervals), len(fewer.intervals)) == (200, 40)
    assert every.judgement == fewer.judgement
    assert every.measured.duration_ns == pytest.approx(fewer.measured.duration_ns, rel=0.05)


def test_of_very_many_drives_queues_have_fewer_slices() -> None:
    slices = {
        count: fitted(plan_of(_design(2, count), "random-8k-70-read", duration="60s")).slices for count in (1024, 2000)
    }
    assert slices == {1024: 2048, 2000: 1048}


def test_what_is_kept_of_a_drive_is_in_arrays() -> None:
    simulated = _simulated(2)
    assert all(isinstance(mark["drives"], np.ndarray) for mark in simulated.array["marks"])
    histograms = [cell["reads"]["service"] for one in simulated.intervals for cell in one.form["cells"]]
    assert all(isinstance(one["bucket_count"], np.ndarray) for one in histograms)
