"""What is mounted, from mountinfo as proc_pid_mountinfo(5) describes it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storscope.bench.safety.content_place import is_layered
from storscope.bench.safety.kernel import DeviceNumber, Kernel, unescape
from storscope.bench.safety.mounts import mount_of, own_mounts, parse_mountinfo

LINE = "36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 shared:7 - ext3 /dev/root rw,errors=continue"


def test_a_line_is_read_with_its_optional_fields_and_escapes() -> None:
    (mount,) = parse_mountinfo(LINE)
    assert (mount.mount_id, mount.number, mount.point) == (36, DeviceNumber(98, 0), "/mnt 2")
    assert (mount.options, mount.fs_type, mount.source) == ("rw,noatime", "ext3", "/dev/root")


def test_a_line_without_optional_fields_and_with_an_empty_source() -> None:
    (mount,) = parse_mountinfo("36 35 0:5 / /x rw - tmpfs  rw")
    assert (mount.point, mount.fs_type, mount.source) == ("/x", "tmpfs", "")


@given(st.text())
def test_any_text_is_read_without_an_error(text: str) -> None:
    parse_mountinfo(text)


@given(st.binary(min_size=1).filter(lambda raw: b"\0" not in raw))
def test_names_survive_the_kernels_escapes(raw: bytes) -> None:
    escaped = "".join(
        f"\\{byte:03o}" if byte in b" \t\n\\" else os.fsdecode(bytes([byte])) if byte < 128 else "" for byte in raw
    )
    assert unescape(escaped) == os.fsdecode(bytes(byte for byte in raw if byte < 128))


def test_the_mount_of_a_file_is_found_by_its_mount_id(tmp_path: Path) -> None:
    kernel = Kernel()
    descriptor = os.open(tmp_path, os.O_PATH)
    try:
        mount = mount_of(kernel, descriptor, own_mounts(kernel))
    finally:
        os.close(descriptor)
    assert mount is not None
    assert tmp_path.is_relative_to(mount.point)


@pytest.mark.parametrize(
    ("number", "fs_type", "layered"),
    [
        ("0:40", "overlay", True),
        ("0:41", "fuse.sshfs", True),
        ("0:42", "fuse", True),
        ("8:1", "fuseblk", False),
        ("0:43", "btrfs", False),
        ("0:44", "tmpfs", False),
        ("8:2", None, False),
        ("0:45", None, True),
    ],
)
def test_file_systems_that_show_files_of_others_are_known(number: str, fs_type: str | None, layered: bool) -> None:
    parsed = DeviceNumber.parse(number)
    assert parsed is not None
    assert is_layered(parsed, fs_type) is layered
