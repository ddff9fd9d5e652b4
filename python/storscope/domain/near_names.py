"""What was probably meant by a key that there is not: the same in other letters, another word for it, or a slip.

Beware: a name that is not near enough gives none, since a wrong guess costs more than a list of what is known.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from types import MappingProxyType

_NEAR = 0.72
"""Least likeness of a slip (difflib's ratio, twice the letters in common over all): 'duration' and 'verification' have
0.6, 'sise' and 'size' 0.75."""

Words = Mapping[str, Collection[str]]
"""Name -> other words for it, in small letters, joined by '_'."""


def same_name(written: str, known: Collection[str], words: Words) -> str | None:
    """The known name that is the same in other letters, or that this is another word for."""
    word = joined(written)
    return word if word in known else _names_by_word(known, words).get(word)


def near_name(written: str, known: Collection[str], words: Words) -> str | None:
    """As `same_name`, else the known name of which this is a slip."""
    names = _names_by_word(known, words)
    close = difflib.get_close_matches(joined(written), [*known, *names], 1, _NEAR)
    return same_name(written, known, words) or (names.get(close[0], close[0]) if close else None)


def did_you_mean(written: str, known: Collection[str], words: Words = MappingProxyType({})) -> str:
    """A hint with the known name that was probably meant; '' without one."""
    near = near_name(written, known, words)
    return f"Did you mean {near!r}?" if near else ""


def joined(written: str) -> str:
    """'ratePerS', 'rate-per-s' and 'Rate per s' are 'rate_per_s'."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", written)
    return re.sub(r"[\W_]+", "_", apart).strip("_").lower()


def _names_by_word(known: Collection[str], words: Words) -> dict[str, str]:
    """Of a word for two names the first."""
    return {word: name for name in reversed(list(words)) if name in known for word in words[name]}
