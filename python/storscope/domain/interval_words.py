"""How far a lopsided interval reaches to each side, for people: '±' would tell of it only the farther end."""

from __future__ import annotations

from typing import Final

_LOPSIDED: Final = 1.5
"""So many times as far from the value as the other is the farther end of an interval that is lopsided (ours)."""
_LEAST_APART: Final = 0.01
"""Of the value: ends that differ by less are alike."""


def lopsided_words(value: float, low: float, high: float) -> str | None:
    """'−10 %/+35 %' of the value; None where both ends are about as far from it, or where it is 0."""
    if not value:
        return None
    below, above = max(0.0, (value - low) / abs(value)), max(0.0, (high - value) / abs(value))
    if max(below, above) <= _LOPSIDED * min(below, above) or abs(below - above) < _LEAST_APART:
        return None
    return f"−{_percent(below)}/+{_percent(above)}"


def _percent(share: float) -> str:
    return f"{share:.1%}".replace("%", " %") if 0 < share < 0.1 else f"{share:.0%}".replace("%", " %")
