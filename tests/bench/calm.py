"""Checks that count only if the machine ran meanwhile.

While the hypervisor runs other guests the kernel's timers are late, and what a limit would have let through then is
lost. So the truth that a throttled device stands for holds only while the machine runs. Nor does it hold of a process
that stood still for half a second of a run of two: on a paused machine, or for want of a processor.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from storscope.bench.machine_load import machine_load
from storscope.bench.standstill import standstills

_ATTEMPTS = 8
_STOLEN_MUCH = 0.03
"""Of the time of all CPUs; as the doubt that a measurement states."""


def calm(folder: Path, check: Callable[[Path], None]) -> None:
    """Checks in a new folder; what fails while the machine did not run is tried again, and at last skipped."""
    for attempt in range(_ATTEMPTS):
        (place := folder / str(attempt)).mkdir()
        before = machine_load()
        with standstills() as seen:
            try:
                return check(place)
            except AssertionError:
                after = machine_load()
                is_stolen = before and after and after.since(before).stolen_ratio > _STOLEN_MUCH
                if not is_stolen and not seen.found:
                    raise
    pytest.skip("the machine pauses, or its hypervisor keeps the CPUs, too often to measure anything")
