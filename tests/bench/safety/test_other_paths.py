"""The same content by another path: overlayfs gives its files numbers of their own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from storscope.bench.safety import create, open_for_writing
from storscope.domain.errors import TargetRefused
from storscope.domain.units import MIB
from tests.bench.safety.conftest import Rig, run
from tests.bench.safety.in_use import HOLD_OPEN, Other, assert_refused_for_good, refusals

pytestmark = [pytest.mark.needs_root, pytest.mark.needs("losetup"), pytest.mark.needs("mkfs.ext4")]


class Overlay:
    """An overlay whose upper layer is a folder of the rig's."""

    def __init__(self, rig: Rig, folder: Path | None = None) -> None:
        root = folder or rig.folder
        for name in ("lower", "upper", "work", "merged"):
            (root / name).mkdir()
        self.upper, self.merged = root / "upper", root / "merged"
        self._lower, self._work = root / "lower", root / "work"

    def mount(self, rig: Rig) -> Overlay:
        layers = f"lowerdir={self._lower},upperdir={self.upper},workdir={self._work}"
        rig.mount_at(self.merged, "-t", "overlay", "-o", layers, "overlay")
        return self


@pytest.fixture
def layers(rig: Rig) -> Overlay:
    return Overlay(rig).mount(rig)


def image(folder: Path) -> Path:
    """A file system in a file; what mkfs wrote may still be in memory only."""
    path = folder / "image"
    with path.open("xb") as file:
        file.truncate(32 * MIB)
    run("mkfs.ext4", "-q", path)
    return path


def test_a_loop_device_over_the_layer_is_seen_through_the_overlay(rig: Rig, layers: Overlay) -> None:
    device = rig.loop(image(layers.upper))
    assert_refused_for_good(layers.merged / "image", "loop")
    rig.mount(device)
    assert_refused_for_good(layers.merged / "image", "loop")


def test_a_loop_device_over_the_overlays_file_is_seen_in_the_layer(rig: Rig, layers: Overlay) -> None:
    image(layers.upper)
    rig.loop(layers.merged / "image")
    assert_refused_for_good(layers.upper / "image", "loop")


def test_two_loop_devices_over_both_are_over_the_same_file(rig: Rig, layers: Overlay) -> None:
    image(layers.upper)
    below, above = rig.loop(layers.upper / "image"), rig.loop(layers.merged / "image")
    assert_refused_for_good(below, "loop")
    assert_refused_for_good(above, "loop")


@pytest.mark.parametrize(("held", "target"), [("upper", "merged"), ("merged", "upper")])
def test_a_process_that_writes_by_the_other_path_is_seen(layers: Overlay, held: str, target: str) -> None:
    image(layers.upper)
    paths = {"upper": layers.upper / "image", "merged": layers.merged / "image"}
    with Other(HOLD_OPEN, paths[held], os.O_RDWR):
        assert_refused_for_good(paths[target], "writers")
    assert "writers" not in refusals(paths[target])


def test_another_file_of_the_same_layer_is_not_taken_for_it(rig: Rig, layers: Overlay) -> None:
    rig.loop(image(layers.upper))
    other = layers.merged / "other"
    other.write_bytes(bytes(MIB))
    with Other(HOLD_OPEN, layers.upper / "image", os.O_RDWR):
        assert refusals(other) == {"content": True}


def test_a_file_of_holes_cannot_be_told(layers: Overlay) -> None:
    with (layers.merged / "holes").open("xb") as file:
        file.truncate(MIB)
    assert refusals(layers.merged / "holes") == {"content": True, "other paths": True}


def test_a_scratch_file_that_was_kept_may_be_used_again(layers: Overlay) -> None:
    create(layers.merged / "kept", MIB, keep=True).close()
    open_for_writing(layers.merged / "kept").close()


def test_layers_in_memory_cannot_be_told(rig: Rig) -> None:
    memory = rig.folder / "memory"
    memory.mkdir()
    rig.mount_at(memory, "-t", "tmpfs", "tmpfs")
    layers = Overlay(rig, memory).mount(rig)
    (layers.merged / "file").write_bytes(bytes(MIB))
    assert refusals(layers.merged / "file") == {"content": True, "other paths": True}
    with pytest.raises(TargetRefused, match="cannot be told on this file system"):
        open_for_writing(layers.merged / "file")
