"""The own reader of magic numbers finds what blkid and wipefs find, on real and on handmade images."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storscope.bench.safety.content import sample
from storscope.bench.safety.magic import ALL
from storscope.bench.safety.signatures import Medium, Signature, find, medium_of
from storscope.domain.units import KIB, MIB
from tests.bench.safety import images
from tests.bench.safety.conftest import Rig, run
from tests.bench.safety.trees import blank

IMAGE_BYTES = 320 * MIB
"""The least that mkfs.xfs accepts is 300 MiB; the file is sparse."""

MADE_BY_TOOLS: dict[str, tuple[str, ...]] = {
    "ext2": ("mkfs.ext2", "-q"),
    "ext3": ("mkfs.ext3", "-q"),
    "ext4": ("mkfs.ext4", "-q"),
    "jbd": ("mkfs.ext4", "-q", "-O", "journal_dev"),
    "xfs": ("mkfs.xfs", "-q"),
    "btrfs": ("mkfs.btrfs", "-q"),
    "swap": ("mkswap",),
    "vfat": ("mkfs.vfat", "-F32"),
    "exfat": ("mkfs.exfat",),
    "ntfs": ("mkntfs", "-F", "-Q"),
    "f2fs": ("mkfs.f2fs", "-q"),
    "nilfs2": ("mkfs.nilfs2", "-q"),
    "udf": ("mkudffs",),
    "bcache": ("make-bcache", "-B"),
}
OPTIONAL = {"exfat", "ntfs", "f2fs", "nilfs2", "udf", "bcache"}
"""Beyond the formats the issue names: compared where the tool happens to be installed."""
TABLES = ("dos", "gpt", "sgi", "sun")

NOT_COMPARED = {"dos", "PMBR"}
"""wipefs also lists the 0x55AA of a file system's own boot sector as "dos", and a GPT's protective MBR apart."""


def signatures_of(path: Path) -> list[Signature]:
    with path.open("rb") as file:
        return find(medium_of(file.fileno(), path.stat().st_size))


def wipefs_of(path: Path) -> set[tuple[str, int]]:
    told = run("wipefs", "--json", path)
    entries = json.loads(told)["signatures"] if told else []
    return {(entry["type"], int(entry["offset"], 16)) for entry in entries}


def blkid_of(path: Path) -> str:
    return run("blkid", "--probe", "--output", "value", "--match-tag", "TYPE", path)


@pytest.mark.needs("wipefs")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in OPTIONAL else pytest.mark.needs(command[0]))
        for name, command in MADE_BY_TOOLS.items()
    ],
)
def test_what_a_tool_made_is_found_as_blkid_calls_it(rig: Rig, name: str) -> None:
    if name in OPTIONAL and shutil.which(MADE_BY_TOOLS[name][0]) is None:
        pytest.skip(f"{MADE_BY_TOOLS[name][0]} is not installed; the format is covered by its magic number")
    image = rig.image(size_bytes=IMAGE_BYTES)
    run(*MADE_BY_TOOLS[name], image)
    ours = {(signature.name, signature.offset) for signature in signatures_of(image)}
    theirs = {entry for entry in wipefs_of(image) if entry[0] not in NOT_COMPARED}
    assert name in {found for found, _ in ours}
    assert {kind for kind, _ in theirs} == {kind for kind, _ in ours}
    assert blkid_of(image) == name


@pytest.mark.needs("sfdisk")
@pytest.mark.needs("wipefs")
@pytest.mark.parametrize("label", TABLES)
def test_a_partition_table_is_found_even_if_it_has_no_partitions(rig: Rig, label: str) -> None:
    image = rig.image()
    run("sfdisk", "--quiet", image, stdin=f"label: {label}\n")
    ours = {(signature.name, signature.offset) for signature in signatures_of(image)}
    theirs = {entry for entry in wipefs_of(image) if entry[0] != "PMBR"}
    assert theirs <= ours
    assert (label, min(offset for name, offset in ours if name == label)) in theirs


@pytest.mark.parametrize("name", images.HANDMADE)
def test_a_handmade_signature_is_found(tmp_path: Path, name: str) -> None:
    image = tmp_path / "image"
    images.HANDMADE[name](image)
    assert name.partition(" ")[0] in {signature.name for signature in signatures_of(image)}


@pytest.mark.needs("wipefs")
@pytest.mark.parametrize("name", sorted(set(images.HANDMADE) - {"bcache", "VMFS"}))
def test_handmade_signatures_are_faithful_enough_for_wipefs(tmp_path: Path, name: str) -> None:
    """bcache needs a CRC-64 we do not compute and VMFS a whole volume; wipefs passes over those two."""
    image = tmp_path / "image"
    images.HANDMADE[name](image)
    theirs = wipefs_of(image)
    assert name.partition(" ")[0] in {kind for kind, _ in theirs}
    if name != "zfs_member":  # wipefs reports every uberblock, we one in each label
        assert theirs <= {(signature.name, signature.offset) for signature in signatures_of(image)}


@pytest.mark.parametrize("label", range(4))
def test_one_zfs_label_out_of_four_is_enough(tmp_path: Path, label: int) -> None:
    image = tmp_path / "image"
    images.zfs(image, (label,))
    assert [signature.name for signature in signatures_of(image)] == ["zfs_member"]


@pytest.mark.parametrize("magic", ALL, ids=lambda magic: f"{magic.name}@{magic.offset}")
def test_every_entry_of_the_table_is_found_where_it_says(magic: object) -> None:
    entry = next(entry for entry in ALL if entry is magic)
    size = max(4 * MIB, entry.offset + MIB)
    at = entry.offset if entry.offset >= 0 else size + entry.offset

    def read(offset: int, length: int) -> bytes:
        block = bytearray(max(0, min(length, size - offset)))
        for index, byte in enumerate(entry.pattern):
            if 0 <= at + index - offset < len(block):
                block[at + index - offset] = byte
        return bytes(block)

    assert (entry.name, at) in {(found.name, found.offset) for found in find(Medium(read, size))}


def test_a_reused_disk_shows_all_it_carries(tmp_path: Path) -> None:
    image = tmp_path / "image"
    images.lvm2(image)
    with image.open("r+b") as file:
        file.seek(images.SIZE_BYTES - 512)
        file.write(b"EFI PART")
    assert {signature.name for signature in signatures_of(image)} == {"LVM2_member", "gpt"}


@pytest.mark.parametrize("size_bytes", [0, 1, 511, 512, 513, 4 * KIB, 64 * KIB, 256 * KIB, 5 * MIB])
def test_nothing_is_found_in_zeros_of_any_size(size_bytes: int) -> None:
    assert find(blank(size_bytes)) == []
    assert sample(blank(size_bytes)).first_data_at is None


@given(st.binary(max_size=8 * KIB))
def test_any_bytes_can_be_looked_at(content: bytes) -> None:
    medium = Medium(lambda offset, length: content[offset : offset + length] if offset >= 0 else b"", len(content))
    find(medium)
    assert (sample(medium).first_data_at is None) == (content.count(0) == len(content))


def test_a_medium_never_reads_beyond_its_window(tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.write_bytes(b"a" * 100 + b"b" * 100 + b"c" * 100)
    with image.open("rb") as file:
        window = medium_of(file.fileno(), 100, 100)
        assert window.read(0, 1000) == b"b" * 100
        assert window.read(90, 20) == b"b" * 10
        assert window.read(-5, 5) == b""
        assert window.read(100, 5) == b""


@pytest.mark.parametrize("where", ["first byte", "last byte", "a sampled block"])
def test_data_without_a_signature_is_noticed(where: str) -> None:
    size = 512 * MIB
    at = {"first byte": 0, "last byte": size - 1, "a sampled block": MIB + 7 * (2 * MIB)}[where]

    def read(offset: int, length: int) -> bytes:
        block = bytearray(max(0, min(length, size - offset)))
        if offset <= at < offset + length:
            block[at - offset] = 1
        return bytes(block)

    assert sample(Medium(read, size)).first_data_at is not None
    assert find(Medium(read, size)) == []


def _fails(offset: int, length: int) -> bytes:
    raise OSError(5, "Input/output error")


@pytest.mark.parametrize("look", [find, sample])
def test_a_medium_that_cannot_be_read_is_not_called_clean(look: Callable[[Medium], object]) -> None:
    with pytest.raises(OSError, match="Input/output error"):
        look(Medium(_fails, MIB))
