"""Digests of what was asked, by which a sweep or a search is found again in the store, also by later versions.

What is at its default is left out, so that a field that is added with a default changes no digest. Before that was so
workloads were hashed whole, with every field that there was; what is in stores under such a digest is found, too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from storscope.domain.json_form import encode_sparsely
from storscope.domain.units import KIB
from storscope.domain.workload import Starts, Workload

Form = Callable[[Workload], Any]
"""A workload as it is hashed: plain JSON values."""

_NO_FLUSHES: Final[Mapping[str, object]] = {"flush": None}
_NO_BLOCKS_OF_DUPLICATES: Final = {**_NO_FLUSHES, "duplicate_block_bytes": 4 * KIB}
_NO_STARTS: Final = {**_NO_BLOCKS_OF_DUPLICATES, "starts": Starts.TOGETHER.value}
_AGES: Final[tuple[Mapping[str, object], ...]] = (_NO_FLUSHES, _NO_BLOCKS_OF_DUPLICATES, _NO_STARTS)
"""Fields that workloads did not have yet, with their defaults, at each age in which they were hashed whole.

A field that is added from now on was in none: it belongs into each."""


def digest_of(asked: Mapping[str, Any]) -> str:
    """Of plain JSON values."""
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]


def told(workload: Workload) -> Any:
    """As it is hashed today: what it asks for, and not what it is called and where it comes from."""
    return encode_sparsely(replace(workload, name="", source=None))


def _whole(missing: Mapping[str, object], workload: Workload) -> Any:
    return _without(missing, workload.to_json())


def _without(missing: Mapping[str, object], form: Any) -> Any:
    """Fields that are not at their default stay: who asked for that asked no such version, and no digest fits."""
    if isinstance(form, list):
        return [_without(missing, item) for item in form]
    if not isinstance(form, dict):
        return form
    kept = {name: item for name, item in form.items() if name not in missing or item != missing[name]}
    return {name: _without(missing, item) for name, item in kept.items()}


OLD_FORMS: Final[tuple[Form, ...]] = tuple(partial(_whole, missing) for missing in _AGES)
"""As workloads were hashed, the youngest form first."""
