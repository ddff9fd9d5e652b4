"""Shares, changes and what an interval reaches to each side, for people.

'±' would tell of a lopsided interval only the farther end; a narrow one must not look like none.
"""

from __future__ import annotations

from typing import Final

_LOPSIDED: Final = 1.5
"""So many times as far from the value as the other is the farther end of an interval that is lopsided (ours)."""
_LEAST_APART: Final = 0.01
"""Of the value: ends that differ by less are alike."""
_LEAST_SHARE: Final = 0.5e-5
"""Less is 0.000 % in three decimals."""
_WHOLE_FROM: Final = 99.95
"""Per cent from which a change is told without decimals."""


def lopsided_words(value: float, low: float, high: float) -> str | None:
    """'−10 %/+35 %' of the value; None where both ends are about as far from it, or where it is 0."""
    if not value:
        return None
    below, above = max(0.0, (value - low) / abs(value)), max(0.0, (high - value) / abs(value))
    if max(below, above) <= _LOPSIDED * min(below, above) or abs(below - above) < _LEAST_APART:
        return None
    return f"−{_percent(below)}/+{_percent(above)}"


def half_width_words(share: float) -> str:
    """Half of an interval as a share: '±13 %', '±1.3 %', '±0.04 %'; '±< 0.001 %' where it is hardly any."""
    if share < _LEAST_SHARE:
        return "±< 0.001 %"
    return f"±{100 * share:.{0 if share >= 0.1 else digits_of_percent(share)}f} %"


def signed_percent(share: float, digits: int = 1) -> str:
    """'+8.1 %', '−40.0 %', '+140 %'; what rounds to nothing has no sign: '0.0 %'."""
    size = abs(100.0 * share)
    words = f"{size:,.{0 if size >= _WHOLE_FROM else digits}f} %"
    return words if not any(digit in words for digit in "123456789") else f"{'+' if share > 0 else '−'}{words}"


def digits_of_percent(*sizes: float) -> int:
    """Decimals that per cent need so that the greatest of these shares is not shown as 0: 1, and up to 3."""
    return next((digits for digits in (1, 2) if max(sizes, default=0.0) >= 0.5 * 10.0 ** -(digits + 2)), 3)


def _percent(share: float) -> str:
    if 0 < share < _LEAST_SHARE:
        return "< 0.001 %"
    return f"{100 * share:.{digits_of_percent(share) if 0 < share < 0.1 else 0}f} %"
