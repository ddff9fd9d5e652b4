"""The counters below several targets during one run: targets on the same devices are held against them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from storscope.bench.device_counters import DeviceWatch, asked_of, flushes_of
from storscope.bench.figures import Outcome
from storscope.bench.targets import Ready


class DeviceWatches:
    """One watch for each set of devices; looks at once, and again when asked."""

    def __init__(self, targets: Sequence[Ready], *, shared: bool = False) -> None:
        groups: dict[tuple[str, ...], list[int]] = {}
        for index, ready in enumerate(targets):
            groups.setdefault(ready.under.nearest, []).append(index)
        self._names = [ready.name for ready in targets]
        self._watches = [
            (indices, _watch([targets[index] for index in indices], shared=shared)) for indices in groups.values()
        ]

    def look_again(self) -> None:
        """The run is about to begin: what was done before, to prepare it, does not count."""
        for _, watch in self._watches:
            watch.look_again()

    def compare(self, outcome: Outcome) -> Outcome:
        """The outcome with what the devices did. Of several sets of devices the first is kept, the others' doubts too.

        A doubt about some of several targets says which.
        """
        parts = [_part(outcome.result, indices) for indices, _ in self._watches]
        checks = [
            (indices, watch.compare(asked_of(part), flushes_of(part)))
            for (indices, watch), part in zip(self._watches, parts, strict=True)
        ]
        others = [
            f"{', '.join(self._names[index] for index in indices)}: {doubt}"
            for indices, check in checks[1:]
            for doubt in check.doubts
        ]
        return replace(outcome, device=checks[0][1], doubts=(*outcome.doubts, *others))


def _watch(targets: Sequence[Ready], *, shared: bool) -> DeviceWatch:
    """An extent map speaks of one file alone."""
    extents = targets[0].extents if len(targets) == 1 else None
    direct = all(ready.direct for ready in targets)
    return DeviceWatch(targets[0].under, direct=direct, extents=extents, shared=shared)


def _part(result: Mapping[str, Any], indices: Sequence[int]) -> dict[str, Any]:
    """The run's result as far as it is of these targets."""
    parts = {}
    for name in ("total", "drain"):
        form = result[name]
        cells = [cell for cell in form["cells"] if cell["target"] in indices] if form else []
        parts[name] = {**form, "cells": cells} if form else form
    return parts
