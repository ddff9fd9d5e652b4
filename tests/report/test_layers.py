"""Nothing is counted twice, nothing is made up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.report.layers import Layer, detail_layers, layers_of, main_layers, total
from storscope.report.reading import LATENCY, OPS, Evidence, Judged, read_evidence
from tests.report.evidence import START_NS, S, day_of_volumes
from tests.support.cases import make_store

Row = tuple[EntityRef, int, dict[str, float | None]]


def device(name: str, kind: str = "device") -> EntityRef:
    return EntityRef("host", kind, name)


def recorded(*rows: Row, links: tuple[tuple[EntityRef, EntityRef], ...] = ()) -> Callable[[Recorder], None]:
    def write(recorder: Recorder) -> None:
        for entity, second, values in rows:
            recorder.observe(entity, START_NS + second * S, 10 * S, values)
        for upper, lower in links:
            recorder.link(upper, "lives_on", lower)

    return write


def evidence(path: Path, *writers: Callable[[Recorder], None]) -> Evidence:
    return read_evidence(Judged(make_store(path, *writers)))


def main(path: Path, *writers: Callable[[Recorder], None]) -> Layer:
    (layer,) = main_layers(layers_of(evidence(path, *writers)))
    return layer


def test_the_sum_of_a_layer_is_the_sum_of_its_entities(tmp_path: Path) -> None:
    layer = main(tmp_path, day_of_volumes(5, 60, 2))
    whole = total(layer)
    expected = np.sum([track[OPS] for track in layer.tracks], axis=0)
    waiting = np.sum([track[OPS] * track[LATENCY] for track in layer.tracks], axis=0)
    np.testing.assert_allclose(whole.columns[OPS], expected)
    np.testing.assert_allclose(whole.columns[LATENCY] * whole.columns[OPS], waiting)


def test_a_volume_on_a_disk_is_shown_and_not_added(tmp_path: Path) -> None:
    rows: list[Row] = [(device(name), 0, {OPS: 100.0}) for name in ("sda", "dm-0", "dm-1")]
    links = ((device("dm-0"), device("sda")), (device("dm-1"), device("sda")))
    layer = main(tmp_path, recorded(*rows, links=links))
    assert len(layer.tracks) == 3
    assert list(total(layer).columns[OPS]) == [100.0]
    assert layer.lies_on == {device("dm-0"): "sda", device("dm-1"): "sda"}


def test_links_in_a_circle_add_up_all(tmp_path: Path) -> None:
    rows: list[Row] = [(device(name), 0, {OPS: 100.0}) for name in ("a", "b")]
    links = ((device("a"), device("b")), (device("b"), device("a")))
    assert list(total(main(tmp_path, recorded(*rows, links=links))).columns[OPS]) == [200.0]


def test_an_idle_instant_has_no_latency(tmp_path: Path) -> None:
    rows: list[Row] = [
        (device("sda"), 0, {OPS: 0.0, LATENCY: 0.0}),
        (device("sda"), 10, {OPS: 5.0, LATENCY: 2e6}),
    ]
    whole = total(main(tmp_path, recorded(*rows)))
    assert list(whole.columns[OPS]) == [0.0, 5.0]
    assert np.isnan(whole.columns[LATENCY][0])
    assert whole.columns[LATENCY][1] == 2e6


def test_what_no_source_said_is_not_drawn(tmp_path: Path) -> None:
    whole = total(main(tmp_path, recorded((device("sda"), 0, {LATENCY: 2e6}))))
    assert set(whole.columns) == {LATENCY}
    assert not whole.weighted


def test_entities_sampled_at_different_instants_are_added_while_both_hold(tmp_path: Path) -> None:
    rows: list[Row] = [
        (device("sda"), 0, {OPS: 1.0}), (device("sda"), 10, {OPS: 2.0}),
        (device("sdb"), 5, {OPS: 10.0}), (device("sdb"), 15, {OPS: 20.0}),
    ]  # fmt: skip
    whole = total(main(tmp_path, recorded(*rows)))
    assert list((whole.time_ns - START_NS) // S) == [0, 5, 10, 15]
    assert list(whole.columns[OPS]) == [1.0, 11.0, 12.0, 22.0]


def test_captures_one_after_the_other_make_one_track(tmp_path: Path) -> None:
    found = evidence(
        tmp_path, recorded((device("sda"), 100, {OPS: 2.0})), recorded((device("sda"), 0, {OPS: 1.0, LATENCY: 1e6}))
    )
    (track,) = found.tracks
    assert list(track[OPS]) == [1.0, 2.0]
    assert np.isnan(track[LATENCY][1])


def test_volumes_stand_for_a_system_and_partitions_tell_more_than_one_device(tmp_path: Path) -> None:
    rows: list[Row] = [(device("sda"), 0, {OPS: 9.0, LATENCY: 1e6}), (device("c", "controller"), 0, {OPS: 9.0})]
    rows += [(device(f"sda{n}", "partition"), 0, {OPS: 3.0, LATENCY: 1e6}) for n in range(3)]
    layers = layers_of(evidence(tmp_path, recorded(*rows)))
    assert [layer.kind for layer in main_layers(layers)] == ["device"]
    assert detail_layers(layers)["host"].kind == "partition"


def test_runs_of_benchmarks_are_no_load_of_a_running_system(tmp_path: Path) -> None:
    def write(recorder: Recorder) -> None:
        recorder.run("r", engine="fio", name="r", system="host")
        recorder.observe(device("job", "job"), START_NS, 10 * S, {OPS: 1.0}, run="r")

    assert evidence(tmp_path, write).tracks == []
