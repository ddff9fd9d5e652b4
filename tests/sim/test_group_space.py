"""What a group holds is what the core lets volumes take, to the byte."""

from __future__ import annotations

import pytest

from storscope.domain.errors import ConfigError
from storscope.sim.design import read_design
from storscope.sim.group_space import GroupSpace

_GROUPS = [
    ("raid0", 'count = 3\nlayout = "raid0"', 1),
    ("mirror", 'count = 2\nlayout = "raid1"', 1 / 2),
    ("mirrors", 'count = 10\nspares = 2\nlayout = "raid10"\nsegment = "512 KiB"', 1 / 2),
    ("parity", 'count = 7\nlayout = "raid5"\nsegment = "3 MiB"', 6 / 7),
    ("two parities", 'count = 12\nspares = 1\nlayout = "raid6"', 10 / 12),
    ("sets", 'count = 10\nwidth = 5\nlayout = "raid50"', 4 / 5),
    ("sets of two parities", 'count = 16\nwidth = 8\nlayout = "raid60"\nsegment = "128 KiB"', 6 / 8),
    ("pool", 'count = 5\nlayout = "pool"', 1),
    ("mirrored pool", 'count = 7\nlayout = "pool"\nredundancy = "raid1"\nspare_share = 0.07', 1 / 2),
    ("pool of parity", 'count = 23\nlayout = "pool"\nredundancy = "raid5"\nspare_share = 0.1', 4 / 5),
    ("wide pool", 'count = 23\nlayout = "pool"\nredundancy = "raid5"\nwidth = 9\nextent = "10 MiB"', 8 / 9),
    ("pool of extents", 'count = 22\nlayout = "pool"\nredundancy = "raid6"\nextent = "8 GiB"', 4 / 6),
]


def _design(group: str, *volumes: int) -> str:
    text = f'name = "d"\n[[group]]\nname = "g"\ndrive = "7200-sata"\n{group}\n'
    for number, size in enumerate(volumes):
        text += f'[[volume]]\nname = "v{number}"\ngroup = "g"\nsize = {size}\n'
    return text + '[[host]]\nname = "h"\nvolumes = [{ volume = "v0" }]\n'


def _space(group: str, *volumes: int) -> GroupSpace:
    (space,) = read_design(_design(group, *volumes), "d.toml").spaces
    return space


@pytest.mark.parametrize(("group", "share"), [one[1:] for one in _GROUPS], ids=[one[0] for one in _GROUPS])
def test_a_volume_as_large_as_what_is_usable_is_taken_and_a_larger_one_is_not(group: str, share: float) -> None:
    usable = _space(group, 1 << 30).usable_bytes
    full = _space(group, usable)
    assert (full.volumes_bytes, full.free_bytes) == (usable, 0)
    with pytest.raises(ConfigError, match=r"left of the .* of group g"):
        read_design(_design(group, usable + 1), "d.toml")
    # and the rest of the drives is accounted for
    held = full.raw_bytes * (1 - full.kept_ratio) * share
    assert usable + full.unused_bytes == pytest.approx(held, rel=1e-12)
    assert full.unused_bytes >= 0


def test_volumes_are_added_up() -> None:
    gib = 1 << 30
    space = _space(_GROUPS[2][1], 3 * gib, 5 * gib)
    assert space.volumes_bytes == 8 * gib
    assert space.free_bytes == space.usable_bytes - 8 * gib
    assert (space.raw_bytes, space.spares) == (10 * space.drive_bytes, 2)
