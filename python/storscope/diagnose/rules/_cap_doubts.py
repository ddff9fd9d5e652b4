"""What it would take to tell whether a rate is held: where it stands at a value that storage may have by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from storscope.diagnose.case import Case
from storscope.diagnose.rule import Settings
from storscope.diagnose.rules._asked import Asked
from storscope.diagnose.rules._asked_words import is_plural, never_alone_words, subject_words
from storscope.diagnose.rules._cap_words import hint_words, level_words
from storscope.diagnose.rules._caps import Cap, cap_at
from storscope.diagnose.rules._entities import joined
from storscope.diagnose.rules._providers import may_be_granted
from storscope.domain.entity import said_of
from storscope.model.plateau import densest_plateau


def of_provider(case: Case, cap: Cap) -> Cap:
    """The same without what providers document, where none can have granted it."""
    return cap if may_be_granted(case, cap.asked.entities) else replace(cap, known=(), may_be_granted=False)


def plateau_doubt(case: Case, cap: Cap) -> str:
    """Of a rate that stands still, while nothing changed that would move that of storage."""
    stands = "they stand" if is_plural(cap.asked) else "it stands"
    return said_of(
        f"a time with operations of other sizes, or another mix, at the limit of {subject_words(case, cap.asked)}",
        f"{stands} at {level_words(cap)} while operations wait, which may be set, or all that the storage can do "
        "of these",
    )


def levels_doubt(case: Case, levels: Sequence[Cap]) -> str:
    """Of a rate that stands at one value for a time, and then at another."""
    first = levels[0]
    said = joined([level_words(one) for one in sorted(levels, key=lambda one: -one.plateau.level)])
    return (
        f"a time (--since, --until) with one rate while operations wait: that of {subject_words(case, first.asked)} "
        f"stands at {said} at different times; burst-credits-spent tells of a fall from one to the other"
    )


def depth_doubt(case: Case, never_alone: Sequence[Asked], settings: Settings) -> str:
    """Of what always has so many operations in flight that nobody sees how long one takes alone."""
    stands = [cap for asked in never_alone if (cap := _standing(asked, settings)) is not None]
    first = min(stands, key=lambda cap: (not cap.known, cap.plateau.spread)).asked if stands else never_alone[0]
    words = never_alone_words(case, [first, *(one for one in never_alone if one is not first)])
    standing = _standing(first, settings)
    cap = of_provider(case, standing) if standing is not None else None
    if cap is None:
        return said_of(words, "nothing tells whether they wait, or the storage works on all of them at once")
    hint = f" ({hint})" if (hint := hint_words(cap).rstrip(".")) else ""
    does = f"it stands at {level_words(cap)}, a limit or what the storage does with so many at once{hint}"
    return said_of(words, does)


def _standing(asked: Asked, settings: Settings) -> Cap | None:
    """The one even rate of operations that it has all the time."""
    plateau = densest_plateau(asked.rates["ops"], asked.queues, settings["width_ratio"])
    if plateau is None or plateau.spread > settings["spread_ratio_exact"]:
        return None
    is_all = plateau.count >= (1 - settings["above_share_max"]) * int(asked.queues.sum())
    return cap_at(asked, settings, "ops", plateau) if is_all else None
