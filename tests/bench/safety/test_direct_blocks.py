"""What O_DIRECT asks of offsets and sizes is told as the kernel has it."""

from __future__ import annotations

import mmap
import os

import pytest

from storscope.bench.direct_blocks import DirectBlock, direct_block
from storscope.cli.main import run as storscope
from storscope.domain.units import MIB
from tests.bench.safety.conftest import Rig, run


@pytest.mark.needs_root
@pytest.mark.parametrize("sector_bytes", [512, 4096])
def test_the_block_told_is_the_one_that_the_kernel_asks_for(rig: Rig, sector_bytes: int) -> None:
    device = rig.loop(rig.image(), "--sector-size", str(sector_bytes))
    block = direct_block([str(device)])
    assert block == DirectBlock(sector_bytes, device.name, is_strict=True)
    descriptor = os.open(device, os.O_RDONLY | os.O_DIRECT)
    try:
        with mmap.mmap(-1, 8192) as buffer, memoryview(buffer) as view:
            assert os.preadv(descriptor, [view[:sector_bytes]], sector_bytes) == sector_bytes
            with pytest.raises(OSError, match="Invalid argument"):
                os.preadv(descriptor, [view[: sector_bytes // 2]], 0)
    finally:
        os.close(descriptor)


@pytest.mark.needs_root
def test_of_several_targets_the_largest_block_counts(rig: Rig) -> None:
    devices = [rig.loop(rig.image(f"image-{size}"), "--sector-size", str(size)) for size in (4096, 512)]
    assert direct_block([str(device) for device in devices]).size_bytes == 4096


@pytest.mark.needs_root
@pytest.mark.needs("mkfs.ext4")
@pytest.mark.parametrize("option", ["data=ordered", "data=journal"])
def test_ext4_that_journals_data_takes_what_is_no_multiple(rig: Rig, option: str) -> None:
    device = rig.loop(rig.image(), "--sector-size", "4096")
    run("mkfs.ext4", "-q", device)
    file = rig.mount(device, "-o", option) / "file"
    file.write_bytes(bytes(8192))
    is_strict = direct_block([str(file)]).is_strict
    descriptor = os.open(file, os.O_RDONLY | os.O_DIRECT)
    try:
        with mmap.mmap(-1, 4096) as buffer, memoryview(buffer) as view:
            if is_strict:
                with pytest.raises(OSError, match="Invalid argument"):
                    os.preadv(descriptor, [view[:512]], 512)
            else:
                assert os.preadv(descriptor, [view[:512]], 512) == 512
    finally:
        os.close(descriptor)
    assert is_strict is (option == "data=ordered")


@pytest.mark.needs_root
@pytest.mark.parametrize(
    ("stream", "line", "fits"),
    [
        ("", "align = 4096", True),
        ("", "align = 512", False),
        ("", "align = 512, random_share = 0.5", False),
        ("", "align = 512, random_share = 0.0", True),
        ("", "align = 1536, random_share = 0.0", False),
        ('workers = 3\nstarts = "apart"', "align = 512, random_share = 0.0", False),
        ('workers = 3\nstarts = "together"', "align = 512, random_share = 0.0", True),
        ("[stream.region]\nstart = 512", "align = 512, random_share = 0.0", False),
    ],
)
def test_what_is_said_to_suit_the_device_does_not_fail_there(
    rig: Rig, capsys: pytest.CaptureFixture[str], stream: str, line: str, fits: bool
) -> None:
    device = rig.loop(rig.image(), "--sector-size", "4096")
    workload = rig.folder / "w.toml"
    workload.write_text(f'name = "w"\n[[stream]]\noutstanding = 1\nline = [{{ size = "8k", {line} }}]\n{stream}\n')
    asked = ["bench", str(device), "--workload", str(workload), "--duration", "200ms"]
    assert storscope([*asked, "--dry-run"]) == (0 if fits else 2)
    assert ("this workload would fail" in capsys.readouterr().out) is not fits
    assert storscope([*asked, "--store", str(rig.folder / "store")]) == (0 if fits else 2)
    assert ("Invalid argument" in capsys.readouterr().err) is not fits


@pytest.mark.needs_root
@pytest.mark.needs("mkfs.ext4")
@pytest.mark.parametrize("how", [(), ("--knee",), ("--engine", "fio"), ("--precondition",)])
def test_what_the_device_does_not_take_is_refused_before_anything_is_written_for_it(
    rig: Rig, capsys: pytest.CaptureFixture[str], how: tuple[str, ...]
) -> None:
    device = rig.loop(rig.image(size_bytes=96 * MIB), "--sector-size", "4096")
    run("mkfs.ext4", "-q", device)
    mount, store = rig.mount(device), rig.folder / "store"
    asked = ["bench", str(mount), "--workload", "random-8k-70-read", "--size", "16m", *how, "--store", str(store)]
    assert storscope(asked) == 2
    told = capsys.readouterr().err
    assert f"multiples of 4 KiB, the block of {device.name}, found 512 B, which O_DIRECT answers" in told
    assert "--buffered" in told
    assert "Filling" not in told
    assert not store.exists()
