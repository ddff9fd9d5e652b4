"""Sizes that makers sell in thousands and people give in binary units: `--size 1t` is not what a drive of 1 TB has.

Sizes that are given have binary prefixes (docs/fit.md), and a drive sold as 1 TB has 10^12 bytes and a little: 931 GiB,
a tenth less than 1 TiB. Supports what drives have been sold as since the nineties; refuses nothing. Beware that a
virtual disk may well have 500 GiB: the note says what a drive that is sold as that has, not that the size is wrong.
"""

from __future__ import annotations

from typing import Final

from storscope.domain.units import GIB, format_bytes

_TIB: Final = 1024 * GIB
_SOLD_AS: Final = {
    "GB": frozenset(
        {4, 9, 18, 36, 40, 60, 72, 73, 74, 80, 100, 120, 128, 146, 147, 150, 160, 180, 200, 240, 250, 256, 300, 320,
         400, 450, 480, 500, 512, 600, 640, 750, 800, 900, 960}
    ),
    "TB": frozenset({1, 1.2, 1.5, 1.6, 1.8, 1.92, 2, 2.4, 2.5, 3, 3.2, 3.84, 6.4, 7.68, 15.36, *range(4, 33)}),
}  # fmt: skip
"""What stands on drives: magnetic ones of 1997 to now and flash, as data sheets of their makers have it (recalled).
What is not here gets no note, which does no harm."""
_BYTES_OF: Final = {"GB": (GIB, 10**9), "TB": (_TIB, 10**12)}


def sold_in_thousands(size_bytes: int) -> str | None:
    """The note on a size that is a capacity drives are sold with, taken as binary; nothing for any other size."""
    for unit, (binary, decimal) in _BYTES_OF.items():
        for number in _SOLD_AS[unit]:
            if size_bytes == round(number * binary):
                taken, has = format_bytes(size_bytes), f"{number * decimal / GIB:.4g}"
                return (
                    f"The size is {taken}, in binary units. A drive sold as {number} {unit} has about {has} GiB, since "
                    f"makers count in thousands: for one say --size {has}g."
                )
    return None
