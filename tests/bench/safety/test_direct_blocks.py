"""What O_DIRECT asks of offsets and sizes is told as the kernel has it."""

from __future__ import annotations

import mmap
import os

import pytest

from storscope.bench.direct_blocks import DirectBlock, direct_block
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
