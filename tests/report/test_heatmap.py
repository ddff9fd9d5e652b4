"""The heat map of operations by time and latency."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from storscope.domain.recorder import Recorder
from storscope.report.heatmap import HeatMap, heat_maps
from storscope.report.layers import layers_of
from storscope.report.pack import Packer
from storscope.report.page import render
from storscope.report.reading import Judged, read_evidence
from storscope.sim.design import read_design
from storscope.store import Store
from storscope.workbench.diagnosing import diagnose
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of
from storscope.workbench.simulation_store import store_simulation
from tests.report.evidence import START_NS, S, vdisk
from tests.support.cases import make_store

NOTHING_BUT_A_CACHE = """
name = "bare"
group = [{ name = "g", drive = "15k-sas", count = 4, layout = "raid10" }]
volume = [{ name = "v", group = "g", size = "10 GiB" }]
cache = { write = { size = "256 MiB" } }
host = [{ name = "h", volumes = [{ volume = "v" }] }]
"""
"""Without controllers and links, a write into the cache takes no time at all."""


def _by_latency(path: Path) -> tuple[HeatMap, Store]:
    store = Store.open(path / "store", create=True)
    plan = plan_of(read_design(NOTHING_BUT_A_CACHE, "bare.toml"), "oltp", duration="10s")
    store_simulation(store, simulate(plan, started_ns=1_795_132_800_000_000_000))
    layers = layers_of(read_evidence(Judged(store)))
    drawn = heat_maps(layers, sorted({layer.system for layer in layers}), {}, Judged(store), Packer())
    return next(one for one in drawn if one.title.startswith("How slow")), store


def test_operations_that_took_no_time_are_drawn_and_said(tmp_path: Path) -> None:
    drawn, store = _by_latency(tmp_path)
    edges = np.asarray(drawn.chart["edges"], dtype=np.float64)
    assert edges[1] == pytest.approx(1e3)
    assert drawn.rows[-1][0] == "750 ns to 1.00 µs"
    assert "less than 1.00 µs" in drawn.note
    assert "From simulated distributions." in drawn.note
    assert "How slow were the operations?" in render(diagnose(store), store)


def _bursts(recorder: Recorder) -> None:
    """Three volumes: one waits most, in a single interval; one has next to nothing, in all; one does nothing."""
    times = START_NS + np.arange(3, dtype=np.int64) * S
    ops = np.array([[1600.0, 0, 0], [5, 5, 5], [0, 0, 0]])
    latency = np.array([[12e6, 0, 0], [1e6, 1e6, 1e6], [0, 0, 0]])
    recorder.observe_columns(
        [vdisk(0), vdisk(1), vdisk(2)], times, np.full(3, S), {"ops_per_s": ops, "latency_ns_mean": latency}
    )


def test_who_waited_most_has_a_row_though_it_was_at_work_in_one_interval_only(tmp_path: Path) -> None:
    store = make_store(tmp_path / "store", _bursts)
    layers = layers_of(read_evidence(Judged(store)))
    drawn = heat_maps(layers, ["array-a"], {}, Judged(store), Packer())
    slow = next(one for one in drawn if one.title.startswith("Which"))
    assert slow.rows == [["vol-00", "12.0 ms", "12.0 ms"], ["vol-01", "1.00 ms", "1.00 ms"]]
