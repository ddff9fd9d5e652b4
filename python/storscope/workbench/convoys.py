"""Whether requests gathered at one drive after another in a simulation, by the rule that judges its record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from storscope.diagnose.rules import convoy
from storscope.model.concentration import Concentration, concentration


def convoys_of(array: Mapping[str, Any]) -> dict[str, Concentration]:
    """The groups with a convoy, by name. `array` is ArrayReport of crates/storscope-sim."""
    drives = [one["group"] for one in array["components"] if one["kind"] == "drive"]
    queues = np.asarray(array["queue"]["mean"], np.float64)
    settings = convoy.RULE.defaults()
    if queues.ndim != 2 or not queues.size:
        return {}
    found = {}
    for group in dict.fromkeys(drives):
        rows = [row for row, name in enumerate(drives) if name == group]
        measured = concentration(queues[rows], settings["requests_min"])
        is_enough = measured is not None and measured.slices >= settings["slices_min"]
        if measured is not None and is_enough and convoy.is_convoy(measured, settings):
            found[group] = measured
    return found
