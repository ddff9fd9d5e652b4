"""Whether requests gathered at one drive after another in a simulation, by the rule that judges its record."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from storscope.diagnose.rules import convoy
from storscope.model.concentration import Concentration, concentration
from storscope.sim.used import waits
from storscope.sim.window import Report

_LEAST_REQUESTS = 1.0
"""Slices with less than one request at all drives together are not asked where it is."""


def gathering(array: Report) -> Concentration | None:
    """How requests gathered at drives, whatever their group; None without requests, or of a single drive."""
    queues = _queues(array)
    takes_part = [not waits(one) for one in array["components"] if one["kind"] == "drive"]
    return None if queues is None else concentration(queues[takes_part], _LEAST_REQUESTS)


def convoys_of(array: Report) -> dict[str, Concentration]:
    """The groups with a convoy, by name."""
    drives = [None if waits(one) else one["group"] for one in array["components"] if one["kind"] == "drive"]
    queues, settings = _queues(array), convoy.RULE.defaults()
    if queues is None:
        return {}
    found = {}
    for group in dict.fromkeys(name for name in drives if name is not None):
        rows = [row for row, name in enumerate(drives) if name == group]
        measured = concentration(queues[rows], settings["requests_min"])
        is_enough = measured is not None and measured.slices >= settings["slices_min"]
        if measured is not None and is_enough and convoy.is_convoy(measured, settings):
            found[group] = measured
    return found


def _queues(array: Report) -> npt.NDArray[np.float64] | None:
    """Of each drive in each slice."""
    queues = np.asarray(array["queue"]["mean"], np.float64)
    return queues if queues.ndim == 2 and queues.size else None
